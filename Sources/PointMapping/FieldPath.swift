import Basics
import JSONText

/// A path to a value in a record, such as `names.primary` or `addresses[0].freeform`.
///
/// A member of that whole name takes precedence, as tables have columns such as `names.primary`. The members of an
/// array without an index are those of its elements. A string that is a JSON object or array is read as one.
struct FieldPath: Hashable, Sendable {
  private enum Step: Hashable {
    case member(String)
    case element(Int)
  }

  /// The text of the path.
  let text: String

  private let steps: [Step]

  /// Creates the path of a text; `nil` where it is malformed.
  init?(_ text: String) {
    self.text = text
    var steps: [Step] = []
    for part in text.split(separator: ".", omittingEmptySubsequences: false) {
      let pieces = part.split(separator: "[", omittingEmptySubsequences: false)
      guard let name = pieces.first, !name.isEmpty else { return nil }
      steps.append(.member(String(name)))
      for piece in pieces.dropFirst() {
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

  /// Returns the value in a record; `nil` where there is none, or null.
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
