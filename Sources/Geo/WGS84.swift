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

  /// The second eccentricity, squared.
  static let secondEccentricitySquared = eccentricitySquared / (1 - eccentricitySquared)

  /// The third flattening.
  static let thirdFlattening = flattening / (2 - flattening)
}
