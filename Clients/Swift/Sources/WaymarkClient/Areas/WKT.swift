/// Well-known text of geometries (OGC 06-103r4, section 7).
enum WKT {
  /// Returns the positions of a line or a ring, longitude first.
  static func positions(_ positions: [Coordinate]) -> String {
    positions.map { "\($0.longitude) \($0.latitude)" }.joined(separator: ",")
  }
}

/// A parser of polygons in well-known text. Heights and measures are ignored.
struct WKTParser {
  private var rest: Substring.UTF8View

  init(_ text: String) {
    rest = text.utf8[...]
  }

  /// Returns the rings of the polygons.
  ///
  /// - Throws: ``RequestError/invalidGeometry(_:)`` or ``RequestError/invalidCoordinate``.
  mutating func polygons() throws(RequestError) -> [[[Coordinate]]] {
    let polygons: [[[Coordinate]]]
    switch takeWord() {
    case "POLYGON":
      skipDimensions()
      polygons = [try rings()]
    case "MULTIPOLYGON":
      skipDimensions()
      polygons = try list { parser throws(RequestError) in try parser.rings() }
    default: throw .invalidGeometry("the text must be a POLYGON or a MULTIPOLYGON")
    }
    skipSpace()
    guard rest.isEmpty else { throw unexpected("the end of the text") }
    return polygons
  }

  private mutating func rings() throws(RequestError) -> [[Coordinate]] {
    try list { ring throws(RequestError) in
      try ring.list { position throws(RequestError) in try position.position() }
    }
  }

  /// Parses a list of at least one element with commas between, in parentheses.
  private mutating func list<Element>(
    _ element: (inout WKTParser) throws(RequestError) -> Element
  ) throws(RequestError) -> [Element] {
    guard take("(") else { throw unexpected("'('") }
    var elements = [try element(&self)]
    while take(",") { elements.append(try element(&self)) }
    guard take(")") else { throw unexpected("',' or ')'") }
    return elements
  }

  private mutating func position() throws(RequestError) -> Coordinate {
    var numbers: [Double] = []
    while let number = takeNumber() {
      guard numbers.count < 4 else { throw unexpected("',' or ')'") }
      numbers.append(number)
    }
    guard numbers.count >= 2 else { throw unexpected("a number") }
    return try Coordinate(latitude: numbers[1], longitude: numbers[0])
  }

  private mutating func takeNumber() -> Double? {
    skipSpace()
    let digits = rest.prefix { byte in
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
        UInt8(ascii: "e"), UInt8(ascii: "E"):
        true
      default: false
      }
    }
    guard let number = Double(Substring(digits)) else { return nil }
    rest = rest[digits.endIndex...]
    return number
  }

  /// Removes the word at the beginning and returns it in upper case.
  private mutating func takeWord() -> String {
    skipSpace()
    let letters = rest.prefix { byte in
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
    rest = rest[letters.endIndex...]
    return Substring(letters).uppercased()
  }

  private mutating func skipDimensions() {
    let start = rest
    if !["Z", "M", "ZM"].contains(takeWord()) { rest = start }
  }

  private mutating func take(_ symbol: Unicode.Scalar) -> Bool {
    skipSpace()
    guard rest.first == UInt8(ascii: symbol) else { return false }
    rest.removeFirst()
    return true
  }

  private mutating func skipSpace() {
    rest = rest.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
  }

  private func unexpected(_ expected: String) -> RequestError {
    .invalidGeometry(
      rest.isEmpty
        ? "the text must go on with \(expected)" : "expected \(expected) at '\(Substring(rest).prefix(20))'")
  }
}
