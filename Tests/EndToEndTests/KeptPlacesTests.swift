import Foundation
import PostgresTestSupport
import Testing

@Suite struct KeptPlacesTests {
  @Test func placesAreLoadedOnceAndStay() async throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("name,lat,long\nA,1,1\nB,2,2\n", to: "a.csv")
    let path = folder.path(of: "places.db")
    let first = try await WaymarkProcess([
      "serve", "--http-port", "0", "--data-file", file, "--memory-store-path", path,
    ])
    let before = try await ServerDriver(port: try await first.port()).get("/locations?fields=*").places.map(\.id)
    first.send(SIGKILL)
    _ = try await first.outcome()
    try FileManager.default.removeItem(atPath: file)

    let second = try await WaymarkProcess(["serve", "--http-port", "0", "--memory-store-path", path])
    let after = try await ServerDriver(port: try await second.port()).get("/locations?fields=*").places.map(\.id)

    #expect(before.count == 2)
    #expect(after == before)
    #expect(try await second.logLine(with: "places are in memory and in a file").contains("\"places\":2}"))
  }

  @Test func aNewFileStartsEmptyUnlessTheSampleIsAskedFor() async throws {
    let folder = try TemporaryFolder()
    func count(_ name: String, _ arguments: String...) async throws -> Int {
      let server = try await WaymarkProcess(
        ["serve", "--http-port", "0", "--memory-store-path", folder.path(of: name)] + arguments)
      let count = try await ServerDriver(port: try await server.port()).get("/locations?limit=1000").places.count
      server.send(SIGTERM)
      _ = try await server.outcome()
      return count
    }

    let without = try await count("empty.db")
    let again = try await count("empty.db")
    let sample = try await count("sample.db", "--data-file", "sample")
    let later = try await count("empty.db", "--data-file", "sample")

    #expect(without == 0 && again == 0)
    #expect(sample > 100 && later == sample)
  }

  /// Many words, so that their index takes longer than a search may.
  private static let manyPlaces = Data(
    (0..<100_000).map { number in
      let words = (0..<6).map { "word\(number * 7 + $0)" }.joined(separator: " ")
      return #"{"name":"Place \#(number) \#(words)","lat":\#(number % 80),"long":\#(number % 170)}"# + "\n"
    }.joined().utf8)

  @Test func textIsFoundAtOnceWhenAServerIsReadyAndAfterTheFirstImport() async throws {
    let folder = try TemporaryFolder()
    let file = folder.path(of: "places.ndjson")
    try Self.manyPlaces.write(to: URL(filePath: file))
    let loading = try await WaymarkProcess(["serve", "--http-port", "0", "--data-file", file])
    let importing = try await WaymarkProcess(
      ["serve", "--http-port", "0", "--memory-store-path", folder.path(of: "places.db")])
    let (first, second) = (
      ServerDriver(port: try await loading.port()), ServerDriver(port: try await importing.port())
    )

    var ready = try await first.get("/health/ready")
    while ready.status != 200 { ready = try await first.get("/health/ready") }
    let found = try await first.get("/locations?q=word5")
    let report = try await second.importing(Self.manyPlaces, as: "application/x-ndjson")
    let foundAfterImport = try await second.get("/locations?q=word5")

    #expect(try report.report.created == 100_000)
    #expect(found.status == 200 && foundAfterImport.status == 200)
    #expect(try found.places.first?.name.hasPrefix("Place 0 ") == true)
    #expect(try foundAfterImport.places.first?.name.hasPrefix("Place 0 ") == true)
  }

  @Test func twoServersDoNotShareAFile() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path(of: "places.db")
    let first = try await WaymarkProcess(["serve", "--http-port", "0", "--memory-store-path", path])
    _ = try await first.port()

    let second = try await WaymarkProcess.run(["serve", "--http-port", "0", "--memory-store-path", path])

    #expect(second.status == 69)
    #expect(second.log == "waymark: \(path) is in use by another process\n")
    withExtendedLifetime(first) {}
  }

  @Test func aDamagedFileStopsTheStart() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path(of: "places.db")
    let file = try folder.write("name,lat,long\nAAAAAA,1,1\nBBBBBB,2,2\n", to: "a.csv")
    let first = try await WaymarkProcess([
      "serve", "--http-port", "0", "--data-file", file, "--memory-store-path", path,
    ])
    _ = try await first.port()
    first.send(SIGTERM)
    try #require(try await first.outcome().status == 0)
    let damaged = try Data(contentsOf: URL(filePath: path)).damaging("BBBBBB", with: "B\u{7}B\u{7}BB")
    try damaged.write(to: URL(filePath: path))
    // A start that continues from files reads no row that they have.
    try FileManager.default.removeItem(at: URL(filePath: path + ".index"))

    let rejected = try await WaymarkProcess.run(["serve", "--http-port", "0", "--memory-store-path", path])

    #expect(rejected.status == 65)
    #expect(rejected.log.contains("\(path) is damaged: row 2 of table place"))
  }

  @Test func aWriteIsNotAcknowledgedWhenTheFileIsGone() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path(of: "places.db")
    let server = try await WaymarkProcess(["serve", "--http-port", "0", "--memory-store-path", path])
    let driver = ServerDriver(port: try await server.port())
    let places = try await driver.get("/locations").places.count

    try FileManager.default.removeItem(atPath: path)
    let response = try await driver.send(
      "POST", "/locations", headers: ["Content-Type": "application/json"],
      body: Data(#"{"name":"lost","lat":1,"long":1}"#.utf8))

    #expect(response.status == 503)
    #expect(try await driver.get("/locations").places.count == places)
    _ = try await server.logLine(with: "was removed while it was in use")
  }

  @Test(
    .enabled(if: SmallDisk.isAllowed, "to fill a disk takes the right to mount one, as root"), .timeLimit(.minutes(5)))
  func aFullDiskRejectsWritesUntilThereIsSpace() async throws {
    let disk = try SmallDisk(megabytes: 2)
    let server = try await WaymarkProcess(
      ["serve", "--http-port", "0", "--memory-store-path", disk.path + "/places.db"])
    let driver = ServerDriver(port: try await server.port())
    let places = try await driver.get("/locations?limit=1000").places.count
    let tags = (0..<100).map { #""\#($0)":"\#(String(repeating: "x", count: 1000))""# }.joined(separator: ",")
    func create() async throws -> Int {
      try await driver.send(
        "POST", "/locations", headers: ["Content-Type": "application/json"],
        body: Data(#"{"name":"large","lat":1,"long":1,"tags":{\#(tags)}}"#.utf8)
      ).status
    }

    var (created, status) = (0, 201)
    while status == 201 {
      status = try await create()
      if status == 201 { created += 1 }
    }
    let found = try await driver.get("/locations?limit=1000").places.count
    // The state of the store is kept for a second.
    var ready = try await driver.get("/health/ready")
    while ready.body.firstRange(of: Data(#""writes":{"status":"refused""#.utf8)) == nil {
      ready = try await driver.get("/health/ready")
    }
    _ = try await server.logLine(with: "the store is unavailable")
    try disk.resize(megabytes: 64)

    #expect(try await create() == 201)
    #expect(status == 503)
    #expect(found == places + created)
    #expect(ready.status == 200)
  }

  @Test func startWithoutAFileWarnsThatNothingIsKept() async throws {
    let server = try await WaymarkProcess(["serve", "--http-port", "0"])

    _ = try await server.logLine(with: "places are in memory only")
  }
}

extension Data {
  /// Returns the data with every occurrence of a text replaced by another of the same length.
  fileprivate func damaging(_ text: String, with other: String) -> Data {
    var bytes = self
    while let range = bytes.range(of: Data(text.utf8)) { bytes.replaceSubrange(range, with: Data(other.utf8)) }
    return bytes
  }
}
