import Foundation
import Testing
import WaymarkClient

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct WritingRequestTests {
  private let baseURL: URL
  private let id: UUID
  private let draft: PointDraft

  init() throws {
    baseURL = try URL(text: "https://example.com")
    id = try #require(UUID(uuidString: "0199A1B2-0000-7000-8000-000000000001"))
    draft = PointDraft(name: "A/B \"é\"", coordinate: try Coordinate(latitude: 1.25, longitude: -2.5))
  }

  private func text(_ request: URLRequest) -> String { String(decoding: request.httpBody ?? Data(), as: UTF8.self) }

  @Test func creationIsSentAsJSONWithItsOwnKey() throws {
    let request = CreatePointRequest(baseURL: baseURL)

    let first = try request.makeRequest(from: draft)
    let second = try request.makeRequest(from: draft)

    #expect(first.httpMethod == "POST")
    #expect(first.url?.absoluteString == "https://example.com/locations?fields=%2A")
    #expect(first.value(forHTTPHeaderField: "Content-Type") == "application/json")
    #expect(text(first) == #"{"lat":1.25,"long":-2.5,"name":"A/B \"é\""}"#)
    let keys = [first, second].compactMap { $0.value(forHTTPHeaderField: "Idempotency-Key") }
    #expect(Set(keys).count == 2)
  }

  @Test func draftIsSentWithAllItsFields() throws {
    var draft = draft
    draft.category = "cafe"
    draft.tags = ["website": "https://a.example"]
    draft.origin = SourceReference(source: "osm", id: "node/1")

    let request = try CreatePointRequest(baseURL: baseURL).makeRequest(from: draft)

    #expect(
      text(request) == """
        {"category":"cafe","lat":1.25,"long":-2.5,"name":"A/B \\"é\\"","source":"osm","sourceId":"node/1",\
        "tags":{"website":"https://a.example"}}
        """)
  }

  @Test(arguments: ["", "a b", "a\r\nX-Evil: 1", "é", String(repeating: "k", count: 256)])
  func invalidIdempotencyKeyIsRejected(key: String) {
    #expect(throws: RequestError.invalidIdempotencyKey) {
      try CreatePointRequest(baseURL: baseURL, idempotencyKey: { key }).makeRequest(from: draft)
    }
  }

  @Test(
    arguments: [
      (.none, nil, nil), (.version(3), "\"3\"", nil), (.absent, nil, "*"),
    ] as [(WriteCondition, String?, String?)])
  func replacementHasItsPrecondition(condition: WriteCondition, ifMatch: String?, ifNoneMatch: String?) throws {
    let request = try ReplacePointRequest(baseURL: baseURL)
      .makeRequest(from: .init(id: id, draft: draft, condition: condition))

    #expect(request.httpMethod == "PUT")
    #expect(request.url?.path() == "/locations/0199a1b2-0000-7000-8000-000000000001")
    #expect(request.value(forHTTPHeaderField: "If-Match") == ifMatch)
    #expect(request.value(forHTTPHeaderField: "If-None-Match") == ifNoneMatch)
  }

  @Test func aPatchNamesOnlyWhatChanges() throws {
    let request = try PatchPointRequest(baseURL: baseURL)
      .makeRequest(from: .init(id: id, patch: PointPatch(name: "B"), condition: .version(2)))

    #expect(request.httpMethod == "PATCH")
    #expect(request.value(forHTTPHeaderField: "Content-Type") == "application/merge-patch+json")
    #expect(request.value(forHTTPHeaderField: "If-Match") == "\"2\"")
    #expect(text(request) == #"{"name":"B"}"#)
  }

  @Test func removedFieldsOfAPatchAreNull() throws {
    let patch = PointPatch(
      coordinate: try Coordinate(latitude: 0, longitude: 180), category: .remove,
      tags: ["fax": .remove, "wheelchair": .set("yes")], origin: .remove)

    let request = try PatchPointRequest(baseURL: baseURL).makeRequest(from: .init(id: id, patch: patch))

    #expect(
      text(request) == """
        {"category":null,"lat":0,"long":180,"source":null,"sourceId":null,"tags":{"fax":null,"wheelchair":"yes"}}
        """)
  }

  @Test func aDeletionHasNoBody() throws {
    let request = try DeletePointRequest(baseURL: baseURL).makeRequest(from: .init(id: id))

    #expect(request.httpMethod == "DELETE")
    #expect(request.httpBody == nil)
  }

  @Test func importOfRowsHasALineForEach() throws {
    let places = try PointImport(
      rows: [.init(id: id, draft: draft), .init(draft: draft)], mode: .atomic, isDryRun: true)

    let request = try ImportPointsRequest(baseURL: baseURL).makeRequest(from: places)

    #expect(request.url?.absoluteString == "https://example.com/locations/import?mode=atomic&dryRun=true")
    #expect(request.value(forHTTPHeaderField: "Content-Type") == "application/x-ndjson")
    #expect(
      text(request) == """
        {"id":"0199a1b2-0000-7000-8000-000000000001","lat":1.25,"long":-2.5,"name":"A/B \\"é\\""}
        {"lat":1.25,"long":-2.5,"name":"A/B \\"é\\""}

        """)
  }

  @Test func importOfAFileSendsTheFile() throws {
    let places = PointImport(data: Data("name,lat,long\nA,1,1\n".utf8), format: .csv)

    let request = try ImportPointsRequest(baseURL: baseURL).makeRequest(from: places)

    #expect(request.url?.absoluteString == "https://example.com/locations/import")
    #expect(request.value(forHTTPHeaderField: "Content-Type") == "text/csv")
    #expect(text(request) == "name,lat,long\nA,1,1\n")
  }

  @Test(arguments: [(.count(20), "20"), (.percent(40), "40%25")] as [(PointImport.DeletionLimit, String)])
  func replacementOfASourceHasItsLimit(limit: PointImport.DeletionLimit, text: String) throws {
    var places = PointImport(data: Data(), format: .csv)
    places.replacedSource = "a b"
    places.maximumDeletions = limit

    let request = try ImportPointsRequest(baseURL: baseURL).makeRequest(from: places)

    #expect(request.url?.query(percentEncoded: true) == "replaceSource=a%20b&maxDeletions=\(text)")
  }

  @Test func importReportIsDecoded() throws {
    let data = Data(
      #"{"created":1,"updated":2,"unchanged":3,"rejected":1,"errors":[{"row":7,"detail":"/lat is missing"}]}"#.utf8)

    let report = try ImportPointsRequest(baseURL: baseURL).parseResponse(data: data)

    #expect(
      report
        == ImportReport(
          created: 1, updated: 2, unchanged: 3, rejected: 1, errors: [.init(row: 7, detail: "/lat is missing")]))
  }
}
