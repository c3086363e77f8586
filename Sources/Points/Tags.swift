public import JSONText

/// What else is known of a place: text by key, at most ``maximumCount`` of them.
///
/// They are kept as the JSON object that answers carry (sorted by key, without white space), so that an answer copies
/// them whole; reading one by its key reads that text.
public struct Tags: Hashable, Sendable {
  /// The tags as a JSON object, keys in the order of their Unicode scalars, no white space.
  public let json: String

  /// No tags.
  public static let none = Tags(json: "{}")

  /// How many tags a place may have.
  public static let maximumCount = 500

  /// How long a key may be, in Unicode scalars.
  public static let maximumKeyLength = 200

  /// How long a value may be, in Unicode scalars.
  public static let maximumValueLength = 2000

  /// Makes tags from text by key.
  ///
  /// - Throws: ``InvalidPlace`` with a violation for each tag that breaks a rule.
  public init(_ tags: [String: String]) throws(InvalidPlace) {
    try self.init(unique: tags.map { ($0.key, $0.value) })
  }

  /// Makes tags from a JSON object of strings; of a name that stands twice the last one counts.
  ///
  /// - Throws: ``InvalidPlace`` when the value is not an object of strings, or a tag breaks a rule.
  public init(_ value: JSONValue) throws(InvalidPlace) {
    guard case .object(let members) = value else {
      throw InvalidPlace([.init(pointer: "/tags", detail: "must be an object of strings, got \(value.kind)")])
    }
    var violations: [PlaceViolation] = []
    var tags: [String: String] = [:]
    for member in members {
      guard case .string(let text) = member.value else {
        violations.append(
          .init(pointer: Self.pointer(to: member.name), detail: "must be a string, got \(member.value.kind)"))
        continue
      }
      tags[member.name] = text
    }
    guard violations.isEmpty else { throw InvalidPlace(violations) }
    try self.init(tags)
  }

  /// Takes a JSON object that a store kept from ``json``, white space and order aside, without checking the rules
  /// again; members that are not strings are left out, and what is not an object is no tags.
  public init(stored bytes: UnsafeBufferPointer<UInt8>) {
    guard bytes.count > 2, case .object(let members)? = try? JSONReader.value(of: bytes) else {
      self = .none
      return
    }
    var pairs: [(key: String, value: String)] = []
    pairs.reserveCapacity(members.count)
    for member in members {
      if case .string(let text) = member.value { pairs.append((member.name, text)) }
    }
    self.init(json: Self.json(of: pairs))
  }

  private init(unique pairs: [(key: String, value: String)]) throws(InvalidPlace) {
    var violations: [PlaceViolation] = []
    if pairs.count > Self.maximumCount {
      violations.append(
        .init(pointer: "/tags", detail: "must have at most \(Self.maximumCount) members, got \(pairs.count)"))
    } else {
      for (key, value) in pairs {
        if let detail = Self.complaint(about: key, maximumLength: Self.maximumKeyLength) {
          violations.append(.init(pointer: Self.pointer(to: key), detail: "the key \(detail)"))
        }
        if let detail = Self.complaint(about: value, maximumLength: Self.maximumValueLength) {
          violations.append(.init(pointer: Self.pointer(to: key), detail: detail))
        }
      }
    }
    guard violations.isEmpty else { throw InvalidPlace(violations) }
    self.init(json: Self.json(of: pairs))
  }

  private init(json: String) {
    self.json = json
  }

  private static func complaint(about text: String, maximumLength: Int) -> String? {
    if text.utf8.count > maximumLength {
      let length = text.unicodeScalars.count
      if length > maximumLength { return "must have at most \(maximumLength) characters, got \(length)" }
    }
    // PostgreSQL has no text with U+0000 in it.
    return text.utf8.contains(0) ? "must not contain U+0000" : nil
  }

  private static func pointer(to key: String) -> String {
    "/tags/" + JSONPointer.escape(String(String.UnicodeScalarView(key.unicodeScalars.prefix(maximumKeyLength))))
  }

  private static func json(of pairs: [(key: String, value: String)]) -> String {
    guard !pairs.isEmpty else { return "{}" }
    var bytes: [UInt8] = []
    for (key, value) in pairs.sorted(by: { $0.key.unicodeScalars.lexicographicallyPrecedes($1.key.unicodeScalars) }) {
      bytes.append(bytes.isEmpty ? UInt8(ascii: "{") : UInt8(ascii: ","))
      JSONString.append(key, to: &bytes)
      bytes.append(UInt8(ascii: ":"))
      JSONString.append(value, to: &bytes)
    }
    bytes.append(UInt8(ascii: "}"))
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension Tags {
  /// Whether there are none.
  @inlinable
  public var isEmpty: Bool { json.utf8.count == 2 }

  /// The tags by key. Linear in their length.
  public var dictionary: [String: String] {
    Dictionary(pairs, uniquingKeysWith: { _, last in last })
  }

  /// The tags, sorted by key. Linear in their length.
  public var pairs: [(key: String, value: String)] {
    guard !isEmpty, case .object(let members)? = try? JSONReader.value(of: json.utf8) else { return [] }
    return members.compactMap { member in
      if case .string(let text) = member.value { (member.name, text) } else { nil }
    }
  }

  /// The tag of that key. Linear in the tags' length.
  public subscript(key: String) -> String? { pairs.first { $0.key == key }?.value }
}
