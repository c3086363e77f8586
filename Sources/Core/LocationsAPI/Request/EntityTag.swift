import Basics
import HTTPServer
import JSONText
package import PointFormats
import Points

/// The part of entity tags that stands for everything but the places that responses depend on: the version of the
/// program, because another one may encode the same places differently, and the settings.
package struct ProgramTag: Sendable {
  /// The part with the hyphen before it.
  package let suffix: String

  init(version: String, settingsDigest: UInt64) {
    var hash = FNV1a()
    hash.combine(bytes: version.utf8)
    hash.combine(settingsDigest)
    suffix = hash.tagSuffix
  }

  /// No part, for a response that has a place as it is stored.
  static let none = ProgramTag()

  private init() { suffix = "" }
}

extension FNV1a {
  /// The hash as a part of entity tags.
  package var tagSuffix: String { "-" + String(value & 0xFFFF_FFFF, radix: 36) }
}

/// Entity tags (RFC 9110, section 8.8.3) of single places: strong, made from the version and, as several formats and
/// codings share an address, from the format and from the content coding. Those of responses that are more than the
/// stored place have the ``ProgramTag`` too, which `If-Match` ignores: what was read may be changed.
package enum EntityTag {
  /// Returns the tag of a version in a format, quotes included.
  package static func of(
    version: Int64, format: PointFormat, coding: ContentCoding = .identity, program: ProgramTag = .none
  ) -> String {
    let (format, coding) = (format.etagSuffix, coding == .gzip ? gzipSuffix : "")
    let length = 2 + 19 + program.suffix.utf8.count + format.utf8.count + coding.utf8.count
    return String(atMost: length) { tag in
      tag.write("\"")
      tag.write(atMost: 20) { DecimalText.write(version.magnitude, to: $0) }
      tag.write(text: program.suffix)
      tag.write(text: format)
      tag.write(text: coding)
      tag.write("\"")
    }
  }

  /// The suffix of the tags of gzipped representations.
  private static let gzipSuffix = ".gzip"

  /// Returns the version of a tag, of whichever settings and program; `nil` for a tag that this service does not make.
  static func version(of tag: Substring) -> Int64? {
    var text = tag.dropFirst().dropLast()
    if text.hasSuffix(gzipSuffix) { text = text.dropLast(gzipSuffix.count) }
    let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    let numbers = parts[0].split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard let version = Int64(numbers[0]), version > 0, "\(version)".utf8.elementsEqual(numbers[0].utf8),
      numbers.count == 1 || UInt64(numbers[1], radix: 36) != nil
    else { return nil }
    guard parts.count == 2 else { return version }
    guard let format = PointFormat(rawValue: String(parts[1])), format != .json else { return nil }
    return PointFormat.responses.contains(format) ? version : nil
  }
}

/// The value of `If-Match` or `If-None-Match` (RFC 9110, section 13.1).
enum EntityTagList: Sendable {
  struct Tag: Sendable {
    /// A Boolean value that indicates whether the tag is a weak one.
    let isWeak: Bool
    /// The tag, quotes included.
    let text: Substring
  }

  /// `*`.
  case any
  /// The tags up to the end or to the first malformed one, and a Boolean value that indicates whether it is the end.
  case tags([Tag], isWellFormed: Bool)

  /// Returns a Boolean value that indicates whether the list has a tag, by the weak comparison, or is `*` (RFC 9110,
  /// section 13.1.2).
  func matches(_ tag: String) -> Bool {
    switch self {
    case .any: true
    case .tags(let tags, _): tags.contains { $0.text.utf8.elementsEqual(tag.utf8) }
    }
  }

  /// Creates a list from the values of the header, as they were sent: a tag may contain commas.
  fileprivate init(_ values: [String]) {
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

extension RequestFields {
  /// Returns the entity tags of a field.
  func entityTags(_ name: String) -> EntityTagList { EntityTagList(self[name]) }
}

extension Character {
  fileprivate var isListSeparator: Bool { self == "," || self == " " || self == "\t" }
}
