import Foundation
import Testing
import WaymarkTesting

@testable import WaymarkClient

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Exports to a file.
@Suite(.timeLimit(.minutes(5))) struct ExportTests {
  private let folder = CacheFolder()
  private let file: URL

  init() throws {
    try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
    file = folder.url.appending(path: "places.csv")
  }

  private func waymark(_ service: MockService, retries: APIRetryPolicy = .none) -> Waymark {
    Waymark(
      baseURL: service.baseURL, session: service.session,
      configuration: LoaderConfiguration(retries: retries, clock: RecordingClock()))
  }

  private func text() throws -> String { try String(contentsOf: file, encoding: .utf8) }

  private var files: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: folder.url.path(percentEncoded: false)) }
  }

  @Test func exportIsWrittenToTheFile() async throws {
    let service = try MockService(.ok("name\nA\n", ["Waymark-Position": "p-1"]))
    let progress = Counter()

    let response = try await waymark(service).responses.exportPlaces(
      PointFilter(categories: ["a"]), as: .csv, to: file
    ) { _ = progress.add($0) }

    #expect(try text() == "name\nA\n")
    #expect(progress.value == 7)
    #expect(response.position == "p-1")
    #expect(service.requests.map { $0.url?.query() } == ["category=a&f=csv"])
    #expect(try files == ["places.csv"])
  }

  @Test func existingFileIsReplaced() async throws {
    try Data("old".utf8).write(to: file)

    let service = try MockService(.ok("new"))

    try await waymark(service).exportPlaces(to: file)

    #expect(try text() == "new")
  }

  @Test(arguments: [
    MockResponse.problem(403, code: "forbidden"), .failure(.networkConnectionLost),
    .ok("<html></html>", ["Content-Type": "text/html"]),
  ])
  func failedExportLeavesTheFileAsItWas(response: MockResponse) async throws {
    let service = try MockService(response)
    try Data("old".utf8).write(to: file)

    await #expect(throws: WaymarkError.self) { try await waymark(service).exportPlaces(to: file) }

    #expect(try text() == "old")
    #expect(try files == ["places.csv"])
  }

  @Test func problemIsReportedAndNotWritten() async throws {
    let service = try MockService(.problem(403, code: "forbidden"))

    let error = await #expect(throws: WaymarkError.self) { try await waymark(service).exportPlaces(to: file) }

    guard case .problem(let problem)? = error else {
      Issue.record("\(error as Any)")
      return
    }
    #expect(problem.code == .forbidden)
  }

  @Test func retryStartsWithAnEmptyFile() async throws {
    let service = try MockService(.problem(503, code: "overloaded"), .ok("A"))

    try await waymark(service, retries: .standard).exportPlaces(to: file)

    #expect(try text() == "A")
  }

  @Test func fileLargerThanTheBoundOfResponsesIsWritten() async throws {
    let service = try MockService(.ok(String(repeating: "a", count: 5000)))
    var waymark = waymark(service)
    waymark.configuration.maximumResponseBytes = 1000

    try await waymark.exportPlaces(to: file)

    #expect(try text().count == 5000)
  }

  @Test func folderThatDoesNotExistIsAnError() async throws {
    let service = try MockService(.ok("A"))
    let missing = folder.url.appending(path: "missing/places.csv")

    await #expect(throws: CocoaError.self) { try await waymark(service).exportPlaces(to: missing) }
  }

  @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full"))) func fullDiskIsAnError() throws {
    let download = Download(file: file, progress: { _ in Issue.record("Nothing was written.") }) { _ in
      try FileHandle(forWritingTo: URL(filePath: "/dev/full"))
    }
    download.begin()

    #expect(!download.append(Data("A".utf8)))

    #expect(download.error != nil)
    #expect(throws: (any Error).self) { try download.commit() }
    download.discard()
    #expect(try files.isEmpty)
  }

  @Test func exportStoresNothingInTheCache() async throws {
    let cache = OnDiskCache(folder: folder.url.appending(path: "cache"))
    let service = try MockService(.ok("A", ["ETag": "\"1\""]))
    var waymark = waymark(service)
    waymark.configuration.cache = cache

    try await waymark.exportPlaces(to: file)

    #expect(cache.currentItems.isEmpty)
  }
}
