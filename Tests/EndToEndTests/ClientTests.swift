import Foundation
import Testing
import WaymarkClient

/// Tests of the Swift client against the built program.
@Suite struct ClientTests {
  private let process: WaymarkProcess
  private let client: ClientDriver
  private let sanJose: Coordinate

  init() async throws {
    process = try await WaymarkProcess(["serve", "--http-port", "0"])
    client = try ClientDriver(port: try await process.port())
    sanJose = try Coordinate(latitude: 37.3293, longitude: -121.8893)
  }

  /// Returns the problem with which a call fails.
  private func problem(of call: () async throws -> Void) async throws -> ProblemDetails {
    let error = await #expect(throws: WaymarkError.self) { try await call() }
    guard case .problem(let problem)? = error else { throw WaymarkProcess.Failure(description: "\(error as Any)") }
    return problem
  }

  @Test func theNearestPlacesComeNearestFirst() async throws {
    let places = try await client.load({ PointsOfInterestRequest(baseURL: $0, limit: 5) }, sanJose).value

    let distances = places.compactMap(\.distanceMetres)
    #expect(places.count == 5)
    #expect(distances.count == 5)
    #expect(distances == distances.sorted())
    #expect(places.allSatisfy { !$0.hasFallbackID && $0.coordinate != nil && $0.version == nil })
  }

  @Test func everyFilterNarrowsTheResult() async throws {
    let all = try await client.load({ PointsRequest(baseURL: $0, limit: 1000, fields: .all) }, PointFilter()).value
    let box = try BoundingBox(west: -10, south: 35, east: 30, north: 60)
    let category = try #require(all.compactMap(\.category).first)
    func count(_ filter: PointFilter) async throws -> Int {
      try await client.load({ PointsRequest(baseURL: $0, limit: 1000) }, filter).value.count
    }

    let inTheBox = try await count(PointFilter(box: box))
    let ofTheCategory = try await count(PointFilter(categories: [category]))
    let near = try await count(PointFilter(center: sanJose, radiusMetres: 100_000))

    #expect(inTheBox == all.count { $0.coordinate.map(box.contains) == true })
    #expect(ofTheCategory == all.count { $0.category == category })
    #expect((1..<all.count).contains(near))
    #expect(all.allSatisfy { ($0.version ?? 0) >= 1 && $0.createdAt != nil })
  }

  @Test func placeIsFoundAtItsCoordinate() async throws {
    let place = try #require(try await client.load({ PointsOfInterestRequest(baseURL: $0) }, sanJose).value.first)
    let there = try #require(place.coordinate)

    let here = try await client.load({ PointCheckRequest(baseURL: $0, radiusMetres: 1) }, there).value
    let nowhere = try await client.load(
      { PointCheckRequest(baseURL: $0) }, try Coordinate(latitude: -60, longitude: -140)
    ).value

    #expect(here.isPointOfInterest)
    #expect(here.location?.id == place.id)
    #expect(nowhere == PointCheck(isPointOfInterest: false))
  }

  @Test func theFeaturedPlaceSaysHowLongItStays() async throws {
    let featured = try await client.load({ FeaturedPlaceRequest(baseURL: $0) }, ())

    #expect(!featured.value.name.isEmpty)
    #expect((1...10).contains(try #require(featured.maxAge)))
  }

  @Test func theCategoriesAreCounted() async throws {
    let counts = try await client.load({ CategoriesRequest(baseURL: $0) }, ()).value.map(\.count)

    #expect(!counts.isEmpty)
    #expect(counts == counts.sorted(by: >))
  }

  @Test func theCategoriesOfABoxAreCounted() async throws {
    let waymark = Waymark(baseURL: client.baseURL, configuration: .withoutTotalTimeout)
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

    let created = try await client.load({ CreatePointRequest(baseURL: $0) }, draft)
    let id = created.value.id
    let version = try #require(created.value.version)
    let patch = PointPatch(category: .set("bar"), tags: ["fax": .remove])
    let patched = try await client.load(
      { PatchPointRequest(baseURL: $0) }, .init(id: id, patch: patch, condition: .version(version))
    ).value
    let stale = try await problem {
      _ = try await client.load(
        { PatchPointRequest(baseURL: $0) }, .init(id: id, patch: patch, condition: .version(version)))
    }
    let patchedTag = EntityTag(version: try #require(patched.version))
    let replaced = try await client.load(
      { ReplacePointRequest(baseURL: $0) },
      .init(id: id, draft: PointDraft(name: "B", coordinate: sanJose), condition: .entityTag(patchedTag)))
    try await client.load({ DeletePointRequest(baseURL: $0) }, .init(id: id, condition: .exists)).value
    let gone = try await problem { _ = try await client.load({ PointRequest(baseURL: $0) }, id) }

    #expect(created.status == 201)
    #expect(created.entityTag == EntityTag(version: version))
    #expect(created.value.name == draft.name)
    #expect(created.value.source == "test")
    #expect(try #require(patched.version) > version)
    #expect(patched.category == "bar")
    #expect(patched.tags == ["phone": "2"])
    #expect(stale.code == .versionMismatch)
    #expect(stale.entityTag == patchedTag)
    #expect(replaced.status == 200)
    #expect(try #require(replaced.value.version) > patched.version ?? .max)
    #expect(gone.code == .notFound)
  }

  @Test func replacementOfAMissingPlaceCreatesIt() async throws {
    let id = UUID()
    let data = ReplacePointRequest.RequestData(
      id: id, draft: PointDraft(name: "A", coordinate: sanJose), condition: .absent)

    let first = try await client.load({ ReplacePointRequest(baseURL: $0) }, data)
    let second = try await problem { _ = try await client.load({ ReplacePointRequest(baseURL: $0) }, data) }

    #expect(first.status == 201)
    #expect(first.value.id == id)
    #expect(second.code == .versionMismatch)
  }

  @Test func aCreationUnderOneKeyHappensOnce() async throws {
    let draft = PointDraft(name: "A", coordinate: sanJose)
    let create = { @Sendable (url: URL) in CreatePointRequest(baseURL: url, idempotencyKey: { "one-key" }) }

    let first = try await client.load(create, draft).value
    let second = try await client.load(create, draft).value
    let other = try await problem {
      _ = try await client.load(create, PointDraft(name: "B", coordinate: sanJose))
    }

    #expect(first.id == second.id)
    #expect(other.code == .idempotencyKeyReused)
  }

  @Test func invalidPlaceReportsItsErrors() async throws {
    let draft = PointDraft(
      name: " ", coordinate: sanJose, category: String(repeating: "c", count: 101),
      origin: SourceReference(source: "", id: "1"))

    let problem = try await problem { _ = try await client.load({ CreatePointRequest(baseURL: $0) }, draft) }

    #expect(problem.status == 422)
    #expect(problem.code == .invalidPlace)
    #expect(
      Set(problem.errors.map(\.location)) == [.pointer("/name"), .pointer("/category"), .pointer("/source")])
  }

  @Test func unchangedResponseIsNotSentAgain() async throws {
    let id = try await client.load({ CreatePointRequest(baseURL: $0) }, PointDraft(name: "A", coordinate: sanJose))
      .value.id
    let loader = client.loader { PointRequest(baseURL: $0) }
    let first = try await loader.load(requestData: id)

    let second = try await loader.load(requestData: id)
    _ = try await client.load(
      { PatchPointRequest(baseURL: $0) }, .init(id: id, patch: PointPatch(name: "B"), condition: .exists))
    let third = try await loader.load(requestData: id)

    #expect(second.value == first.value)
    #expect(third.value.name == "B")
    let versions = try [first, second, third].map { try #require($0.value.version) }
    #expect([first, second, third].map(\.entityTag) == versions.map { EntityTag(version: $0) })
    #expect(versions[0] == versions[1])
    #expect(versions[1] < versions[2])
  }

  @Test func pagesContainEveryPlaceOnce() async throws {
    let rows = try (0..<230).map { index in
      PointImport.Row(
        draft: PointDraft(
          name: "P\(index)", coordinate: try Coordinate(latitude: -50 - Double(index) / 100, longitude: -140),
          category: "walk, & run", origin: SourceReference(source: "walk", id: "\(index)")))
    }
    let report = try await client.load({ ImportPointsRequest(baseURL: $0) }, try PointImport(rows: rows)).value

    var pageSizes: [Int] = []
    var names: [String] = []
    let loader = client.loader { PointsRequest(baseURL: $0, limit: 50) }
    let start = try Coordinate(latitude: -50, longitude: -140)
    for try await page in loader.pages(requestData: PointFilter(center: start, categories: ["walk, & run"])) {
      pageSizes.append(page.value.count)
      names += page.value.map(\.name)
    }

    #expect(report == ImportReport(created: 230))
    #expect(pageSizes == [50, 50, 50, 50, 30])
    #expect(names == (0..<230).map { "P\($0)" })
  }

  @Test func importReportsItsResult() async throws {
    let lines = Data("name,lat,long\nA,1,1\nB,north,1\n".utf8)

    let dry = try await client.load(
      { ImportPointsRequest(baseURL: $0) }, PointImport(data: lines, format: .csv, isDryRun: true)
    ).value
    let atomic = try await problem {
      _ = try await client.load(
        { ImportPointsRequest(baseURL: $0) }, PointImport(data: lines, format: .csv, mode: .atomic))
    }
    let partial = try await client.load(
      { ImportPointsRequest(baseURL: $0) }, PointImport(data: lines, format: .csv)
    ).value

    #expect(dry == partial)
    #expect(partial.created == 1)
    #expect(partial.errors.map(\.row) == [2])
    #expect(atomic.errors.map(\.location) == [.row(2)])
  }

  @Test func anExportIsTheFile() async throws {
    let data = try await client.load(
      { ExportPointsRequest(baseURL: $0) }, PointFilter(center: sanJose, radiusMetres: 1e5)
    )
    .value

    let lines = data.split(separator: UInt8(ascii: "\n"))
    let near = try await client.load(
      { PointsRequest(baseURL: $0, limit: 1000) }, PointFilter(center: sanJose, radiusMetres: 1e5))
    #expect(!lines.isEmpty)
    #expect(lines.count == near.value.count)
    #expect(try lines.allSatisfy { try !JSONDecoder().decode(PointOfInterest.self, from: $0).name.isEmpty })
  }

  @Test func invalidParameterIsATypedProblem() async throws {
    let problem = try await problem {
      _ = try await client.load(
        { PointsRequest(baseURL: $0) }, PointFilter(categories: [String(repeating: "c", count: 101)]))
    }

    #expect(problem.code == .invalidParameter)
    #expect(problem.errors.map(\.location) == [.parameter("category")])
  }

  @Test func lastResponseIsServedWhenTheServerIsUnreachable() async throws {
    let folder = try TemporaryFolder()
    let configuration = LoaderConfiguration(
      retries: .none, cache: OnDiskCache(folder: URL(filePath: folder.path(of: "responses"))))
    let client = try ClientDriver(port: try await process.port(), configuration: configuration)
    let loader = client.loader { PointsOfInterestRequest(baseURL: $0) }
    let live = try await loader.load(requestData: sanJose)
    process.send(SIGKILL)
    _ = try await process.outcome()

    let stale = try await loader.load(requestData: sanJose)

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
    let stranger = try ClientDriver(port: port)
    let friend = try ClientDriver(port: port, configuration: LoaderConfiguration(credentials: .apiKey(String(key))))

    let rejected = try await problem { _ = try await stranger.load({ CategoriesRequest(baseURL: $0) }, ()) }
    let counts = try await friend.load({ CategoriesRequest(baseURL: $0) }, ()).value

    #expect(rejected.code == .unauthenticated)
    #expect(!counts.isEmpty)
  }
}
