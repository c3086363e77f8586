import Foundation
import Testing

@testable import WaymarkClient

@Suite struct CacheGridTests {
  @Test(arguments: [50.0, 500, 20_000, 2_000_000])
  func allCoordinatesWithinTheDistanceAreInTheCells(edgeMetres: Double) throws {
    let grid = CacheGrid(edgeMetres: edgeMetres)
    var generator = SeededGenerator(seed: 16)
    var found = 0
    for round in 0..<400 {
      // Also at the poles and at the antimeridian.
      let latitude = round % 4 == 0 ? (round % 8 == 0 ? 90 : -90) : Double.random(in: -90...90, using: &generator)
      let longitude = round % 3 == 0 ? (round % 2 == 0 ? 180 : -180) : Double.random(in: -180...180, using: &generator)
      let center = try Coordinate(latitude: latitude, longitude: longitude)
      let cells = Set(grid.cells(within: 2 * edgeMetres, of: center))
      #expect(cells.contains(grid.cell(of: center)))
      for _ in 0..<20 {
        let degrees = 2.2 * edgeMetres / 111_000
        let shrink = max(cos(latitude * .pi / 180), 0.001)
        var east = longitude + Double.random(in: -degrees...degrees, using: &generator) / shrink
        east = (east + 540).truncatingRemainder(dividingBy: 360) - 180
        let other = try Coordinate(
          latitude: min(max(latitude + .random(in: -degrees...degrees, using: &generator), -90), 90),
          longitude: min(max(east, -180), 180))
        guard center.distanceMetres(to: other) <= 2 * edgeMetres else { continue }
        found += 1
        #expect(cells.contains(grid.cell(of: other)), "\(center) \(other)")
      }
    }
    #expect(found > 1000)
  }

  @Test func thereAreFewCellsWithinTheDistance() throws {
    let grid = CacheGrid(edgeMetres: 500)
    for latitude in stride(from: -80.0, through: 80, by: 1.7) {
      let cells = grid.cells(within: 1000, of: try Coordinate(latitude: latitude, longitude: 179.999))
      #expect(cells.count <= 36)
      #expect(Set(cells).count == cells.count)
    }
  }

  @Test func bothNamesOfTheAntimeridianAreOneCell() throws {
    let grid = CacheGrid(edgeMetres: 500)

    #expect(
      grid.cell(of: try Coordinate(latitude: 10, longitude: 180))
        == grid.cell(of: try Coordinate(latitude: 10, longitude: -180)))
  }

  @Test(arguments: [0, -5, Double.infinity, 1e-300])
  func extremeEdgesMakeAGrid(edgeMetres: Double) throws {
    let center = try Coordinate(latitude: 1, longitude: 2)
    let grid = CacheGrid(edgeMetres: edgeMetres)

    #expect(grid.cells(within: 0, of: center) == [grid.cell(of: center)])
  }
}

@Suite struct CacheKeysTests {
  private let url = "https://a.example/v1/locations?lat=37.3293&long=-121.8893&radius=500&category=a%26lat%3D1"

  private func keys(_ url: String, latitude: Double? = 37.3293, user: String? = nil) throws -> CacheKeys {
    let center = try latitude.map { try Coordinate(latitude: $0, longitude: -121.8893) }
    return CacheKeys(CacheRequest(url: try URL(text: url), center: center, user: user), maximumDistanceMetres: 1000)
  }

  @Test func coordinateIsReplacedByItsCell() throws {
    let own = try keys(url).own

    #expect(own.hasPrefix("- https://a.example/v1/locations?radius=500&category=a%26lat%3D1 "))
    #expect(try keys(url.replacing("37.3293", with: "37.32931"), latitude: 37.32931).own == own)
    #expect(try keys(url, latitude: 38).own != own)
    #expect(try keys(url.replacing("500", with: "501")).own != own)
    #expect(try keys(url).all.contains(own))
  }

  @Test func requestWithoutACenterHasItsURLAsOnlyKey() throws {
    #expect(try keys(url, latitude: nil).all == ["- " + url])
    #expect(try keys(url, latitude: nil).own == "- " + url)
  }

  @Test func usersNeverShareAKey() throws {
    let users = [nil, "", "-", "a", "1:a", "a - https://a.example/", "- https://a.example/"]
    let keys = try users.flatMap { user in
      try ["https://a.example/", "https://a.example/ - https://a.example/"].map { try self.keys($0, user: user).own }
    }

    #expect(Set(keys).count == keys.count)
  }
}
