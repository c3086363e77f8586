import CTimeZones
package import Geo

/// The time zones by position: at land by the borders of timezone-boundary-builder, at sea beyond them by the longitude.
package enum PositionZones {
  // The bytes are constants of the program.
  private nonisolated(unsafe) static let map: PositionMap = {
    var count = 0
    let bytes = time_zone_shapes(&count)
    return PositionMap(UnsafeBufferPointer(start: bytes, count: count))
  }()

  /// The number of bytes of the built-in file.
  static var byteCount: Int { map.byteCount }

  /// The names of the zones by their numbers.
  package static var names: [String] { map.names }

  /// Returns the number of the zone at a position, exact within 100 m at borders.
  package static func number(at position: Coordinate) -> Int { map.number(at: position) }

  /// Returns the rules of a zone. Without the system's database they are those of its longitude at sea, and else UTC.
  package static func rules(of number: Int) -> ZoneRules { rules(named: names[number]) ?? .utc }

  /// Returns the rules of a zone of the system's database, or of one at sea; `nil` if it is neither.
  package static func rules(named name: String) -> ZoneRules? {
    if let rules = ZoneRules.system(named: name) { return rules }
    // The names have the sign of POSIX, which is that of the west.
    guard let hours = Int(name.replacing("Etc/GMT", with: "")) else { return nil }
    return ZoneRules(name: name, offsetSeconds: -hours * 3_600)
  }
}
