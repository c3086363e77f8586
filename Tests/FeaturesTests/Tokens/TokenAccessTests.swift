import HTTPServer
import MemoryStore
import NIOHTTP1
import Points
import ServiceTestSupport
import Synchronization
import TestSupport
import Testing

@testable import AccessControl
@testable import LocationsAPI
@testable import Tokens

/// The access that tokens grant, from the request to the response.
@Suite struct TokenAccessTests {
  private final class SettableClock: WallClock {
    let seconds = Mutex(TokenIssuer.now)
    func now() -> Timestamp { Timestamp(microsecondsSinceEpoch: Int64(seconds.withLock { $0 }) * 1_000_000) }
  }

  private let issuer = TokenIssuer.es256()
  private let clock = SettableClock()
  private let place = #"{"name":"x","lat":1,"long":2}"#

  private func access(keys: [APIKey]? = nil, readRequiresKey: Bool = false) async throws -> AccessControl {
    let set = try await TokenKeySet(json: Array(TokenIssuer.keySet(issuer).utf8))
    let tokens = TokenVerifier(keys: set, issuer: TokenIssuer.name, audience: TokenIssuer.audience)
    return AccessControl(
      AccessPolicy(keys: keys, tokens: tokens, isLoopback: true, readRequiresKey: readRequiresKey), clock: clock)
  }

  private func driver(_ access: AccessControl, store: MemoryStore = MemoryStore()) -> ServiceDriver {
    ServiceDriver(writing: store, control: access)
  }

  private func post(
    _ driver: ServiceDriver, _ token: String?, headers: HTTPHeaders = [:]
  ) async throws -> ServiceDriver.Response {
    var headers = headers
    if let token { headers.add(name: "authorization", value: "Bearer \(token)") }
    return try await driver.send(.POST, "/locations", headers: headers, json: place)
  }

  @Test func tokenGrantsTheAccessOfItsScope() async throws {
    let driver = driver(try await access())

    let written = try await post(driver, try issuer.token())
    let rejected = try await post(driver, try issuer.token(TokenIssuer.claims(["scope": "\"read\""])))
    let nothing = try await post(driver, nil)

    #expect([written.status, rejected.status, nothing.status] == [201, 403, 401])
    #expect(
      rejected.headers["www-authenticate"]
        == [#"Bearer realm="waymark", error="insufficient_scope", scope="write""#])
    #expect(nothing.headers["www-authenticate"] == [#"Bearer realm="waymark""#])
  }

  @Test func reasonOfATokenRejectionIsInTheChallenge() async throws {
    let token = try issuer.token(TokenIssuer.claims(["exp": "1"]))

    let response = try await post(driver(try await access()), token)

    #expect(response.status == 401)
    #expect(try response.code == "unauthenticated")
    #expect(
      response.headers["www-authenticate"]
        == [#"Bearer realm="waymark", error="invalid_token", error_description="the token has expired""#])
  }

  @Test(arguments: TokenRejection.allCases)
  func everyRejectionReasonIsValidInAHeaderField(rejection: TokenRejection) {
    let reason = rejection.reason(among: AccessScope.all)

    #expect(reason.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C })
    #expect(rejection != .noScope || reason == "the token has none of the scopes read, suggest, write and admin")
  }

  @Test func cachedTokenExpires() async throws {
    let driver = driver(try await access())
    let token = try issuer.token()
    #expect(try await post(driver, token).status == 201)

    clock.seconds.withLock { $0 += 89 }
    let before = try await post(driver, token).status
    clock.seconds.withLock { $0 += 1 }
    let after = try await post(driver, token).status

    #expect([before, after] == [201, 401])
  }

  @Test func cachedTokenIsRejectedAfterItsKeyIsRemoved() async throws {
    let access = try await access()
    let driver = driver(access)
    let other = TokenIssuer.es256()
    let (token, next) = (try issuer.token(), try other.token())
    #expect(try await post(driver, token).status == 201)

    access.replaceTokenKeys(try await TokenKeySet(json: Array(TokenIssuer.keySet(other).utf8)))

    #expect(try await post(driver, token).status == 401)
    #expect(try await post(driver, next).status == 201)
  }

  /// A source whose newer keys are put in force when they are fetched.
  private final class NewerKeys: TokenKeySource {
    let requests = Counter()
    private let freshness: TokenKeyFreshness
    private let install: @Sendable () -> Void

    init(_ freshness: TokenKeyFreshness, install: @escaping @Sendable () -> Void = {}) {
      self.freshness = freshness
      self.install = install
    }

    func refresh() async -> TokenKeyFreshness {
      requests.add()
      install()
      return freshness
    }
  }

  @Test func tokenWithANewKeyIsAcceptedAfterAFetch() async throws {
    let access = try await access()
    let next = TokenIssuer.es256(kid: "next")
    let newer = try await TokenKeySet(json: Array(TokenIssuer.keySet(issuer, next).utf8))
    let source = NewerKeys(.current) { access.replaceTokenKeys(newer) }
    access.useTokenKeys(of: source)
    let driver = driver(access)

    let known = try await post(driver, try issuer.token()).status
    let askedForKnown = source.requests.value
    let fetched = try await post(driver, try next.token()).status
    let nobodys = try await post(driver, try TokenIssuer.es256(kid: "other").token())

    #expect(known == 201 && askedForKnown == 0)
    #expect(fetched == 201)
    #expect(nobodys.status == 401)
    #expect(source.requests.value == 2)
  }

  @Test func failedKeyFetchIs503AndNotAnInvalidToken() async throws {
    let access = try await access()
    access.useTokenKeys(of: NewerKeys(.unknown(retryAfterSeconds: 7)))
    let driver = driver(access)

    let known = try await post(driver, try issuer.token()).status
    let unknown = try await post(driver, try TokenIssuer.es256(kid: "other").token())

    #expect(known == 201)
    #expect(unknown.status == 503)
    #expect(try unknown.code == "token-keys-unavailable")
    #expect(unknown.headers["retry-after"] == ["7"])
    #expect(unknown.headers["www-authenticate"].isEmpty)
  }

  @Test func withoutKeysYetTokensAreUnavailableAndAPIKeysWork() async throws {
    let tokens = TokenVerifier(keys: .none, issuer: TokenIssuer.name, audience: TokenIssuer.audience)
    let access = AccessControl(
      AccessPolicy(keys: [APIKey(name: "k", scope: .write, secret: "wm_k")], tokens: tokens, isLoopback: true),
      clock: clock)
    access.useTokenKeys(of: NewerKeys(.unknown(retryAfterSeconds: 1)))
    let driver = driver(access)

    let statuses = [
      try await post(driver, try issuer.token()).status, try await post(driver, "wm_k").status,
      try await post(driver, nil).status, try await post(driver, "a.b.c").status,
    ]

    #expect(statuses == [503, 201, 401, 401])
  }

  @Test(
    arguments: [
      ["iss": "\"https://other.example\""], ["aud": "\"other\""], ["exp": "1"], ["scope": "\"openid\""], ["sub": nil],
    ] as [[String: String?]])
  func tokenWithInvalidClaimsCausesNoKeyFetch(changes: [String: String?]) async throws {
    let access = try await access()
    let source = NewerKeys(.current)
    access.useTokenKeys(of: source)

    let token = try TokenIssuer.es256(kid: "other").token(TokenIssuer.claims(changes))
    let response = try await post(driver(access), token)

    #expect(response.status == 401)
    #expect(source.requests.value == 0)
  }

  @Test func apiKeysAndTokensWorkTogether() async throws {
    let driver = driver(
      try await access(keys: [APIKey(name: "k", scope: .write, secret: "wm_a.b.c")], readRequiresKey: true))
    func read(_ secret: String) async throws -> Int {
      try await driver.send(.GET, "/categories", headers: ["authorization": "Bearer \(secret)"]).status
    }

    let statuses = [
      try await read("wm_a.b.c"), try await read(issuer.token()), try await read("wm_a.b.d"), try await read("a.b.c"),
    ]

    #expect(statuses == [200, 200, 401, 401])
  }

  @Test func idempotencyKeysAreSeparateForEachSubject() async throws {
    let store = MemoryStore()
    let driver = driver(
      try await access(keys: [APIKey(name: "ann", scope: .write, secret: "wm_k")]), store: store)
    let tokens = try ["ann", "b:c", "ann"].map { try issuer.token(TokenIssuer.claims(["sub": "\"\($0)\""])) }

    for secret in tokens + ["wm_k"] { _ = try await post(driver, secret, headers: ["idempotency-key": "k"]) }

    #expect(store.count == 3)
  }

  @Test func rateLimitedClientsNewTokensAreNotVerified() async throws {
    let access = try await access()
    let token = try issuer.token()
    let headers: RequestFields = ["authorization": "Bearer \(token)"]

    let unseen = access.sender(of: headers) { false }
    let verified = access.sender(of: headers) { true }
    let seen = access.sender(of: headers) { false }

    #expect(unseen == nil)
    #expect(verified == Principal(subject: "user-1"))
    #expect(seen == Principal(subject: "user-1"))
  }

  private func verifiedToken(validUntil: Double = .infinity) -> VerifiedToken {
    VerifiedToken(
      grant: Grant(principal: .anonymous, scope: .read, evidence: ""), validFrom: 0, validUntil: validUntil)
  }

  @Test func tokenVerifiedWithFormerKeysIsNotCached() {
    var tokens = VerifiedTokens()
    let (id, other) = (VerifiedTokens.id(of: "a"), VerifiedTokens.id(of: "b"))
    let former = tokens.generation
    tokens.insert(verifiedToken(), as: id, of: former, at: clock.now())
    #expect(tokens[id] != nil)

    tokens.removeAll()
    tokens.insert(verifiedToken(), as: id, of: former, at: clock.now())
    tokens.insert(verifiedToken(), as: other, of: tokens.generation, at: clock.now())

    #expect(tokens[id] == nil)
    #expect(tokens[other] != nil)
  }

  @Test func verifiedTokensAreKeptInBoundedMemory() {
    var tokens = VerifiedTokens()
    func insert(_ number: Int, validUntil: Double) {
      tokens.insert(
        verifiedToken(validUntil: validUntil), as: VerifiedTokens.id(of: "\(number)"), of: tokens.generation,
        at: clock.now())
    }
    for number in 0..<VerifiedTokens.maximumCount { insert(number, validUntil: number % 2 == 0 ? .infinity : 1) }

    insert(-1, validUntil: .infinity)
    #expect(tokens.count == VerifiedTokens.maximumCount / 2 + 1)

    for number in 0..<VerifiedTokens.maximumCount { insert(-2 - number, validUntil: .infinity) }
    #expect(tokens.count <= VerifiedTokens.maximumCount)
  }
}
