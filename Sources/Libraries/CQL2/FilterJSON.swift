public import Basics
public import JSONText

extension FilterExpression {
  /// Creates the expression of a text in the encoding CQL2 JSON. Linear in its length; the stack is bounded by the
  /// maximum depth.
  ///
  /// - Throws: ``FilterError`` with the value in place of which something else was expected.
  public init(json text: some Collection<UInt8>, limits: FilterLimits = FilterLimits()) throws(FilterError) {
    guard text.count <= limits.bytes else {
      throw FilterError(.filter, "expected at most \(limits.bytes) bytes, got \(text.count)")
    }
    let value: JSONValue
    do {
      // Each expression is an object in an array; the coordinates of a geometry are four arrays.
      value = try JSONReader.value(of: text, maximumDepth: 2 * limits.depth + 8)
    } catch {
      throw FilterError(.filter, error.description)
    }
    try self.init(json: value, limits: limits)
  }

  /// Creates the expression of a JSON value in the encoding CQL2 JSON.
  ///
  /// - Throws: ``FilterError`` with the value in place of which something else was expected.
  public init(json value: JSONValue, limits: FilterLimits = FilterLimits()) throws(FilterError) {
    var parser = JSONParser(limits: limits)
    self = try parser.filter(value)
  }
}

extension FilterGeometry {
  /// Creates a geometry from GeoJSON: a geometry, or the one of a feature.
  ///
  /// - Throws: ``FilterError`` with the value in place of which something else was expected.
  public init(geoJSON value: JSONValue, limits: FilterLimits = FilterLimits()) throws(FilterError) {
    var parser = JSONParser(limits: limits)
    if case .string("Feature")? = value["type"], let geometry = value["geometry"] {
      self = try parser.at("geometry") { parser throws(FilterError) in try parser.geometry(geometry) }
    } else {
      self = try parser.geometry(value)
    }
  }

  /// Creates a geometry from a text of GeoJSON or of Well-known Text (WKT).
  ///
  /// - Throws: ``FilterError`` with the position at which something else was expected.
  public init(text: String, limits: FilterLimits = FilterLimits()) throws(FilterError) {
    guard text.utf8.count <= limits.bytes else {
      throw FilterError(.filter, "expected at most \(limits.bytes) bytes, got \(text.utf8.count)")
    }
    guard text.utf8.first(where: { $0 > UInt8(ascii: " ") }) == UInt8(ascii: "{") else {
      var parser = try TextParser(text, limits: limits)
      self = try parser.geometry()
      return
    }
    let value: JSONValue
    do {
      value = try JSONReader.value(of: text.utf8, maximumDepth: Self.jsonDepth)
    } catch {
      throw FilterError(.filter, error.description)
    }
    try self.init(geoJSON: value, limits: limits)
  }

  /// The maximum depth of GeoJSON, properties of a feature included.
  private static let jsonDepth = 16
}

/// A parser of CQL2 JSON.
private struct JSONParser {
  private var budget: FilterBudget
  private var path: [String] = []

  init(limits: FilterLimits) {
    budget = FilterBudget(limits)
  }

  private func error(_ reason: String) -> FilterError {
    let steps = path.map { step in
      "/" + step.replacing("~", with: "~0").replacing("/", with: "~1")
    }
    return FilterError(.pointer(steps.joined()), reason)
  }

  /// Runs a rule on a member or an element.
  mutating func at<Value>(
    _ step: String, _ rule: (inout JSONParser) throws(FilterError) -> Value
  ) throws(FilterError) -> Value {
    path.append(step)
    let value = try rule(&self)
    path.removeLast()
    return value
  }

  mutating func filter(_ value: JSONValue) throws(FilterError) -> FilterExpression {
    let expression = try expression(value)
    guard OperandKinds.logical.contains(expression.kind) else {
      throw error("expected \(OperandKinds.logical.description)")
    }
    return expression
  }

  private mutating func expression(_ value: JSONValue) throws(FilterError) -> FilterExpression {
    guard budget.enter() else { throw error(budget.depthReason) }
    defer { budget.leave() }
    switch value {
    case .null: throw error("expected an expression, got null")
    case .bool(let value): return .boolean(value)
    case .string(let text): return .string(try string(text))
    case .number: return .number(try number(value))
    case .array(let elements): return .array(try expressions(elements))
    case .object: return try object(value)
    }
  }

  private mutating func expressions(_ values: [JSONValue]) throws(FilterError) -> [FilterExpression] {
    var expressions: [FilterExpression] = []
    for (index, value) in values.enumerated() {
      expressions.append(try at(String(index)) { parser throws(FilterError) in try parser.expression(value) })
    }
    return expressions
  }

  private func string(_ text: String) throws(FilterError) -> ExactText {
    guard !text.utf8.contains(0) else { throw error("expected no NUL character") }
    return ExactText(text)
  }

  private func number(_ value: JSONValue) throws(FilterError) -> Double {
    guard case .number(let text) = value, let number = Double(text), number.isFinite else {
      throw error("expected a number of at most 1.8e308")
    }
    return number
  }

  private mutating func object(_ value: JSONValue) throws(FilterError) -> FilterExpression {
    if let operation = value["op"] { return try operationOrFunction(operation, operands: value["args"]) }
    if let property = value["property"] {
      return try at("property") { parser throws(FilterError) in
        guard case .string(let name) = property, !name.isEmpty else { throw parser.error("expected a name") }
        return .property(try parser.string(name))
      }
    }
    if let date = value["date"] {
      return try at("date") { parser throws(FilterError) in
        guard case .string(let text) = date, let date = RFC3339.date(of: text) else {
          throw parser.error("expected a date such as \"2026-11-21\"")
        }
        return .date(date)
      }
    }
    if let time = value["timestamp"] {
      return try at("timestamp") { parser throws(FilterError) in
        guard case .string(let text) = time, let time = RFC3339.microsecondsSinceEpoch(of: text) else {
          throw parser.error("expected a time such as \"2026-11-21T10:15:00Z\"")
        }
        return .timestamp(microsecondsSinceEpoch: time)
      }
    }
    if let interval = value["interval"] {
      return try at("interval") { parser throws(FilterError) in try parser.interval(interval) }
    }
    if let box = value["bbox"], value["type"] == nil {
      return try at("bbox") { parser throws(FilterError) in
        guard let box = FilterGeometry.Box(try parser.numbers(box)) else {
          throw parser.error("expected west, south, east and north, or also two heights, with south at most north")
        }
        return .geometry(.box(box))
      }
    }
    if value["type"] != nil { return .geometry(try geometry(value)) }
    throw error("expected an object with one of the members op, property, date, timestamp, interval, bbox and type")
  }

  private mutating func operationOrFunction(
    _ name: JSONValue, operands: JSONValue?
  ) throws(FilterError) -> FilterExpression {
    guard case .string(let name) = name, !name.isEmpty, !name.utf8.contains(0) else {
      throw try at("op") { parser throws(FilterError) in parser.error("expected the name of an operator or function") }
    }
    guard case .array(let values)? = operands else { throw error("expected a member args that is an array") }
    return try at("args") { parser throws(FilterError) in
      let operands = try parser.expressions(values)
      guard let operation = FilterOperator(rawValue: name) else { return .function(ExactText(name), operands) }
      guard operation.operandCount.contains(operands.count) else {
        let counts = operation.operandCount
        let words = counts.upperBound == Int.max ? "at least \(counts.lowerBound)" : "\(counts.lowerBound)"
        throw parser.error("expected \(words) operand\(words == "1" ? "" : "s") of \(name), got \(operands.count)")
      }
      for (index, operand) in operands.enumerated() {
        if let reason = operation.expectation(instead: operand, at: index) {
          throw try parser.at(String(index)) { parser throws(FilterError) in parser.error(reason) }
        }
      }
      return .joined(operation, operands)
    }
  }

  // MARK: Times

  private mutating func interval(_ value: JSONValue) throws(FilterError) -> FilterExpression {
    guard case .array(let ends) = value, ends.count == 2 else { throw error("expected an array of two ends") }
    return .interval(
      try at("0") { parser throws(FilterError) in try parser.intervalEnd(ends[0]) },
      try at("1") { parser throws(FilterError) in try parser.intervalEnd(ends[1]) })
  }

  private mutating func intervalEnd(_ value: JSONValue) throws(FilterError) -> FilterExpression? {
    if case .string(let text) = value {
      if text == ".." { return nil }
      guard let instant = FilterExpression(instant: text) else {
        throw error("expected a date such as \"2026-11-21\", a time such as \"2026-11-21T10:15:00Z\", or \"..\"")
      }
      return instant
    }
    let end = try expression(value)
    guard OperandKinds.intervalEnd.contains(end.kind) else {
      throw error("expected \(OperandKinds.intervalEnd.description), or \"..\"")
    }
    return end
  }

  // MARK: Geometries

  mutating func geometry(_ value: JSONValue) throws(FilterError) -> FilterGeometry {
    guard case .string("GeometryCollection")? = value["type"] else { return .simple(try simple(value)) }
    guard case .array(let parts)? = value["geometries"], !parts.isEmpty else {
      throw error("expected a member geometries that is an array of at least one geometry")
    }
    return .collection(
      try at("geometries") { parser throws(FilterError) in
        try parser.elements(parts) { parser, part throws(FilterError) in try parser.simple(part) }
      })
  }

  private mutating func simple(_ value: JSONValue) throws(FilterError) -> FilterGeometry.Simple {
    guard case .string(let type)? = value["type"] else { throw error("expected a geometry that is not a collection") }
    guard let coordinates = value["coordinates"] else { throw error("expected a member coordinates") }
    return try at("coordinates") { parser throws(FilterError) in
      switch type {
      case "Point": return .point(try parser.position(coordinates))
      case "LineString": return .lineString(try parser.line(coordinates))
      case "Polygon": return .polygon(try parser.polygon(coordinates))
      case "MultiPoint":
        return .multiPoint(
          try parser.elements(try parser.array(coordinates)) { parser, value throws(FilterError) in
            try parser.position(value)
          })
      case "MultiLineString":
        return .multiLineString(
          try parser.elements(try parser.array(coordinates)) { parser, value throws(FilterError) in
            try parser.line(value)
          })
      case "MultiPolygon":
        return .multiPolygon(
          try parser.elements(try parser.array(coordinates)) { parser, value throws(FilterError) in
            try parser.polygon(value)
          })
      default:
        throw parser.error("expected the coordinates of a type of GeoJSON geometry that is not a collection")
      }
    }
  }

  private mutating func elements<Value>(
    _ values: [JSONValue], _ rule: (inout JSONParser, JSONValue) throws(FilterError) -> Value
  ) throws(FilterError) -> [Value] {
    var elements: [Value] = []
    for (index, value) in values.enumerated() {
      elements.append(try at(String(index)) { parser throws(FilterError) in try rule(&parser, value) })
    }
    return elements
  }

  /// Returns the elements of an array that is not empty.
  private func array(_ value: JSONValue) throws(FilterError) -> [JSONValue] {
    guard case .array(let elements) = value, !elements.isEmpty else { throw error("expected an array with elements") }
    return elements
  }

  private mutating func line(_ value: JSONValue) throws(FilterError) -> [FilterGeometry.Position] {
    let positions = try positions(value)
    guard positions.count >= FilterGeometry.leastLine else {
      throw error("expected at least \(FilterGeometry.leastLine) positions in a line")
    }
    return positions
  }

  private mutating func polygon(_ value: JSONValue) throws(FilterError) -> [[FilterGeometry.Position]] {
    try elements(try array(value)) { parser, value throws(FilterError) in
      let ring = try parser.positions(value)
      if let reason = FilterGeometry.expectation(insteadOfRing: ring) { throw parser.error(reason) }
      return ring
    }
  }

  private mutating func positions(_ value: JSONValue) throws(FilterError) -> [FilterGeometry.Position] {
    try elements(try array(value)) { parser, value throws(FilterError) in try parser.position(value) }
  }

  private mutating func position(_ value: JSONValue) throws(FilterError) -> FilterGeometry.Position {
    guard budget.countVertex() else { throw error(budget.vertexReason) }
    let numbers = try numbers(value)
    guard numbers.count == 2 || numbers.count == 3 else { throw error("expected a position of two or three numbers") }
    return FilterGeometry.Position(x: numbers[0], y: numbers[1], z: numbers.count == 3 ? numbers[2] : nil)
  }

  private mutating func numbers(_ value: JSONValue) throws(FilterError) -> [Double] {
    try elements(try array(value)) { parser, value throws(FilterError) in try parser.number(value) }
  }
}

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
