import Geo
import Points
import SyntheticData

/// Where searches are made: within some kilometres of synthetic places, the same points in every run.
enum QueryPoints {
  /// So many points, in degrees of five decimals.
  ///
  /// - Parameter seed: the seed that the places were made with.
  static func near(placesOf seed: UInt64, count: Int) throws -> [Coordinate] {
    var places = try SyntheticPlaces(seed: seed)
    var generator = SeededGenerator(seed: seed + 1)
    return try places.rows(count: count).map { row in
      let latitude = row.place.coordinate.latitude + Double.random(in: -0.05...0.05, using: &generator)
      let longitude = row.place.coordinate.longitude + Double.random(in: -0.05...0.05, using: &generator)
      return try Coordinate(
        latitude: inPrint(min(90, max(-90, latitude))), longitude: inPrint(min(180, max(-180, longitude))))
    }
  }

  private static func inPrint(_ degrees: Double) -> Double { (degrees * 1e5).rounded() / 1e5 }
}
