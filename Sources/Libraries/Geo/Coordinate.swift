/// A position on the WGS 84 ellipsoid, in decimal degrees.
///
/// A value of this type is always valid: both numbers are finite, the latitude is within -90…90 and the longitude
/// within -180…180. Nothing past its construction checks them again. -180 and 180 name the same meridian and are both
/// kept as given.
public struct Coordinate: Hashable, Sendable, BitwiseCopyable {
  /// Degrees north of the equator, -90…90.
  public let latitude: Double

  /// Degrees east of Greenwich, -180…180.
  public let longitude: Double

  /// Creates a coordinate from degrees.
  ///
  /// - Throws: ``CoordinateError`` when a number is not finite or out of its range; the latitude is checked first.
  public init(latitude: Double, longitude: Double) throws(CoordinateError) {
    guard Self.latitudes.contains(latitude) else { throw .latitude(latitude) }
    guard Self.longitudes.contains(longitude) else { throw .longitude(longitude) }
    self.latitude = latitude
    self.longitude = longitude
  }

  @inlinable init(valid latitude: Double, _ longitude: Double) {
    self.latitude = latitude
    self.longitude = longitude
  }

  /// The valid latitudes, in degrees. The range contains neither NaN nor the infinities.
  public static let latitudes = -90.0...90.0

  /// The valid longitudes, in degrees. The range contains neither NaN nor the infinities.
  public static let longitudes = -180.0...180.0
}

/// A coordinate of which both numbers are multiples of 10⁻⁷ degrees, in half the memory. Those of OpenStreetMap are.
public struct DecimalCoordinate: BitwiseCopyable, Sendable {
  // In 10⁻⁷ degrees.
  @usableFromInline let latitude: Int32
  @usableFromInline let longitude: Int32

  // Computed: a stored one is looked up at each access.
  @inlinable static var unitsPerDegree: Double { 1e7 }

  /// Creates the same coordinate; `nil` if a number is not such a multiple, or is -0.
  public init?(_ coordinate: Coordinate) {
    latitude = Int32((coordinate.latitude * Self.unitsPerDegree).rounded())
    longitude = Int32((coordinate.longitude * Self.unitsPerDegree).rounded())
    guard self.coordinate.latitude.bitPattern == coordinate.latitude.bitPattern,
      self.coordinate.longitude.bitPattern == coordinate.longitude.bitPattern
    else { return nil }
  }

  /// The coordinate, with the numbers that it was created of: a quotient of two integers is rounded as their decimal is.
  @inlinable public var coordinate: Coordinate {
    Coordinate(
      valid: Double(latitude) / Self.unitsPerDegree, Double(longitude) / Self.unitsPerDegree)
  }
}

/// The reason why two numbers are not a ``Coordinate``.
public enum CoordinateError: Error, Hashable, Sendable {
  /// The latitude is not a finite number from -90 to 90.
  case latitude(Double)

  /// The longitude is not a finite number from -180 to 180.
  case longitude(Double)
}

extension CoordinateError: CustomStringConvertible {
  /// A message for users, with the accepted range.
  public var description: String {
    switch self {
    case .latitude(let value): "latitude must be a number from -90 to 90 degrees, got \(value)"
    case .longitude(let value): "longitude must be a number from -180 to 180 degrees, got \(value)"
    }
  }
}

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

  static let secondEccentricitySquared = eccentricitySquared / (1 - eccentricitySquared)

  static let thirdFlattening = flattening / (2 - flattening)
}
