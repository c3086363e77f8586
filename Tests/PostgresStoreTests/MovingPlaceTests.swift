import Geo
import Points
import PostgresClient
import PostgresTestSupport
import TestSupport
import Testing

@testable import PostgresStore

/// Tests of pages of nearest places while one of them moves back and forth.
@Suite struct MovingPlaceTests {
  private static let readings = 400

  /// The id of the moving place, which precedes those at the spot.
  private static let moving = PointID(high: 0, low: 1)

  private static func placed(_ id: PointID, at latitude: Double) throws -> ImportRow {
    ImportRow(
      number: Int(id.low), id: id,
      draft: try PointDraft(name: "Place", coordinate: try Coordinate(latitude: latitude, longitude: 16)))
  }

  /// Returns a few places near the centre, and more at one spot than the first statement can rank.
  private static func rows() throws -> [ImportRow] {
    try [placed(moving, at: 48.0001)]
      + (2...6).map { try placed(PointID(high: 0, low: $0), at: 48 + Double($0) * 0.0002) }
      + (7...200).map { try placed(PointID(high: 0, low: $0), at: 48.01) }
  }

  @Test(arguments: [nil, 10.0], [false, true])
  func pageContainsAMovingPlaceExactlyOnce(after metres: Double?, isInBox: Bool) async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    try await store.importRows(try Self.rows())
    let query = PointQuery(
      proximity: .init(center: try Coordinate(latitude: 48, longitude: 16), radiusMetres: 50_000),
      box: isInBox ? try BoundingBox(west: 15, south: 47, east: 17, north: 49) : nil, limit: 10,
      after: metres.map { .init(distanceMetres: $0, id: PointID(high: 0, low: 0)) })
    let mover = Task {
      // Each round moves the place back and forth in transactions of its own, thousands a second.
      while !Task.isCancelled {
        try await database.run(
          """
          DO $$ BEGIN FOR i IN 1..500 LOOP
            UPDATE points SET lat = CASE WHEN i % 2 = 0 THEN 48.0001 ELSE 48.01 END
            WHERE id = '00000000-0000-0000-0000-000000000001';
            COMMIT;
          END LOOP; END $$
          """)
      }
    }
    defer { mover.cancel() }

    for _ in 0..<Self.readings {
      let ids = try await store.page(matching: query).points.map(\.point.id)

      #expect(ids.count == 10)
      #expect(Set(ids).count == ids.count)
      #expect(ids.contains(Self.moving))
    }
    mover.cancel()
    _ = await mover.result
  }
}
