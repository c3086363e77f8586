import Foundation
import Testing
import WaymarkClient

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct WritingRequestTests {
  private let baseURL: URL
  private let id: UUID
  private let draft: PlaceDraft

  init() throws {
    baseURL = try URL(text: "https://example.com")
    id = try #require(UUID(uuidString: "0199A1B2-0000-7000-8000-000000000001"))
    draft = PlaceDraft(name: "A/B \"é\"", coordinate: try Coordinate(latitude: 1.25, longitude: -2.5))
  }

  private func text(_ request: URLRequest) -> String { String(decoding: request.httpBody ?? Data(), as: UTF8.self) }

  @Test func aCreationIsSentAsJSONUnderAKeyOfItsOwn() throws {
    let request = CreatePlaceRequest(baseURL: baseURL)

    let first = try request.makeRequest(from: draft)
    let second = try request.makeRequest(from: draft)

    #expect(first.httpMethod == "POST")
    #expect(first.url?.absoluteString == "https://example.com/locations?fields=%2A")
    #expect(first.value(forHTTPHeaderField: "Content-Type") == "application/json")
    #expect(text(first) == #"{"lat":1.25,"long":-2.5,"name":"A/B \"é\""}"#)
    let keys = [first, second].compactMap { $0.value(forHTTPHeaderField: "Idempotency-Key") }
    #expect(Set(keys).count == 2)
  }

  @Test func aDraftIsSentWithAllThatItSays() throws {
    var draft = draft
    draft.category = "cafe"
    draft.tags = ["website": "https://a.example"]
    draft.origin = PlaceOrigin(source: "osm", id: "node/1")

    let request = try CreatePlaceRequest(baseURL: baseURL).makeRequest(from: draft)

    #expect(
      text(request) == """
        {"category":"cafe","lat":1.25,"long":-2.5,"name":"A/B \\"é\\"","source":"osm","sourceId":"node/1",\
        "tags":{"website":"https://a.example"}}
        """)
  }

  @Test(arguments: ["", "a b", "a\r\nX-Evil: 1", "é", String(repeating: "k", count: 256)])
  func aKeyThatIsNoneMakesNoRequest(key: String) {
    #expect(throws: RequestError.invalidIdempotencyKey) {
      try CreatePlaceRequest(baseURL: baseURL, idempotencyKey: { key }).makeRequest(from: draft)
    }
  }

  @Test(
    arguments: [
      (.none, nil, nil), (.version(3), "\"3\"", nil), (.entityTag(EntityTag(rawValue: "\"x\"")), "\"x\"", nil),
      (.exists, "*", nil), (.absent, nil, "*"),
    ] as [(WriteCondition, String?, String?)])
  func aReplacementCarriesItsCondition(condition: WriteCondition, ifMatch: String?, ifNoneMatch: String?) throws {
    let request = try ReplacePlaceRequest(baseURL: baseURL)
      .makeRequest(from: .init(id: id, place: draft, condition: condition))

    #expect(request.httpMethod == "PUT")
    #expect(request.url?.path() == "/locations/0199a1b2-0000-7000-8000-000000000001")
    #expect(request.value(forHTTPHeaderField: "If-Match") == ifMatch)
    #expect(request.value(forHTTPHeaderField: "If-None-Match") == ifNoneMatch)
  }

  @Test(arguments: ["3", "\"3\"\r\nX-Evil: 1", "\"a\"b\"", "\"", ""])
  func anEntityTagThatIsNoneMakesNoRequest(tag: String) {
    #expect(throws: RequestError.invalidEntityTag) {
      try DeletePlaceRequest(baseURL: baseURL)
        .makeRequest(from: .init(id: id, condition: .entityTag(EntityTag(rawValue: tag))))
    }
  }

  @Test func aPatchNamesOnlyWhatChanges() throws {
    let request = try PatchPlaceRequest(baseURL: baseURL)
      .makeRequest(from: .init(id: id, patch: PlacePatch(name: "B"), condition: .version(2)))

    #expect(request.httpMethod == "PATCH")
    #expect(request.value(forHTTPHeaderField: "Content-Type") == "application/merge-patch+json")
    #expect(request.value(forHTTPHeaderField: "If-Match") == "\"2\"")
    #expect(text(request) == #"{"name":"B"}"#)
  }

  @Test func whatAPatchRemovesIsNull() throws {
    let patch = PlacePatch(
      coordinate: try Coordinate(latitude: 0, longitude: 180), category: .remove,
      tags: ["fax": .remove, "wheelchair": .set("yes")], origin: .remove)

    let request = try PatchPlaceRequest(baseURL: baseURL).makeRequest(from: .init(id: id, patch: patch))

    #expect(
      text(request) == """
        {"category":null,"lat":0,"long":180,"source":null,"sourceId":null,"tags":{"fax":null,"wheelchair":"yes"}}
        """)
  }

  @Test func aDeletionHasNoBody() throws {
    let request = try DeletePlaceRequest(baseURL: baseURL).makeRequest(from: .init(id: id))

    #expect(request.httpMethod == "DELETE")
    #expect(request.httpBody == nil)
  }

  @Test func anImportOfRowsIsALineEach() throws {
    let places = try PlaceImport(
      rows: [.init(id: id, place: draft), .init(place: draft)], mode: .atomic, isDryRun: true)

    let request = try ImportPlacesRequest(baseURL: baseURL).makeRequest(from: places)

    #expect(request.url?.absoluteString == "https://example.com/locations/import?mode=atomic&dryRun=true")
    #expect(request.value(forHTTPHeaderField: "Content-Type") == "application/x-ndjson")
    #expect(
      text(request) == """
        {"id":"0199a1b2-0000-7000-8000-000000000001","lat":1.25,"long":-2.5,"name":"A/B \\"é\\""}
        {"lat":1.25,"long":-2.5,"name":"A/B \\"é\\""}

        """)
  }

  @Test func anImportOfAFileIsTheFile() throws {
    let places = PlaceImport(data: Data("name,lat,long\nA,1,1\n".utf8), format: .csv)

    let request = try ImportPlacesRequest(baseURL: baseURL).makeRequest(from: places)

    #expect(request.url?.absoluteString == "https://example.com/locations/import")
    #expect(request.value(forHTTPHeaderField: "Content-Type") == "text/csv")
    #expect(text(request) == "name,lat,long\nA,1,1\n")
  }

  @Test func whatAnImportDidIsRead() throws {
    let data = Data(
      #"{"created":1,"updated":2,"unchanged":3,"rejected":1,"errors":[{"row":7,"detail":"/lat is missing"}]}"#.utf8)

    let report = try ImportPlacesRequest(baseURL: baseURL).parseResponse(data: data)

    #expect(
      report
        == ImportReport(
          created: 1, updated: 2, unchanged: 3, rejected: 1, errors: [.init(row: 7, detail: "/lat is missing")]))
  }
}
