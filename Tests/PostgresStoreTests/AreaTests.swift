import Foundation
import Geo
import Points
import PostgresClient
import PostgresStore
import PostgresTestSupport
import SyntheticData
import TestSupport
import Testing

@Suite struct AreaTests {
  @Test func areasOfStatementsByHandAreReadAndInvalidOnesAreNot() async throws {
    let database = try await TemporaryDatabase.make()
    let areas = PostgresAreas(try await database.migratedStore())
    let area = try await AreaEditor(areas).create(.sample("A"), once: nil)

    try await database.run(
      """
      INSERT INTO areas (id, name, kind, shape) VALUES
        (gen_random_uuid(), 'By hand', 'city', 'POLYGON((0 0, 1 0, 1 1, 0 0))'),
        (gen_random_uuid(), 'No area', 'city', 'POLYGON((0 0, 1e-9 0, 0 1e-9, 0 0))');
      UPDATE areas SET name = 'B' WHERE name = 'A'
      """)
    let changed = try await areas.areas(isCurrent: false)
    try await database.run("DELETE FROM areas WHERE name = 'By hand'")
    let fewer = try await areas.areas(isCurrent: false)
    try await database.run("TRUNCATE areas")
    let none = try await areas.areas(isCurrent: false)

    #expect(Set(changed.all.map(\.draft.name)) == ["B", "By hand"])
    #expect(changed[area.id]?.version ?? 0 > area.version)
    #expect(fewer.all.map(\.draft.name) == ["B"])
    #expect(none.all.isEmpty)
  }

  @Test func boundedReadsAreCurrentOnDemandOnly() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    let (writer, reader) = (PostgresAreas(store), PostgresAreas(store, maximumAge: .seconds(3600)))
    _ = try await reader.areas(isCurrent: false)

    _ = try await AreaEditor(writer).create(.sample("A"), once: nil)

    #expect(try await reader.areas(isCurrent: false).all.isEmpty)
    let required = try await reader.areas(isCurrent: false, notBefore: "any")
    #expect(required.all.count == 1)
    #expect(try await reader.areas(isCurrent: false).all.count == 1)
  }

  @Test func recentAreasAreReadAgainWithoutWaiting() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    let (writer, reader) = (PostgresAreas(store), PostgresAreas(store))
    #expect(reader.recentAreas() == nil)
    _ = try await reader.areas(isCurrent: false)

    _ = try await AreaEditor(writer).create(.sample("A"), once: nil)
    for _ in 0..<6_000 where reader.recentAreas()?.isEmpty != false { try await Task.sleep(for: .milliseconds(10)) }

    #expect(reader.recentAreas()?.all.count == 1)
  }

  @Test func areasAreAwaitedUntilTheyAreReadOrForALimitedTime() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    let areas = PostgresAreas(store, readinessLimit: .seconds(600))

    #expect(areas.isAwaited)
    #expect(!PostgresAreas(store).isAwaited)
    // Asking has begun the reading.
    for _ in 0..<6_000 where areas.isAwaited { try await Task.sleep(for: .milliseconds(10)) }

    #expect(!areas.isAwaited)
    #expect(areas.recentAreas()?.isEmpty == true)
  }

  @Test func areasThatCannotBeReadAreNotAwaited() async throws {
    let database = try await TemporaryDatabase.make()
    let areas = PostgresAreas(try await database.migratedStore(), readinessLimit: .seconds(600))
    try await database.run("DROP TABLE area_state CASCADE")

    await #expect(throws: PointStoreError.self) { try await areas.areas(isCurrent: false) }

    #expect(!areas.isAwaited)
  }

  /// The edges of PostGIS are great circles on another sphere: short ones differ by less than a metre.
  @Test func placesInAreasAreThoseThatPostGISCovers() async throws {
    let database = try await TemporaryDatabase.make()
    let areas = PostgresAreas(try await database.migratedStore())
    var generator = SeededGenerator(seed: 11)
    var rows: [AreaRow] = []
    for number in 0..<40 {
      let (latitude, longitude) = (
        Double.random(in: -80...80, using: &generator),
        number < 10 ? 179.9 : Double.random(in: -179...179, using: &generator)
      )
      let size = Double.random(in: 0.05...0.4, using: &generator)
      let ring = try (0..<60).map { index in
        let (angle, radius) = (Double(index) * 6 * .pi / 180, size * Double.random(in: 0.4...1, using: &generator))
        var east = longitude + radius * cos(angle)
        if east > 180 { east -= 360 }
        return try Coordinate(latitude: latitude + radius * sin(angle), longitude: east)
      }
      let outline = try AreaOutline(polygons: [[ring + ring.prefix(1)]], isMultiple: number.isMultiple(of: 2))
      rows.append(AreaRow(number: number + 1, id: nil, draft: try AreaDraft(name: "A\(number)", outline: outline)))
    }
    #expect(try await AreaEditor(areas).importRows(rows).created == 40)

    let all = try await areas.areas(isCurrent: false)
    var (insideCount, differences) = (0, 0)
    for area in all.all {
      let box = try #require(area.draft.outline.boxes.first)
      var places: [Coordinate] = []
      for _ in 0..<50 {
        let north = Int32.random(in: box.south...box.north, using: &generator)
        let east = Int32.random(in: box.west...box.east, using: &generator)
        places.append(try Coordinate(latitude: Double(north) / 1e7, longitude: Double(east) / 1e7))
      }
      let values = places.map { "(\($0.longitude)::float8, \($0.latitude)::float8)" }.joined(separator: ", ")
      let rows = try await database.run(
        """
        SELECT ST_Covers(shape, ST_Point(x, y)::geography)::text FROM areas,
          (VALUES \(values)) AS place (x, y) WHERE id = '\(area.id)'
        """
      ).split(separator: "\n")
      #expect(rows.count == places.count)
      for (place, row) in zip(places, rows) {
        let isInside = try all.containing(place).contains { $0.id == area.id }
        insideCount += isInside ? 1 : 0
        if isInside != (row == "true") { differences += 1 }
      }
    }
    #expect(insideCount > 400)
    // Of 2,000 places next to none is within a metre of an edge.
    #expect(differences <= 2)
  }
}
