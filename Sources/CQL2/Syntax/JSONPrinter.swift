public import Basics
public import JSONText

extension FilterExpression {
  /// The expression in the encoding CQL2 JSON, without white space.
  public var json: [UInt8] {
    var writer = JSONWriter()
    write(to: &writer)
    return writer.sink
  }

  /// Writes the expression in the encoding CQL2 JSON.
  public func write(to writer: inout JSONWriter<[UInt8]>) {
    switch self {
    case .string(let text): writer.write(string: text.text)
    case .number(let number): writer.write(number: number)
    case .boolean(let value): writer.write(boolean: value)
    case .date(let date): writer.writeObject { $0.write(member: "date", RFC3339.text(of: date)) }
    case .timestamp(let time):
      writer.writeObject { $0.write(member: "timestamp", RFC3339.text(microsecondsSinceEpoch: time)) }
    case .interval(let first, let last):
      writer.writeObject {
        $0.write(name: "interval")
        $0.write([first, last]) { $0.write(intervalEnd: $1) }
      }
    case .geometry(let geometry): geometry.write(to: &writer)
    case .array(let elements): writer.write(elements) { $1.write(to: &$0) }
    case .property(let name): writer.writeObject { $0.write(member: "property", name.text) }
    case .operation(let operation, let operands): writer.write(operation.rawValue, operands)
    case .function(let name, let operands): writer.write(name.text, operands)
    }
  }
}

extension JSONWriter<[UInt8]> {
  fileprivate mutating func writeObject(_ members: (inout Self) -> Void) {
    beginObject()
    members(&self)
    endObject()
  }

  fileprivate mutating func write<Element>(_ elements: [Element], _ write: (inout Self, Element) -> Void) {
    beginArray()
    for element in elements { write(&self, element) }
    endArray()
  }

  fileprivate mutating func write(_ operation: String, _ operands: [FilterExpression]) {
    writeObject { writer in
      writer.write(member: "op", operation)
      writer.write(name: "args")
      writer.write(operands) { $1.write(to: &$0) }
    }
  }

  fileprivate mutating func write(intervalEnd end: FilterExpression?) {
    switch end {
    case nil: write(string: "..")
    case .date(let date): write(string: RFC3339.text(of: date))
    case .timestamp(let time): write(string: RFC3339.text(microsecondsSinceEpoch: time))
    case let end?: end.write(to: &self)
    }
  }

  fileprivate mutating func write(_ numbers: [Double]) {
    write(numbers) { $0.write(number: $1) }
  }

  fileprivate mutating func write(_ positions: [FilterGeometry.Position]) {
    write(positions) { $0.write($1) }
  }

  fileprivate mutating func write(_ position: FilterGeometry.Position) {
    write([position.x, position.y] + (position.z.map { [$0] } ?? []))
  }
}

extension FilterGeometry {
  fileprivate func write(to writer: inout JSONWriter<[UInt8]>) {
    switch self {
    case .simple(let part): part.write(to: &writer)
    case .collection(let parts):
      writer.writeObject {
        $0.write(member: "type", "GeometryCollection")
        $0.write(name: "geometries")
        $0.write(parts) { $1.write(to: &$0) }
      }
    case .box(let box):
      writer.writeObject {
        $0.write(name: "bbox")
        $0.write(box.numbers)
      }
    }
  }
}

extension FilterGeometry.Simple {
  fileprivate func write(to writer: inout JSONWriter<[UInt8]>) {
    writer.writeObject {
      $0.write(member: "type", type)
      $0.write(name: "coordinates")
      switch self {
      case .point(let position): $0.write(position)
      case .lineString(let positions), .multiPoint(let positions): $0.write(positions)
      case .polygon(let rings), .multiLineString(let rings): $0.write(rings) { $0.write($1) }
      case .multiPolygon(let polygons): $0.write(polygons) { $0.write($1) { $0.write($1) } }
      }
    }
  }
}
