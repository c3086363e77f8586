import Foundation
import Geo
import PointFormats
import Points
import Testing

/// The sample that a server without data starts with.
@Suite struct LandmarksTests {
  private static let bytes: [UInt8] = {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let file = root.appending(path: "Sources/Core/Hosting/CBundledSample/landmarks.geojson")
    return (try? Data(contentsOf: file)).map(Array.init) ?? []
  }()

  private static let landmarks = Parsed(bytes, .geoJSON)

  @Test func allTwoHundredLandmarksAreParsed() {
    #expect(Self.landmarks.error == nil)
    #expect(Self.landmarks.rejections == [])
    #expect(Self.landmarks.rows.count >= 200)
  }

  @Test func namesAndSourceIdsAreUnique() {
    let places = Self.landmarks.rows.map(\.draft)

    #expect(Set(places.map(\.name)).count == places.count)
    #expect(Set(places.compactMap(\.origin?.sourceID)).count == places.count)
    #expect(places.allSatisfy { $0.origin?.source == "waymark-sample" })
  }

  @Test func eachHasACategoryAndACountry() {
    let places = Self.landmarks.rows.map(\.draft)

    #expect(places.allSatisfy { $0.category != nil })
    #expect(places.allSatisfy { $0.tags["country"]?.utf8.count == 2 })
    #expect(Set(places.compactMap(\.category)).count <= 30)
  }

  @Test func coordinatesHaveFourDecimalsAndFeaturesALineEach() {
    let lines = String(decoding: Self.bytes, as: UTF8.self).split(separator: "\n").filter { $0.contains("\"Feature\"") }

    #expect(lines.count == Self.landmarks.rows.count)
    for line in lines {
      #expect(line.contains(/"coordinates":\[-?\d{1,3}\.\d{4},-?\d{1,2}\.\d{4}\]/), "\(line)")
    }
  }

  /// Rough boxes: south, west, north, east.
  @Test(arguments: [
    ("US", 18.9, -179.2, 71.4, -66.9), ("CA", 41.7, -141, 83.2, -52.6), ("MX", 14.5, -118.5, 32.8, -86.7),
    ("BR", -33.8, -74, 5.3, -34.8), ("AR", -55.1, -73.6, -21.7, -53.6), ("CL", -56, -109.5, -17.5, -66.4),
    ("PE", -18.4, -81.4, 0, -68.6), ("FR", 41.3, -5.2, 51.1, 9.6), ("GB", 49.9, -8.7, 60.9, 1.8),
    ("IE", 51.4, -10.7, 55.4, -6), ("DE", 47.2, 5.8, 55.1, 15.1), ("IT", 35.4, 6.6, 47.1, 18.6),
    ("ES", 27.6, -18.2, 43.8, 4.4), ("PT", 36.9, -9.6, 42.2, -6.2), ("CH", 45.8, 5.9, 47.9, 10.5),
    ("AT", 46.3, 9.5, 49.1, 17.2), ("NO", 57.9, 4.5, 80.9, 31.2), ("IS", 63.2, -24.6, 66.6, -13.4),
    ("GR", 34.8, 19.3, 41.8, 28.3), ("RU", 41.1, 19.6, 82, 180), ("TR", 35.8, 25.6, 42.2, 44.9),
    ("EG", 21.9, 24.7, 31.7, 36.9), ("MA", 27.6, -13.2, 36, -1), ("ZA", -34.9, 16.4, -22.1, 32.9),
    ("AE", 22.6, 51.5, 26.1, 56.4), ("IN", 6.7, 68.1, 35.6, 97.4), ("CN", 18.1, 73.5, 53.6, 134.8),
    ("JP", 24, 122.9, 45.6, 146), ("KR", 33.1, 124.6, 38.7, 131), ("TH", 5.6, 97.3, 20.5, 105.7),
    ("ID", -11.1, 95, 6.1, 141.1), ("SG", 1.1, 103.6, 1.5, 104.1), ("AU", -43.7, 113.1, -10.6, 153.7),
    ("NZ", -47.3, 166.4, -34.3, 178.6), ("AQ", -90, -180, -60, 180),
  ])
  func eachLiesInItsCountry(country: String, south: Double, west: Double, north: Double, east: Double) {
    let places = Self.landmarks.rows.map(\.draft).filter { $0.tags["country"] == country }

    #expect(!places.isEmpty)
    for place in places {
      #expect((south...north).contains(place.coordinate.latitude), "\(place.name)")
      #expect((west...east).contains(place.coordinate.longitude), "\(place.name)")
    }
  }

  @Test(arguments: [
    ("US CA MX GT CU PR PA CR", 15), ("PE VE BR AR CL BO EC CO UY", 15), ("FR GB IE DE IT ES PT NO GR PL", 30),
    ("EG MA LY TN ML SN GH NG ET TZ KE ZM ZW ZA NA MG", 15), ("IN CN JP KR TH ID TR AE JO NP", 30),
    ("AU NZ FJ VU TO WS PF FM", 12), ("AQ", 4),
  ])
  func everyContinentHasALandmark(countries: String, atLeast: Int) {
    let wanted = Set(countries.split(separator: " ").map(String.init))

    let count = Self.landmarks.rows.count { $0.draft.tags["country"].map(wanted.contains) == true }

    #expect(count >= atLeast)
  }

  @Test func bothSidesOfTheAntimeridianHavePlaces() {
    let longitudes = Self.landmarks.rows.map(\.draft.coordinate.longitude)

    #expect(longitudes.contains { $0 > 178 })
    #expect(longitudes.contains { $0 < -170 })
  }

  @Test func aDozenPlacesAreWithinWalkOrRideOfTheConventionCenterOfSanJose() throws {
    let center = try Coordinate(latitude: 37.3293, longitude: -121.8893)

    let near = Self.landmarks.rows.count { Geodesic.distanceMetres(from: center, to: $0.draft.coordinate) < 6000 }

    #expect(near >= 12)
  }
}
