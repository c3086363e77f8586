/// A strict reader of Mapbox Vector Tiles (specification 2.1) whose features are points.
package struct VectorTileReader: Hashable, Sendable {
  /// The value of an attribute.
  package enum Value: Hashable, Sendable {
    /// A text.
    case text(String)
    /// An unsigned number.
    case unsigned(UInt64)
  }

  /// A point with its attributes.
  package struct Feature: Hashable, Sendable {
    /// The grid units from the west.
    package let x: Int

    /// The grid units from the north.
    package let y: Int

    /// The attributes by their keys.
    package let attributes: [String: Value]

    package init(x: Int, y: Int, attributes: [String: Value]) {
      self.x = x
      self.y = y
      self.attributes = attributes
    }

    /// The text of an attribute; `nil` where it has none.
    package func text(_ name: String) -> String? {
      guard case .text(let text)? = attributes[name] else { return nil }
      return text
    }

    /// The number of an attribute; `nil` where it has none.
    package func number(_ name: String) -> Int? {
      guard case .unsigned(let number)? = attributes[name] else { return nil }
      return Int(number)
    }
  }

  /// A violation of the specification.
  package struct Violation: Error, Hashable, Sendable, CustomStringConvertible {
    /// The rule that is broken.
    package let description: String
  }

  /// The features of the layers, by name.
  package private(set) var layers: [String: [Feature]] = [:]

  /// The features of the layer `places`.
  package var places: [Feature] { layers["places"] ?? [] }

  /// The features of the layer `clusters`.
  package var clusters: [Feature] { layers["clusters"] ?? [] }

  /// The number of places, those of clusters included.
  package var placeCount: Int { clusters.reduce(places.count) { $0 + ($1.number("count") ?? 0) } }

  /// Reads a tile.
  ///
  /// - Throws: ``Violation``.
  package init(_ bytes: some Sequence<UInt8>) throws(Violation) {
    for field in try Message(Array(bytes)).fields {
      guard field.number == 3 else { throw Violation(description: "a tile has the unknown field \(field.number)") }
      let (name, features) = try Self.layer(try field.content())
      guard layers[name] == nil else { throw Violation(description: "two layers have the name \(name)") }
      layers[name] = features
    }
  }

  private static func layer(_ bytes: [UInt8]) throws(Violation) -> (name: String, features: [Feature]) {
    var (names, versions, extents): ([String], [UInt64], [UInt64]) = ([], [], [])
    var (keys, values, features): ([String], [Value], [[UInt8]]) = ([], [], [])
    for field in try Message(bytes).fields {
      switch field.number {
      case 15: versions.append(try field.integer())
      case 1: names.append(try field.text())
      case 2: features.append(try field.content())
      case 3: keys.append(try field.text())
      case 4: values.append(try value(try field.content()))
      case 5: extents.append(try field.integer())
      default: throw Violation(description: "a layer has the unknown field \(field.number)")
      }
    }
    guard versions == [2] else { throw Violation(description: "the versions are \(versions)") }
    guard extents == [4096] else { throw Violation(description: "the extents are \(extents)") }
    guard names.count == 1, !names[0].isEmpty else { throw Violation(description: "the names are \(names)") }
    guard !features.isEmpty else { throw Violation(description: "the layer \(names[0]) has no features") }
    guard Set(keys).count == keys.count else { throw Violation(description: "a key is repeated: \(keys)") }
    guard Set(values).count == values.count else { throw Violation(description: "a value is repeated") }
    var points: [Feature] = []
    for feature in features { points.append(try self.feature(feature, keys, values)) }
    return (names[0], points)
  }

  private static func value(_ bytes: [UInt8]) throws(Violation) -> Value {
    let fields = try Message(bytes).fields
    guard fields.count == 1 else { throw Violation(description: "a value has \(fields.count) fields") }
    switch fields[0].number {
    case 1: return .text(try fields[0].text())
    case 5: return .unsigned(try fields[0].integer())
    default: throw Violation(description: "a value has the field \(fields[0].number)")
    }
  }

  private static func feature(
    _ bytes: [UInt8], _ keys: [String], _ values: [Value]
  ) throws(Violation) -> Feature {
    var (tags, types, geometries): ([UInt64], [UInt64], [[UInt64]]) = ([], [], [])
    for field in try Message(bytes).fields {
      switch field.number {
      case 2: tags = try Message.numbers(try field.content())
      case 3: types.append(try field.integer())
      case 4: geometries.append(try Message.numbers(try field.content()))
      default: throw Violation(description: "a feature has the unknown field \(field.number)")
      }
    }
    guard types == [1] else { throw Violation(description: "the types are \(types)") }
    guard geometries.count == 1, geometries[0].count == 3, geometries[0][0] == 9 else {
      throw Violation(description: "the geometries are no single point: \(geometries)")
    }
    guard tags.count.isMultiple(of: 2) else { throw Violation(description: "\(tags.count) tags are not even") }
    var attributes: [String: Value] = [:]
    for index in stride(from: 0, to: tags.count, by: 2) {
      guard tags[index] < keys.count, tags[index + 1] < values.count else {
        throw Violation(description: "a tag is out of range")
      }
      let key = keys[Int(tags[index])]
      guard attributes[key] == nil else { throw Violation(description: "the key \(key) is repeated") }
      attributes[key] = values[Int(tags[index + 1])]
    }
    let (x, y) = (zigzag(geometries[0][1]), zigzag(geometries[0][2]))
    guard (0..<4096).contains(x), (0..<4096).contains(y) else {
      throw Violation(description: "the point (\(x), \(y)) is outside of the tile")
    }
    return Feature(x: x, y: y, attributes: attributes)
  }

  private static func zigzag(_ number: UInt64) -> Int { Int(bitPattern: UInt(number >> 1)) ^ -Int(number & 1) }
}

/// A message in the encoding of Protocol Buffers.
private struct Message {
  struct Field {
    let number: UInt64
    private let value: Value

    private enum Value {
      case number(UInt64)
      case bytes([UInt8])
    }

    fileprivate init(_ number: UInt64, value: UInt64) {
      self.number = number
      self.value = .number(value)
    }

    fileprivate init(_ number: UInt64, bytes: [UInt8]) {
      self.number = number
      self.value = .bytes(bytes)
    }

    func integer() throws(VectorTileReader.Violation) -> UInt64 {
      guard case .number(let integer) = value else { throw .init(description: "field \(number) is no number") }
      return integer
    }

    func content() throws(VectorTileReader.Violation) -> [UInt8] {
      guard case .bytes(let bytes) = value else { throw .init(description: "field \(number) has no length") }
      return bytes
    }

    func text() throws(VectorTileReader.Violation) -> String {
      guard let text = String(validating: try content(), as: UTF8.self) else {
        throw .init(description: "field \(number) is not UTF-8")
      }
      return text
    }
  }

  let fields: [Field]

  init(_ bytes: [UInt8]) throws(VectorTileReader.Violation) {
    var fields: [Field] = []
    var position = 0
    while position < bytes.count {
      let key = try Self.varint(bytes, &position)
      switch key & 7 {
      case 0: fields.append(Field(key >> 3, value: try Self.varint(bytes, &position)))
      case 2:
        let length = try Self.varint(bytes, &position)
        guard length <= bytes.count - position else { throw .init(description: "a length is beyond the end") }
        fields.append(Field(key >> 3, bytes: Array(bytes[position..<position + Int(length)])))
        position += Int(length)
      default: throw .init(description: "the wire type \(key & 7) is not used")
      }
    }
    self.fields = fields
  }

  /// Returns the numbers of a packed field.
  static func numbers(_ bytes: [UInt8]) throws(VectorTileReader.Violation) -> [UInt64] {
    var numbers: [UInt64] = []
    var position = 0
    while position < bytes.count { numbers.append(try varint(bytes, &position)) }
    return numbers
  }

  private static func varint(_ bytes: [UInt8], _ position: inout Int) throws(VectorTileReader.Violation) -> UInt64 {
    var number: UInt64 = 0
    for shift in stride(from: 0 as UInt64, through: 63, by: 7) {
      guard position < bytes.count else { throw .init(description: "a number is beyond the end") }
      let byte = bytes[position]
      position += 1
      number |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 {
        guard shift == 0 || byte != 0 else { throw .init(description: "a number is longer than needed") }
        return number
      }
    }
    throw .init(description: "a number has more than 64 bits")
  }
}
