import JSONText
import NIOHTTP1
import PointFormats
import Points

/// Entity tags (RFC 9110, section 8.8.3) of single places: strong, made from the version and, as several formats and
/// codings share an address, from the format and from the content coding.
enum EntityTag {
  /// Returns the tag of a version in a format, quotes included.
  static func of(version: Int64, format: PointFormat, coding: ContentCoding = .identity) -> String {
    let (format, coding) = (format.etagSuffix, coding == .gzip ? gzipSuffix : "")
    return String(unsafeUninitializedCapacity: 2 + 19 + format.utf8.count + coding.utf8.count) { buffer in
      var tag = UncheckedBytes(at: buffer.baseAddress.unsafelyUnwrapped)
      tag.write("\"")
      tag.write(atMost: 19) { DecimalText.write(version.magnitude, to: $0) }
      tag.write(text: format)
      tag.write(text: coding)
      tag.write("\"")
      return tag.end - buffer.baseAddress.unsafelyUnwrapped
    }
  }

  /// The suffix of the tags of gzipped representations.
  private static let gzipSuffix = ".gzip"

  /// Returns the tag of the place in the format that `If-None-Match` names, of either coding; `nil` where it names
  /// none.
  ///
  /// A client that has the place in one coding does not need it in the other.
  static func known(
    of point: PointOfInterest, format: PointFormat, ifNoneMatch values: [Substring]
  ) -> String? {
    guard !values.isEmpty else { return nil }
    let plain = of(version: point.version, format: format)
    if matches(plain, ifNoneMatch: values) { return plain }
    let gzip = of(version: point.version, format: format, coding: .gzip)
    return matches(gzip, ifNoneMatch: values) ? gzip : nil
  }

  /// Returns a Boolean value that indicates whether `If-None-Match` names the tag: by the weak comparison, or as `*`
  /// (RFC 9110, section 13.1.2).
  static func matches(_ tag: String, ifNoneMatch values: [Substring]) -> Bool {
    switch EntityTagList(values) {
    case .any: true
    case .tags(let tags, _): tags.contains { $0.text.utf8.elementsEqual(tag.utf8) }
    }
  }

  /// Returns the version of a tag; `nil` for a tag that this service does not make.
  static func version(of tag: Substring) -> Int64? {
    var text = tag.dropFirst().dropLast()
    if text.hasSuffix(gzipSuffix) { text = text.dropLast(gzipSuffix.count) }
    let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let digits = parts.first, let version = Int64(digits), version > 0,
      "\(version)".utf8.elementsEqual(digits.utf8)
    else { return nil }
    guard parts.count == 2 else { return version }
    guard let format = PointFormat(rawValue: String(parts[1])), format != .json else { return nil }
    return PointFormat.responses.contains(format) ? version : nil
  }
}

/// The value of `If-Match` or `If-None-Match` (RFC 9110, section 13.1).
enum EntityTagList {
  struct Tag {
    /// A Boolean value that indicates whether the tag is a weak one.
    let isWeak: Bool
    /// The tag, quotes included.
    let text: Substring
  }

  /// `*`.
  case any
  /// The tags up to the end or to the first malformed one, and a Boolean value that indicates whether it is the end.
  case tags([Tag], isWellFormed: Bool)

  /// Creates a list from the values of the header, as they were sent: a tag may contain commas.
  init(_ values: [Substring]) {
    var tags: [Tag] = []
    for value in values {
      var text = value.drop(while: \.isListSeparator)
      while !text.isEmpty {
        if text.first == "*" {
          self = .any
          return
        }
        let isWeak = text.hasPrefix("W/")
        if isWeak { text = text.dropFirst(2) }
        guard text.first == "\"", let end = text.dropFirst().firstIndex(of: "\"") else {
          self = .tags(tags, isWellFormed: false)
          return
        }
        tags.append(Tag(isWeak: isWeak, text: text[...end]))
        text = text[text.index(after: end)...].drop(while: \.isListSeparator)
      }
    }
    self = .tags(tags, isWellFormed: true)
  }
}

extension HTTPHeaders {
  /// Returns the values of a field that is a list of entity tags, as they were sent.
  func entityTags(_ name: String) -> [Substring] { self[name].map { $0[...] } }
}

extension Character {
  fileprivate var isListSeparator: Bool { self == "," || self == " " || self == "\t" }
}
