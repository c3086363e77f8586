import Foundation
import Testing
import WaymarkClient
import WaymarkTesting

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct EntityTagTests {
  private let id = UUID()

  private func loader(of service: MockService) -> APIRequestLoader<PointRequest> {
    APIRequestLoader(
      apiRequest: PointRequest(baseURL: service.baseURL), urlSession: service.session,
      configuration: LoaderConfiguration(retries: .none))
  }

  private func tags(_ service: MockService) -> [String?] {
    service.requests.map { $0.value(forHTTPHeaderField: "If-None-Match") }
  }

  @Test func entityTagIsSentAndAnUnchangedResponseReused() async throws {
    let service = try MockService(
      .ok(#"{"name":"A"}"#, ["ETag": "\"1\""]), .response(status: 304, fields: ["ETag": "\"1\""], body: ""),
      .ok(#"{"name":"B"}"#, ["ETag": "\"2\""]), .response(status: 304, fields: [:], body: ""))
    let loader = loader(of: service)

    var responses: [APIResponse<PointOfInterest>] = []
    for _ in 0..<4 { responses.append(try await loader.load(requestData: id)) }

    #expect(responses.map(\.value.name) == ["A", "A", "B", "B"])
    #expect(responses.map(\.entityTag?.rawValue) == ["\"1\"", "\"1\"", "\"2\"", "\"2\""])
    #expect(tags(service) == [nil, "\"1\"", "\"1\"", "\"2\""])
    #expect(!responses.contains { $0.isStale })
  }

  @Test func entityTagsBelongToOneURL() async throws {
    let service = try MockService(.ok(#"{"name":"A"}"#, ["ETag": "\"1\""]))
    let loader = loader(of: service)
    _ = try await loader.load(requestData: id)

    _ = try await loader.load(requestData: UUID())

    #expect(tags(service) == [nil, nil])
  }

  @Test func foundationsCacheIsNotUsed() async throws {
    let service = try MockService(.ok(#"{"name":"A"}"#))

    _ = try await loader(of: service).load(requestData: id)

    #expect(service.requests.map(\.cachePolicy) == [.reloadIgnoringLocalCacheData])
  }

  @Test func malformedEntityTagIsIgnored() async throws {
    let service = try MockService(.ok(#"{"name":"A"}"#, ["ETag": "1"]))
    let loader = loader(of: service)
    _ = try await loader.load(requestData: id)

    let response = try await loader.load(requestData: id)

    #expect(response.entityTag == nil)
    #expect(tags(service) == [nil, nil])
  }

  @Test func unexpectedNotModifiedIsAnError() async throws {
    let service = try MockService(.response(status: 304, fields: [:], body: ""))

    await #expect(throws: WaymarkError.unexpectedStatus(304)) { try await loader(of: service).load(requestData: id) }
  }

  @Test func nothingIsServedOfflineWithoutACache() async throws {
    let service = try MockService(.ok(#"{"name":"A"}"#, ["ETag": "\"1\""]), .failure(.notConnectedToInternet))
    let loader = loader(of: service)
    _ = try await loader.load(requestData: id)

    await #expect(throws: WaymarkError.unreachable(.notConnectedToInternet)) { try await loader.load(requestData: id) }
  }

  @Test func memoryCacheIsBounded() async throws {
    let service = try MockService(.ok(#"{"name":"A"}"#, ["ETag": "\"1\""]))
    let loader = loader(of: service)
    for _ in 0..<100 { _ = try await loader.load(requestData: UUID()) }
    _ = try await loader.load(requestData: id)
    for _ in 0..<100 { _ = try await loader.load(requestData: UUID()) }

    _ = try await loader.load(requestData: id)

    #expect(tags(service).allSatisfy { $0 == nil })
  }
}
