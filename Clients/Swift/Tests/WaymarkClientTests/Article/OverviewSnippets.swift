import Foundation
import Testing
import WaymarkClient
import WaymarkTesting

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct OverviewSnippets {
  @Test func aCallIsARequestASessionAndALoader() async throws {
    let service = try MockService(.ok(#"[{"name":"My Location"}]"#))
    let (baseURL, urlSession) = (service.baseURL, service.session)
    let coordinate = try Coordinate(latitude: 37.3293, longitude: -121.8893)

    // snippet: overview
    let request = PointsOfInterestRequest(baseURL: baseURL)
    let loader = APIRequestLoader(apiRequest: request, urlSession: urlSession)
    let places = try await loader.loadAPIRequest(requestData: coordinate)
    // end

    #expect(places == [PointOfInterest(name: "My Location")])
  }

  @Test func whatTheReadmeShowsWorks() async throws {
    let service = try MockService(.ok(#"[{"name":"A","distance":1.5}]"#), .problem(412, code: "version-mismatch"))

    let conflict = try await readme(baseURL: service.baseURL, urlSession: service.session, id: UUID())

    #expect(conflict?.status == 412)
    #expect(service.requests.map(\.httpMethod) == ["GET", "PATCH"])
  }

  private func readme(baseURL: URL, urlSession: URLSession, id: UUID) async throws -> ProblemDetails? {
    // snippet: readme
    let here = try Coordinate(latitude: 37.3293, longitude: -121.8893)
    let nearby = APIRequestLoader(apiRequest: PointsOfInterestRequest(baseURL: baseURL), urlSession: urlSession)
    for place in try await nearby.loadAPIRequest(requestData: here) {
      print(place.name, place.distanceMetres ?? 0)
    }

    let change = APIRequestLoader(apiRequest: PatchPointRequest(baseURL: baseURL), urlSession: urlSession)
    do {
      let patch = PointPatch(tags: ["wheelchair": .set("yes")])
      _ = try await change.loadAPIRequest(requestData: .init(id: id, patch: patch, condition: .version(3)))
    } catch WaymarkError.problem(let problem) where problem.code == .versionMismatch {
      return problem  // Another client was faster; problem.entityTag has the current version.
    }
    // end
    return nil
  }
}
