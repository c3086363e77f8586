import Basics
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
        at: number % 3 == 0 ? .local(minutes: minutes) : .instant(minutes: minutes),
        includesUnknown: number % 4 == 0, timeLimit: .seconds(600))
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
    var query = PointQuery(opening: .init(at: .instant(minutes: Self.start)))
    query.needsBuiltIndexes = true

    #expect(throws: PointStoreError.stepLimit) { try snapshot.page(matching: query) }
    query.needsBuiltIndexes = false
    _ = try snapshot.page(matching: query)
    query.needsBuiltIndexes = true
    #expect(try snapshot.page(matching: query).count > 0)
  }
}
