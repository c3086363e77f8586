import Foundation
import Testing
import WaymarkTesting

@testable import WaymarkClient

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct OfflineTests {
  private let folder = CacheFolder()
  private let coordinate: Coordinate

  init() throws {
    coordinate = try Coordinate(latitude: 1, longitude: 2)
  }

  private func configuration(at seconds: Double) -> LoaderConfiguration {
    LoaderConfiguration(
      retries: .none, cache: OnDiskCache(folder: folder.url), now: { Date(timeIntervalSinceReferenceDate: seconds) })
  }

  private func loader(of service: MockService, at seconds: Double = 0) -> APIRequestLoader<PointsOfInterestRequest> {
    APIRequestLoader(
      apiRequest: PointsOfInterestRequest(baseURL: service.baseURL), urlSession: service.session,
      configuration: configuration(at: seconds))
  }

  @Test(arguments: [URLError.Code.notConnectedToInternet, .timedOut, .cannotConnectToHost])
  func lastResponseIsServedAsStale(code: URLError.Code) async throws {
    let service = try MockService(.ok(#"[{"name":"A"}]"#), .failure(code))
    _ = try await loader(of: service, at: 100).load(requestData: coordinate)

    let response = try await loader(of: service, at: 200).load(requestData: coordinate)

    #expect(response.value.map(\.name) == ["A"])
    #expect(response.isStale)
    #expect(response.receivedAt == Date(timeIntervalSinceReferenceDate: 100))
    #expect(service.requests.count == 2)
  }

  @Test func requestWithoutACachedResponseFailsOffline() async throws {
    let service = try MockService(.ok("[]"), .failure(.notConnectedToInternet))
    let loader = loader(of: service)
    _ = try await loader.load(requestData: coordinate)

    await #expect(throws: WaymarkError.unreachable(.notConnectedToInternet)) {
      try await loader.load(requestData: Coordinate(latitude: 3, longitude: 4))
    }
  }

  @Test func rejectionIsNotHiddenByTheCache() async throws {
    let service = try MockService(.ok("[]"), .problem(403, code: "forbidden"))
    let loader = loader(of: service)
    _ = try await loader.load(requestData: coordinate)

    await #expect(throws: WaymarkError.self) { try await loader.load(requestData: coordinate) }
  }

  @Test func responseThatCannotBeDecodedIsNotStored() async throws {
    let service = try MockService(.ok(#"[{"name":"A"}]"#), .ok("<html>"), .failure(.notConnectedToInternet))
    let loader = loader(of: service)
    _ = try await loader.load(requestData: coordinate)
    _ = try? await loader.load(requestData: coordinate)

    let response = try await loader.load(requestData: coordinate)

    #expect(response.value.map(\.name) == ["A"])
  }

  @Test func responseWithNoStoreIsNotStored() async throws {
    let service = try MockService(.ok("[]", ["Cache-Control": "No-Store"]), .failure(.notConnectedToInternet))
    let loader = loader(of: service)
    _ = try await loader.load(requestData: coordinate)

    await #expect(throws: WaymarkError.unreachable(.notConnectedToInternet)) {
      try await loader.load(requestData: coordinate)
    }
  }

  @Test func entityTagsSurviveARestart() async throws {
    let service = try MockService(
      .ok(#"[{"name":"A"}]"#, ["ETag": "\"1\""]), .response(status: 304, fields: ["ETag": "\"1\""], body: ""),
      .failure(.notConnectedToInternet))
    _ = try await loader(of: service, at: 100).load(requestData: coordinate)

    let again = try await loader(of: service, at: 200).load(requestData: coordinate)
    let offline = try await loader(of: service, at: 300).load(requestData: coordinate)

    #expect(service.requests.map { $0.value(forHTTPHeaderField: "If-None-Match") } == [nil, "\"1\"", "\"1\""])
    #expect(again.value.map(\.name) == ["A"])
    #expect(!again.isStale)
    #expect(offline.isStale)
    #expect(offline.receivedAt == Date(timeIntervalSinceReferenceDate: 200))
  }

  @Test func cachedResponseThatCannotBeDecodedIsReloaded() async throws {
    let service = try MockService(.ok(#"[{"name":"A"}]"#, ["ETag": "\"2\""]))
    let url = try URL(text: "\(service.baseURL.absoluteString)/locations?lat=1.0&long=2.0")
    let key = CacheKeys(CacheRequest(url: url, center: coordinate), maximumDistanceMetres: 1000).own
    let old = StoredResponse(
      body: Data(#"{"places":[]}"#.utf8), entityTag: EntityTag(version: 1), center: coordinate,
      receivedAt: Date(timeIntervalSince1970: 0))
    try OnDiskCache(folder: folder.url).store(old, for: key)
    #expect(OnDiskCache(folder: folder.url).currentItems.count == 1)

    let response = try await loader(of: service).load(requestData: coordinate)

    #expect(response.value.map(\.name) == ["A"])
    #expect(service.requests.map { $0.value(forHTTPHeaderField: "If-None-Match") } == [nil])
  }

  @Test func pagesAreIteratedOffline() async throws {
    let service = try MockService(
      .ok(#"[{"name":"A"}]"#, ["Link": "</locations?cursor=1>; rel=\"next\""]), .ok(#"[{"name":"B"}]"#),
      .failure(.notConnectedToInternet))
    let loader = APIRequestLoader(
      apiRequest: PointsRequest(baseURL: service.baseURL), urlSession: service.session,
      configuration: configuration(at: 0))
    for try await _ in loader.pages(requestData: PointFilter()) {}

    var pages: [APIResponse<[PointOfInterest]>] = []
    for try await page in loader.pages(requestData: PointFilter()) { pages.append(page) }

    #expect(pages.flatMap(\.value).map(\.name) == ["A", "B"])
    #expect(pages.map(\.isStale) == [true, true])
  }

  @Test func writeIsNeverServedFromTheCache() async throws {
    let service = try MockService(.ok(#"{"name":"A"}"#), .failure(.notConnectedToInternet))
    let loader = APIRequestLoader(
      apiRequest: CreatePointRequest(baseURL: service.baseURL), urlSession: service.session,
      configuration: configuration(at: 0))
    let draft = PointDraft(name: "A", coordinate: coordinate)
    _ = try await loader.load(requestData: draft)

    await #expect(throws: WaymarkError.unreachable(.notConnectedToInternet)) {
      try await loader.load(requestData: draft)
    }
  }

  @Test func unwritableFolderDoesNotFailTheRequest() async throws {
    try Data().write(to: folder.url)
    let service = try MockService(.ok(#"[{"name":"A"}]"#))

    let response = try await loader(of: service).load(requestData: coordinate)

    #expect(response.value.map(\.name) == ["A"])
  }

  @Test func goneResourceIsRemovedFromTheCache() async throws {
    let service = try MockService(
      .ok(#"{"name":"A"}"#), .problem(404, code: "not-found"), .failure(.notConnectedToInternet))
    let loader = APIRequestLoader(
      apiRequest: PointRequest(baseURL: service.baseURL), urlSession: service.session,
      configuration: configuration(at: 0))
    let id = UUID()
    _ = try await loader.load(requestData: id)
    _ = try? await loader.load(requestData: id)

    await #expect(throws: WaymarkError.unreachable(.notConnectedToInternet)) { try await loader.load(requestData: id) }
  }
}
