import Basics
import Geo
import JSONText
import Points

/// The text of one area of an import, as it was read: its JSON, and apart from that its positions.
package struct AreaText: Sendable {
  /// The JSON with `null` in place of the positions, and little white space.
  fileprivate(set) var json: [UInt8] = []

  /// The positions; `nil` if the text has none where they are expected.
  fileprivate(set) var coordinates: AreaCoordinates?

  /// The reason why the text is no area; `nil` if its JSON decides.
  fileprivate(set) var rejection: String?

  /// The number of positions, by which an area takes long to make.
  package var positionCount: Int { coordinates?.count ?? 0 }
}

/// A divider of a text into those of areas, chunk by chunk: lines, the elements of an array or of the member `features`
/// of an object, or one object.
///
/// Memory is bounded by ``maximumTextBytes`` and the positions of an area, whatever the length of the whole.
package struct AreaSplitter: Sendable {
  /// The maximum length of the text of an area without its positions and white space.
  package static let maximumTextBytes = 1 << 20

  private enum State {
    /// Before the first byte that is no white space.
    case start
    /// In records that end with a separator.
    case records(separator: UInt8)
    /// In the outermost object.
    case outermost
    /// Where an element must start, or after `[` may.
    case beforeElement(isFirst: Bool)
    /// In an element.
    case element
    /// Behind an element.
    case afterElement
    /// Behind the text.
    case end
  }

  private let hasRecords: Bool
  private var state = State.start

  /// The first bytes of the text, up to the length of a byte-order mark.
  private var beginning: [UInt8] = []
  private var area = AreaScanner()

  /// The outermost object without its features.
  private var outermost = AreaScanner()
  private var hasFeatures = false

  /// The number of bytes of memory for the text and the positions that belong to no whole area yet.
  package var heldBytes: Int { area.heldBytes + outermost.heldBytes }

  /// Creates a splitter that has read nothing.
  ///
  /// - Throws: ``FormatError`` if areas are not read from the format.
  package init(format: PointFormat) throws(FormatError) {
    switch format {
    case .ndjson, .geoJSONSequence: hasRecords = true
    case .geoJSON, .json: hasRecords = false
    case .csv: throw FormatError(reason: "areas cannot be read from CSV")
    }
  }

  /// Reads the next bytes of the text, and returns the areas that end in them.
  ///
  /// - Throws: ``FormatError`` if the text is none of the format.
  package mutating func areas(in bytes: UnsafeBufferPointer<UInt8>) throws(FormatError) -> [AreaText] {
    var areas: [AreaText] = []
    var position = 0
    while position < bytes.count {
      switch state {
      case .start: try start(bytes, &position)
      case .records(let separator): takeRecord(until: separator, bytes, &position, &areas)
      case .outermost: try scanOutermost(bytes, &position, &areas)
      case .beforeElement(let isFirst): try beginElement(isFirst, bytes, &position)
      case .element: try scanElement(bytes, &position, &areas)
      case .afterElement: try endElement(bytes, &position)
      case .end:
        guard !Self.skipWhiteSpace(bytes, &position) else { throw Self.error("something follows the value") }
      }
    }
    return areas
  }

  /// Ends the text, and returns the area that ends with it.
  ///
  /// - Throws: ``FormatError`` if the text ends too early.
  package mutating func end() throws(FormatError) -> [AreaText] {
    switch state {
    case .start where hasRecords: return []
    case .records: return area.isEmpty ? [] : [area.end()]
    case .end: return []
    default: throw Self.error("the text ends too early")
    }
  }

  private static func error(_ reason: String) -> FormatError {
    FormatError(reason: "the text is not valid JSON: \(reason)")
  }

  private static func skipWhiteSpace(_ bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int) -> Bool {
    while position < bytes.count {
      if !bytes[position].isWhiteSpace { return true }
      position += 1
    }
    return false
  }

  private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

  private mutating func start(_ bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int) throws(FormatError) {
    while position < bytes.count, beginning.count < 3, bytes[position] == Self.byteOrderMark[beginning.count] {
      beginning.append(bytes[position])
      position += 1
    }
    guard Self.skipWhiteSpace(bytes, &position) else { return }
    if hasRecords {
      let separator: UInt8 = bytes[position] == 0x1E ? 0x1E : UInt8(ascii: "\n")
      state = .records(separator: separator)
      return
    }
    switch bytes[position] {
    case UInt8(ascii: "["):
      position += 1
      state = .beforeElement(isFirst: true)
    case UInt8(ascii: "{"): state = .outermost
    default: throw Self.error("an object or an array must stand here")
    }
  }

  // MARK: Records

  private mutating func takeRecord(
    until separator: UInt8, _ bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int, _ areas: inout [AreaText]
  ) {
    let end = bytes.firstIndex(of: separator, from: position)
    let record = UnsafeBufferPointer(rebasing: bytes[..<(end ?? bytes.count)])
    area.scanRecord(record, &position)
    guard end != nil else { return }
    position += 1
    if !area.isEmpty { areas.append(area.end()) }
  }

  // MARK: Collections

  private mutating func scanOutermost(
    _ bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int, _ areas: inout [AreaText]
  ) throws(FormatError) {
    switch outermost.scan(bytes, &position, untilFeatures: true) {
    case .more: return
    case .mismatch: throw Self.error("the brackets do not match")
    case .features:
      hasFeatures = true
      state = .beforeElement(isFirst: true)
    case .end:
      state = .end
      let text = outermost.end()
      do throws(JSONError) {
        if text.rejection == nil { _ = try JSONReader.value(of: text.json) }
      } catch {
        throw Self.error(error.reason)
      }
      guard hasFeatures else { return areas.append(text) }
      if let rejection = text.rejection { throw FormatError(reason: "the text beside its features \(rejection)") }
    }
  }

  private mutating func beginElement(
    _ isFirst: Bool, _ bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int
  ) throws(FormatError) {
    guard Self.skipWhiteSpace(bytes, &position) else { return }
    switch bytes[position] {
    case UInt8(ascii: "]") where isFirst: endArray(&position)
    case UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: ","), UInt8(ascii: ":"):
      throw Self.error("an element must start here")
    default: state = .element
    }
  }

  private mutating func scanElement(
    _ bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int, _ areas: inout [AreaText]
  ) throws(FormatError) {
    switch area.scan(bytes, &position) {
    case .more, .features: return
    case .mismatch: throw Self.error("the brackets do not match")
    case .end:
      areas.append(area.end())
      state = .afterElement
    }
  }

  private mutating func endElement(_ bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int) throws(FormatError) {
    guard Self.skipWhiteSpace(bytes, &position) else { return }
    switch bytes[position] {
    case UInt8(ascii: ","):
      position += 1
      state = .beforeElement(isFirst: false)
    case UInt8(ascii: "]"): endArray(&position)
    default: throw Self.error("an array must go on with a comma or end")
    }
  }

  private mutating func endArray(_ position: inout Int) {
    position += 1
    state = hasFeatures ? .outermost : .end
  }
}

/// A scanner of one value, which keeps its text without the positions of a geometry, and these apart.
private struct AreaScanner: Sendable {
  enum Outcome {
    /// The bytes ended before the value.
    case more
    /// The value ended before the position.
    case end
    /// The array of the member `features` starts before the position.
    case features
    /// A bracket closes that was not opened.
    case mismatch
  }

  /// The depth up to which brackets are open in valid JSON.
  private static let maximumDepth = JSONReader.defaultMaximumDepth

  private var text = AreaText()
  private var hasEnded = false

  /// One element for each open bracket; `true` for a square one.
  private var brackets: [Bool] = []
  private var isInString = false
  private var isEscaped = false

  /// The bytes of the last string in the text.
  private var string = 0..<0

  /// A Boolean value that indicates whether the present member of the value is `geometry`.
  private var isGeometry = false

  /// A Boolean value that indicates whether the value that follows is that of `coordinates` in the geometry.
  private var isBeforeCoordinates = false

  /// A Boolean value that indicates whether the value that follows is that of `features`.
  private var isBeforeFeatures = false
  private var isInCoordinates = false

  var heldBytes: Int { text.json.capacity + (text.coordinates?.heldBytes ?? 0) }

  /// A Boolean value that indicates whether nothing was read but white space.
  var isEmpty: Bool { text.json.isEmpty && text.rejection == nil }

  /// Returns the text, and begins anew.
  mutating func end() -> AreaText {
    defer { self = AreaScanner() }
    return text
  }

  /// Scans the bytes up to the end of a record, or the part of it that there is.
  mutating func scanRecord(_ bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int) {
    while position < bytes.count {
      if hasEnded || text.rejection != nil && brackets.isEmpty {
        if hasEnded, !bytes[position].isWhiteSpace { reject("is not valid JSON: something follows the value") }
        position += 1
        continue
      }
      switch scan(bytes, &position) {
      case .more, .features: return
      case .end: hasEnded = true
      case .mismatch:
        reject("is not valid JSON: the brackets do not match")
        brackets = []
      }
    }
  }

  private mutating func reject(_ reason: String) {
    if text.rejection == nil { text.rejection = reason }
    text.json = []
    text.coordinates = nil
  }

  /// Scans from the position to just behind the value, or to the end of the bytes.
  ///
  /// A value that is neither an object nor an array ends before the next comma or closing bracket.
  mutating func scan(
    _ bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int, untilFeatures: Bool = false
  ) -> Outcome {
    while position < bytes.count {
      if isInCoordinates {
        switch text.coordinates?.scan(bytes, &position) ?? .end {
        case .more: return .more
        case .mismatch: return .mismatch
        case .end, .features: isInCoordinates = false
        }
        continue
      }
      if isInString {
        scanString(bytes, &position)
        continue
      }
      let byte = bytes[position]
      switch byte {
      case UInt8(ascii: "["):
        if isBeforeFeatures, untilFeatures {
          position += 1
          (isBeforeFeatures, isBeforeCoordinates) = (false, false)
          append(contentsOf: "null")
          return .features
        }
        if isBeforeCoordinates, text.coordinates == nil, text.rejection == nil {
          position += 1
          isBeforeCoordinates = false
          append(contentsOf: "null")
          text.coordinates = AreaCoordinates()
          isInCoordinates = true
          continue
        }
        guard open(isSquare: true) else { return .mismatch }
      case UInt8(ascii: "{"): guard open(isSquare: false) else { return .mismatch }
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        guard let last = brackets.last else { return .end }
        guard last == (byte == UInt8(ascii: "]")) else { return .mismatch }
        brackets.removeLast()
        append(byte)
        position += 1
        if brackets.isEmpty { return .end }
        continue
      case UInt8(ascii: ","):
        if brackets.isEmpty { return .end }
        if brackets.count == 1 { isGeometry = false }
        (isBeforeCoordinates, isBeforeFeatures) = (false, false)
        append(byte)
      case UInt8(ascii: ":"):
        if brackets.count == 1 {
          isGeometry = isString("geometry")
          isBeforeFeatures = isString("features")
        } else if brackets.count == 2, isGeometry, brackets[1] == false {
          isBeforeCoordinates = isString("coordinates")
        }
        append(byte)
      case UInt8(ascii: "\""):
        (isBeforeCoordinates, isBeforeFeatures) = (false, false)
        isInString = true
        append(byte)
        string = text.json.count..<text.json.count
      case _ where byte.isWhiteSpace:
        // White space ends a number.
        if let last = text.json.last, last != UInt8(ascii: " ") { append(UInt8(ascii: " ")) }
      default:
        (isBeforeCoordinates, isBeforeFeatures) = (false, false)
        append(byte)
      }
      position += 1
    }
    return .more
  }

  private mutating func scanString(_ bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int) {
    let start = position
    isInString = !bytes.skipString(&position, isEscaped: &isEscaped)
    if hasRoom(for: position - start) { text.json.append(contentsOf: bytes[start..<position]) }
    if !isInString { string = min(string.lowerBound, text.json.count)..<max(text.json.count - 1, string.lowerBound) }
  }

  private mutating func open(isSquare: Bool) -> Bool {
    guard brackets.count < Self.maximumDepth else { return false }
    (isBeforeCoordinates, isBeforeFeatures) = (false, false)
    brackets.append(isSquare)
    append(isSquare ? UInt8(ascii: "[") : UInt8(ascii: "{"))
    return true
  }

  private func isString(_ name: StaticString) -> Bool {
    guard string.upperBound <= text.json.count, string.count == name.utf8CodeUnitCount else { return false }
    return text.json[string].elementsEqual(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
  }

  private mutating func append(_ byte: UInt8) { if hasRoom(for: 1) { text.json.append(byte) } }

  private mutating func append(contentsOf literal: StaticString) {
    if hasRoom(for: literal.utf8CodeUnitCount) { text.json.write(literal) }
  }

  private mutating func hasRoom(for count: Int) -> Bool {
    guard text.rejection == nil else { return false }
    if text.json.count + count <= AreaSplitter.maximumTextBytes { return true }
    reject("is longer than \(AreaSplitter.maximumTextBytes) bytes beside its positions")
    return false
  }
}

/// The positions of a Polygon or a MultiPolygon, read as they come, in 16 bytes each.
struct AreaCoordinates: Sendable {
  fileprivate typealias Outcome = AreaScanner.Outcome

  private enum Expectation {
    case value, valueOrEnd, commaOrEnd
  }

  /// The number of the present element of each open array.
  private var indexes = [0]
  private var expectation = Expectation.valueOrEnd
  private var number: [UInt8] = []

  /// A value that is neither a number nor an array, while it is skipped.
  private var other: BracketScanner?

  /// The number of arrays around the numbers of a position; `nil` before the first number.
  private var positionDepth: Int?
  private var longitude: Double?
  private var latitude: Double?
  private var numberCount = 0

  private var ring: [Coordinate] = []
  private var polygon: [[Coordinate]] = []
  private var polygons: [[[Coordinate]]] = []

  /// The number of positions.
  private(set) var count = 0

  /// The first rule that is broken.
  private var violation: PointViolation?

  /// The number of bytes of memory for the positions: twice 16 of each, as the arrays grow, if they are kept.
  fileprivate var heldBytes: Int { violation == nil ? 32 * count : 0 }

  /// The reason why the text is not JSON.
  private(set) var malformation: String?

  fileprivate init() {}

  private static let pointer = "/geometry/coordinates"

  /// The maximum length of a number that is read.
  private static let maximumNumberBytes = 1024

  /// Returns the outline of a geometry with these positions.
  ///
  /// - Throws: `PointViolation`.
  func outline(isMultiple: Bool) throws(PointViolation) -> AreaOutline {
    if let violation { throw violation }
    guard positionDepth == (isMultiple ? 4 : 3) else {
      throw PointViolation(
        pointer: Self.pointer,
        detail: isMultiple ? "must be an array of polygons" : "must be an array of rings")
    }
    do {
      return try AreaOutline(polygons: polygons, isMultiple: isMultiple)
    } catch {
      throw PointViolation(pointer: "/geometry", detail: "is not an area: \(error)")
    }
  }

  fileprivate mutating func scan(_ bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int) -> Outcome {
    while position < bytes.count {
      if other != nil {
        switch other?.scan(bytes, position: &position) {
        case .more, nil: return .more
        case .mismatch: return .mismatch
        case .end: other = nil
        }
        continue
      }
      let byte = bytes[position]
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."),
        UInt8(ascii: "e"), UInt8(ascii: "E"):
        if number.isEmpty { begin() }
        if number.count < Self.maximumNumberBytes { number.append(byte) }
      case UInt8(ascii: "["):
        endNumber()
        begin()
        guard indexes.count < JSONReader.defaultMaximumDepth else { return .mismatch }
        if indexes.count == positionDepth { violate(pointer(), Self.positionDetail) }
        indexes.append(0)
        expectation = .valueOrEnd
      case UInt8(ascii: "]"):
        endNumber()
        if expectation == .value { malform("a value must follow a comma") }
        endArray(isEmpty: expectation == .valueOrEnd)
        if indexes.isEmpty {
          position += 1
          return .end
        }
      case UInt8(ascii: ","):
        endNumber()
        if expectation != .commaOrEnd { malform("a value must precede a comma") }
        indexes[indexes.count - 1] += 1
        expectation = .value
      case UInt8(ascii: "}"): return .mismatch
      case _ where byte.isWhiteSpace: endNumber()
      default:
        endNumber()
        begin()
        violate(pointer(), indexes.count == 1 ? "must be an array of arrays" : Self.positionDetail)
        other = BracketScanner()
        continue
      }
      position += 1
    }
    return .more
  }

  private static let positionDetail = "must be a longitude from -180 to 180 and a latitude from -90 to 90"

  /// Returns the pointer to the present array.
  private func pointer() -> String { indexes.dropLast().reduce(Self.pointer) { "\($0)/\($1)" } }

  private mutating func violate(_ pointer: String, _ detail: String) {
    guard violation == nil else { return }
    violation = PointViolation(pointer: pointer, detail: detail)
    (ring, polygon, polygons) = ([], [], [])
  }

  private mutating func malform(_ reason: String) { if malformation == nil { malformation = reason } }

  /// Begins a value.
  private mutating func begin() {
    if expectation == .commaOrEnd { malform("an array must go on with a comma or end") }
    expectation = .commaOrEnd
  }

  private mutating func endNumber() {
    guard !number.isEmpty else { return }
    let value = number.withUnsafeBufferPointer { bytes -> Double? in
      var reader = JSONReader(bytes)
      guard let text = try? reader.readNumber(), text.count == bytes.count else { return nil }
      return DecimalText.value(of: text)
    }
    if value == nil { malform("a number is malformed") }
    number.removeAll(keepingCapacity: true)
    if positionDepth == nil { positionDepth = indexes.count }
    if indexes.count != positionDepth {
      // Beside positions there is a number.
      let element = indexes.reduce(Self.pointer) { "\($0)/\($1)" }
      violate(element, Self.positionDetail)
      return
    }
    numberCount += 1
    if numberCount == 1 { longitude = value } else if numberCount == 2 { latitude = value }
  }

  private mutating func endArray(isEmpty: Bool) {
    if isEmpty {
      violate(
        pointer(), indexes.count == positionDepth ? Self.positionDetail : "must be an array that is not empty")
    }
    if let positionDepth {
      switch positionDepth - indexes.count {
      case 0: endPosition()
      case 1: endRing()
      case 2:
        if violation == nil { polygons.append(polygon) }
        polygon = []
      default: break
      }
    }
    indexes.removeLast()
    expectation = .commaOrEnd
  }

  private mutating func endPosition() {
    defer { (longitude, latitude, numberCount) = (nil, nil, 0) }
    guard violation == nil else { return }
    guard let longitude, let latitude, longitude.isFinite, latitude.isFinite,
      let coordinate = try? Coordinate(latitude: latitude, longitude: longitude)
    else { return violate(pointer(), Self.positionDetail) }
    count += 1
    guard count <= AreaOutline.maximumPositions else {
      return violate("/geometry", "is not an area: \(AreaOutlineError.tooManyPositions)")
    }
    ring.append(coordinate)
  }

  private mutating func endRing() {
    defer { ring = [] }
    guard violation == nil else { return }
    guard ring.count >= 4, EarthCentred(ring[0]) == EarthCentred(ring[ring.count - 1]) else {
      return violate(pointer(), "must be a ring of at least four positions, of which the last is the first")
    }
    polygon.append(ring)
  }
}
