public import Basics

/// A JSON text in memory.
///
/// Numbers keep the text that they were written as, so that parsing loses no digits.
///
/// Texts are compared by their bytes, numbers as they were written.
public enum JSONValue: Sendable {
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// A number, as it was written; it is valid JSON, and `Double(text)` may be infinite.
  case number(String)
  /// A string, its escapes decoded.
  case string(String)
  case array([JSONValue])
  /// An object, its members in the order of the text. A text has no name twice; where a value has, the last one counts.
  case object([Member])

  /// One name and value of an object.
  public struct Member: Hashable, Sendable {
    /// The name, its escapes decoded.
    @ComparedByBytes public private(set) var name: String
    /// The value.
    public let value: JSONValue

    public init(name: String, value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  /// The last member of that name when this is an object that has one.
  public subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.last { $0.name.hasSameBytes(as: name) }?.value
  }

  /// The string, or those of an array of strings; `nil` for any other value.
  package var strings: [String]? { texts { if case .string(let text) = $0 { text } else { nil } } }

  /// Returns the text of the value, or those of the elements of an array; `nil` if one of these has none.
  package func texts(_ text: (JSONValue) -> String?) -> [String]? {
    guard case .array(let elements) = self else { return text(self).map { [$0] } }
    let texts = elements.compactMap(text)
    return texts.count == elements.count ? texts : nil
  }

  /// The kind of the value, in the words of RFC 8259.
  public var kind: String {
    switch self {
    case .null: "null"
    case .bool: "a boolean"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}

extension JSONValue: Hashable {
  /// Returns a Boolean value that indicates whether both are written alike, white space and escapes aside.
  public static func == (left: JSONValue, right: JSONValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let left), .bool(let right)): left == right
    case (.number(let left), .number(let right)), (.string(let left), .string(let right)): left.hasSameBytes(as: right)
    case (.array(let left), .array(let right)): left == right
    case (.object(let left), .object(let right)): left == right
    default: false
    }
  }

  /// Adds the value to a hash.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .bool(let value): hasher.combine(value)
    case .number(let text), .string(let text): text.hashBytes(into: &hasher)
    case .array(let elements): hasher.combine(elements)
    case .object(let members): hasher.combine(members)
    }
  }
}

extension JSONWriter {
  /// Writes a value; numbers as they were read.
  public mutating func write(_ value: JSONValue) {
    switch value {
    case .null: writeNull()
    case .bool(let value): write(boolean: value)
    case .number(let text): write(json: text)
    case .string(let text): write(string: text)
    case .array(let elements):
      beginArray()
      for element in elements { write(element) }
      endArray()
    case .object(let members):
      beginObject()
      for member in members {
        write(escapedName: member.name)
        write(member.value)
      }
      endObject()
    }
  }
}

extension JSONValue {
  /// The value as a JSON text without white space.
  public var text: [UInt8] {
    var json = JSONWriter()
    json.write(self)
    return json.sink
  }
}

/// JSON pointers (RFC 6901).
package enum JSONPointer {
  /// Returns a reference token with `~` and `/` escaped.
  package static func escape(_ token: String) -> String {
    var escaped = ""
    for character in token.unicodeScalars {
      switch character {
      case "~": escaped += "~0"
      case "/": escaped += "~1"
      default: escaped.unicodeScalars.append(character)
      }
    }
    return escaped
  }
}

extension JSONValue {
  /// Returns this value with a JSON merge patch applied to it (RFC 7396, section 2): the patch's members replace those
  /// of the same names, null removes one, objects are merged member by member, and anything but an object replaces the
  /// whole.
  ///
  /// Of a repeated name the last value counts; names are compared by their bytes. Members keep their order, new ones
  /// follow them. Linear in the length of both.
  public func merging(_ patch: JSONValue) -> JSONValue {
    guard case .object(let changes) = patch else { return patch }
    var merged = if case .object(let members) = self { UniqueMembers(members) } else { UniqueMembers([]) }
    for change in UniqueMembers(changes).members {
      if change.value == .null {
        merged[change.name] = nil
      } else {
        merged[change.name] = (merged[change.name] ?? .null).merging(change.value)
      }
    }
    return .object(merged.members)
  }
}

/// An object's members, each name once.
private struct UniqueMembers {
  private var names: [String] = []
  private var values: [JSONValue?] = []
  private var positions: [ExactText: Int] = [:]

  init(_ members: [JSONValue.Member]) {
    for member in members { self[member.name] = member.value }
  }

  /// The members in the order in which their names first came.
  var members: [JSONValue.Member] {
    zip(names, values).compactMap { name, value in value.map { .init(name: name, value: $0) } }
  }

  subscript(name: String) -> JSONValue? {
    get { positions[ExactText(name)].flatMap { values[$0] } }
    set {
      if let position = positions[ExactText(name)] {
        values[position] = newValue
      } else if newValue != nil {
        positions[ExactText(name)] = names.count
        names.append(name)
        values.append(newValue)
      }
    }
  }
}
