import Geo
import IndexedStore
import Points
import PostgresClient
import PostgresTestSupport
import SyntheticData
import TestSupport
import Testing

@Suite struct MapTests {
  /// Returns a place at the position of another one.
  private static func draft(at point: PointOfInterest) throws -> PointDraft {
    try PointDraft(name: "Moved", category: "cafe", coordinate: point.draft.coordinate)
  }

  @Test func instancesHaveEqualTilesAndVersionsAfterEachWrite() async throws {
    try await RunningIndexes.with { indexes in
      let database = try await TemporaryDatabase.make().migratedStore()
      var places = try SyntheticPoints(seed: 4)
      try await database.importRows(try places.rows(count: 600))
      let first = try await indexes.store(over: database).store
      let points = try await first.allPoints()

      for (number, point) in points.prefix(12).enumerated() {
        if number.isMultiple(of: 3) {
          try await first.delete(id: point.id, if: .none)
        } else {
          _ = try await first.put(try Self.draft(at: points[number + 20]), id: point.id, if: .none)
        }
      }
      // It builds its index after the writes, which the first one followed.
      let second = try await indexes.store(over: database).store

      let snapshots = (
        try #require(try await first.snapshot(isRequired: true)),
        try #require(try await second.snapshot(isRequired: true))
      )
      #expect(snapshots.0.bounds == snapshots.1.bounds)
      for point in points {
        for zoom in [0, 6, 14] {
          let tile = TileAddress(containing: MercatorPosition(point.draft.coordinate), zoom: zoom)
          #expect(snapshots.0.contentVersion(of: tile) == snapshots.1.contentVersion(of: tile))
          let query = TileQuery(tile: tile)
          #expect(try snapshots.0.tile(matching: query) == snapshots.1.tile(matching: query))
        }
      }
      let world = try #require(TileAddress(zoom: 0, x: 0, y: 0))
      #expect(snapshots.0.contentVersion(of: world).count == 596)
    }
  }

  @Test func mapIsUnsupportedWithoutAnIndex() async throws {
    try await RunningIndexes.with { indexes in
      let database = try await TemporaryDatabase.make().migratedStore()
      var places = try SyntheticPoints(seed: 1)
      try await database.importRows(try places.rows(count: 10))
      let index = try indexes.start(over: database, memoryLimit: 0)
      try await index.wait { $0.phase == .tooLarge }

      await #expect(throws: PointStoreError.indexRequired) {
        _ = try await IndexedStore(database, index: index).snapshot(isRequired: true)
      }
    }
  }
}
