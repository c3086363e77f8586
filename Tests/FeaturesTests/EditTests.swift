import Basics
import Foundation
import Geo
import HTTPServer
import MemoryStore
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import AccessControl
@testable import LocationsAPI

/// Edits of places of data sets, and imports after them.
@Suite struct EditTests {
  private let store = MemoryStore.countingFromOne()
  private var driver: ServiceDriver { ServiceDriver(writing: store) }

  private static let row =
    #"{"name":"Café","category":"cafe","lat":1,"long":2,"phone":"1","source":"s","sourceId":"1"}"#

  private func load(_ row: String = row, _ query: String = "") async throws -> ServiceDriver.Response {
    let response = try await driver.send(
      .POST, "/locations/import" + query, headers: ["content-type": "application/x-ndjson"], json: row)
    try #require(response.status == 200, "\(response.text)")
    return response
  }

  /// The id of the place of the source.
  private func id() async throws -> String {
    try #require(try await store.page(matching: PointQuery(source: .init(name: "s"))).points.first?.point.id)
      .description
  }

  private func patch(_ json: String, _ headers: HTTPHeaders = [:]) async throws -> ServiceDriver.Response {
    var headers = headers
    headers.add(name: "content-type", value: "application/merge-patch+json")
    let response = try await driver.send(.PATCH, "/locations/\(id())", headers: headers, json: json)
    try #require(response.status == 200, "\(response.text)")
    return response
  }

  private func edits() async throws -> NSArray? {
    try await driver.send(.GET, "/locations/\(id())?view=details").object["edits"] as? NSArray
  }

  @Test func importKeepsEditedFieldsAndTakesTheOthers() async throws {
    _ = try await load()
    _ = try await patch(#"{"name":"Bar","tags":{"phone":null,"fax":"2"}}"#)
    let edited = Self.row.replacing(#""category":"cafe""#, with: #""category":"pub""#)

    let report = try await load(edited)
    let again = try await load(edited)

    #expect(
      report.text == #"{"created":0,"updated":1,"unchanged":0,"keptEdits":1,"rejected":0,"errors":[]}"#)
    #expect(try again.object["unchanged"] as? Int == 1 && again.object["keptEdits"] as? Int == 1)
    let draft = try #require(try await store.allPoints().first?.draft)
    #expect((draft.name, draft.category) == ("Bar", "pub"))
    #expect(draft.tags.dictionary == ["fax": "2"])
  }

  @Test func detailsHaveTheEditedFieldsWithTheValuesOfTheSource() async throws {
    _ = try await load()
    #expect(try await edits() == nil)
    let time = "1970-01-01T00:00:00Z"

    _ = try await patch(#"{"name":"Bar","lat":3,"tags":{"fax":"2"}}"#)

    #expect(
      try await edits() == [
        ["field": "name", "source": "Café", "since": time],
        ["field": "position", "source": ["lat": 1, "long": 2], "since": time],
        ["field": "tags.fax", "source": NSNull(), "since": time],
      ])
    #expect(try await driver.send(.GET, "/locations/\(id())").object["edits"] == nil)
    _ = try await patch(#"{"name":"Café","lat":1,"tags":{"fax":null}}"#)
    #expect(try await edits() == nil)
  }

  @Test func onlySendersThatMayWriteSeeTheValuesOfTheSource() async throws {
    _ = try await load()
    _ = try await patch(#"{"tags":{"phone":null}}"#)
    let keys = [
      APIKey(name: "w", scope: .write, secret: "wm_w"), APIKey(name: "r", scope: .read, secret: "wm_r"),
    ]
    let keyed = ServiceDriver(writing: store, access: AccessPolicy(keys: keys, isLoopback: true))
    let open = ServiceDriver(writing: store, access: AccessPolicy(keys: nil, isLoopback: false))
    func details(_ driver: ServiceDriver, _ key: String? = nil) async throws -> ServiceDriver.Response {
      try await driver.send(
        .GET, "/locations/\(id())?view=details", headers: key.map { ["authorization": "Bearer \($0)"] } ?? [:])
    }

    let writer = try await details(keyed, "wm_w")
    let others = [try await details(keyed, "wm_r"), try await details(keyed), try await details(open)]

    #expect(try writer.object["edits"] != nil)
    #expect(writer.headers.first(name: "cache-control") == "private, no-cache")
    for other in others {
      #expect(try other.status == 200 && other.object["details"] != nil && other.object["edits"] == nil)
      #expect(other.headers.first(name: "vary") == writer.headers.first(name: "vary"))
    }
    #expect(writer.headers.first(name: "vary") == "accept, accept-encoding, authorization")
  }

  @Test func fieldThatBothHaveChangedIsAConflictUntilAPatchDecides() async throws {
    _ = try await load()
    _ = try await patch(#"{"name":"Bar"}"#)

    let report = try await load(Self.row.replacing("Café", with: "Pub"))
    let conflicts = try await driver.send(.GET, "/edits?source=s&conflict=true")

    #expect(try report.object["keptEdits"] as? Int == 1 && report.object["conflicts"] as? Int == 1)
    let listed = try #require(try conflicts.array.first)
    #expect(listed["name"] as? String == "Bar" && listed["sourceId"] as? String == "1")
    let edit = try #require((listed["edits"] as? [[String: Any]])?.first)
    #expect(edit["source"] as? String == "Pub" && edit["conflict"] as? Bool == true)
    let version = try #require(listed["version"] as? Int)
    // A change of another field decides nothing, one of nothing confirms the place.
    let other = try await patch(#"{"category":"bar"}"#, ["if-match": "\"\(version)\""])
    #expect(try await driver.send(.GET, "/edits?conflict=true").array.count == 1)
    let confirmed = try await patch("{}")
    #expect(try confirmed.object["version"] as? Int == other.object["version"] as? Int)
    #expect(try await driver.send(.GET, "/edits?conflict=true").text == "[]")
    #expect(try await driver.send(.GET, "/edits").array.count == 1)
  }

  @Test func conflictsMayBeDecidedForTheSource() async throws {
    _ = try await load()
    _ = try await patch(#"{"name":"Bar","category":"bar"}"#)

    let report = try await load(Self.row.replacing("Café", with: "Pub"), "?conflicts=source")

    let draft = try #require(try await store.allPoints().first?.draft)
    #expect((draft.name, draft.category) == ("Pub", "bar"))
    #expect(try report.object["conflicts"] == nil && report.object["keptEdits"] as? Int == 1)
  }

  @Test func deletedPlaceStaysDeletedUntilThatIsForgotten() async throws {
    _ = try await load()
    let id = try await id()
    #expect(try await driver.send(.DELETE, "/locations/\(id)").status == 204)

    let report = try await load()
    let listed = try await driver.send(.GET, "/edits")
    let forgotten = try await driver.send(.DELETE, "/edits/\(id)")
    let again = try await driver.send(.DELETE, "/edits/\(id)")

    #expect(try report.object["created"] as? Int == 0 && report.object["keptEdits"] as? Int == 1)
    #expect(
      listed.text == #"""
        [{"id":"\#(id)","source":"s","sourceId":"1",\#
        "edits":[{"field":"deleted","since":"1970-01-01T00:00:00Z"}]}]
        """#)
    #expect(try forgotten.status == 204 && again.status == 404 && again.code == "not-found")
    #expect(try await load().object["created"] as? Int == 1)
    #expect(try await self.id() == id)
  }

  @Test func placeIsGivenBackWithANewVersion() async throws {
    _ = try await load()
    let id = try await id()
    let edited = try await patch(#"{"name":"Bar","lat":3,"tags":{"phone":null}}"#)

    let conditional = try await driver.send(.DELETE, "/edits/\(id)", headers: ["if-match": "*"])
    let response = try await driver.send(.DELETE, "/edits/\(id)")

    #expect(try conditional.status == 412 && conditional.code == "version-mismatch")
    #expect(response.status == 200)
    let place = try response.object
    #expect(place["name"] as? String == "Café" && place["lat"] as? Double == 1)
    #expect(place["tags"] as? [String: String] == ["phone": "1"])
    let version = try #require(place["version"] as? Int)
    #expect(version > (try edited.object["version"] as? Int ?? .max))
    #expect(response.headers["etag"] == ["\"\(version)\""])
    #expect(try await edits() == nil)
    #expect(try await load().object["unchanged"] as? Int == 1)
  }

  @Test func writeAsTheSourceIsNoEditAndKeepsEdits() async throws {
    let created = try await driver.send(.POST, "/locations?as=source", json: Self.draft())
    let id = try #require(try created.object["id"] as? String)
    _ = try await patch(#"{"name":"Bar"}"#)

    let merged = try await driver.send(.PUT, "/locations/\(id)?as=source", json: Self.draft(category: "pub"))
    let edited = try await driver.send(.PUT, "/locations/\(id)?as=client", json: Self.draft(name: "Bar"))

    #expect(created.status == 201 && merged.status == 200 && edited.status == 200)
    #expect(try merged.object["name"] as? String == "Bar" && merged.object["category"] as? String == "pub")
    #expect(try await edits()?.count == 2)
    #expect((try await edits()?[0] as? [String: Any])?["source"] as? String == "pub")
  }

  private static func draft(name: String = "Café", category: String = "cafe") -> String {
    #"{"name":"\#(name)","category":"\#(category)","lat":1,"long":2,"source":"s","sourceId":"1"}"#
  }

  @Test func writeAsTheSourceDoesNotBringADeletedPlaceBack() async throws {
    _ = try await load()
    let id = try await id()
    #expect(try await driver.send(.DELETE, "/locations/\(id)").status == 204)

    let created = try await driver.send(.POST, "/locations?as=source", json: Self.draft())
    let put = try await driver.send(.PUT, "/locations/\(PointID.sample(9))?as=source", json: Self.draft())
    #expect(try await driver.send(.DELETE, "/edits/\(id)").status == 204)
    let again = try await driver.send(.POST, "/locations?as=source", json: Self.draft())

    for response in [created, put] {
      #expect(try response.status == 409 && response.code == "conflict")
      #expect(response.text.contains("DELETE /edits/\(id) "))
    }
    #expect(again.status == 201)
  }

  @Test func writeAsTheSourceIsAnotherRequestOfAnIdempotencyKey() async throws {
    let headers: HTTPHeaders = ["idempotency-key": "k"]
    let first = try await driver.send(.POST, "/locations", headers: headers, json: Self.draft())
    let other = try await driver.send(.POST, "/locations?as=source", headers: headers, json: Self.draft())

    #expect(try first.status == 201 && other.status == 422 && other.code == "idempotency-key-reused")
  }

  @Test(arguments: [("POST", "/locations"), ("PUT", "/locations/\(PointID.sample(1))")])
  func writeAsTheSourceNeedsOne(method: String, target: String) async throws {
    let json = #"{"name":"a","lat":1,"long":2}"#
    let response = try await driver.send(HTTPMethod(rawValue: method), target + "?as=source", json: json)
    let unknown = try await driver.send(HTTPMethod(rawValue: method), target + "?as=robot", json: json)

    #expect(try response.status == 422 && response.pointers == ["/source"])
    #expect(try unknown.status == 400 && unknown.parameters == ["as"])
    #expect(store.count == 0)
  }

  @Test func changesOfEarlierTimesBecomeEdits() async throws {
    _ = try await load()
    _ = try await store.deleteBatch(ofSource: "s", after: nil)
    _ = try await store.create(ImportRow.sample("Bar", 1, 2, source: "s", sourceID: "1").draft, once: nil)

    let later = try await load(Self.row, "?assumeEditedSince=1970-01-02T00:00:00Z&dryRun=true")
    let report = try await load(Self.row, "?assumeEditedSince=1970-01-01T00:00:00Z")
    let invalid = try await driver.send(.POST, "/locations/import?assumeEditedSince=monday", json: "[]")

    #expect(try later.object["updated"] as? Int == 1 && later.object["keptEdits"] == nil)
    #expect(try report.object["unchanged"] as? Int == 1 && report.object["keptEdits"] as? Int == 1)
    #expect(try await edits()?.count == 3)
    #expect(try invalid.status == 400 && invalid.parameters == ["assumeEditedSince"])
  }

  @Test func columnThatATableDoesNotHaveLeavesTheEditedField() async throws {
    let csv = "source,sourceId,name,lat,long,category,phone\ns,1,Café,1,2,cafe,1\n"
    func load(_ csv: String) async throws -> ServiceDriver.Response {
      try await driver.send(.POST, "/locations/import", headers: ["content-type": "text/csv"], json: csv)
    }
    _ = try await load(csv)
    _ = try await patch(#"{"category":"bar","tags":{"phone":"2"}}"#)

    let short = try await load("source,sourceId,name,lat,long\ns,1,Café,1,2\n")
    let whole = try await load(csv)

    for response in [short, whole] {
      #expect(try response.object["conflicts"] == nil && response.object["keptEdits"] as? Int == 1, "\(response.text)")
    }
    let draft = try #require(try await store.allPoints().first?.draft)
    #expect(draft.category == "bar" && draft.tags.dictionary == ["phone": "2"])
  }

  @Test func placesWithEditsAreListedPageByPage() async throws {
    for number in 0..<5 {
      let row = Self.row.replacing(#""1"}"#, with: #""\#(number)"}"#)
      _ = try await load(row)
    }
    for point in try await store.allPoints() {
      _ = try await store.put(
        PointDraft(
          name: "edited", coordinate: point.draft.coordinate, source: "s", sourceID: point.draft.origin?.sourceID),
        id: point.id, if: .none)
    }
    var (ids, target): ([String], String?) = ([], "/edits?limit=2&f=json")
    while let next = target {
      let response = try await driver.send(.GET, next)
      ids += try response.array.compactMap { $0["id"] as? String }
      #expect(try response.array.count <= 2)
      target = response.next
    }

    #expect(ids.count == 5 && ids == ids.sorted())
    #expect(try await driver.send(.GET, "/edits?source=other").text == "[]")
    for query in ["limit=101", "conflict=yes", "cursor=x", "f=csv", "lat=1"] {
      #expect(try await driver.send(.GET, "/edits?\(query)").status == 400, "\(query)")
    }
  }

  @Test func pageOfLongPlacesEndsEarlyAndItsLinkLeadsToTheOthers() async throws {
    let tags = try Tags((0..<500).map { (key: "key \($0)", value: String(repeating: "x", count: 2_000)) })
    for number in 0..<9 {
      let draft = try PointDraft(
        name: "long", coordinate: Coordinate(latitude: 1, longitude: 2), tags: tags, source: "s",
        sourceID: "\(number)")
      let place = try await store.create(draft, once: nil)
      _ = try await store.put(
        PointDraft(
          name: "edited", coordinate: draft.coordinate, tags: tags, source: "s", sourceID: "\(number)"),
        id: place.id, if: .none)
    }
    var (ids, pages, target): ([String], Int, String?) = ([], 0, "/edits?limit=100")
    while let next = target, pages < 9 {
      let response = try await driver.send(.GET, next)
      #expect(response.status == 200 && response.body.count <= PointPage.maximumTextBytes + 100_000)
      ids += try response.array.compactMap { $0["id"] as? String }
      pages += 1
      target = response.next
    }

    #expect(pages > 1 && ids.count == 9 && Set(ids).count == 9)
  }

  @Test func editsOfFurtherPlacesAreRefusedWhereThereAreTooMany() async throws {
    let store = MemoryStore(maximumEdits: 1)
    let driver = ServiceDriver(writing: store)
    try await store.importRows([
      .sample("a", 1, 2, source: "s", sourceID: "1", id: .sample(1)),
      .sample("b", 1, 2, source: "s", sourceID: "2", id: .sample(2), number: 2),
    ])
    func patch(_ number: UInt64, _ json: String) async throws -> ServiceDriver.Response {
      try await driver.send(
        .PATCH, "/locations/\(PointID.sample(number))", headers: ["content-type": "application/merge-patch+json"],
        json: json)
    }

    let first = try await patch(1, #"{"name":"x"}"#)
    let further = try await patch(2, #"{"name":"x"}"#)
    let deletion = try await driver.send(.DELETE, "/locations/\(PointID.sample(2))")
    let same = try await patch(1, #"{"name":"y"}"#)

    #expect([first, further, deletion, same].map(\.status) == [200, 503, 204, 200])
    #expect(try further.code == "overloaded" && further.text.contains("EDITS_MAX"))
    #expect(further.headers["retry-after"] == ["600"])
    #expect(try await store.point(id: .sample(2)) == nil)
  }

  @Test func editsAreForThoseWhoMayWrite() async throws {
    let driver = ServiceDriver(
      writing: store, access: AccessPolicy(keys: [.init(name: "r", scope: .read, secret: "wm_r")], isLoopback: true))
    let headers: HTTPHeaders = ["authorization": "Bearer wm_r"]

    #expect(try await driver.send(.GET, "/edits", headers: headers).status == 403)
    #expect(try await driver.send(.DELETE, "/edits/\(PointID.sample(1))", headers: headers).status == 403)
    #expect(try await driver.send(.GET, "/edits").status == 401)
  }
}
