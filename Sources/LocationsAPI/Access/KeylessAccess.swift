import HTTPServer
import NIOHTTP1

/// The rule for changes, and for what else takes a key, on a server that has no keys: they are open to programs on its
/// own machine and to nobody else.
///
/// A browser and a reverse proxy on that machine connect from a loopback address too, on behalf of others. Each leaves
/// a trace: a page of another site its `Origin`, a page whose host name was rebound to a loopback address that name in
/// `Host`, and a proxy a field of its own or its public name.
enum KeylessAccess {
  /// The fields with which a proxy names its client; so does every field that begins with `X-Forwarded`.
  private static let forwardingFields = ["forwarded", "via", "x-real-ip"]

  /// Checks that the request comes from a program on the server's own machine, on its own behalf.
  ///
  /// - Throws: `Problem` 403 `forbidden` with the reason.
  static func check(_ request: HTTPRequest) throws(Problem) {
    guard let peer = request.remoteAddress.flatMap({ IPAddress($0) }), peer.isLoopback else {
      throw .keyless("no such requests from other machines")
    }
    for (name, _) in request.headers where isForwarding(name) {
      throw .keyless("no such requests that were forwarded by a proxy (this one has the field '\(name)')")
    }
    guard let authority = request.authority, Loopback.contains(authority: authority) else {
      throw .keyless("no such requests under another host name than that of a loopback address, such as localhost")
    }
    let origins = request.headers["origin"]
    guard origins.isEmpty || (origins.count == 1 && Loopback.contains(origin: origins[0])) else {
      throw .keyless("no such requests from pages of other machines")
    }
  }

  private static func isForwarding(_ name: String) -> Bool {
    let name = name.lowercased()
    return name.hasPrefix("x-forwarded") || forwardingFields.contains { name.utf8.elementsEqual($0.utf8) }
  }
}

extension Problem {
  /// 403 `forbidden`, with the requests that are accepted without keys.
  static func keyless(_ accepted: String) -> Problem {
    .forbidden(
      "this server has neither API keys (API_KEYS_FILE) nor token keys (JWT_JWKS);"
        + " without them it accepts \(accepted)")
  }
}
