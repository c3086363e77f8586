package import HTTPServer
import NIOHTTP1
package import Points
import Synchronization

/// The access policy in force. Its keys may be replaced while requests are served.
package final class AccessControl: Sendable {
  private struct State {
    var policy: AccessPolicy
    var verified = VerifiedTokens()
    /// The source of newer token keys; `nil` where there is none.
    var tokenKeySource: (any TokenKeySource)?
  }

  private let state: Mutex<State>
  private let areReadsOpen: Bool

  /// A Boolean value that indicates whether a key or a token may have a restriction.
  private let mayRestrict: Atomic<Bool>
  private let clock: any WallClock

  /// Creates access control with a policy.
  ///
  /// - Parameter clock: the clock by which tokens expire.
  package init(_ policy: AccessPolicy, clock: any WallClock = SystemClock()) {
    state = Mutex(State(policy: policy))
    areReadsOpen = !policy.readRequiresKey
    mayRestrict = Atomic(policy.mayRestrict)
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
  package var openScopes: Set<AccessScope> { state.withLock { $0.policy.openScopes } }

  /// The scopes that keys and tokens may have, in ascending order.
  package var scopes: [AccessScope] { state.withLock { $0.policy.scopes } }

  /// Replaces the API keys for further requests.
  package func replaceKeys(_ keys: [APIKey]) {
    let mayRestrict = state.withLock { state in
      state.policy.keys = keys
      return state.policy.mayRestrict
    }
    self.mayRestrict.store(mayRestrict, ordering: .relaxed)
  }

  /// Replaces the verification of tokens for further requests.
  ///
  /// - Parameter change: returns the new one for the present one.
  package func replaceTokens(_ change: (any TokenVerification) -> any TokenVerification) {
    state.withLock { state in
      state.policy.tokens = state.policy.tokens.map(change)
      state.verified.removeAll()
    }
  }

  /// Sets the source from which newer keys are fetched when a token names an unknown key.
  package func useTokenKeys(of source: any TokenKeySource) {
    state.withLock { $0.tokenKeySource = source }
  }

  /// Returns the sender of a request, if it has the access; see ``AccessPolicy``. Where everyone may read, it is that of
  /// the credentials only if they have a restriction.
  ///
  /// - Throws: `Problem` 401 `unauthenticated` or 403 `forbidden` with the reason, or 503 `token-keys-unavailable`.
  package func principal(of request: HTTPRequest, for scope: AccessScope) async throws(Problem) -> Principal {
    if isOpen(scope) { return await restrictedSender(of: request) ?? .anonymous }
    let policy = state.withLock { $0.policy }
    guard !policy.isKeyless else { return try policy.keyless(request, for: scope) }
    guard let credential = try Credential(request.headers) else {
      throw .unauthenticated(
        "this call needs an API key or a token, sent as 'Authorization: Bearer …'", challenge: .required)
    }
    return try await currentGrant(for: credential).principal(for: scope)
  }

  /// Returns a Boolean value that indicates whether the sender of a request has the access of a scope.
  package func grants(_ scope: AccessScope, to request: HTTPRequest) async -> Bool {
    (try? await principal(of: request, for: scope)) != nil
  }

  /// Returns the sender that the credentials of a request prove, if it has a restriction; otherwise `nil`.
  private func restrictedSender(of request: HTTPRequest) async -> Principal? {
    guard mayRestrict.load(ordering: .relaxed), let credential = try? Credential(request.headers) else { return nil }
    let principal = try? await currentGrant(for: credential).principal
    return principal?.restriction == nil ? nil : principal
  }

  func admitsWithoutCredentials(_ request: HTTPRequest, for scope: AccessScope) -> Bool {
    if isOpen(scope) {
      return !mayRestrict.load(ordering: .relaxed) || !request.headers.contains(name: "authorization")
    }
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
  func sender(of headers: RequestFields, mayVerify: () -> Bool) -> Principal? {
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
      throw Problem(error, scopes)
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
      else { throw Problem(error, scopes) }
      switch await source.refresh() {
      case .current: return try grant(for: credential)
      case .unknown(let seconds): throw .tokenKeysUnavailable(retryAfterSeconds: seconds)
      }
    }
  }

  private var tokenVerifier: (any TokenVerification)? { state.withLock { $0.policy.tokens } }

  private func keyGrant(for credential: Credential) throws(Problem) -> Grant {
    switch credential {
    case .key(let secret), .token(let secret): try state.withLock { $0.policy }.grant(forKey: secret)
    }
  }

  /// Verifies a token. The result is cached until the token expires or the keys are replaced.
  private func grant(forToken text: Substring) throws(TokenRejection) -> Grant {
    let now = clock.now()
    let id = VerifiedTokens.id(of: text)
    let (known, verifier, generation) = state.withLock { ($0.verified[id], $0.policy.tokens, $0.verified.generation) }
    if let known {
      try known.check(at: now)
      return known.grant
    }
    guard let verifier else { throw .unknownKey }
    let token = try verifier.verify(text, at: now)
    state.withLock { $0.verified.insert(token, as: id, of: generation, at: now) }
    return token.grant
  }
}

extension Problem {
  /// 401 `unauthenticated` with the reason.
  fileprivate init(_ rejection: TokenRejection, _ scopes: [AccessScope]) {
    let reason = rejection.reason(among: scopes)
    self = .unauthenticated(reason, challenge: .invalidToken(reason))
  }

  /// 503 `token-keys-unavailable`: the token may be valid, and a client with 401 would log in again.
  fileprivate static func tokenKeysUnavailable(retryAfterSeconds seconds: Int) -> Problem {
    Problem(
      .serviceUnavailable, code: "token-keys-unavailable", title: "Token keys unavailable",
      detail: "the token keys can't be fetched at the moment",
      headers: ["retry-after": "\(seconds)"])
  }
}

/// The rules of access. It has no effects.
///
/// - With API keys or token keys, a write needs one that grants it, and so does a read where ``readRequiresKey`` is
///   set.
/// - Without, everyone may read, and programs on the server's own machine may do the rest where it listens on a
///   loopback address alone; see ``KeylessAccess``.
package struct AccessPolicy: Sendable {
  /// The API keys; `nil` where the server was given none.
  package var keys: [APIKey]?

  /// The verification of tokens; `nil` where tokens are not accepted.
  package var tokens: (any TokenVerification)?

  /// A Boolean value that indicates whether the server listens on a loopback address alone.
  package let isLoopback: Bool

  /// A Boolean value that indicates whether reading needs a key or a token too.
  package let readRequiresKey: Bool

  /// The scopes that keys and tokens may have, in ascending order.
  let scopes: [AccessScope]

  package init(
    keys: [APIKey]?, tokens: (any TokenVerification)? = nil, isLoopback: Bool, readRequiresKey: Bool = false,
    scopes: [AccessScope] = AccessScope.common
  ) {
    self.keys = keys
    self.tokens = tokens
    self.isLoopback = isLoopback
    self.readRequiresKey = readRequiresKey
    self.scopes = scopes
  }

  /// A Boolean value that indicates whether there are neither API keys nor token keys.
  var isKeyless: Bool { keys == nil && tokens == nil }

  /// A Boolean value that indicates whether a key has a restriction, or a token may have one.
  var mayRestrict: Bool { tokens != nil || keys?.contains { $0.restriction != nil } == true }

  /// The scopes of the calls that need neither a key nor a token, if the request comes from where it may.
  var openScopes: Set<AccessScope> {
    let reading: Set<AccessScope> = readRequiresKey ? [] : [.read]
    return isKeyless && isLoopback ? reading.union(scopes.filter { $0 > .read }) : reading
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
    return Grant(
      principal: Principal(name: key.name).restricted(to: key.restriction), scope: key.scope,
      evidence: "the API key '\(key.name)'")
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

/// A middleware that requires of each sender the access that the route declares, and attaches the sender to the
/// request.
///
/// Requests of no route pass: whether there is a route is no secret, and the router rejects them.
package struct AuthenticationMiddleware: Middleware {
  private let access: AccessControl

  package init(access: AccessControl) {
    self.access = access
  }

  package func intercepts(_ request: HTTPRequest) -> Bool {
    guard let scope = request.route?.scope else { return false }
    return !access.admitsWithoutCredentials(request, for: scope)
  }

  nonisolated(nonsending) package func respond(to request: HTTPRequest, next: MiddlewareChain) async -> HTTPResponse {
    guard let scope = request.route?.scope else { return await next.respond(to: request) }
    let principal: Principal
    do throws(Problem) {
      principal = try await access.principal(of: request, for: scope)
    } catch {
      return HTTPResponse(error, rejecting: request)
    }
    var request = request
    if principal.name != nil { request.principal = principal }
    return await next.respond(to: request)
  }
}

extension Problem {
  /// The beginning of the `type` of this service's problems.
  package static let serviceTypePrefix = "urn:waymark:problem:"
}

extension HTTPResponse {
  /// Creates the response of a middleware that rejects a request of a route.
  package init(_ problem: Problem, rejecting request: HTTPRequest) {
    self.init(problem, typePrefix: Problem.serviceTypePrefix)
    route = request.route?.template
  }
}
