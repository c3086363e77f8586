extension TextParser {
  private static let geometries: Set = [
    "POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON",
  ]

  /// Parses a text that is a geometry as a whole.
  mutating func geometry() throws(FilterError) -> FilterGeometry {
    guard case .name(let name) = lexer.token, let geometry = try geometry(name.uppercased()) else {
      throw error("expected a geometry such as POLYGON((...))")
    }
    guard lexer.token == .end else { throw error("expected the end of the geometry") }
    return geometry
  }

  /// Parses the geometry that a keyword begins; returns `nil`, with nothing read, where it begins none.
  mutating func geometry(_ keyword: String) throws(FilterError) -> FilterGeometry? {
    let isSimple = Self.geometries.contains(keyword)
    guard isSimple || keyword == "GEOMETRYCOLLECTION" || keyword == "BBOX" else { return nil }
    var next = lexer
    try next.advance()
    let isFollowed =
      switch next.token {
      case .symbol("("): true
      case .name(let name): name.uppercased() == "Z" || name.uppercased() == "EMPTY"
      default: false
      }
    guard isFollowed else { return nil }
    if isSimple { return .simple(try simple()) }
    try lexer.advance()
    if keyword == "BBOX" { return .box(try box()) }
    _ = try take(keyword: "Z")
    return .collection(
      try sequence { parser throws(FilterError) in
        guard case .name(let name) = parser.lexer.token, Self.geometries.contains(name.uppercased()) else {
          throw parser.error("expected a geometry that is not a collection")
        }
        return try parser.simple()
      })
  }

  /// Parses a geometry that is not a collection, from its keyword on.
  private mutating func simple() throws(FilterError) -> FilterGeometry.Simple {
    guard case .name(let name) = lexer.token else { throw error("expected a geometry") }
    try lexer.advance()
    _ = try take(keyword: "Z")
    switch name.uppercased() {
    case "POINT": return .point(try point())
    case "LINESTRING": return .lineString(try line())
    case "POLYGON": return .polygon(try polygon())
    case "MULTIPOINT":
      return .multiPoint(
        try sequence { parser throws(FilterError) in
          try parser.isAt("(") ? parser.point() : parser.position()
        })
    case "MULTILINESTRING": return .multiLineString(try sequence { parser throws(FilterError) in try parser.line() })
    default: return .multiPolygon(try sequence { parser throws(FilterError) in try parser.polygon() })
    }
  }

  /// Parses values in parentheses, with commas between them.
  private mutating func sequence<Value>(
    _ rule: (inout TextParser) throws(FilterError) -> Value
  ) throws(FilterError) -> [Value] {
    try require("(")
    var values: [Value] = []
    repeat { values.append(try rule(&self)) } while try take(",")
    guard try take(")") else { throw error("expected ',' or ')'") }
    return values
  }

  private mutating func point() throws(FilterError) -> FilterGeometry.Position {
    try require("(")
    let position = try position()
    try require(")")
    return position
  }

  private mutating func line() throws(FilterError) -> [FilterGeometry.Position] {
    let start = lexer.start
    let positions = try sequence { parser throws(FilterError) in try parser.position() }
    guard positions.count >= FilterGeometry.leastLine else {
      throw FilterError(.character(start + 1), "expected at least \(FilterGeometry.leastLine) positions in a line")
    }
    return positions
  }

  private mutating func polygon() throws(FilterError) -> [[FilterGeometry.Position]] {
    try sequence { parser throws(FilterError) in
      let start = parser.lexer.start
      let ring = try parser.sequence { parser throws(FilterError) in try parser.position() }
      if let reason = FilterGeometry.expectation(insteadOfRing: ring) {
        throw FilterError(.character(start + 1), reason)
      }
      return ring
    }
  }

  private mutating func position() throws(FilterError) -> FilterGeometry.Position {
    guard budget.countVertex() else { throw error(budget.vertexReason) }
    let (x, y) = (try coordinate(), try coordinate())
    if isAt(",") || isAt(")") { return FilterGeometry.Position(x: x, y: y) }
    return FilterGeometry.Position(x: x, y: y, z: try coordinate())
  }

  private mutating func coordinate() throws(FilterError) -> Double {
    let isNegative = try take("-")
    if !isNegative { _ = try take("+") }
    guard case .number(let number) = lexer.token else { throw error("expected a number") }
    try lexer.advance()
    return isNegative ? -number : number
  }

  private mutating func box() throws(FilterError) -> FilterGeometry.Box {
    let start = lexer.start
    let numbers = try sequence { parser throws(FilterError) in try parser.coordinate() }
    guard let box = FilterGeometry.Box(numbers) else {
      throw FilterError(
        .character(start + 1), "expected west, south, east and north, or also two heights, with south at most north")
    }
    return box
  }
}
