import Foundation
import HTTPServer
import Logging
import NIOHTTP1
import Synchronization
import Testing

/// Tests of `waymark follow` with a real server.
struct FollowTests {
  private static let first = "0199a1b2-0000-7000-8000-000000000001"
  private static let second = "0199a1b2-0000-7000-8000-000000000002"
  private static let local = "0199a1b2-0000-7000-8000-00000000000f"

  @Test(arguments: StoreKind.allCases)
  func theCopyHasThePlacesOfTheServerAndKeepsItsOwn(kind: StoreKind) async throws {
    let (source, copy) = (try await EmptyStore(.memory), try await EmptyStore(kind))
    let served = try await source.serve()
    let driver = ServerDriver(port: try await served.port())
    try await driver.put(Self.first, name: "one", source: "a")
    try await driver.put(Self.second, name: "two", source: "b")
    try await copy.serving { try await $0.put(Self.local, name: "local", source: "local") }
    let follower = Follower(driver.port, copy)

    try await follower.catchUp()
    #expect(try await copy.serving { try await $0.names() } == ["one", "two", "local"])

    // An origin moves to another place, whose change comes first, and a place of the copy has the other one's origin.
    _ = try await driver.send("DELETE", "/locations/\(Self.second)")
    try await driver.put(Self.first, name: "one", source: "b")
    let third = "0199a1b2-0000-7000-8000-000000000000"
    try await driver.put(third, name: "three", source: "a")
    try await follower.catchUp()
    #expect(try await copy.serving { try await $0.names() } == ["three", "one", "local"])
    served.send(SIGKILL)
    _ = try await served.outcome()
  }

  private static func zone(_ name: String, _ sourceID: String) -> String {
    let ring = "[[0,0],[2,0],[2,2],[0,2],[0,0]]"
    return #"{"name":"\#(name)","source":"zones","sourceId":"\#(sourceID)","#
      + #""geometry":{"type":"Polygon","coordinates":[\#(ring)]}}"#
  }

  @Test(arguments: StoreKind.allCases)
  func theCopyHasTheAreasAndTheDataSetsOfTheServer(kind: StoreKind) async throws {
    let (source, copy) = (try await EmptyStore(.memory), try await EmptyStore(kind))
    let served = try await source.serve()
    let driver = ServerDriver(port: try await served.port())
    let json = ["Content-Type": "application/json"]
    let lines = ["Content-Type": "application/x-ndjson"]
    func row(_ source: String) -> Data {
      Data(#"{"name":"one","lat":1,"long":1,"source":"\#(source)","sourceId":"1"}"#.utf8)
    }
    let licence = "licence=ODbL-1.0&attribution=%C2%A9%20OpenStreetMap"
    _ = try await driver.send("POST", "/locations/import?source=osm&\(licence)", headers: lines, body: row("osm"))
    var ids: [String] = []
    for (name, number) in [("North", "1"), ("South", "2"), ("West", "3")] {
      let created = try await driver.send("POST", "/areas", headers: json, body: Data(Self.zone(name, number).utf8))
      let area = try JSONSerialization.jsonObject(with: created.body) as? [String: Any]
      ids.append(try #require(area?["id"] as? String))
    }
    try await copy.serving { other in
      let area = Data(Self.zone("Own", "own").replacing("zones", with: "local").utf8)
      try #require(try await other.send("POST", "/areas", headers: json, body: area).status == 201)
    }
    let follower = Follower(driver.port, copy)

    try await follower.catchUp()
    let first = try await copy.serving { try await ($0.areas(), $0.text("/sources")) }
    // Two areas exchange their origins, one is deleted, and a data set comes and another one goes.
    try #require(try await driver.send("DELETE", "/areas/\(ids[2])").status == 204)
    for (id, name, number) in [(ids[0], "North", "x"), (ids[1], "South", "1"), (ids[0], "North", "2")] {
      let response = try await driver.send(
        "PUT", "/areas/\(id)", headers: json, body: Data(Self.zone(name, number).utf8))
      try #require(response.status == 200)
    }
    _ = try await driver.send("DELETE", "/locations?source=osm&confirm=true")
    try #require(try await driver.send("DELETE", "/sources/osm").status == 204)
    _ = try await driver.send(
      "POST", "/locations/import?source=town&attribution=Town", headers: lines,
      body: row("town"))
    try await follower.catchUp()
    try await follower.catchUp()
    let second = try await copy.serving { try await ($0.areas(), $0.text("/sources")) }

    #expect(first.0 == ["North 1", "Own own", "South 2", "West 3"])
    #expect(first.1.contains(#"{"name":"osm","licence":"ODbL-1.0","attribution":"© OpenStreetMap"}"#), "\(first.1)")
    #expect(second.0 == ["North 2", "Own own", "South 1"])
    #expect(second.1.contains(#"{"name":"town","attribution":"Town"}"#), "\(second.1)")
    #expect(!second.1.contains(#""osm""#), "\(second.1)")
    served.send(SIGKILL)
    _ = try await served.outcome()
  }

  @Test func theOutputHasTheDataSetsBeforeTheirPlaces() async throws {
    let source = try await EmptyStore(.memory)
    let served = try await source.serve()
    let driver = ServerDriver(port: try await served.port())
    _ = try await driver.send(
      "POST", "/locations/import?source=a&attribution=Town", headers: ["Content-Type": "application/x-ndjson"],
      body: Data(#"{"name":"one","lat":1,"long":1,"source":"a","sourceId":"1"}"#.utf8))

    let outcome = try await WaymarkProcess.run(["follow", "--url", "http://127.0.0.1:\(driver.port)", "--once"])

    let lines = outcome.output.split(separator: "\n")
    #expect(lines.first == #"{"sources":[{"name":"a","attribution":"Town"}]}"#, "\(outcome.output)")
    #expect(lines.count == 3, "\(outcome.output)")
  }

  @Test func aCopyIsMadeAnewWhenItsPositionHasExpired() async throws {
    let (source, copy) = (try await EmptyStore(.memory), try await EmptyStore(.memory))
    let served = try await source.serve()
    let driver = ServerDriver(port: try await served.port())
    try await driver.put(Self.first, name: "one", source: "a")
    let follower = Follower(driver.port, copy)
    try await follower.catchUp()
    try await copy.serving { try await $0.put(Self.local, name: "local", source: "local") }
    // Another service at the same address: its positions are others.
    served.send(SIGTERM)
    _ = try await served.outcome()
    let another = try await EmptyStore(.memory)
    let other = try await WaymarkProcess(
      ["serve", "--http-port", "\(driver.port)"], environment: another.environment)
    _ = try await other.port()
    try await driver.put(Self.second, name: "two", source: "b")

    let log = try await follower.catchUp()

    #expect(log.contains("the copy is made anew"))
    #expect(try await copy.serving { try await $0.names() } == ["two", "local"])
  }

  @Test func killedFollowersLoseNothing() async throws {
    let (source, copy) = (try await EmptyStore(.memory), try await EmptyStore(.memory))
    let served = try await source.serve()
    let driver = ServerDriver(port: try await served.port())
    let rows = (0..<20_000).map { #"{"name":"\#($0)","lat":1,"long":2,"source":"s","sourceId":"\#($0)"}"# + "\n" }
    _ = try await driver.importing(Data(rows.joined().utf8), as: "application/x-ndjson")
    let follower = Follower(driver.port, copy)

    // Killed while it makes the copy, while it follows, and while it waits.
    for round in 0..<12 {
      let process = try await follower.start()
      for number in 0..<40 {
        let id = String(format: "0199a1b2-0000-7%03x-8000-%012x", round, number)
        try await driver.put(id, name: "\(round)", source: "w\(round)-\(number)")
        if number.isMultiple(of: 3) { _ = try await driver.send("DELETE", "/locations/\(id)") }
        if number == round * 3 { process.send(SIGKILL) }
      }
      process.send(SIGKILL)
      _ = try await process.outcome()
    }
    try await follower.catchUp()

    let expected = try await driver.rows()
    #expect(expected.count == 20_000 + 12 * 26)
    #expect(try await copy.serving { try await $0.rows() } == expected)
    #expect(try await copy.serving { try await $0.rows(query: "&source=s").count } == 20_000)
  }

  @Test func aCommandTakesThePlacesThatMatchAndIsRepeatedUntilItSucceeds() async throws {
    let source = try await EmptyStore(.memory)
    let served = try await source.serve()
    let driver = ServerDriver(port: try await served.port())
    try await driver.put(Self.first, name: "one", source: "a")
    try await driver.put(Self.second, name: "two", source: "b")
    let (lines, marker) = (source.folder.path(of: "lines"), source.folder.path(of: "marker"))
    let arguments = [
      "follow", "--url", "http://127.0.0.1:\(driver.port)", "--query", "source=a", "--once",
      "--state", source.folder.path(of: "state"),
      "--exec", "if [ -e '\(marker)' ]; then cat >>'\(lines)'; else touch '\(marker)'; exit 1; fi",
    ]

    let outcome = try await WaymarkProcess.run(arguments)
    let text = try String(contentsOf: URL(filePath: lines), encoding: .utf8).split(separator: "\n")

    #expect(outcome.status == 0)
    #expect(outcome.log.contains("the command ended with 1; trying again"))
    #expect(text.count == 2)
    #expect(text.first?.contains(#""place":{"id":"\#(Self.first)""#) == true)
    #expect(text.last?.hasPrefix(#"{"position":""#) == true)
  }

  /// A server without changes that does not wait for one.
  private final class HastyServer: HTTPResponder {
    let times = Mutex<[ContinuousClock.Instant]>([])

    func respond(to request: HTTPRequest) async -> HTTPResponse {
      switch request.path {
      case "/locations/export":
        var response = HTTPResponse(contentType: "application/x-ndjson", bytes: [])
        response.headers.add(name: "waymark-position", value: "1.2")
        return response
      case "/changes":
        times.withLock { $0.append(.now) }
        let page = #"{"changes":[],"position":"1.2","more":false}"#
        return HTTPResponse(contentType: "application/json", bytes: Array(page.utf8))
      case "/sources", "/areas": return HTTPResponse(contentType: "application/json", bytes: Array("[]".utf8))
      default: return HTTPResponse(status: .notFound)
      }
    }
  }

  @Test(.timeLimit(.minutes(5))) func aServerThatDoesNotWaitIsNotCalledWithoutPause() async throws {
    let hasty = HastyServer()
    let server = try await HTTPServer.bind(
      configuration: HTTPServerConfiguration(port: 0), responder: hasty,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let follower = try await WaymarkProcess(["follow", "--url", "http://127.0.0.1:\(server.port)"])

    while hasty.times.withLock({ $0.count }) < 4, follower.isRunning { try await Task.sleep(for: .milliseconds(50)) }
    let isFollowing = follower.isRunning
    follower.send(SIGKILL)
    let outcome = try await follower.outcome()
    await server.shutdown(gracePeriod: .zero)

    let times = hasty.times.withLock { $0 }
    #expect(isFollowing, "\(outcome.log)")
    #expect(times.count >= 4)
    for (former, next) in zip(times, times.dropFirst()) { #expect(next - former >= .milliseconds(900)) }
  }

  @Test func aCommandLeavesNoFileOpenInTheFollower() async throws {
    let source = try await EmptyStore(.memory)
    let served = try await source.serve()
    let driver = ServerDriver(port: try await served.port())
    try await driver.put(Self.first, name: "one", source: "a")
    let counts = source.folder.path(of: "counts")

    let outcome = try await WaymarkProcess.run([
      "follow", "--url", "http://127.0.0.1:\(driver.port)", "--once", "--state", source.folder.path(of: "state"),
      "--exec", "ls -l /proc/$PPID/fd | grep -c 'page (deleted)' >>'\(counts)'; cat >/dev/null",
    ])
    let lines = try String(contentsOf: URL(filePath: counts), encoding: .utf8).split(separator: "\n")

    #expect(outcome.status == 0, "\(outcome.log)")
    #expect(lines.count >= 2)
    #expect(lines.allSatisfy { $0 == "0" }, "\(lines)")
    served.send(SIGTERM)
    _ = try await served.outcome()
  }

  @Test(arguments: [
    ([], "--url must name the server"),
    (["--url", "http://127.0.0.1:1", "--to", "a", "--exec", "b"], "--to and --exec can't be given both"),
    (["--url", "http://127.0.0.1:1", "--to", "postgresql:///a"], "--state must name the file of the position"),
    (["--url", "http://127.0.0.1:1", "--exec", "cat"], "--state must name the file of the position"),
    (["--url", "http://127.0.0.1:1", "--query", "since=a"], "got 'since'"),
    (["--url", "ftp://a"], "--url must be an address"),
    (["--url", "http://127.0.0.1:1", "--to", "postgres+ssl://u:p@host/a"], "--to must be a file or a postgresql://"),
  ])
  func badUsageIsExplained(arguments: [String], words: String) async throws {
    let outcome = try await WaymarkProcess.run(["follow"] + arguments)

    #expect(outcome.status == 64)
    #expect(outcome.log.contains(words))
  }

  @Test func anInvalidConditionOrStateEndsTheFollower() async throws {
    let source = try await EmptyStore(.memory)
    let served = try await source.serve()
    let url = "http://127.0.0.1:\(try await served.port())"
    let state = try source.folder.write("nonsense", to: "state")

    let condition = try await WaymarkProcess.run(["follow", "--url", url, "--query", "filter=lat >"])
    let damaged = try await WaymarkProcess.run(["follow", "--url", url, "--state", state])

    #expect(condition.status == 1)
    #expect(condition.log.contains("400"))
    #expect(damaged.status == 65)
    #expect(damaged.log.contains("is not a state file of waymark follow"))
  }
}

/// A follower of a server with a copy.
private struct Follower {
  private let arguments: [String]

  init(_ port: Int, _ copy: EmptyStore) {
    let target = copy.environment["DATABASE_URL"] ?? copy.environment["MEMORY_STORE_PATH"] ?? ""
    arguments = [
      "follow", "--url", "http://127.0.0.1:\(port)", "--to", target, "--state", copy.folder.path(of: "state"),
    ]
  }

  func start() async throws -> WaymarkProcess { try await WaymarkProcess(arguments) }

  /// Runs until the copy is up to date, and returns the log.
  @discardableResult func catchUp() async throws -> String {
    let outcome = try await WaymarkProcess.run(arguments + ["--once"])
    #expect(outcome.status == 0, "\(outcome.log)")
    return outcome.log
  }
}

extension EmptyStore {
  /// Serves the store while a closure is called.
  fileprivate func serving<Value>(_ body: (ServerDriver) async throws -> Value) async throws -> Value {
    let process = try await serve()
    let value = try await body(ServerDriver(port: try await process.port()))
    process.send(SIGTERM)
    _ = try await process.outcome()
    return value
  }
}

extension ServerDriver {
  fileprivate func put(_ id: String, name: String, source: String) async throws {
    let body = #"{"name":"\#(name)","lat":1,"long":2,"source":"\#(source)","sourceId":"1"}"#
    let response = try await send(
      "PUT", "/locations/\(id)", headers: ["Content-Type": "application/json"], body: Data(body.utf8))
    try #require([200, 201].contains(response.status))
  }

  fileprivate func text(_ target: String) async throws -> String {
    String(decoding: try await get(target).body, as: UTF8.self)
  }

  /// The names of the areas with their `sourceId`s, in order.
  fileprivate func areas() async throws -> [String] {
    let areas = try JSONSerialization.jsonObject(with: try await get("/areas").body) as? [[String: Any]] ?? []
    return areas.map { "\($0["name"] ?? "") \($0["sourceId"] ?? "")" }.sorted()
  }

  /// The names of the places, by id.
  fileprivate func names() async throws -> [String] { try await rows().map { $0["name"] ?? "" } }

  /// The texts of the places, without the times and versions, by id.
  fileprivate func rows(query: String = "") async throws -> [[String: String]] {
    let text = String(decoding: try await get("/locations/export?f=ndjson\(query)").body, as: UTF8.self)
    return try text.split(separator: "\n").map { line in
      let members = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
      return ["id", "name", "category", "lat", "long", "source", "sourceId"].reduce(into: [:]) { row, name in
        row[name] = members[name].map { "\($0)" }
      }
    }
  }
}
