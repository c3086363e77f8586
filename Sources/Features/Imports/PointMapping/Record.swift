import Basics
import JSONText
import PointFormats

/// The fields of a foreign record by their names.
struct Record {
  /// The fields, in order.
  let members: [JSONValue.Member]

  private let ignoresCase: Bool
  private var values: [ExactText: JSONValue]

  /// The values that the record has beside its fields, such as `@geometry`. A field of the same name takes precedence.
  private var further: [(name: String, value: JSONValue)] = []

  /// Creates the fields of a record.
  ///
  /// - Parameter unpacked: the names of the fields whose texts hold further fields.
  init(_ record: ForeignRecord, ignoresCase: Bool, unpacked: [String]) {
    self.init(
      members: unpacked.isEmpty ? record.fields : Self.unpack(record.fields, unpacked), ignoresCase: ignoresCase)
    if let id = record.id { add("@id", id) }
    if let kind = record.kind { add("@type", .string(kind)) }
    if case .string(let type)? = record.geometry?["type"] { add("@geometry", .string(type)) }
  }

  init(members: [JSONValue.Member], ignoresCase: Bool = false) {
    self.members = members
    self.ignoresCase = ignoresCase
    values = Dictionary(minimumCapacity: members.count)
    for member in members where !member.value.isNull {
      values[ExactText(ignoresCase ? member.name.lowercased() : member.name)] = member.value
    }
  }

  /// Returns the value of a field, which is not null and not an empty text; `nil` if there is none.
  subscript(name: String) -> JSONValue? {
    let value =
      values[ExactText(ignoresCase ? name.lowercased() : name)]
      ?? further.first { $0.name.hasSameBytes(as: name) }?.value
    if case .string("")? = value { return nil }
    return value
  }

  /// Returns a Boolean value that indicates whether a field has one of the names, as this record compares names.
  func contains(_ name: String, in names: [String]) -> Bool {
    ignoresCase
      ? names.contains { $0.lowercased().hasSameBytes(as: name.lowercased()) }
      : names.contains { $0.hasSameBytes(as: name) }
  }

  /// Adds a value that is not a field.
  mutating func add(_ name: String, _ value: JSONValue) {
    further.append((name, value))
  }

  private static func unpack(_ members: [JSONValue.Member], _ names: [String]) -> [JSONValue.Member] {
    var result: [JSONValue.Member] = []
    for member in members {
      guard names.contains(where: { $0.hasSameBytes(as: member.name) }) else {
        result.append(member)
        continue
      }
      switch member.value.parsed {
      case .object(let inner): result += inner
      case .string(let text): result += HStore.members(of: text) ?? [member]
      default: result.append(member)
      }
    }
    return result
  }
}

/// The text form of PostgreSQL's type hstore, `"key"=>"value", …`, which ogr2ogr uses for the tags of OpenStreetMap.
private enum HStore {
  /// Returns the members of a text; `nil` if it is malformed.
  static func members(of text: String) -> [JSONValue.Member]? {
    var members: [JSONValue.Member] = []
    var bytes = Array(text.utf8)[...]
    skipSpace(&bytes)
    while !bytes.isEmpty {
      guard let key = string(&bytes) else { return nil }
      skipSpace(&bytes)
      guard bytes.starts(with: "=>".utf8) else { return nil }
      bytes.removeFirst(2)
      skipSpace(&bytes)
      if bytes.starts(with: "NULL".utf8) {
        bytes.removeFirst(4)
      } else {
        guard let value = string(&bytes) else { return nil }
        members.append(.init(name: key, value: .string(value)))
      }
      skipSpace(&bytes)
      if bytes.isEmpty { break }
      guard bytes.removeFirst() == UInt8(ascii: ",") else { return nil }
      skipSpace(&bytes)
    }
    return members
  }

  private static func skipSpace(_ bytes: inout ArraySlice<UInt8>) {
    bytes = bytes.drop { $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }
  }

  /// Removes a string in quotation marks, in which a backslash makes the next byte stand for itself.
  private static func string(_ bytes: inout ArraySlice<UInt8>) -> String? {
    guard bytes.popFirst() == UInt8(ascii: "\"") else { return nil }
    var text: [UInt8] = []
    while let byte = bytes.popFirst() {
      switch byte {
      case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
      case UInt8(ascii: "\\"):
        guard let next = bytes.popFirst() else { return nil }
        text.append(next)
      default: text.append(byte)
      }
    }
    return nil
  }
}

/// A path to a value in a record, such as `names.primary` or `addresses[0].freeform`.
///
/// A member of that whole name takes precedence, as tables have columns such as `names.primary`. The members of an
/// array without an index are those of its elements; with `[?]`, as in `addresses[?].country`, that of the first element
/// that has one. A string that is a JSON object or array is read as one.
struct FieldPath: Hashable, Sendable {
  private enum Step: Hashable {
    case member(String)
    case element(Int)
    /// The first element that has a value at the rest of the path.
    case firstElement
  }

  /// The text of the path.
  let text: String

  private let steps: [Step]

  /// Creates the path of a text; `nil` if it is malformed.
  init?(_ text: String) {
    self.text = text
    var steps: [Step] = []
    for part in text.split(separator: ".", omittingEmptySubsequences: false) {
      let pieces = part.split(separator: "[", omittingEmptySubsequences: false)
      guard let name = pieces.first, !name.isEmpty else { return nil }
      steps.append(.member(String(name)))
      for piece in pieces.dropFirst() {
        if piece == "?]" {
          steps.append(.firstElement)
          continue
        }
        guard piece.hasSuffix("]"), let index = Int(piece.dropLast()), index >= 0 else { return nil }
        steps.append(.element(index))
      }
    }
    guard !steps.isEmpty, steps.count <= 16 else { return nil }
    self.steps = steps
  }

  /// The name of the member of the record that the path begins with.
  private var firstName: String {
    if case .member(let name)? = steps.first { name } else { text }
  }

  /// Returns the name of the field of a record that the value is in.
  func fieldName(in record: Record) -> String {
    record[text] == nil ? firstName : text
  }

  /// Returns the value in a record; `nil` if there is none, or null.
  func value(in record: Record) -> JSONValue? {
    if let value = record[text] { return value }
    guard steps.count > 1, let first = record[firstName] else { return nil }
    return Self.value(at: steps[1...], in: first)
  }

  private static func value(at steps: ArraySlice<Step>, in value: JSONValue) -> JSONValue? {
    guard let step = steps.first else { return value.isNull ? nil : value }
    let rest = steps.dropFirst()
    switch (step, value.parsed) {
    case (.member(let name), .object(let members)):
      return members.last { $0.name.hasSameBytes(as: name) }.flatMap { Self.value(at: rest, in: $0.value) }
    case (.member, .array(let elements)):
      let values = elements.compactMap { Self.value(at: steps, in: $0) }
      return values.isEmpty ? nil : .array(values)
    case (.firstElement, .array(let elements)):
      return elements.lazy.compactMap { Self.value(at: rest, in: $0) }.first { $0.plainText != nil }
    case (.element(let index), .array(let elements)):
      return elements.indices.contains(index) ? Self.value(at: rest, in: elements[index]) : nil
    default: return nil
    }
  }
}

extension JSONValue {
  var isNull: Bool { if case .null = self { true } else { false } }

  /// The value, or the value of the JSON text that it is: some programs write nested values as texts.
  var parsed: JSONValue {
    guard case .string(let text) = self, let first = text.utf8.first,
      first == UInt8(ascii: "{") || first == UInt8(ascii: "["), let value = try? JSONReader.value(of: text.utf8)
    else { return self }
    return value
  }

  /// The value as the text of a tag: a string as it is, the different elements of an array joined by semicolons; `nil`
  /// for null, objects and what is empty.
  var plainText: String? {
    switch self {
    case .null, .object: return nil
    case .bool(let value): return value ? "true" : "false"
    case .number(let text), .string(let text): return text.isEmpty ? nil : text
    case .array(let elements):
      var texts: [String] = []
      for text in elements.lazy.compactMap(\.plainText) where !texts.contains(where: { $0.hasSameBytes(as: text) }) {
        texts.append(text)
      }
      return texts.isEmpty ? nil : texts.joined(separator: ";")
    }
  }
}
