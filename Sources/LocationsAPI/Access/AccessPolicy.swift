import HTTPServer
import Points

/// Who may do what. It decides and does nothing else.
///
/// - With keys, or with those that sign tokens, a write needs one that allows it, and so does a read where
///   ``readRequiresKey`` says so.
/// - Without, everyone may read, and programs on the server's own machine may do the rest where it listens on a loopback
///   address alone; see ``KeylessAccess``.
public struct AccessPolicy: Sendable {
  /// The keys there are; `nil` where the server was given none.
  public var keys: [APIKey]?

  /// Whose tokens are believed; `nil` is nobody's.
  public var tokens: TokenVerifier?

  /// Whether the server listens to its own machine alone.
  public let isLoopback: Bool

  /// Whether reading needs a key or a token too.
  public let readRequiresKey: Bool

  /// Creates a policy.
  public init(keys: [APIKey]?, tokens: TokenVerifier? = nil, isLoopback: Bool, readRequiresKey: Bool = false) {
    self.keys = keys
    self.tokens = tokens
    self.isLoopback = isLoopback
    self.readRequiresKey = readRequiresKey
  }

  /// Whether there is nothing that anyone could prove who it is with.
  var isKeyless: Bool { keys == nil && tokens == nil }

  /// What an API key allows.
  ///
  /// - Throws: `Problem` 401 `unauthenticated`.
  func grant(forKey secret: Substring) throws(Problem) -> Grant {
    let digest = APIKey.digest(of: secret.utf8)
    // All keys are looked at, whichever it is.
    let matches = (keys ?? []).filter { $0.matches(digest) }
    guard let key = matches.max(by: { $0.scope < $1.scope }) else {
      throw .unauthenticated(
        "this API key is not known", challenge: .invalidToken("the API key is not known"))
    }
    return Grant(principal: Principal(name: key.name), scope: key.scope, evidence: "the API key '\(key.name)'")
  }

  /// Who it is that proved nothing, where there is nothing to prove it with.
  ///
  /// - Throws: `Problem` 401 `unauthenticated` or 403 `forbidden`, with the reason.
  func keyless(_ request: HTTPRequest, for scope: AccessScope) throws(Problem) -> Principal {
    guard scope > .read else {
      throw .unauthenticated("this server answers only to API keys, and has none", challenge: .required)
    }
    guard isLoopback else {
      throw .forbidden(
        "this server has neither API keys (API_KEYS_FILE) nor keys of tokens (JWT_JWKS_FILE,"
          + " JWT_JWKS_URL), and without them takes changes only where it listens on a loopback address")
    }
    try KeylessAccess.check(request)
    return .anonymous
  }
}
