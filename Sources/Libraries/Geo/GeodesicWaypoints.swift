#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#endif

/// The reason why coordinates are not a ``GeodesicArea`` or a ``GeodesicRoute``.
public enum GeodesicShapeError: Error, Hashable, Sendable {
  /// The ends of an edge are so nearly antipodal that the shortest path between them may not be unique.
  case nearlyAntipodal(Coordinate, Coordinate)

  /// The edges are longer altogether than a number of kilometres.
  case tooLong(maximumKilometres: Int)

  /// There are fewer than two distinct positions in a route, or than three in a ring.
  case tooFewPositions
}

extension GeodesicShapeError {
  /// Creates the error of a shape that is longer than a number of metres.
  init(longerThan metres: Double) { self = .tooLong(maximumKilometres: Int(metres / 1000)) }
}

extension GeodesicShapeError: CustomStringConvertible {
  /// A message for users, with what was expected.
  public var description: String {
    switch self {
    case .nearlyAntipodal(let start, let end):
      """
      expected a position between (\(start.longitude) \(start.latitude)) and (\(end.longitude) \(end.latitude)), which \
      are nearly antipodal
      """
    case .tooLong(let kilometres): "expected edges of at most \(kilometres) km altogether"
    case .tooFewPositions: "expected at least three positions that differ in a ring, and two in a line"
    }
  }
}

/// The vertices of a line of geodesics, with others between them where they are far apart.
struct GeodesicWaypoints {
  /// The maximum length of all edges of a shape, which bounds the number of its pieces: 50 times around the earth.
  static let maximumMetres = 2_000_000_000.0

  /// The maximum distance between two waypoints, metres. The plane through both and the ellipsoid's normal in the
  /// middle departs from a geodesic by the cube of its length: by less than 1 mm.
  static let spacingMetres = 100_000.0

  /// The distance from which two places count as nearly antipodal.
  private static let antipodalMetres = 19_900_000.0

  /// The waypoints, no two neighbours of which have the same position.
  private(set) var coordinates: [Coordinate] = []
  private(set) var positions: [EarthCentred] = []

  /// The length of all edges.
  private(set) var metres: Double

  private let maximumMetres: Double

  /// Creates the waypoints of a line.
  ///
  /// - Parameters:
  ///   - metres: the length of the edges of other lines that count towards the maximum.
  ///   - maximumMetres: the maximum length of all edges.
  /// - Throws: ``GeodesicShapeError``.
  init(
    _ line: [Coordinate], after metres: Double = 0, maximumMetres: Double = Self.maximumMetres
  ) throws(GeodesicShapeError) {
    (self.metres, self.maximumMetres) = (metres, maximumMetres)
    coordinates.reserveCapacity(line.count)
    positions.reserveCapacity(line.count)
    for coordinate in line {
      let position = EarthCentred(coordinate)
      if let start = coordinates.last, let from = positions.last {
        if from == position { continue }
        try appendWaypoints(from: start, at: from, to: coordinate, at: position)
      }
      coordinates.append(coordinate)
      positions.append(position)
    }
  }

  /// Removes all waypoints.
  mutating func removeAll() {
    coordinates = []
    positions = []
  }

  /// Appends a waypoint.
  mutating func append(_ coordinate: Coordinate, at position: EarthCentred) {
    coordinates.append(coordinate)
    positions.append(position)
  }

  private mutating func appendWaypoints(
    from start: Coordinate, at startPosition: EarthCentred, to end: Coordinate, at endPosition: EarthCentred
  ) throws(GeodesicShapeError) {
    let distance = Geodesic.distanceMetres(from: start, at: startPosition, to: end, at: endPosition)
    guard distance < Self.antipodalMetres else { throw .nearlyAntipodal(start, end) }
    metres += distance
    guard metres <= maximumMetres else { throw GeodesicShapeError(longerThan: maximumMetres) }
    guard distance > Self.spacingMetres else { return }
    for coordinate in GeodesicLine(from: start, to: end).between(count: Int(distance / Self.spacingMetres * 1.01)) {
      coordinates.append(coordinate)
      positions.append(EarthCentred(coordinate))
    }
  }
}

/// The shortest path between two places that are not nearly antipodal, as positions on it.
private struct GeodesicLine {
  /// The path from the place that is farther from the equator, on the southern hemisphere, to the other, east of it.
  private let path: GeodesicPath
  private let equatorialAzimuth: Angle
  private let startLongitude: Angle

  /// A Boolean value that indicates whether the path is the equator.
  private let isEquator: Bool
  private let degreesEast: Double

  // The way back to the places as they are.
  private let firstLongitude: Double
  private let northSign: Double
  private let eastSign: Double
  private let isReversed: Bool

  init(from start: Coordinate, to end: Coordinate) {
    // All lines from a pole are meridians: its longitude is that of the other end.
    let (start, end) = (start.onMeridian(of: end), end.onMeridian(of: start))
    let inverse = InverseGeodesic(from: start, to: end)
    let isReversed = abs(start.latitude) < abs(end.latitude)
    let (first, second) = isReversed ? (end, start) : (start, end)
    var east = second.longitude - first.longitude
    if east > 180 { east -= 360 }
    if east < -180 { east += 360 }
    self.isReversed = isReversed
    firstLongitude = first.longitude
    northSign = first.latitude > 0 ? -1 : 1
    eastSign = east < 0 ? -1 : 1
    degreesEast = inverse.degreesEast
    isEquator = inverse.isAlongEquator
    if let meridian = inverse.meridianPath() {
      path = meridian
      equatorialAzimuth = Angle(sine: 0, cosine: 1)
      startLongitude = Angle(sine: 0, cosine: meridian.start.cosine)
    } else {
      let course = inverse.searchedCourse()
      path = course.path
      equatorialAzimuth = course.equatorialAzimuth
      startLongitude = course.startLongitude
    }
  }

  /// Returns so many places that divide the path into nearly equal parts.
  func between(count: Int) -> [Coordinate] {
    guard count > 0 else { return [] }
    return (1...count).compactMap { index in
      let share = Double(isReversed ? count + 1 - index : index) / Double(count + 1)
      return isEquator ? coordinate(latitude: 0, degreesEast: degreesEast * share) : coordinate(at: share)
    }
  }

  private func coordinate(at share: Double) -> Coordinate? {
    let arc = path.start.turned(byRadians: path.arc * share)
    let sine = equatorialAzimuth.cosine * arc.sine
    let level = Angle(sine: equatorialAzimuth.sine, cosine: equatorialAzimuth.cosine * arc.cosine)
    let cosine = (level.sine * level.sine + level.cosine * level.cosine).squareRoot()
    let latitude = atan2(sine, cosine * (1 - WGS84.flattening)) * (180 / .pi)
    let longitude = Angle(towardsSine: equatorialAzimuth.sine * arc.sine, cosine: arc.cosine)
    let ahead = atan2(longitude.sineAhead(of: startLongitude), longitude.cosineBetween(startLongitude))
    let lag =
      WGS84.flattening * GeodesicSeries.longitudeMean(path.epsilon) * equatorialAzimuth.sine
      * (path.arc * share + GeodesicSeries.longitudeWaves(path.epsilon).growth(from: path.start, to: arc))
    return coordinate(latitude: latitude, degreesEast: (abs(ahead) - lag) * (180 / .pi))
  }

  private func coordinate(latitude: Double, degreesEast: Double) -> Coordinate? {
    var longitude = firstLongitude + eastSign * degreesEast
    if longitude > 180 { longitude -= 360 }
    if longitude < -180 { longitude += 360 }
    return try? Coordinate(
      latitude: min(max(northSign * latitude, -90), 90), longitude: min(max(longitude, -180), 180))
  }
}

extension Coordinate {
  /// Returns a pole with the longitude of another place; any other place as it is.
  fileprivate func onMeridian(of other: Coordinate) -> Coordinate {
    guard abs(latitude) == 90 else { return self }
    return (try? Coordinate(latitude: latitude, longitude: other.longitude)) ?? self
  }
}
