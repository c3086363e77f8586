import Foundation
import Testing
import WaymarkTesting

@testable import WaymarkClient

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Bad input of the network, the disk and the clock: malformed bodies, truncated files, files that can't be read,
/// and times that jump.
@Suite(.timeLimit(.minutes(5))) struct BadInputTests {
  private let folder = CacheFolder()
  private let here: Coordinate
  private let id = UUID()

  init() throws {
    here = try Coordinate(latitude: 1, longitude: 2)
  }

  private var cache: OnDiskCache { OnDiskCache(folder: folder.url) }

  private func waymark(_ service: MockService, _ policy: OfflinePolicy = .networkFirst) -> Waymark {
    Waymark(
      baseURL: service.baseURL, session: service.session, cache: cache,
      configuration: LoaderConfiguration(retries: .none, offlinePolicy: policy))
  }

  // MARK: Bodies

  /// Bodies that are the response to no call.
  private static let bodies: [Data] =
    [
      "", " ", "\n", "null", "true", "0", "-", "1e999", "\"a\"", "'a'", "[", "]", "{", "}", "[}", "[1]", "[null]",
      "[[]]",
      "[{}]", "{\"name\":1}", "[{\"name\":null}]", "[{\"name\":\"A\"},", "[{\"name\":\"A\"}] x", "{\"name\":\"A\"",
      "[{\"name\":\"A\\x\"}]", "[{\"name\":\"\\uD800", "<html></html>", "name,lat,long\nA,1,2", "[{\"name\":NaN}]",
    ].map { Data($0.utf8) } + [
      Data([0xFF, 0xFE, 0x5B]), Data([0x1F, 0x8B, 0x08, 0x00]), Data(repeating: 0, count: 100),
      Data(repeating: UInt8(ascii: "["), count: 200_000), Data([0x5B, 0x22, 0xC3, 0x28, 0x22, 0x5D]),
    ]

  @Test(arguments: bodies.indices) func malformedBodyIsAnErrorOfEachCall(index: Int) async throws {
    let body = Self.bodies[index]
    let service = try MockService { request, _ in
      guard let url = request.url,
        let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: ["ETag": "\"1\""])
      else { throw URLError(.badURL) }
      return (response, body)
    }
    let waymark = waymark(service)
    let draft = PointDraft(name: "A", coordinate: here)
    let place = PointOfInterest(id: id, name: "A", coordinate: here, version: 1)
    let calls: [() async throws -> Void] = [
      { _ = try await waymark.places(near: here).firstPage() },
      { for try await _ in waymark.places(near: here) {} },
      { _ = try await waymark.place(id) },
      { _ = try await waymark.place(at: here) },
      { _ = try await waymark.search("a").firstPage() },
      { _ = try await waymark.suggestions(for: "a") },
      { _ = try await waymark.nearestPlace(to: here) },
      { _ = try await waymark.featuredPlace() },
      { _ = try await waymark.categories() },
      { _ = try await waymark.clusters(zoom: 1) },
      { _ = try await waymark.facets(by: [.category]) },
      { _ = try await waymark.create(draft) },
      { _ = try await waymark.update(place) },
      { _ = try await waymark.importPlaces([draft]) },
    ]

    for call in calls {
      let error = await #expect(throws: WaymarkError.self) { try await call() }
      guard case .unreadable? = error else {
        Issue.record("\(error as Any)")
        continue
      }
    }

    // A write stores its time alone.
    #expect(cache.currentItems.allSatisfy { $0.size < 500 })
    await #expect(throws: WaymarkError.self) {
      _ = try await self.waymark(service, .cacheOnly).places(near: here).firstPage()
    }
  }

  @Test(arguments: [
    "Content-Length: 100\r\n\r\n{\"name\":\"A\"}\n", "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"nam\r\n",
    "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"n",
  ])
  func truncatedExportLeavesTheFileAsItWas(head: String) async throws {
    let server = try SocketServer { connection, _ in
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n" + head)
    }
    try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
    let file = folder.url.appending(path: "places")
    try Data("old".utf8).write(to: file)
    let waymark = Waymark(
      baseURL: server.baseURL, session: URLSession(configuration: .ephemeral),
      configuration: LoaderConfiguration(retries: .none))

    await #expect(throws: WaymarkError.self) { try await waymark.exportPlaces(to: file) }

    #expect(try Data(contentsOf: file) == Data("old".utf8))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path(percentEncoded: false)) == ["places"])
  }

  // MARK: Files

  @Test func filesThatCannotBeReadAreUsedWhenTheyCan() async throws {
    let service = try MockService(
      .ok(#"[{"name":"A"}]"#), .ok(#"[{"name":"B"}]"#), .failure(.notConnectedToInternet))
    let waymark = waymark(service)
    _ = try await waymark.places(near: here).firstPage()
    let path = try #require(cache.currentItems.first?.path)
    // A folder in place of the file can be neither read nor replaced, like a protected file before the first unlock.
    try FileManager.default.moveItem(atPath: path, toPath: path + ".locked")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)

    #expect(try await waymark.places(near: here).firstPage().map(\.name) == ["B"])
    await #expect(throws: WaymarkError.unreachable(.notConnectedToInternet)) {
      try await waymark.places(near: here).firstPage()
    }
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.moveItem(atPath: path + ".locked", toPath: path)

    #expect(try await waymark.places(near: here).firstPage().map(\.name) == ["A"])
  }

  // MARK: Times

  @Test func jumpsOfTheClockDoNotHideOrRenewWhatIsStored() async throws {
    let service = try MockService(.ok(#"[{"name":"A"}]"#), .failure(.notConnectedToInternet))
    func names(daysLater days: Double, _ policy: OfflinePolicy) async throws -> [String] {
      var waymark = waymark(service, policy)
      waymark.configuration.now = { Date(timeIntervalSinceReferenceDate: 800_000_000 + days * 86_400) }
      return try await waymark.places(near: here).firstPage().map(\.name)
    }
    _ = try await names(daysLater: 0, .networkFirst)
    let cacheFirst = OfflinePolicy.cacheFirst(maximumAge: .seconds(86_400))

    // Before it was stored, its age is unknown: the network is asked, and only then the cache.
    #expect(try await names(daysLater: -400, cacheFirst) == ["A"])
    #expect(service.requests.count == 2)
    // Within the age, nothing is sent.
    #expect(try await names(daysLater: 0.5, cacheFirst) == ["A"])
    #expect(service.requests.count == 2)
    // It is too old for the policy's maximum age, even offline.
    await #expect(throws: WaymarkError.unreachable(.notConnectedToInternet)) {
      try await names(daysLater: 31, .networkFirst)
    }
    // The clock is set right again.
    #expect(try await names(daysLater: 1, .networkFirst) == ["A"])
  }
}
