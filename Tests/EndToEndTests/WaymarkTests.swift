import Foundation
import FoundationNetworking
import Testing
import WaymarkClient

/// Tests of each call of the Swift client's `Waymark` against the built program.
@Suite struct WaymarkTests {
  private let process: WaymarkProcess
  private let waymark: Waymark
  private let sanJose: Coordinate

  init() async throws {
    process = try await WaymarkProcess(["serve", "--http-port", "0"])
    waymark = try Self.waymark(port: try await process.port())
    sanJose = try Coordinate(latitude: 37.3293, longitude: -121.8893)
  }

  private static func waymark(port: Int, credentials: Credentials? = nil) throws -> Waymark {
    let baseURL = try #require(URL(string: "http://127.0.0.1:\(port)"))
    return Waymark(
      baseURL: baseURL, credentials: credentials, session: URLSession(configuration: .ephemeral),
      configuration: .withoutTotalTimeout)
  }

  /// Returns the code of the problem with which a call fails.
  private func problem(of call: () async throws -> Void) async throws -> ProblemDetails.Code {
    let error = await #expect(throws: WaymarkError.self) { try await call() }
    #expect(error?.requestID?.isEmpty == false)
    guard case .problem(let problem)? = error else { throw WaymarkProcess.Failure(description: "\(error as Any)") }
    return problem.code
  }

  @Test func placesAreFoundByCoordinateBoxAndID() async throws {
    let near = try await waymark.places(near: sanJose, radius: 100_000, pageSize: 3).firstPage()
    let nearest = try #require(near.first)
    let there = try #require(nearest.coordinate)
    let category = try #require(nearest.category)
    let box = try BoundingBox(
      west: there.longitude - 0.01, south: there.latitude - 0.01, east: there.longitude + 0.01,
      north: there.latitude + 0.01)

    let inBox = try await waymark.places(in: box).firstPage()
    let ofCategory = try await waymark.places(near: there, radius: 1, category: category).firstPage()
    let same = try await waymark.place(nearest.id)

    #expect(near.count == 3)
    #expect(inBox.contains { $0.id == nearest.id })
    #expect(ofCategory.contains { $0.id == nearest.id })
    #expect(same.name == nearest.name)
    #expect(same.version == nearest.version)
    #expect(near.allSatisfy { !$0.hasFallbackID && $0.version != nil })
  }

  @Test func coordinateIsChecked() async throws {
    let nearest = try #require(try await waymark.places(near: sanJose, pageSize: 1).firstPage().first)
    let there = try #require(nearest.coordinate)
    let nowhere = try Coordinate(latitude: -60, longitude: -140)

    #expect(try await waymark.place(at: there, radius: 1)?.coordinate == there)
    #expect(try await waymark.place(at: nowhere) == nil)
  }

  @Test func featuredPlaceAndCategoriesAreLoaded() async throws {
    let featured = try await waymark.featuredPlace()
    let categories = try await waymark.categories()
    let response = try await waymark.responses.featuredPlace()

    #expect(featured?.name.isEmpty == false)
    #expect(categories.map(\.count) == categories.map(\.count).sorted(by: >))
    #expect((1...10).contains(try #require(response.maxAge)))
    #expect(response.requestID?.isEmpty == false)
  }

  @Test func placeIsCreatedUpdatedAndDeleted() async throws {
    let draft = PointDraft(
      name: "Café “Zentral”", coordinate: sanJose, category: "cafe", tags: ["fax": "1"],
      origin: SourceReference(source: "test", id: "1"))

    let created = try await waymark.create(draft)
    var edited = created
    edited.tags["wheelchair"] = "yes"
    let updated = try await waymark.update(edited)
    let conflict = try await problem { try await waymark.update(edited) }
    let patched = try await waymark.update(updated, with: PointPatch(category: .remove))
    let lateDeletion = try await problem { try await waymark.delete(updated) }
    try await waymark.delete(patched)
    let missing = try await problem { _ = try await waymark.place(created.id) }

    #expect(PointDraft(created) == draft)
    #expect(updated.tags == ["fax": "1", "wheelchair": "yes"])
    #expect(updated.origin == draft.origin)
    #expect(patched.category == nil)
    #expect([conflict, lateDeletion, missing] == [.versionMismatch, .versionMismatch, .notFound])
  }

  @Test func placeOfAListIsUpdatedAndDeleted() async throws {
    let there = try Coordinate(latitude: -61, longitude: -141)
    _ = try await waymark.create(
      PointDraft(name: "A", coordinate: there, tags: ["a": "1"], origin: SourceReference(source: "list", id: "1")))
    var listed = try #require(try await waymark.places(near: there, radius: 1).firstPage().first)
    listed.name = "B"

    let updated = try await waymark.update(listed)
    try await waymark.delete(updated)

    #expect(updated.tags == ["a": "1"])
    #expect(updated.origin == SourceReference(source: "list", id: "1"))
    #expect(try await waymark.places(near: there, radius: 1).firstPage() == [])
  }

  @Test func importedPlacesAreReadOneByOneAndExported() async throws {
    let start = try Coordinate(latitude: -50, longitude: -140)
    let drafts = try (0..<55).map { index in
      PointDraft(
        name: "P\(index)", coordinate: try Coordinate(latitude: -50 - Double(index) / 100, longitude: -140),
        category: "walk, & run", origin: SourceReference(source: "walk", id: "\(index)"))
    }

    let report = try await waymark.importPlaces(drafts)
    let again = try await waymark.importPlaces(drafts)
    var names: [String] = []
    for try await place in waymark.places(near: start, category: "walk, & run", pageSize: 10) {
      names.append(place.name)
    }
    var pageSizes: [Int] = []
    for try await page in waymark.places(PointFilter(categories: ["walk, & run"]), pageSize: 50).pages {
      pageSizes.append(page.value.count)
    }
    let file = try await waymark.exported(PointFilter(categories: ["walk, & run"]))

    #expect(report == ImportReport(created: 55))
    #expect(again == ImportReport(unchanged: 55))
    #expect(names == (0..<55).map { "P\($0)" })
    #expect(pageSizes == [50, 5])
    #expect(file.split(separator: UInt8(ascii: "\n")).count == 55)
  }

  @Test func importWithOneKeyHappensOnce() async throws {
    let rows = [PointImport.Row(draft: PointDraft(name: "A", coordinate: try Coordinate(latitude: -62, longitude: 1)))]
    let places = try PointImport(rows: rows)

    let first = try await waymark.importPlaces(places, idempotencyKey: "k")
    let second = try await waymark.importPlaces(places, idempotencyKey: "k")

    #expect(first == ImportReport(created: 1))
    #expect(second == first)
    #expect(try await waymark.places(near: Coordinate(latitude: -62, longitude: 1), radius: 1).firstPage().count == 1)
  }

  @Test func rejectedKeyIsReplacedByTheProvider() async throws {
    let made = try await WaymarkProcess.run(["keys", "create", "app", "--scope", "write"])
    let key = try #require(made.log.split(whereSeparator: \.isWhitespace).first { $0.hasPrefix("wm_") })
    let folder = try TemporaryFolder()
    let file = try folder.write(made.output, to: "keys.txt")
    let server = try await WaymarkProcess(
      ["serve", "--http-port", "0"], environment: ["API_KEYS_FILE": file, "READ_REQUIRES_KEY": "true"])
    let credentials = Credentials(user: "app") { [key = String(key)] rejected in rejected == nil ? "wm_expired" : key }
    let waymark = try Self.waymark(port: try await server.port(), credentials: credentials)

    let created = try await waymark.create(PointDraft(name: "A", coordinate: sanJose))

    #expect(try await waymark.place(created.id).name == "A")
  }

  @Test func readIncludesTheWriteBeforeIt() async throws {
    let created = try await waymark.responses.create(PointDraft(name: "A", coordinate: sanJose))

    let read = try await waymark.reading(after: created.position).place(created.value.id)

    #expect(read.id == created.value.id)
  }
}
