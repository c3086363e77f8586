public import JSONText

/// What else is known of a place: text by key, at most ``maximumCount`` of them.
///
/// They are kept as the JSON object that answers carry (sorted by key, without white space), so that an answer copies
/// them whole; reading one by its key reads that text.
public struct Tags: Hashable, Sendable {
  /// The tags as a JSON object, keys in the order of their Unicode scalars, no white space.
  @ComparedByBytes public private(set) var json: String

  /// No tags.
  public static let none = Tags(json: "{}")

  /// How many tags a place may have.
  public static let maximumCount = 500

  /// How long a key may be, in Unicode scalars.
  public static let maximumKeyLength = 200

  /// How long a value may be, in Unicode scalars.
  public static let maximumValueLength = 2000

  /// Creates tags from keys and their values; of a key that stands twice, to the byte, the last value counts.
  ///
  /// - Throws: ``InvalidPlace`` with a violation for each tag that breaks a rule.
  public init(_ tags: some Sequence<(key: String, value: String)>) throws(InvalidPlace) {
    var builder = TagsBuilder()
    for (key, value) in tags { builder.append(key: key, value: value) }
    self = try builder.build()
  }

  /// Creates tags from a JSON object of strings; of a name that stands twice the last one counts.
  ///
  /// - Throws: ``InvalidPlace`` when the value is not an object of strings, or a tag breaks a rule.
  public init(_ value: JSONValue) throws(InvalidPlace) {
    guard case .object(let members) = value else {
      throw InvalidPlace([.init(pointer: "/tags", detail: "must be an object of strings, got \(value.kind)")])
    }
    var violations: [PlaceViolation] = []
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
    guard violations.isEmpty else { throw InvalidPlace(violations) }
    self = try builder.build()
  }

  /// Takes ``json`` that a store kept to the byte, without looking at it again.
  public init(storedJSON json: String) {
    self.init(json: json)
  }

  init(json: String) {
    self.json = json
  }

  /// The JSON pointer to the tag of that key, which is cut where it is longer than a key may be.
  static func pointer(to key: String) -> String {
    "/tags/" + JSONPointer.escape(String(String.UnicodeScalarView(key.unicodeScalars.prefix(maximumKeyLength))))
  }
}

extension Tags {
  /// Whether there are none.
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

  /// The tag of that key. Linear in the tags' length.
  public subscript(key: String) -> String? { pairs.first { $0.key.hasSameBytes(as: key) }?.value }
}
