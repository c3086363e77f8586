/// A route to search along: a line and the maximum distance from it. The places are in their order along the line, with
/// ``PointOfInterest/alongMetres``. The service rejects lines of more than 10,000 positions.
///
/// ```swift
/// let vienna = try Coordinate(latitude: 48.21, longitude: 16.37)
/// let linz = try Coordinate(latitude: 48.31, longitude: 14.29)
/// let route = try SearchRoute([vienna, linz], radiusMetres: 500)
/// for try await place in waymark.places(along: route, category: "charging_station") {
///   print(place.name, place.alongMetres ?? 0)
/// }
/// ```
public struct SearchRoute: Hashable, Sendable {
  /// The positions of the line, whose edges are geodesics of the WGS 84 ellipsoid.
  public let line: [Coordinate]

  /// The maximum distance from the line in metres, inclusive, 0 to 1,000,000.
  public let radiusMetres: Double

  /// The line as the encoded polyline of precision 5 that it was created from.
  private let polyline: String?

  /// Creates a route from positions.
  ///
  /// - Throws: ``RequestError/invalidGeometry(_:)`` if there are fewer than two different positions, and
  /// ``RequestError/invalidRadius``.
  public init(_ line: [Coordinate], radiusMetres: Double) throws(RequestError) {
    try self.init(line, radiusMetres: radiusMetres, polyline: nil)
  }

  /// Creates a route from an encoded polyline, as routing services return it.
  ///
  /// ```swift
  /// let route = try SearchRoute(polyline: "_p~iF~ps|U_ulLnnqC_mqNvxq`@", radiusMetres: 500)
  /// let precise = try SearchRoute(polyline: "_izlhA~rlgdF_{geC~ywl@", precision: 6, radiusMetres: 500)
  /// ```
  ///
  /// - Parameters:
  ///   - polyline: the text.
  ///   - precision: the number of decimal places of its coordinates, 1 to 9: 5 for most services, 6 for Valhalla and
  ///   wherever the format is called `polyline6`.
  ///   - radiusMetres: the maximum distance from the line in metres.
  /// - Throws: ``RequestError/invalidGeometry(_:)`` or ``RequestError/invalidCoordinate``.
  public init(polyline: String, precision: Int = 5, radiusMetres: Double) throws(RequestError) {
    let line = try Polyline.coordinates(of: polyline, precision: precision)
    try self.init(line, radiusMetres: radiusMetres, polyline: precision == 5 ? polyline : nil)
  }

  private init(_ line: [Coordinate], radiusMetres: Double, polyline: String?) throws(RequestError) {
    guard (0...1_000_000).contains(radiusMetres) else { throw .invalidRadius }
    guard Set(line).count >= 2 else { throw .tooFewPositions }
    self.line = line
    self.radiusMetres = radiusMetres
    self.polyline = polyline
  }

  /// The line in the shortest exact form that the service accepts in an address.
  var text: String { polyline ?? "LINESTRING(" + WKT.positions(line) + ")" }
}

/// The Encoded Polyline Algorithm Format of Google Maps.
enum Polyline {
  /// Returns the positions of a text.
  ///
  /// - Throws: ``RequestError/invalidGeometry(_:)`` or ``RequestError/invalidCoordinate``.
  static func coordinates(of text: String, precision: Int) throws(RequestError) -> [Coordinate] {
    guard (1...9).contains(precision) else {
      throw .invalidGeometry("the precision of a polyline must be from 1 to 9, got \(precision)")
    }
    let scale = (0..<precision).reduce(1.0) { scale, _ in scale * 10 }
    var line: [Coordinate] = []
    var (latitude, longitude) = (0, 0)
    var rest = text.utf8[...]
    while !rest.isEmpty {
      latitude += try takeNumber(from: &rest)
      longitude += try takeNumber(from: &rest)
      line.append(try Coordinate(latitude: Double(latitude) / scale, longitude: Double(longitude) / scale))
    }
    return line
  }

  /// Removes and returns the number at the beginning, which has at most 40 bits: far more than a difference of degrees
  /// needs, and so few that sums do not overflow, because each of them is a valid coordinate.
  private static func takeNumber(from rest: inout Substring.UTF8View) throws(RequestError) -> Int {
    var number = 0
    for shift in stride(from: 0, to: 40, by: 5) {
      guard let byte = rest.popFirst(), (63...126).contains(byte) else {
        throw .invalidGeometry("the text is not an encoded polyline")
      }
      let chunk = Int(byte) - 63
      number |= (chunk & 0x1F) << shift
      if chunk < 0x20 { return number & 1 == 0 ? number >> 1 : ~(number >> 1) }
    }
    throw .invalidGeometry("the text is not an encoded polyline")
  }
}
