package import HTTPServer
import NIOHTTP1
package import Points
import Synchronization

/// The access policy in force. Its keys may be replaced while requests are served.
package final class AccessControl: Sendable {
  private struct State {
    var policy: AccessPolicy
    var verified = VerifiedTokens()
    /// The number of times that the token keys were replaced: tokens verified with earlier keys are not cached.
    var generation = 0
    /// The source of newer token keys; `nil` where there is none.
    var tokenKeySource: (any TokenKeySource)?
  }

  private let state: Mutex<State>
  private let areReadsOpen: Bool
  private let clock: any WallClock

  /// Creates access control with a policy.
  ///
  /// - Parameter clock: the clock by which tokens expire.
  package init(_ policy: AccessPolicy, clock: any WallClock = SystemClock()) {
    state = Mutex(State(policy: policy))
    areReadsOpen = !policy.readRequiresKey
    self.clock = clock
  }

  /// The notice for operators of a server without keys: what is open, and how to close it; `nil` where there are keys.
  package var keylessNotice: String? {
    let policy = state.withLock { $0.policy }
    guard policy.isKeyless else { return nil }
    return policy.isLoopback
      ? "no keys are configured: every program on this machine may change places and read search analytics;"
        + " set API_KEYS_FILE or JWT_JWKS to require a key"
      : "no keys are configured: everyone may read places, and nobody may change them;"
        + " set API_KEYS_FILE or JWT_JWKS to allow changes"
  }

  /// The scopes of the calls that need neither a key nor a token, if the request comes from where it may.
  var openScopes: Set<AccessScope> { state.withLock { $0.policy.openScopes } }

  /// Replaces the API keys for further requests.
  package func replaceKeys(_ keys: [APIKey]) {
    state.withLock { $0.policy.keys = keys }
  }

  /// Replaces the token keys for further requests.
  package func replaceTokenKeys(_ keys: TokenKeySet) {
    state.withLock { state in
      state.policy.tokens?.keys = keys
      state.verified = VerifiedTokens()
      state.generation += 1
    }
  }

  /// Sets the source from which newer keys are fetched when a token names an unknown key.
  package func useTokenKeys(of source: any TokenKeySource) {
    state.withLock { $0.tokenKeySource = source }
  }

  /// Returns the sender of a request, if it has the access; see ``AccessPolicy``.
  ///
  /// - Throws: `Problem` 401 `unauthenticated` or 403 `forbidden` with the reason, or 503 `token-keys-unavailable`.
  package func principal(of request: HTTPRequest, for scope: AccessScope) async throws(Problem) -> Principal {
    if isOpen(scope) { return .anonymous }
    let policy = state.withLock { $0.policy }
    guard !policy.isKeyless else { return try policy.keyless(request, for: scope) }
    guard let credential = try Credential(request.headers) else {
      throw .unauthenticated(
        "this call needs an API key or a token, sent as 'Authorization: Bearer …'", challenge: .required)
    }
    return try await currentGrant(for: credential).principal(for: scope)
  }

  /// Returns a Boolean value that indicates whether a request has the access without credentials.
  func admitsWithoutCredentials(_ request: HTTPRequest, for scope: AccessScope) -> Bool {
    if isOpen(scope) { return true }
    let policy = state.withLock { $0.policy }
    return policy.isKeyless && (try? policy.keyless(request, for: scope)) != nil
  }

  /// Returns a Boolean value that indicates whether the scope is open to everyone. That does not change while the
  /// server runs.
  private func isOpen(_ scope: AccessScope) -> Bool { scope == .read && areReadsOpen }

  /// Returns the sender of a request, to whom its use of the service counts: the one that its credentials prove,
  /// whatever access it needs, or else its address.
  ///
  /// - Parameters:
  ///   - proxies: the trusted proxies, whose header fields determine the address.
  ///   - mayVerify: returns a Boolean value that indicates whether a token from an address may be verified that was not
  ///     seen before, which takes as long as a signature does.
  package func sender(
    of request: HTTPRequest, proxies: TrustedProxies, mayVerify: (RequestSender) -> Bool = { _ in false }
  ) -> RequestSender {
    if request.principal.name != nil { return .principal(request.principal) }
    let address = RequestSender.address(proxies.client(of: request)?.clientNetwork)
    return sender(of: request.headers) { mayVerify(address) }.map(RequestSender.principal) ?? address
  }

  /// Returns the sender that the request's credentials prove, whatever access it needs; `nil` where they prove none.
  ///
  /// - Parameter mayVerify: returns a Boolean value that indicates whether a token may be verified that was not seen
  ///   before, which takes as long as a signature does.
  func sender(of headers: HTTPHeaders, mayVerify: () -> Bool) -> Principal? {
    guard headers.contains(name: "authorization"), let credential = try? Credential(headers) else { return nil }
    if case .token(let text) = credential, !isVerified(text), !mayVerify() { return nil }
    return try? grant(for: credential).principal
  }

  private func isVerified(_ token: Substring) -> Bool {
    let id = VerifiedTokens.id(of: token)
    return state.withLock { $0.verified[id] != nil }
  }

  private func grant(for credential: Credential) throws(Problem) -> Grant {
    guard case .token(let text) = credential, tokenVerifier != nil else { return try keyGrant(for: credential) }
    do throws(TokenRejection) {
      return try grant(forToken: text)
    } catch {
      throw Problem(error)
    }
  }

  /// Returns the access of a credential. For a token that names an unknown key, newer keys are fetched.
  private func currentGrant(for credential: Credential) async throws(Problem) -> Grant {
    guard case .token(let text) = credential, let verifier = tokenVerifier else {
      return try keyGrant(for: credential)
    }
    do throws(TokenRejection) {
      return try grant(forToken: text)
    } catch {
      // A token that no key could make valid is not worth a fetch.
      guard error == .unknownKey, let source = state.withLock({ $0.tokenKeySource }),
        verifier.isValidButForItsKey(text, at: clock.now())
      else { throw Problem(error) }
      switch await source.refresh() {
      case .current: return try grant(for: credential)
      case .unknown(let seconds): throw .tokenKeysUnavailable(retryAfterSeconds: seconds)
      }
    }
  }

  private var tokenVerifier: TokenVerifier? { state.withLock { $0.policy.tokens } }

  private func keyGrant(for credential: Credential) throws(Problem) -> Grant {
    switch credential {
    case .key(let secret), .token(let secret): try state.withLock { $0.policy }.grant(forKey: secret)
    }
  }

  /// Verifies a token. The result is cached until the token expires or the keys are replaced.
  private func grant(forToken text: Substring) throws(TokenRejection) -> Grant {
    let now = clock.now()
    let id = VerifiedTokens.id(of: text)
    let (known, verifier, generation) = state.withLock { ($0.verified[id], $0.policy.tokens, $0.generation) }
    if let known {
      try known.check(at: now)
      return known.grant
    }
    guard let verifier else { throw .unknownKey }
    let token = try verifier.verify(text, at: now)
    state.withLock { state in
      if state.generation == generation { state.verified.insert(token, as: id, at: now) }
    }
    return token.grant
  }
}

extension Problem {
  /// 401 `unauthenticated` with the reason.
  fileprivate init(_ rejection: TokenRejection) {
    self = .unauthenticated("\(rejection)", challenge: .invalidToken("\(rejection)"))
  }

  /// 503 `token-keys-unavailable`: the token may be valid, and a client with 401 would log in again.
  fileprivate static func tokenKeysUnavailable(retryAfterSeconds seconds: Int) -> Problem {
    Problem(
      .serviceUnavailable, code: "token-keys-unavailable", title: "Token keys unavailable",
      detail: "the token keys can't be fetched at the moment",
      headers: ["retry-after": "\(seconds)"])
  }
}
