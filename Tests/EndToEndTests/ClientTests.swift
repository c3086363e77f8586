import Foundation
import Testing
import WaymarkClient

/// Tests of the Swift client against the built program.
@Suite struct ClientTests {
  private let process: WaymarkProcess
  private let waymark: Waymark
  private let sanJose: Coordinate

  init() async throws {
    process = try await WaymarkProcess(["serve", "--http-port", "0"])
    waymark = try Waymark(port: try await process.port())
    sanJose = try Coordinate(latitude: 37.3293, longitude: -121.8893)
  }

  /// Returns the problem with which a call fails.
  private func problem(of call: () async throws -> Void) async throws -> ProblemDetails {
    let error = await #expect(throws: WaymarkError.self) { try await call() }
    guard case .problem(let problem)? = error else { throw WaymarkProcess.Failure(description: "\(error as Any)") }
    return problem
  }

  @Test func appsOwnRequestReturnsTheNearestPlaces() async throws {
    let loader = waymark.loader(PointsOfInterestRequest(baseURL: waymark.baseURL, limit: 5))

    let places = try await loader.loadAPIRequest(requestData: sanJose)

    let distances = places.compactMap(\.distanceMetres)
    #expect(places.count == 5)
    #expect(distances.count == 5)
    #expect(distances == distances.sorted())
    #expect(places.allSatisfy { !$0.hasFallbackID && $0.coordinate != nil && $0.version == nil })
  }

  @Test func everyFilterNarrowsTheResult() async throws {
    let all = try await waymark.places(PointFilter(), pageSize: 1000).firstPage()
    let box = try BoundingBox(west: -10, south: 35, east: 30, north: 60)
    let category = try #require(all.compactMap(\.category).first)
    func count(_ filter: PointFilter) async throws -> Int {
      try await waymark.places(filter, pageSize: 1000).firstPage().count
    }

    let inTheBox = try await count(PointFilter(box: box))
    let ofTheCategory = try await count(PointFilter(categories: [category]))
    let near = try await count(PointFilter(center: sanJose, radiusMetres: 100_000))

    #expect(inTheBox == all.count { $0.coordinate.map(box.contains) == true })
    #expect(ofTheCategory == all.count { $0.category == category })
    #expect((1..<all.count).contains(near))
    #expect(all.allSatisfy { ($0.version ?? 0) >= 1 && $0.createdAt != nil })
  }

  @Test func theFeaturedPlaceSaysHowLongItStays() async throws {
    let featured = try await waymark.responses.featuredPlace()

    #expect(!featured.value.name.isEmpty)
    #expect((1...10).contains(try #require(featured.maxAge)))
  }

  @Test func theCategoriesAreCounted() async throws {
    let counts = try await waymark.categories().map(\.count)

    #expect(!counts.isEmpty)
    #expect(counts == counts.sorted(by: >))
  }

  @Test func theCategoriesOfABoxAreCounted() async throws {
    let box = try BoundingBox(west: 20, south: 30, east: 30, north: 40)
    let draft = PointDraft(
      name: "A", coordinate: try Coordinate(latitude: 35, longitude: 25), category: "only of the box")
    _ = try await waymark.create(draft)

    let all = try await waymark.categories()
    let counts = try await waymark.categories(in: box)

    #expect(counts.contains(CategoryCount(category: "only of the box", count: 1)))
    #expect(counts.count < all.count)
  }

  @Test func placeIsCreatedChangedAndDeleted() async throws {
    let draft = PointDraft(
      name: "Café “Zentral” & Söhne", coordinate: sanJose, category: "cafe", tags: ["fax": "1", "phone": "2"],
      origin: SourceReference(source: "test", id: "1"))
    let patch = PointPatch(category: .set("bar"), tags: ["fax": .remove])

    let created = try await waymark.responses.create(draft)
    let patched = try await waymark.update(created.value, with: patch)
    let stale = try await problem { try await waymark.update(created.value, with: patch) }
    var edited = patched
    edited.name = "B"
    let replaced = try await waymark.responses.update(edited)
    try await waymark.delete(id: created.value.id)
    let gone = try await problem { _ = try await waymark.place(created.value.id) }

    let version = try #require(created.value.version)
    #expect(created.status == 201)
    #expect(created.value.name == draft.name)
    #expect(created.value.source == "test")
    #expect(try #require(patched.version) > version)
    #expect(patched.category == "bar")
    #expect(patched.tags == ["phone": "2"])
    #expect(stale.code == .versionMismatch)
    #expect(replaced.status == 200)
    #expect(replaced.value.name == "B")
    #expect(try #require(replaced.value.version) > patched.version ?? .max)
    #expect(gone.code == .notFound)
  }

  @Test func creationWithAnIDHappensOnce() async throws {
    let id = UUID()
    let draft = PointDraft(name: "A", coordinate: sanJose)

    let first = try await waymark.responses.create(draft, id: id)
    let second = try await problem { _ = try await waymark.create(draft, id: id) }

    #expect(first.status == 201)
    #expect(first.value.id == id)
    #expect(second.code == .versionMismatch)
  }

  @Test func creationUnderOneKeyHappensOnce() async throws {
    let draft = PointDraft(name: "A", coordinate: sanJose)

    let first = try await waymark.create(draft, idempotencyKey: "one-key")
    let second = try await waymark.create(draft, idempotencyKey: "one-key")
    let other = try await problem {
      _ = try await waymark.create(PointDraft(name: "B", coordinate: sanJose), idempotencyKey: "one-key")
    }

    #expect(first.id == second.id)
    #expect(other.code == .idempotencyKeyReused)
  }

  @Test func invalidPlaceReportsItsErrors() async throws {
    let draft = PointDraft(
      name: " ", coordinate: sanJose, category: String(repeating: "c", count: 101),
      origin: SourceReference(source: "", id: "1"))

    let problem = try await problem { _ = try await waymark.create(draft) }

    #expect(problem.status == 422)
    #expect(problem.code == .invalidPlace)
    #expect(
      Set(problem.errors.map(\.location)) == [.pointer("/name"), .pointer("/category"), .pointer("/source")])
  }

  @Test func changedPlaceIsReadAgain() async throws {
    let id = try await waymark.create(PointDraft(name: "A", coordinate: sanJose)).id
    let first = try await waymark.place(id)

    let second = try await waymark.place(id)
    try await waymark.update(second, with: PointPatch(name: "B"))
    let third = try await waymark.place(id)

    #expect(second == first)
    #expect(third.name == "B")
    #expect(try #require(second.version) < third.version ?? 0)
  }

  @Test func pagesContainEveryPlaceOnce() async throws {
    let drafts = try (0..<230).map { index in
      PointDraft(
        name: "P\(index)", coordinate: try Coordinate(latitude: -50 - Double(index) / 100, longitude: -140),
        category: "walk, & run", origin: SourceReference(source: "walk", id: "\(index)"))
    }
    let report = try await waymark.importPlaces(drafts)
    let start = try Coordinate(latitude: -50, longitude: -140)

    var pageSizes: [Int] = []
    var names: [String] = []
    for try await page in waymark.places(near: start, category: "walk, & run", pageSize: 50).pages {
      pageSizes.append(page.value.count)
      names += page.value.map(\.name)
    }

    #expect(report == ImportReport(created: 230))
    #expect(pageSizes == [50, 50, 50, 50, 30])
    #expect(names == (0..<230).map { "P\($0)" })
  }

  @Test func importReportsItsResult() async throws {
    let lines = Data("name,lat,long\nA,1,1\nB,north,1\n".utf8)

    let dry = try await waymark.importPlaces(PointImport(data: lines, format: .csv, isDryRun: true))
    let atomic = try await problem {
      _ = try await waymark.importPlaces(PointImport(data: lines, format: .csv, mode: .atomic))
    }
    let partial = try await waymark.importPlaces(PointImport(data: lines, format: .csv))

    #expect(dry == partial)
    #expect(partial.created == 1)
    #expect(partial.errors.map(\.row) == [2])
    #expect(atomic.errors.map(\.location) == [.row(2)])
  }

  @Test func replacementOfASourceIsBounded() async throws {
    let rows = try (0..<20).map { index in
      PointImport.Row(
        draft: PointDraft(
          name: "P\(index)", coordinate: try Coordinate(latitude: -70, longitude: Double(index)),
          origin: SourceReference(source: "replaced", id: "\(index)")))
    }
    _ = try await waymark.importPlaces(PointImport(rows: rows))
    var places = try PointImport(rows: Array(rows.prefix(5)))
    places.replacedSource = "replaced"

    let refused = try await problem { _ = try await waymark.importPlaces(places) }
    places.maximumDeletions = .percent(80)
    let report = try await waymark.importPlaces(places)
    // The replacement has registered it, and it has places.
    let kept = try await problem { try await waymark.deleteSource("replaced") }

    #expect(refused.code == .tooManyDeletions)
    #expect(report == ImportReport(unchanged: 5, deleted: 15))
    #expect(kept.code == .conflict)
  }

  @Test func exportIsTheFile() async throws {
    let filter = PointFilter(center: sanJose, radiusMetres: 1e5)

    let lines = try await waymark.exported(filter).split(separator: UInt8(ascii: "\n"))

    let near = try await waymark.places(filter, pageSize: 1000).firstPage()
    #expect(!lines.isEmpty)
    #expect(lines.count == near.count)
    #expect(try lines.allSatisfy { try !JSONDecoder().decode(PointOfInterest.self, from: $0).name.isEmpty })
  }

  @Test func invalidParameterIsATypedProblem() async throws {
    let problem = try await problem {
      _ = try await waymark.places(PointFilter(categories: [String(repeating: "c", count: 101)])).firstPage()
    }

    #expect(problem.code == .invalidParameter)
    #expect(problem.errors.map(\.location) == [.parameter("category")])
  }

  @Test func lastResponseIsServedWhenTheServerIsUnreachable() async throws {
    let folder = try TemporaryFolder()
    let waymark = try Waymark(
      port: try await process.port(),
      configuration: LoaderConfiguration(
        retries: .none, cache: OnDiskCache(folder: URL(filePath: folder.path(of: "responses")))))
    let live = try await waymark.responses.places(near: sanJose)
    process.send(SIGKILL)
    _ = try await process.outcome()

    let stale = try await waymark.responses.places(near: sanJose)

    #expect(!live.isStale)
    #expect(stale.isStale)
    #expect(stale.value == live.value)
  }

  @Test func serverWithAPIKeysIsSentOne() async throws {
    let made = try await WaymarkProcess.run(["keys", "create", "app", "--scope", "write"])
    let folder = try TemporaryFolder()
    let file = try folder.write(made.output, to: "keys.txt")
    let server = try await WaymarkProcess(
      ["serve", "--http-port", "0"], environment: ["API_KEYS_FILE": file, "READ_REQUIRES_KEY": "true"])
    let port = try await server.port()
    let key = try #require(made.log.split(whereSeparator: \.isWhitespace).first { $0.hasPrefix("wm_") })
    let stranger = try Waymark(port: port)
    let friend = try Waymark(port: port, configuration: LoaderConfiguration(credentials: .apiKey(String(key))))

    let rejected = try await problem { _ = try await stranger.categories() }
    let counts = try await friend.categories()

    #expect(rejected.code == .unauthenticated)
    #expect(!counts.isEmpty)
  }
}
