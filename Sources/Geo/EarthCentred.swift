/// A position in the earth-centred, earth-fixed Cartesian frame of WGS 84, in metres.
///
/// x points to (0, 0), y to 90 degrees east on the equator, z to the north pole. It has no discontinuities, neither at
/// the poles nor at the antimeridian.
public struct EarthCentred: Hashable, Sendable, BitwiseCopyable {
  /// Metres towards latitude 0, longitude 0.
  public let x: Double
  /// Metres towards latitude 0, longitude 90.
  public let y: Double
  /// Metres towards the north pole.
  public let z: Double

  /// Creates a position from metres.
  @inlinable
  public init(x: Double, y: Double, z: Double) {
    self.x = x
    self.y = y
    self.z = z
  }

  /// Creates the position of a coordinate on the surface of the ellipsoid.
  ///
  /// A pole has one position whatever its longitude, and longitudes of -180 and 180 degrees have the same position.
  public init(_ coordinate: Coordinate) {
    let latitude = Angle(degrees: coordinate.latitude)
    let longitude = Angle(degrees: coordinate.longitude)
    let eccentricity = WGS84.eccentricitySquared
    let normal = WGS84.equatorialRadius / (1 - eccentricity * latitude.sine * latitude.sine).squareRoot()
    let equatorial = normal * latitude.cosine
    // Adding zero turns -0 into 0, so that equal positions are equal bit for bit.
    self.init(
      x: equatorial * longitude.cosine + 0,
      y: equatorial * longitude.sine + 0,
      z: normal * (1 - eccentricity) * latitude.sine + 0
    )
  }

  /// Returns the square of the length of the straight line to another position, in square metres.
  @inlinable
  public func chordSquared(to other: EarthCentred) -> Double {
    let (dx, dy, dz) = (x - other.x, y - other.y, z - other.z)
    return dx * dx + dy * dy + dz * dz
  }
}
