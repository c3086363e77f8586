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

  /// Creates the record of an object's members.
  init(members: [JSONValue.Member], ignoresCase: Bool = false) {
    self.members = members
    self.ignoresCase = ignoresCase
    values = Dictionary(minimumCapacity: members.count)
    for member in members where !member.value.isNull {
      values[ExactText(ignoresCase ? member.name.lowercased() : member.name)] = member.value
    }
  }

  /// Returns the value of a field, which is not null and not an empty text; `nil` where there is none.
  subscript(name: String) -> JSONValue? {
    let value = values[ExactText(ignoresCase ? name.lowercased() : name)] ?? further.first { $0.name == name }?.value
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
      guard names.contains(member.name) else {
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
enum HStore {
  /// Returns the members of a text; `nil` where it is malformed.
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
