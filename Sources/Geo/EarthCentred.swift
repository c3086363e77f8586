#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#endif

/// A position in the earth-centred, earth-fixed Cartesian frame of WGS 84, in metres.
///
/// x points to (0, 0), y to 90 degrees east on the equator, z to the north pole. It has no seams: the poles and the
/// antimeridian are places like any other.
public struct EarthCentred: Hashable, Sendable {
  /// Metres towards latitude 0, longitude 0.
  public let x: Double
  /// Metres towards latitude 0, longitude 90.
  public let y: Double
  /// Metres towards the north pole.
  public let z: Double

  /// Makes a position from metres.
  @inlinable
  public init(x: Double, y: Double, z: Double) {
    self.x = x
    self.y = y
    self.z = z
  }

  /// The position of a coordinate on the surface of the ellipsoid.
  public init(_ coordinate: Coordinate) {
    let latitude = coordinate.latitude * .pi / 180
    let longitude = coordinate.longitude * .pi / 180
    let sine = sin(latitude)
    let normal = WGS84.equatorialRadius / (1 - WGS84.eccentricitySquared * sine * sine).squareRoot()
    let equatorial = normal * cos(latitude)
    self.init(
      x: equatorial * cos(longitude),
      y: equatorial * sin(longitude),
      z: normal * (1 - WGS84.eccentricitySquared) * sine
    )
  }

  /// The square of the straight line's length to another position, in square metres.
  @inlinable
  public func chordSquared(to other: EarthCentred) -> Double {
    let (dx, dy, dz) = (x - other.x, y - other.y, z - other.z)
    return dx * dx + dy * dy + dz * dz
  }
}

/// The ellipsoid of the World Geodetic System 1984 (NIMA TR8350.2).
public enum WGS84 {
  /// The semi-major axis, metres.
  public static let equatorialRadius = 6_378_137.0

  /// The flattening.
  public static let flattening = 1 / 298.257223563

  /// The semi-minor axis, metres.
  public static let polarRadius = equatorialRadius * (1 - flattening)

  /// The first eccentricity, squared.
  public static let eccentricitySquared = flattening * (2 - flattening)
}
