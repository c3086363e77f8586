import HTTPServer
import Points

/// The rules of access. It has no effects.
///
/// - With API keys or token keys, a write needs one that grants it, and so does a read where ``readRequiresKey`` is
///   set.
/// - Without, everyone may read, and programs on the server's own machine may do the rest where it listens on a
///   loopback address alone; see ``KeylessAccess``.
package struct AccessPolicy: Sendable {
  /// The API keys; `nil` where the server was given none.
  package var keys: [APIKey]?

  /// The verifier of tokens; `nil` where tokens are not accepted.
  package var tokens: TokenVerifier?

  /// A Boolean value that indicates whether the server listens on a loopback address alone.
  package let isLoopback: Bool

  /// A Boolean value that indicates whether reading needs a key or a token too.
  package let readRequiresKey: Bool

  package init(keys: [APIKey]?, tokens: TokenVerifier? = nil, isLoopback: Bool, readRequiresKey: Bool = false) {
    self.keys = keys
    self.tokens = tokens
    self.isLoopback = isLoopback
    self.readRequiresKey = readRequiresKey
  }

  /// A Boolean value that indicates whether there are neither API keys nor token keys.
  var isKeyless: Bool { keys == nil && tokens == nil }

  /// The scopes of the calls that need neither a key nor a token, if the request comes from where it may.
  var openScopes: Set<AccessScope> {
    let reading: Set<AccessScope> = readRequiresKey ? [] : [.read]
    return isKeyless && isLoopback ? reading.union([.write, .admin]) : reading
  }

  /// Returns the access of an API key.
  ///
  /// - Throws: `Problem` 401 `unauthenticated`.
  func grant(forKey secret: Substring) throws(Problem) -> Grant {
    let digest = APIKey.digest(of: secret.utf8)
    // All keys are compared, so that the time does not depend on which one matches.
    let matches = (keys ?? []).filter { $0.matches(digest) }
    guard let key = matches.max(by: { $0.scope < $1.scope }) else {
      throw .unauthenticated(
        "this API key is not known", challenge: .invalidToken("the API key is not known"))
    }
    return Grant(principal: Principal(name: key.name), scope: key.scope, evidence: "the API key '\(key.name)'")
  }

  /// Returns the sender of a request without credentials, where there are no keys.
  ///
  /// - Throws: `Problem` 401 `unauthenticated` or 403 `forbidden`, with the reason.
  func keyless(_ request: HTTPRequest, for scope: AccessScope) throws(Problem) -> Principal {
    guard scope > .read else {
      throw .unauthenticated("this server requires an API key, but has no keys", challenge: .required)
    }
    guard isLoopback else {
      throw .keyless("changes only where it listens on a loopback address")
    }
    try KeylessAccess.check(request)
    return .anonymous
  }
}
