import Basics
import JSONText

extension FilterExpression {
  /// The expression in the encoding CQL2 Text, with the names of properties in quotation marks.
  ///
  /// The encoding cannot express a string with a backslash at the end, an array of one element that is compared with
  /// null, nor a function whose name is no identifier there; JSON can.
  public var text: String {
    var printer = TextPrinter()
    printer.write(self)
    return String(decoding: printer.bytes, as: UTF8.self)
  }
}

/// A writer of CQL2 Text.
private struct TextPrinter {
  private let backslash = UInt8(ascii: "\\")

  var bytes: [UInt8] = []

  mutating func write(_ text: String) { bytes.append(contentsOf: text.utf8) }

  mutating func write(_ number: Double) { DecimalText.append(number, to: &bytes) }

  mutating func write(quoted text: String, _ quote: UInt8) {
    bytes.append(quote)
    var previous: UInt8 = 0
    for byte in text.utf8 {
      // After a backslash, the first of two quotes would be read as escaped, and the second as the end.
      if byte == quote { bytes.append(quote == UInt8(ascii: "'") && previous == backslash ? backslash : quote) }
      bytes.append(byte)
      previous = byte
    }
    bytes.append(quote)
  }

  mutating func write<Element>(
    _ elements: [Element], between brackets: (String, String) = ("(", ")"),
    _ write: (inout TextPrinter, Element) -> Void
  ) {
    self.write(brackets.0)
    for (index, element) in elements.enumerated() {
      if index > 0 { self.write(", ") }
      write(&self, element)
    }
    self.write(brackets.1)
  }

  mutating func write(_ expression: FilterExpression) {
    switch expression {
    case .string(let text): write(quoted: text.text, UInt8(ascii: "'"))
    case .number(let number): write(number)
    case .boolean(let value): write(value ? "TRUE" : "FALSE")
    case .date(let date): write("DATE('\(RFC3339.text(of: date))')")
    case .timestamp(let time): write("TIMESTAMP('\(RFC3339.text(microsecondsSinceEpoch: time))')")
    case .interval(let first, let last):
      write([first, last], between: ("INTERVAL(", ")")) { $0.write(intervalEnd: $1) }
    case .geometry(let geometry): write(geometry)
    case .array(let elements): write(elements) { $0.write($1) }
    case .property(let name): write(quoted: name.text, UInt8(ascii: "\""))
    case .function(let name, let operands): write(operands, between: (name.text + "(", ")")) { $0.write($1) }
    case .operation(let operation, let operands): write(operation, operands)
    }
  }

  private mutating func write(intervalEnd end: FilterExpression?) {
    switch end {
    case nil: write("'..'")
    case .date(let date): write("'\(RFC3339.text(of: date))'")
    case .timestamp(let time): write("'\(RFC3339.text(microsecondsSinceEpoch: time))'")
    case let end?: write(end)
    }
  }

  private mutating func write(_ operation: FilterOperator, _ operands: [FilterExpression]) {
    switch operation.family {
    case .logical:
      for (index, operand) in operands.enumerated() {
        if index > 0 { write(" \(operation.name) ") }
        write(operand, minimum: operation.precedence + 1)
      }
    case .negation:
      write("NOT ")
      write(operands[0], minimum: operation.precedence + 1)
    case .comparison, .like:
      write(operands[0], minimum: operation.precedence + 1)
      write(" \(operation.name) ")
      write(operands[1], minimum: operation.precedence + 1)
    case .between:
      write(operands[0], minimum: operation.precedence + 1)
      write(" BETWEEN ")
      write(operands[1], minimum: operation.precedence + 1)
      write(" AND ")
      write(operands[2], minimum: operation.precedence + 1)
    case .isIn:
      write(operands[0], minimum: operation.precedence + 1)
      write(" IN ")
      if case .array(let elements) = operands[1] {
        write(elements) { $0.write($1, minimum: operation.precedence + 1) }
      }
    case .isNull:
      write(operands[0], minimum: operation.precedence + 1)
      write(" IS NULL")
    case .arithmetic:
      // The operators of one precedence are applied from the left.
      write(operands[0], minimum: operation == .power ? operation.precedence + 1 : operation.precedence)
      write(" \(operation.name) ")
      write(operands[1], minimum: operation.precedence + 1)
    case .text, .spatial, .temporal, .array:
      write(operands, between: (operation.name + "(", ")")) { $0.write($1) }
    }
  }

  /// Writes an operand, in parentheses where it binds less than the minimum.
  private mutating func write(_ expression: FilterExpression, minimum: Int) {
    guard expression.precedence < minimum else { return write(expression) }
    write("(")
    write(expression)
    write(")")
  }

  // MARK: Geometries

  private mutating func write(_ geometry: FilterGeometry) {
    switch geometry {
    case .simple(let part): write(part)
    case .collection(let parts):
      write("GEOMETRYCOLLECTION")
      if parts.contains(where: \.hasHeights) { write(" Z") }
      write(parts) { $0.write($1) }
    case .box(let box): write(box.numbers, between: ("BBOX(", ")")) { $0.write($1) }
    }
  }

  private mutating func write(_ geometry: FilterGeometry.Simple) {
    write(geometry.type.uppercased())
    if geometry.hasHeights { write(" Z") }
    switch geometry {
    case .point(let position): write([position]) { $0.write($1) }
    case .lineString(let positions): write(positions) { $0.write($1) }
    case .multiPoint(let positions):
      write(positions) { printer, position in printer.write([position]) { $0.write($1) } }
    case .polygon(let rings), .multiLineString(let rings): write(rings)
    case .multiPolygon(let polygons): write(polygons) { $0.write($1) }
    }
  }

  private mutating func write(_ rings: [[FilterGeometry.Position]]) {
    write(rings) { printer, ring in printer.write(ring) { $0.write($1) } }
  }

  private mutating func write(_ position: FilterGeometry.Position) {
    write(position.x)
    write(" ")
    write(position.y)
    guard let z = position.z else { return }
    write(" ")
    write(z)
  }
}

extension FilterOperator {
  /// The rank by which the operator binds, the loosest first.
  fileprivate var precedence: Int {
    switch self {
    case .or: 1
    case .and: 2
    case .not: 3
    case .add, .subtract: 5
    case .multiply, .divide, .modulo, .integerDivide: 6
    case .power: 7
    default:
      switch family {
      case .comparison, .like, .between, .isIn, .isNull: 4
      default: 9
      }
    }
  }
}

extension FilterExpression {
  fileprivate var precedence: Int {
    switch self {
    case .operation(let operation, _): operation.precedence
    case .number(let number): number < 0 ? 7 : 9
    default: 9
    }
  }
}
