import Foundation
import Testing
import WaymarkClient
import WaymarkTesting

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct PlaceDetailsTests {
  private let id = UUID()

  private func details(_ json: String) async throws -> PlaceDetails {
    let service = try MockService(.ok(#"{"id":"\#(id.uuidString.lowercased())","details":\#(json)}"#))
    let waymark = Waymark(baseURL: service.baseURL, session: service.session)
    let details = try await waymark.details(of: id)
    #expect(service.requests.first?.url?.query() == "view=details&fields=id")
    return details
  }

  @Test func valuesAreTyped() async throws {
    let details = try await details(
      """
      {"status":"temporarily_closed","address":{"lines":["Graben 1","1010 Wien"],"city":"Wien","country":"AT"},
      "phones":["+4315134567"],"websites":["https://a.example/"],"social":[{"network":"x","url":"https://x.com/a"}],
      "brand":{"name":"A","wikidata":"Q1"},"operator":"O","wheelchair":"limited","diet":["vegan"],"licence":"CC0-1.0"}
      """)

    #expect(details.status == .temporarilyClosed)
    #expect(details.address?.lines == ["Graben 1", "1010 Wien"] && details.address?.city == "Wien")
    #expect(details.phones == ["+4315134567"] && details.websites.map(\.absoluteString) == ["https://a.example/"])
    #expect(details.social.map(\.network) == ["x"] && details.brand?.wikidata == "Q1")
    #expect(details.operator == "O" && details.wheelchair == "limited" && details.diet == ["vegan"])
    #expect(details.licence == "CC0-1.0" && details.emails.isEmpty && details.payment.isEmpty)
  }

  @Test func statusAloneIsEnough() async throws {
    let details = try await details(#"{"status":"operating"}"#)

    #expect(details.status == .operating && details.address == nil && details.phones.isEmpty)
  }

  @Test func filterLeavesOutClosedPlaces() throws {
    let baseURL = try #require(URL(string: "https://example.com"))
    let request = try PointsRequest(baseURL: baseURL).makeRequest(from: PointFilter(leavesOutClosed: true))

    #expect(request.url?.query() == "status=operating")
  }
}
