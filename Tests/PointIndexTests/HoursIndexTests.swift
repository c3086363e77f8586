import Basics
import Foundation
import Geo
import OpeningHours
import Points
import SyntheticData
import TestSupport
import Testing

@testable import PointIndex

@Suite struct HoursIndexTests {
  private static let hours = [
    "Mo-Fr 09:00-18:00", "24/7", "Mo-Su 08:00-12:00,14:00-19:30; PH off", "Fr-Sa 20:00-04:00", "sunrise-sunset",
    "Mo-Fr 10:00+", "nonsense", "Apr-Oct 10:00-20:00; Nov-Mar 10:00-17:00", "off", "week 01-53/2 Mo 10:00-12:00",
  ]

  /// Places around the world, some with zones and countries.
  private static func points(_ count: Int, seed: UInt64) throws -> ContiguousArray<PointOfInterest> {
    var random = SeededGenerator(seed: seed)
    return try ContiguousArray(
      (0..<count).map { number in
        var tags: [(key: String, value: String)] = [("other", "\"quoted\" \\ \(number)")]
        if number % 5 > 0 {
          tags.append(("opening_hours", hours.randomElement(using: &random) ?? ""))
          let zone = ["Europe/Vienna", "Asia/Kolkata", "America/St_Johns", "No/Zone", ""].randomElement(using: &random)
          if let zone, !zone.isEmpty { tags.append(("timezone", zone)) }
          if number % 3 == 0 { tags.append(("addr:country", "DE")) }
          if number % 6 == 0 { tags.append(("addr:state", "BY")) }
        }
        return PointOfInterest(
          id: PointID(high: seed, low: UInt64(number)),
          draft: try PointDraft(
            name: "P\(number)", category: number % 2 == 0 ? "even" : "odd",
            coordinate: Coordinate(
              latitude: Double.random(in: -60...60, using: &random),
              longitude: Double.random(in: -180...180, using: &random)),
            tags: Tags(tags)),
          version: 1, createdAt: Timestamp(microsecondsSinceEpoch: 0), updatedAt: Timestamp(microsecondsSinceEpoch: 0))
      })
  }

  /// Returns the ids of the places that are open, evaluated one by one.
  private static func expected(
    _ points: some Sequence<PointOfInterest>, _ opening: PointQuery.Opening
  ) -> Set<PointID> {
    Set(
      points.filter { point in
        let hours = PlaceHours(point)
        let state = hours.state(at: hours.instant(of: opening.time)).state.state
        return state == .open || opening.includesUnknown && state == .unknown
      }.map(\.id))
  }

  private static func found(_ query: PointQuery, in snapshot: PointSnapshot) throws -> Set<PointID> {
    Set(try snapshot.page(matching: query).points.map(\.point.id))
  }

  @Test(arguments: [
    ("London", 51.507, -0.127, "2026-04-06", false), ("London", 51.507, -0.127, "2026-08-31", false),
    ("London", 51.507, -0.127, "2026-11-30", true), ("Edinburgh", 55.953, -3.188, "2026-04-06", true),
    ("Edinburgh", 55.953, -3.188, "2026-11-30", false), ("Munich", 48.137, 11.575, "2026-06-04", false),
    ("Berlin", 52.52, 13.405, "2026-06-04", true), ("Berlin", 52.52, 13.405, "2026-10-03", false),
    ("Sydney", -33.868, 151.209, "2026-06-08", false), ("Perth", -31.953, 115.861, "2026-06-08", true),
    ("Toronto", 43.653, -79.383, "2026-10-12", false), ("Halifax", 44.649, -63.575, "2026-10-12", true),
    ("Zürich", 47.376, 8.541, "2026-05-01", false), ("Bern", 46.948, 7.447, "2026-05-01", true),
    ("Rome", 41.9, 12.5, "2026-06-02", false), ("Milan", 45.464, 9.19, "2026-12-07", true),
  ])
  func publicHolidaysWithoutTagsAreThoseOfThePositionsRegion(
    name: String, latitude: Double, longitude: Double, date: String, isOpen: Bool
  ) throws {
    let place = PointOfInterest(
      id: PointID(high: 1, low: 1),
      draft: try PointDraft(
        name: name, coordinate: Coordinate(latitude: latitude, longitude: longitude),
        tags: Tags([("opening_hours", "10:00-18:00; PH off")])),
      version: 1, createdAt: Timestamp(microsecondsSinceEpoch: 0), updatedAt: Timestamp(microsecondsSinceEpoch: 0))
    let noon = try #require(RFC3339.date(of: date)).daysSinceEpoch * 1_440 + 720
    let opening = PointQuery.Opening(at: .local(minutes: Int32(noon)))

    #expect(try Self.found(PointQuery(opening: opening), in: PointSnapshot([place])) == (isOpen ? [place.id] : []))
    #expect(Self.expected([place], opening) == (isOpen ? [place.id] : []))
  }

  /// 2026-10-20, in minutes.
  private static let start: Int64 = 29_874_240

  @Test func placesAreThoseThatAreOpenOneByOne() throws {
    let points = try Self.points(600, seed: 1)
    let others = try Self.points(900, seed: 2)
    var snapshot = PointSnapshot(points)
    snapshot = snapshot.applying(PointChanges(puts: others, removals: points.prefix(50).map(\.id)))
    let all = Array(points.dropFirst(50)) + Array(others)
    var random = SeededGenerator(seed: 3)

    for number in 0..<60 {
      let minutes = Self.start + Int64.random(in: 0..<60 * 1_440, using: &random)
      let opening = PointQuery.Opening(
        at: number % 3 == 0 ? .local(minutes: Int32(minutes)) : .instant(minutes: Int32(minutes)),
        includesUnknown: number % 4 == 0)
      let expected = Self.expected(all, opening)
      #expect(try Self.found(PointQuery(opening: opening, limit: 1_000), in: snapshot) == expected)
      #expect(try snapshot.count(matching: PointQuery(opening: opening)) == expected.count)
      let even = PointQuery(categories: [ExactText("even")], opening: opening, limit: 1_000)
      let expectedEven = Set(all.filter { $0.draft.category == "even" }.map(\.id)).intersection(expected)
      #expect(try Self.found(even, in: snapshot) == expectedEven)
      let near = try PointQuery(
        proximity: .init(center: Coordinate(latitude: 10, longitude: 179), radiusMetres: 30_000_000),
        opening: opening, limit: 1_000)
      #expect(try Self.found(near, in: snapshot) == expected)
      let facets = try snapshot.facets(
        matching: FacetQuery(facets: [.category], filters: PointQuery(opening: opening)))
      #expect(facets.count == expected.count)
    }
  }

  @Test func hoursOfAFileAreEvaluatedForALimitedTime() async throws {
    let folder = "\(NSTemporaryDirectory())/hours-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let files = try IndexFiles(folder: folder)
    let snapshot = PointSnapshot(try Self.points(6_000, seed: 4))
    _ = try files.save(snapshot, standingFor: "1")

    let loaded = try #require(try files.load(text: .init())).snapshot
    for _ in 0..<6_000 where loaded.evaluatesHours { try await Task.sleep(for: .milliseconds(10)) }

    #expect(!loaded.evaluatesHours && !snapshot.evaluatesHours)
  }

  @Test func hoursOfAFileAreThoseThatWereIndexed() throws {
    let folder = "\(NSTemporaryDirectory())/hours-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let points = try Self.points(6_000, seed: 4)
    let files = try IndexFiles(folder: folder)
    _ = try files.save(PointSnapshot(points), standingFor: "1")

    let loaded = try #require(try files.load(text: .init())).snapshot

    #expect(loaded.parts.allSatisfy { $0.segment.stepsToIndexHours == 0 })
    for part in loaded.parts {
      part.segment.hours.evaluateAll(at: Self.start + 500, coordinates: part.segment.columns.coordinates)
    }
    let now = PointQuery.Opening(at: .instant(minutes: Int32(Self.start) + 500), isNow: true, includesUnknown: true)
    #expect(
      try Self.found(PointQuery(opening: now, limit: points.count), in: loaded) == Self.expected(points, now))
    for hour in [0, 9, 20] as [Int32] {
      let minutes = Int32(Self.start) + hour * 60
      for time in [.instant(minutes: minutes), .local(minutes: minutes)] as [PointQuery.Opening.Time] {
        let opening = PointQuery.Opening(at: time, includesUnknown: hour == 9)
        let query = PointQuery(opening: opening, limit: points.count)
        #expect(try Self.found(query, in: loaded) == Self.expected(points, opening))
      }
    }
  }

  @Test func placesWithoutHoursHaveNoneInAFile() throws {
    let folder = "\(NSTemporaryDirectory())/hours-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let points = try ContiguousArray(ChangingPlaces(6_000, seed: 5).points.values)
    let files = try IndexFiles(folder: folder)
    _ = try files.save(PointSnapshot(points), standingFor: "1")

    let loaded = try #require(try files.load(text: .init())).snapshot

    #expect(loaded.parts.allSatisfy { $0.segment.stepsToIndexHours == 0 })
    let unknown = PointQuery.Opening(at: .instant(minutes: Int32(Self.start)), includesUnknown: true)
    #expect(try loaded.count(matching: PointQuery(opening: unknown)) == points.count)
    let open = PointQuery.Opening(at: .instant(minutes: Int32(Self.start)), includesUnknown: false)
    #expect(try loaded.count(matching: PointQuery(opening: open)) == 0)
  }

  @Test func openPlacesAreFoundWhileTimePasses() throws {
    let points = try Self.points(5_000, seed: 7)
    let others = try Self.points(300, seed: 8)
    let snapshot = PointSnapshot(points).applying(
      PointChanges(puts: others, removals: points.prefix(100).map(\.id)))
    let all = Array(points.dropFirst(100)) + Array(others)
    let center = try Coordinate(latitude: 48, longitude: 16)
    let distances = Dictionary(
      uniqueKeysWithValues: all.map { ($0.id, Geodesic.distanceMetres(from: center, to: $0.draft.coordinate)) })
    var random = SeededGenerator(seed: 9)
    var minutes = Int32(Self.start)

    for number in 0..<25 {
      minutes += Int32.random(in: number % 5 == 4 ? -100...0 : 0...400, using: &random)
      let opening = PointQuery.Opening(at: .instant(minutes: minutes), isNow: true, includesUnknown: number % 3 == 0)
      let expected = Self.expected(all, opening).sorted { distances[$0, default: 0] < distances[$1, default: 0] }
      let nearest = PointQuery(proximity: .init(center: center), opening: opening, limit: 20)
      #expect(try snapshot.page(matching: nearest).points.map(\.point.id) == Array(expected.prefix(20)))
      #expect(try snapshot.count(matching: PointQuery(opening: opening)) == expected.count)
      let box = try BoundingBox(west: -20, south: -10, east: 60, north: 50)
      let inBox = all.filter { box.contains($0.draft.coordinate) }.map(\.id)
      #expect(
        try Self.found(PointQuery(box: box, opening: opening, limit: 1_000), in: snapshot)
          == Set(inBox).intersection(expected))
    }
  }

  /// A search that counts the places that it comes to.
  private struct Visit: TreeVisitor {
    private(set) var places = 0

    func key(ofNode node: Int, places: Range<Int>, in tree: SearchTree) -> Double? { 0 }
    func wants(_ key: Double) -> Bool { true }
    mutating func visit(places: Range<Int>, in tree: SearchTree) { self.places += places.count }
  }

  /// Returns a snapshot of places in one region that are open in the morning, and of one that is always.
  private static func region(_ count: Int) throws -> PointSnapshot {
    var points: ContiguousArray<PointOfInterest> = []
    for number in 0..<count {
      let hours = number == 0 ? "24/7" : "08:00-1\(number % 3):\(10 + number % 50)"
      let coordinate = try Coordinate(latitude: Double(number % 70) / 100, longitude: Double(number) / 10_000)
      let draft = try PointDraft(
        name: "P", coordinate: coordinate, tags: Tags([("opening_hours", hours), ("timezone", "UTC")]))
      let time = Timestamp(microsecondsSinceEpoch: 0)
      points.append(
        PointOfInterest(
          id: PointID(high: 10, low: UInt64(number)), draft: draft, version: 1, createdAt: time, updatedAt: time))
    }
    return PointSnapshot(points)
  }

  /// Returns the number of places that a search comes to, and its steps.
  private static func visit(
    _ snapshot: PointSnapshot, _ opening: PointQuery.Opening
  ) throws -> (places: Int, steps: Int) {
    let limit = SearchLimit(nil)
    let filter = try #require(SlotFilter(PointQuery(opening: opening), in: snapshot, limit))
    var visit = Visit()
    snapshot.forEachTree(for: PointQuery(opening: opening), filter) { tree, _ in tree.walk(&visit) }
    return (visit.places, limit.steps)
  }

  @Test func searchPassesByRegionsWhereAllIsClosed() throws {
    let snapshot = try Self.region(5_000)
    // Midnight, and some hours later.
    let night = PointQuery.Opening(at: .instant(minutes: Int32(Self.start)), isNow: true)
    let later = PointQuery.Opening(at: .instant(minutes: Int32(Self.start) + 200), isNow: true)
    let morning = PointQuery.Opening(at: .instant(minutes: Int32(Self.start) + 500), isNow: true)

    #expect(try Self.visit(snapshot, night).places == PackedTree.leafCapacity)
    #expect(try Self.visit(snapshot, later) == (places: PackedTree.leafCapacity, steps: 0))
    #expect(try Self.visit(snapshot, morning).places == 5_000)
    #expect(try Self.visit(snapshot, later).places == PackedTree.leafCapacity)
  }

  @Test(arguments: [false, true]) func searchesForDifferentTimesKeepTheirStates(areLocal: Bool) throws {
    let snapshot = try Self.region(5_000)
    func opening(_ minutes: Int32) -> PointQuery.Opening {
      let minutes = Int32(Self.start) + minutes
      return PointQuery.Opening(at: areLocal ? .local(minutes: minutes) : .instant(minutes: minutes))
    }
    let first = try Self.visit(snapshot, opening(0))
    let second = try Self.visit(snapshot, opening(600))

    #expect(first.steps > 0 && second.steps > 0)
    #expect(try Self.visit(snapshot, opening(0)) == (places: first.places, steps: 0))
    #expect(try Self.visit(snapshot, opening(600)) == (places: second.places, steps: 0))
  }

  @Test func statesAtManyTimesTakeBoundedMemory() throws {
    let snapshot = try Self.region(5_000)
    let segment = try #require(snapshot.parts.first?.segment)
    for hour in 0..<2_000 {
      _ = try Self.visit(snapshot, .init(at: .instant(minutes: Int32(Self.start) + Int32(hour) * 60)))
    }

    #expect(segment.hours.byteCount < 40 * 5_000)
  }

  @Test func conditionTakesEightBytesOfAQuery() {
    #expect(MemoryLayout<PointQuery.Opening?>.size == 8)
  }

  @Test func nextChangeIsTheFirstAtWhichAPlaceChanges() throws {
    let points = try Self.points(60, seed: 4)
    let snapshot = PointSnapshot(points)
    func states(_ minute: Int64) -> [PlaceState.State] {
      points.map { point in PlaceHours(point).state(at: minute * 60).state.state }
    }
    var minute = Self.start

    for _ in 0..<30 {
      let next = snapshot.nextChangeOfHours(after: minute)
      let before = states(minute)
      #expect(next > minute)
      for between in stride(from: minute, to: next, by: 1) where between % 5 == 0 || between == next - 1 {
        #expect(states(between) == before)
      }
      #expect(snapshot.nextChangeOfHours(after: next - 1) == next)
      minute = next
    }
  }

  @Test func manyDifferentHoursEndWithTheMinute() throws {
    let points = ContiguousArray(
      try Self.points(2_000, seed: 5).enumerated().map { number, point in
        PointOfInterest(
          id: point.id,
          draft: try PointDraft(
            name: "P", coordinate: point.draft.coordinate,
            tags: Tags([("opening_hours", "Mo 10:\(10 + number % 50)-1\(2 + number % 8):\(10 + number / 50)")])),
          version: 1, createdAt: point.createdAt, updatedAt: point.updatedAt)
      })

    #expect(PointSnapshot(points).nextChangeOfHours(after: Self.start) == Self.start + 1)
  }

  @Test func placesWithEqualHoursShareAnEntryUnlessTheSunDecides() throws {
    func index(_ hours: String, timezone: String = "Europe/Vienna") throws -> HoursIndex {
      let points = try ContiguousArray(
        (0..<100).map { number in
          PointOfInterest(
            id: PointID(high: 1, low: UInt64(number)),
            draft: try PointDraft(
              name: "P", coordinate: Coordinate(latitude: Double(number) / 100, longitude: 16),
              tags: Tags([("opening_hours", hours), ("timezone", timezone)])),
            version: 1, createdAt: Timestamp(microsecondsSinceEpoch: 0),
            updatedAt: Timestamp(microsecondsSinceEpoch: 0))
        })
      return try #require(PointSnapshot(points).parts.first?.segment.hours)
    }

    #expect(try index("Mo 10:00-12:00").entryCount == 1)
    #expect(try index("PH,Mo 10:00-12:00").entryCount == 1)
    #expect(try index("sunrise-sunset").entryCount == 100)
    #expect(try index("nonsense").entryCount == 0)
  }

  @Test func searchOnAnEventLoopEndsWhereHoursWouldHaveToBeIndexed() throws {
    let snapshot = PointSnapshot(try Self.points(2_000, seed: 6))
    var query = PointQuery(opening: .init(at: .instant(minutes: Int32(Self.start))))
    query.needsBuiltIndexes = true

    #expect(throws: PointStoreError.stepLimit) { try snapshot.page(matching: query) }
    query.needsBuiltIndexes = false
    _ = try snapshot.page(matching: query)
    query.needsBuiltIndexes = true
    #expect(try snapshot.page(matching: query).count > 0)
  }
}
