import Geo
import HTTPServer
import MemoryStore
import NIOHTTP1
import Points
import ServiceTestSupport
import SuggestedEdits
import Testing

@testable import AccessControl
@testable import LocationsAPI

@Suite struct AccessTests {
  private let place = #"{"name":"x","lat":1,"long":2}"#
  private static let keys: [APIKey] = [
    APIKey(name: "reader", scope: .read, secret: "r"), APIKey(name: "writer", scope: .write, secret: "w"),
    APIKey(name: "boss", scope: .admin, secret: "a"),
  ]

  private func post(_ policy: AccessPolicy, headers: HTTPHeaders = [:]) async throws -> ServiceDriver.Response {
    try await ServiceDriver(writing: MemoryStore(), access: policy)
      .send(.POST, "/locations", headers: headers, json: place)
  }

  @Test func withoutKeysOnlyALoopbackServerAcceptsWrites() async throws {
    let near = try await post(AccessPolicy(keys: nil, isLoopback: true))
    let far = try await post(AccessPolicy(keys: nil, isLoopback: false))

    #expect(near.status == 201)
    #expect(far.status == 403)
    #expect(try far.code == "forbidden")
    #expect(far.text.contains("API_KEYS_FILE"))
  }

  @Test(arguments: [
    (nil, 401), ("Bearer w", 201), ("bearer  a", 201), ("Bearer r", 403), ("Bearer x", 401), ("Bearer", 401),
    ("Basic dzp3", 401), ("Bearer ww", 401),
  ])
  func withKeysAWriteNeedsAKeyWithWriteScope(authorization: String?, status: Int) async throws {
    let headers = HTTPHeaders(authorization.map { [("authorization", $0)] } ?? [])

    let response = try await post(AccessPolicy(keys: Self.keys, isLoopback: true), headers: headers)

    #expect(response.status == status)
    if status == 401 {
      #expect(try response.code == "unauthenticated")
      #expect(response.headers.first(name: "www-authenticate")?.hasPrefix("Bearer realm=\"waymark\"") == true)
    }
  }

  @Test func keysWithOneSecretGrantTheGreatestAccess() async throws {
    let keys = [AccessScope.read, .admin, .write].map { APIKey(name: "\($0)", scope: $0, secret: "s") }
    let access = AccessControl(AccessPolicy(keys: keys, isLoopback: true))
    let request = ServiceDriver.request(.POST, "/", headers: ["authorization": "Bearer s"])

    #expect(try await access.principal(of: request, for: .admin) == Principal(name: "admin"))
  }

  @Test func secondAuthorizationFieldIsRejected() async throws {
    let headers: HTTPHeaders = ["authorization": "Bearer w", "Authorization": "Bearer w"]

    let response = try await post(AccessPolicy(keys: Self.keys, isLoopback: true), headers: headers)

    #expect(response.status == 401)
    #expect(response.headers["www-authenticate"] == [#"Bearer realm="waymark", error="invalid_request""#])
  }

  @Test func rejectedRequestCountsForItsRoute() async throws {
    let api = LocationsAPI(
      .init(
        service: PointsService(store: MemoryStore()),
        access: AccessControl(AccessPolicy(keys: Self.keys, isLoopback: true)), version: "1"))

    let response = await api.routerOfAllCalls().respond(to: ServiceDriver.request(.POST, "/locations"))

    #expect(response.status == .unauthorized)
    #expect(response.route == "/locations")
  }

  @Test(arguments: [HTTPMethod.PUT, .PATCH, .DELETE])
  func everyWriteNeedsAKey(method: HTTPMethod) async throws {
    let driver = ServiceDriver(writing: MemoryStore(), access: AccessPolicy(keys: Self.keys, isLoopback: true))

    let response = try await driver.send(method, "/locations/0199a1b2-0000-7000-8000-000000000001", json: place)

    #expect(response.status == 401)
  }

  @Test(arguments: [(nil, 401), ("Bearer r", 403), ("Bearer w", 200), ("Bearer a", 200)])
  func deletionOfADataSetNeedsAKeyWithWriteScope(authorization: String?, status: Int) async throws {
    let store = MemoryStore()
    _ = try await store.create(
      PointDraft(name: "x", coordinate: .init(latitude: 1, longitude: 2), source: "s", sourceID: "1"), once: nil)
    let driver = ServiceDriver(writing: store, access: AccessPolicy(keys: Self.keys, isLoopback: true))
    let headers = HTTPHeaders(authorization.map { [("authorization", $0)] } ?? [])

    let response = try await driver.send(.DELETE, "/locations?source=s&confirm=true", headers: headers)

    #expect(response.status == status)
    #expect(try await store.page(matching: PointQuery()).points.isEmpty == (status == 200))
  }

  @Test(arguments: ["/locations", "/categories", "/locations/featured", "/locations/check?lat=1&long=2"])
  func readsMayNeedAKeyToo(target: String) async throws {
    let open = ServiceDriver(writing: MemoryStore(), access: AccessPolicy(keys: Self.keys, isLoopback: false))
    let closed = ServiceDriver(
      writing: MemoryStore(), access: AccessPolicy(keys: Self.keys, isLoopback: true, readRequiresKey: true))

    let asAnyone = try await open.send(.GET, target)
    let rejected = try await closed.send(.GET, target)
    let asReader = try await closed.send(.GET, target, headers: ["authorization": "Bearer r"])
    let health = try await closed.send(.GET, "/health/live")

    #expect(asAnyone.status != 401)
    #expect(rejected.status == 401)
    #expect(asReader.status == asAnyone.status)
    #expect(health.status == 200)
  }

  @Test func keysMayBeReplacedWhileTheServerRuns() async throws {
    let access = AccessControl(AccessPolicy(keys: [], isLoopback: true))
    let request = ServiceDriver.request(.POST, "/", headers: ["authorization": "Bearer w"])
    await #expect(throws: (any Error).self) { try await access.principal(of: request, for: .write) }

    access.replaceKeys(Self.keys)

    #expect(try await access.principal(of: request, for: .write) == Principal(name: "writer"))
  }

  @Test func firstKeysCloseReadsThatRequireOne() async throws {
    let access = AccessControl(AccessPolicy(keys: nil, isLoopback: true, readRequiresKey: true))
    let driver = ServiceDriver(writing: MemoryStore(), control: access)
    let before = try await driver.send(.GET, "/categories")

    access.replaceKeys(Self.keys)

    let statuses = [
      before.status, try await driver.send(.GET, "/categories").status,
      try await driver.send(.GET, "/categories", headers: ["authorization": "Bearer r"]).status,
    ]
    #expect(statuses == [401, 401, 200])
  }

  @Test(arguments: [
    (HTTPMethod.GET, "/nowhere", 404), (.DELETE, "/categories", 405), (.PUT, "/locations/%zz", 400),
    (.GET, "/locations/none", 401), (.GET, "/analytics/searches", 401), (.OPTIONS, "/backup", 204),
  ])
  func routingErrorsTakePrecedenceOverMissingKeys(method: HTTPMethod, target: String, status: Int) async throws {
    let policy = AccessPolicy(keys: Self.keys, isLoopback: true, readRequiresKey: true)
    let driver = ServiceDriver(writing: MemoryStore(), access: policy)

    #expect(try await driver.send(method, target).status == status)
  }

  @Test func twoPrincipalsMayUseTheSameIdempotencyKey() async throws {
    let store = MemoryStore()
    let driver = ServiceDriver(writing: store, access: AccessPolicy(keys: Self.keys, isLoopback: true))

    for secret in ["w", "a", "w"] {
      _ = try await driver.send(
        .POST, "/locations", headers: ["authorization": "Bearer \(secret)", "idempotency-key": "k"], json: place)
    }

    #expect(store.count == 2)
  }
}

@Suite struct KeyFileTests {
  @Test func lineOfAGeneratedKeyMatchesTheKey() throws {
    var generator = SystemRandomNumberGenerator()
    let (secret, key) = APIKey.generate(name: "ci", scope: .write, using: &generator)

    let file = try KeyFile("# keys\n\n  \(key.line)\r\n")

    #expect(file.keys == [key])
    #expect(file.keys[0].matches(APIKey.digest(of: secret.utf8)))
    #expect(secret.utf8.count == 46 && !key.line.contains(secret))
  }

  @Test func lineOfAKeyWithAFilterAndAreasIsReadAgain() throws {
    var generator = SystemRandomNumberGenerator()
    let restriction = AccessRestriction(filter: "name = 'a:\"b\"' OR\n category = 'ü'", areas: ["Wien: 1", "\\"])
    let (_, key) = APIKey.generate(name: "ci", scope: .read, restriction: restriction, using: &generator)

    #expect(try KeyFile(key.line).keys == [key])
    #expect(!key.line.contains("\n"))
  }

  @Test(arguments: [
    (#"{"filter":"category <>"}"#, "has an invalid filter: "),
    (#"{"filter":"lat = 'north'"}"#, "has an invalid filter: "),
    (#"{"areas":[""]}"#, "has an area whose id or name is not 1 to 1000 bytes long"),
    ("{}", "has a restriction that is not an object"), (#"{"areas":[]}"#, "has a restriction that is not an object"),
    (#"{"filter":1}"#, "has a restriction that is not an object"),
    (#"{"area":"Wien"}"#, "has a restriction that is not an object"),
    (#"{"filter":"name = 'a'""#, "has a restriction that is not an object"),
  ])
  func aRestrictionThatCantBeUsedIsAnErrorOfItsLine(json: String, message: String) {
    let line = "a:read:\(String(repeating: "0", count: 64)):\(json)"

    let error = #expect(throws: KeyFile.Invalid.self) { try KeyFile("\n" + line) }

    #expect(error?.description.hasPrefix("line 2 " + message) == true, "\(error?.description ?? "")")
    #expect(error?.description.contains("\n") == false)
  }

  @Test(arguments: [0, 15, 31])
  func keyMatchesNoHashThatDiffersInOneByte(index: Int) {
    let key = APIKey(name: "a", scope: .read, secret: "abc")
    var digest = APIKey.digest(of: "abc".utf8)
    #expect(key.matches(digest))

    digest[index] ^= 1

    #expect(!key.matches(digest))
  }

  @Test func keyHashEqualsTheOutputOfSha256sum() {
    let key = APIKey(name: "a", scope: .read, secret: "abc")

    #expect(key.line == "a:read:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  }

  @Test(arguments: [
    ("a:write", "line 1 must be name:scope:sha256"),
    ("a:read:\(String(repeating: "0", count: 64)):b", "line 1 must be name:scope:sha256"),
    (":write:00", "line 1 has a name that is not 1 to 100 characters out of A-Z a-z 0-9 . _ -"),
    ("\n\na b:write:00", "line 3 has a name that is not 1 to 100 characters out of A-Z a-z 0-9 . _ -"),
    ("a:root:00", "line 1 has a scope that is not one of read, suggest, write, admin"),
    ("a:read:00", "line 1 has a hash that is not 64 digits of base 16"),
    ("a:read:" + String(repeating: "zz", count: 32), "line 1 has a hash that is not 64 digits of base 16"),
    (
      "a:read:\(String(repeating: "0", count: 64))\na:read:\(String(repeating: "1", count: 64))",
      "line 2 repeats a name"
    ),
  ])
  func aLineThatCantBeUsedIsNamedWithoutWhatItHolds(text: String, message: String) {
    let error = #expect(throws: KeyFile.Invalid.self) { try KeyFile(text, scopes: AccessScope.all) }

    #expect(error?.description == message)
  }

  @Test func keyMayHaveTheScopesOfTheServerAlone() throws {
    let line = "a:suggest:\(String(repeating: "0", count: 64))"

    #expect(try KeyFile(line, scopes: AccessScope.all).keys.map(\.scope) == [.suggest])
    let error = #expect(throws: KeyFile.Invalid.self) { try KeyFile(line) }
    #expect(error?.description == "line 1 has a scope that is not one of read, write, admin")
  }

  @Test(arguments: [
    ("localhost", true), ("127.0.0.1", true), ("127.9.9.9", true), ("::1", true), ("[::1]", true), ("0.0.0.0", false),
    ("::", false), ("10.0.0.1", false), ("127.example", false), ("", false), ("::ffff:127.0.0.1", true),
    ("0:0:0:0:0:0:0:1", true), ("::ffff:10.0.0.1", false), ("128.0.0.1", false), ("127.1", false),
    ("[::1x", false), ("x::1]", false),
  ])
  func loopbackAddressesAreRecognized(host: String, isLoopback: Bool) {
    #expect(Loopback.contains(host: host) == isLoopback)
  }
}
