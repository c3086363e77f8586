public import Basics
public import JSONText

/// Further properties of a place: texts by key, at most ``maximumCount`` of them.
///
/// They are stored as the JSON object of responses (sorted by key, without white space), so that a response copies them
/// as a whole; looking one up by its key parses that text.
public struct Tags: Hashable, Sendable {
  /// The tags as a JSON object, keys in the order of their Unicode scalars, no white space.
  @ComparedByBytes public private(set) var json: String

  /// No tags.
  public static let none = Tags(json: "{}")

  /// The maximum number of tags of a place.
  public static let maximumCount = 500

  /// The maximum length of a key, in Unicode scalars.
  public static let maximumKeyLength = 200

  /// The maximum length of a value, in Unicode scalars.
  public static let maximumValueLength = 2000

  /// Creates tags from keys and their values; of a key that occurs twice, byte for byte, the last value counts.
  ///
  /// - Throws: ``InvalidPoint`` with a violation for each invalid tag.
  public init(_ tags: some Sequence<(key: String, value: String)>) throws(InvalidPoint) {
    var builder = TagsBuilder()
    for (key, value) in tags { builder.append(key: key, value: value) }
    self = try builder.build()
  }

  /// Creates tags from a JSON object of strings; of a name that occurs twice the last one counts.
  ///
  /// - Throws: ``InvalidPoint`` when the value is not an object of strings, or a tag is invalid.
  public init(_ value: JSONValue) throws(InvalidPoint) {
    guard case .object(let members) = value else {
      throw InvalidPoint([.init(pointer: "/tags", detail: "must be an object of strings, got \(value.kind)")])
    }
    var violations: [PointViolation] = []
    var builder = TagsBuilder()
    for member in members {
      if case .string(let text) = member.value {
        builder.append(key: member.name, value: text)
      } else {
        violations.append(
          .init(pointer: Self.pointer(to: member.name), detail: "must be a string, got \(member.value.kind)")
        )
      }
    }
    guard violations.isEmpty else { throw InvalidPoint(violations) }
    self = try builder.build()
  }

  /// Creates tags from stored ``json``, without validation.
  public init(storedJSON json: String) {
    self.init(json: json)
  }

  init(json: String) {
    self.json = json
  }

  /// Returns the JSON pointer to the tag of a key, which is cut at the maximum length of a key.
  static func pointer(to key: String) -> String {
    "/tags/" + JSONPointer.escape(String(String.UnicodeScalarView(key.unicodeScalars.prefix(maximumKeyLength))))
  }
}

extension Tags {
  /// A Boolean value that indicates whether there are no tags.
  @inlinable
  public var isEmpty: Bool { json.utf8.count == 2 }

  /// The tags by key. Linear in their length.
  public var dictionary: [ExactText: String] {
    Dictionary(pairs.map { (ExactText($0.key), $0.value) }, uniquingKeysWith: { _, last in last })
  }

  /// The tags, sorted by key. Linear in their length.
  public var pairs: [(key: String, value: String)] {
    guard !isEmpty, case .object(let members)? = try? JSONReader.value(of: json.utf8) else { return [] }
    return members.compactMap { member in
      if case .string(let text) = member.value { (member.name, text) } else { nil }
    }
  }

  /// The value of a key. Linear in the length of the tags.
  public subscript(key: String) -> String? { pairs.first { $0.key.hasSameBytes(as: key) }?.value }
}
