import NIOHTTP1
import Points

/// Entity tags (RFC 9110, section 8.8.3) of single places: strong, made from the version and, as several formats share
/// an address, from the format.
enum EntityTag {
  /// The tag of a place in a format, quotes included.
  static func of(_ point: PointOfInterest, format: ResponseFormat) -> String {
    "\"\(point.version)\(format.etagSuffix)\""
  }

  /// Whether `If-None-Match` names the tag: by the weak comparison, or as `*` (RFC 9110, section 13.1.2).
  static func matches(_ tag: String, ifNoneMatch values: [Substring]) -> Bool {
    for value in values {
      var text = value.drop(while: \.isListSeparator)
      while !text.isEmpty {
        if text.first == "*" { return true }
        if text.hasPrefix("W/") { text = text.dropFirst(2) }
        guard text.first == "\"", let end = text.dropFirst().firstIndex(of: "\"") else { break }
        if text[...end] == tag { return true }
        text = text[text.index(after: end)...].drop(while: \.isListSeparator)
      }
    }
    return false
  }
}

extension Character {
  fileprivate var isListSeparator: Bool { self == "," || self == " " || self == "\t" }
}
