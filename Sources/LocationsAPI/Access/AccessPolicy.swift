import HTTPServer
public import NIOHTTP1

/// Who may do what. It decides and does nothing else.
///
/// - With keys, a write needs one that allows it, and so does a read where ``readRequiresKey`` says so.
/// - Without, everyone may read, and write where the server listens to its own machine alone; then a browser's page may
///   not, unless it came from this machine too, so that no web site writes to the server on its visitor's machine.
public struct AccessPolicy: Sendable {
  /// The keys there are; `nil` where the server was given none.
  public var keys: [APIKey]?

  /// Whether the server listens to its own machine alone.
  public let isLoopback: Bool

  /// Whether reading needs a key too.
  public let readRequiresKey: Bool

  /// Makes a policy.
  public init(keys: [APIKey]?, isLoopback: Bool, readRequiresKey: Bool = false) {
    self.keys = keys
    self.isLoopback = isLoopback
    self.readRequiresKey = readRequiresKey
  }

  /// Who sent a request with these header fields, if it may do what the scope allows.
  ///
  /// - Throws: `Problem` 401 `unauthenticated` or 403 `forbidden`, with the reason.
  public func principal(of headers: HTTPHeaders, for scope: AccessScope) throws(Problem) -> Principal {
    if scope == .read, !readRequiresKey { return .anonymous }
    guard let keys else { return try keyless(headers, scope) }
    guard let secret = try Self.bearerToken(headers) else {
      throw .unauthenticated("this call needs an API key, sent as 'Authorization: Bearer KEY'", challenge: "")
    }
    let digest = APIKey.digest(of: secret.utf8)
    // All keys are looked at, whichever it is.
    let matches = keys.filter { $0.matches(digest) }
    guard let key = matches.max(by: { $0.scope < $1.scope }) else {
      throw .unauthenticated("this API key is not known", challenge: ", error=\"invalid_token\"")
    }
    guard key.scope >= scope else {
      throw .forbidden("the API key '\(key.name)' allows to \(key.scope.rawValue), and this needs \(scope.rawValue)")
    }
    return Principal(name: key.name)
  }

  private func keyless(_ headers: HTTPHeaders, _ scope: AccessScope) throws(Problem) -> Principal {
    guard scope > .read else {
      throw .unauthenticated("this server answers only to API keys, and has none", challenge: "")
    }
    guard isLoopback else {
      throw .forbidden(
        "this server has no API keys (API_KEYS_FILE), and without them takes changes only where it listens on a"
          + " loopback address")
    }
    if let origin = headers.first(name: "origin"), !Loopback.contains(origin: origin) {
      throw .forbidden("this server has no API keys, and without them takes no changes from pages of other machines")
    }
    return .anonymous
  }

  /// The token of `Authorization: Bearer` (RFC 6750, section 2.1); `nil` where there is no such header field.
  private static func bearerToken(_ headers: HTTPHeaders) throws(Problem) -> Substring? {
    let values = headers["authorization"]
    guard let value = values.first else { return nil }
    let parts = value.split(separator: " ", maxSplits: 1)
    guard values.count == 1, parts.count == 2, parts[0].lowercased() == "bearer" else {
      throw .unauthenticated(
        "Authorization must be 'Bearer' and an API key", challenge: ", error=\"invalid_request\"")
    }
    return parts[1].drop { $0 == " " }
  }
}

extension Problem {
  /// 401 `unauthenticated` with what it takes (RFC 9110, section 11.6.1).
  fileprivate static func unauthenticated(_ detail: String, challenge: String) -> Problem {
    Problem(
      .unauthorized, code: "unauthenticated", detail: detail,
      headers: ["www-authenticate": "Bearer realm=\"waymark\"\(challenge)"])
  }

  /// 403 `forbidden`.
  fileprivate static func forbidden(_ detail: String) -> Problem {
    Problem(.forbidden, code: "forbidden", detail: detail)
  }
}
