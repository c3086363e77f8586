import Geo
import JSONText

/// A point as well-known text (OGC 06-103r4, section 7.2): `POINT (13.4 52.5)`, with or without an altitude.
///
/// An SRID of 4326 before the text, as PostGIS writes it, is accepted; so is an empty space left out or doubled.
public struct WellKnownPoint: Hashable, Sendable {
  /// The latitude in degrees.
  public let latitude: Double

  /// The longitude in degrees.
  public let longitude: Double

  /// Creates the point of a text; `nil` where it is none within the range of coordinates.
  public init?(text: UnsafeBufferPointer<UInt8>) {
    var words = String(decoding: text.prefix(200), as: UTF8.self).uppercased()
    guard text.count <= 200 else { return nil }
    if words.hasPrefix("SRID=4326;") { words.removeFirst(10) }
    guard let open = words.firstIndex(of: "("), let close = words.lastIndex(of: ")"), open < close,
      words[words.index(after: close)...].allSatisfy(\.isWhitespace)
    else { return nil }
    let kind = words[..<open].split(whereSeparator: \.isWhitespace)
    let suffix = kind.dropFirst().first
    guard kind.first == "POINT" || kind.first == "POINTZ", kind.count <= 2,
      suffix == nil || ["Z", "M", "ZM"].contains(suffix)
    else { return nil }
    let numbers = words[words.index(after: open)..<close].split(whereSeparator: \.isWhitespace).map { number in
      Array(number.utf8).withUnsafeBufferPointer { DecimalText.value(of: $0) }
    }
    guard (2...4).contains(numbers.count), let longitude = numbers[0], let latitude = numbers[1],
      Coordinate.longitudes.contains(longitude), Coordinate.latitudes.contains(latitude)
    else { return nil }
    self.latitude = latitude
    self.longitude = longitude
  }
}
