import Geo
import Points
import Testing

@testable import PointIndex

@Suite struct TileVersionTests {
  @Test func knownVersionIsNotDrawn() throws {
    let places = try ChangingPlaces(2_000, seed: 41)

    for point in places.reference.points.prefix(50) {
      for zoom in [0, 9, 14, 20] {
        let tile = TileAddress(containing: MercatorPosition(point.draft.coordinate), zoom: zoom)
        let version = places.snapshot.contentVersion(of: tile)
        var asked: [ContentVersion] = []
        let known = try places.snapshot.tile(matching: TileQuery(tile: tile)) {
          asked.append($0)
          return true
        }
        #expect(known.bytes == nil && known.version == version && asked == [version])
        #expect(try places.snapshot.tile(matching: TileQuery(tile: tile)) { _ in false }.bytes?.isEmpty == false)
        #expect(places.snapshot.maximumCount(of: tile) >= version.count)
      }
    }
  }

  @Test func versionsOfATileTellWhetherItsPlacesHaveChanged() throws {
    var places = try ChangingPlaces(2_000, seed: 43)
    let tiles = places.reference.points.prefix(40).flatMap { point in
      [0, 8, 12, 15, 18, 22].map { TileAddress(containing: MercatorPosition(point.draft.coordinate), zoom: $0) }
    }
    var kept = 0

    for _ in 0..<20 {
      let former = places.snapshot
      try places.change(batches: 1, sizes: [1, 3, 40])
      for tile in tiles {
        let (before, after) = (former.knownVersions(of: tile), places.snapshot.knownVersions(of: tile))
        let content = places.snapshot.contentVersion(of: tile)
        let isSame = former.contentVersion(of: tile) == content
        #expect(after.own == nil || after.own == content)
        if before.haveSamePlaces(as: after) {
          #expect(isSame)
          kept += 1
        }
        let known = TileVersions(own: former.contentVersion(of: tile), enclosing: before.enclosing)
        #expect(known.haveSamePlaces(as: TileVersions(own: content, enclosing: after.enclosing)) == isSame)
      }
    }

    // Most changes are elsewhere.
    #expect(kept > 20 * tiles.count / 4)
  }
}
