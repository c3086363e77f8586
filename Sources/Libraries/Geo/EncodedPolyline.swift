/// The reason why a text is not an encoded polyline.
public struct EncodedPolylineError: Error, Hashable, Sendable {
  /// The number of the character at which something else was expected, from 1 on.
  public let character: Int

  /// The description of what was expected there.
  public let reason: String
}

extension EncodedPolylineError: CustomStringConvertible {
  /// A message for users, with the position.
  public var description: String { "at character \(character): \(reason)" }
}

/// The encoded polyline format of Google's maps: differences of latitudes and longitudes in units of 10⁻⁵ degrees, as
/// groups of five bits in printable characters.
public enum EncodedPolyline {
  private static let unitsPerDegree = 100_000.0
  private static let characters: ClosedRange<UInt8> = 63...126

  /// Returns a Boolean value that indicates whether a text has only characters of the format, and at least one.
  public static func hasOnlyItsCharacters(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { characters.contains($0) }
  }

  /// Returns the coordinates of an encoded polyline of precision 5.
  ///
  /// - Throws: ``EncodedPolylineError``.
  public static func coordinates(
    of text: String, maximumCount: Int
  ) throws(EncodedPolylineError) -> [Coordinate] {
    var coordinates: [Coordinate] = []
    var rest = text.utf8.enumerated().makeIterator()
    var (latitude, longitude) = (0, 0)
    var position = 0
    func next() throws(EncodedPolylineError) -> Int? {
      var value = 0
      var shift = 0
      while let (index, byte) = rest.next() {
        position = index + 1
        guard characters.contains(byte) else { throw error("expected a character from '?' to '~'") }
        // No difference has more than 26 bits.
        guard shift < 30 else { throw error("expected a number of at most six characters") }
        value |= Int((byte - 63) & 31) << shift
        shift += 5
        if byte - 63 < 32 { return value & 1 == 0 ? value >> 1 : ~(value >> 1) }
      }
      guard shift == 0 else {
        position += 1
        throw error("expected the rest of a number")
      }
      return nil
    }
    func error(_ reason: String) -> EncodedPolylineError {
      EncodedPolylineError(character: position, reason: reason)
    }
    while let north = try next() {
      guard let east = try next() else {
        position += 1
        throw error("expected a longitude")
      }
      latitude += north
      longitude += east
      let coordinate = try? Coordinate(
        latitude: Double(latitude) / unitsPerDegree, longitude: Double(longitude) / unitsPerDegree)
      guard let coordinate else {
        throw error(
          "expected a latitude from -90 to 90 and a longitude from -180 to 180, with a precision of 5 digits")
      }
      guard coordinates.count < maximumCount else { throw error("expected at most \(maximumCount) positions") }
      coordinates.append(coordinate)
    }
    return coordinates
  }
}
