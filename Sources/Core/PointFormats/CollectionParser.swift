import Basics
import JSONText

/// A parser of one JSON text's rows: the elements of the array `features` of a FeatureCollection, or of an array that
/// is the whole text, or a Feature that is.
///
/// Only the elements are kept in memory while they are read; of the other members only the nesting is.
struct CollectionParser: RecordParser {
  private var decoder: JSONRowDecoder
  private let acceptsArray: Bool
  private var state = State.start
  private var members = MemberScanner()
  private var element = BracketScanner()
  private var isTooLong = false
  private var hasFeatures = false

  private enum State {
    /// Only white space was read.
    case start
    /// Among the members of the outermost object.
    case members
    /// Where an element must or, after `[`, may start.
    case beforeElement(isFirst: Bool)
    /// In an element.
    case element
    /// Behind an element.
    case afterElement
    /// Behind it all.
    case end
  }

  var hasForeignIDs: Bool { decoder.hasForeignIDs }

  var rowsWithoutGeometry: Int { decoder.rowsWithoutGeometry }

  init(decoder: JSONRowDecoder) {
    self.decoder = decoder
    acceptsArray = decoder.acceptsPlaces
  }

  mutating func parse(
    _ bytes: UnsafeBufferPointer<UInt8>, isLast: Bool, progress: inout ParseProgress
  ) throws(FormatError) {
    while progress.position < bytes.count {
      switch state {
      case .start: try start(bytes, &progress)
      case .members: try scanMembers(bytes, &progress)
      case .beforeElement(let isFirst): try beginElement(bytes, &progress, isFirst: isFirst)
      case .element: try scanElement(bytes, &progress)
      case .afterElement: try endElement(bytes, &progress)
      case .end:
        if skipWhiteSpace(bytes, &progress) { throw error("something follows the end of the JSON text", progress) }
      }
    }
    discardUnkeptText(bytes, &progress)
    if isLast { try checkEnd(progress) }
  }

  // MARK: The outermost value

  private mutating func start(_ bytes: UnsafeBufferPointer<UInt8>, _ progress: inout ParseProgress) throws(FormatError)
  {
    guard skipWhiteSpace(bytes, &progress) else { return }
    progress.start = progress.position
    switch bytes[progress.position] {
    case UInt8(ascii: "{"): state = .members
    case UInt8(ascii: "[") where acceptsArray: state = .beforeElement(isFirst: true)
    default:
      throw error("a GeoJSON object must start here", progress)
    }
    progress.position += 1
  }

  private mutating func scanMembers(
    _ bytes: UnsafeBufferPointer<UInt8>, _ progress: inout ParseProgress
  ) throws(FormatError) {
    switch try nextEvent(bytes, &progress) {
    case nil: return
    case .features:
      hasFeatures = true
      isTooLong = false
      progress.removeSkippedRow()
      state = .beforeElement(isFirst: true)
    case .end:
      state = .end
      guard !hasFeatures else { return }
      guard members.isFeature else {
        throw FormatError(reason: "the text is not a GeoJSON FeatureCollection: it has no array named 'features'")
      }
      takeElement(bytes, &progress)
    }
  }

  private mutating func nextEvent(
    _ bytes: UnsafeBufferPointer<UInt8>,
    _ progress: inout ParseProgress
  ) throws(FormatError) -> MemberScanner.Event? {
    do {
      return try members.scan(bytes, position: &progress.position)
    } catch {
      switch error {
      case .syntax(let reason): throw self.error(reason, progress)
      case .overpass: throw FormatError(.overpass)
      case .coordinates(let name): throw FormatError(reason: CoordinateSystem.explanation(unsupported: name))
      case .type(let type):
        let got = type.map { "'\($0)'" } ?? "not a string"
        throw FormatError(reason: "the text is not a GeoJSON FeatureCollection: its type is \(got)")
      }
    }
  }

  // MARK: Elements

  private mutating func beginElement(
    _ bytes: UnsafeBufferPointer<UInt8>,
    _ progress: inout ParseProgress,
    isFirst: Bool
  ) throws(FormatError) {
    guard skipWhiteSpace(bytes, &progress) else { return }
    switch bytes[progress.position] {
    case UInt8(ascii: "]") where isFirst: endArray(&progress)
    case UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: ","), UInt8(ascii: ":"):
      throw error("an element must start here", progress, row: progress.nextRow)
    default:
      progress.start = progress.position
      element = BracketScanner()
      state = .element
    }
  }

  private mutating func scanElement(
    _ bytes: UnsafeBufferPointer<UInt8>, _ progress: inout ParseProgress
  ) throws(FormatError) {
    switch element.scan(bytes, position: &progress.position) {
    case .more: return
    case .mismatch:
      throw error("the brackets do not match, so that its end cannot be found", progress, row: progress.nextRow)
    case .end:
      takeElement(bytes, &progress)
      isTooLong = false
      progress.start = progress.position
      state = .afterElement
    }
  }

  /// Appends the row of the element that ends at the position.
  private mutating func takeElement(_ bytes: UnsafeBufferPointer<UInt8>, _ progress: inout ParseProgress) {
    if isTooLong || progress.position - progress.start > progress.maximumRecordBytes {
      progress.rejectAsTooLong(in: bytes)
    } else {
      let text = UnsafeBufferPointer(rebasing: bytes[progress.start..<progress.position])
      progress.append(in: bytes) { decoder.row($0, of: text) }
    }
  }

  private mutating func endElement(
    _ bytes: UnsafeBufferPointer<UInt8>,
    _ progress: inout ParseProgress
  ) throws(FormatError) {
    guard skipWhiteSpace(bytes, &progress) else { return }
    switch bytes[progress.position] {
    case UInt8(ascii: ","):
      state = .beforeElement(isFirst: false)
      progress.position += 1
    case UInt8(ascii: "]"): endArray(&progress)
    default: throw error("a comma or the array's end must follow", progress, row: progress.nextRow - 1)
    }
  }

  private mutating func endArray(_ progress: inout ParseProgress) {
    progress.position += 1
    state = hasFeatures ? .members : .end
    members.endValue()
  }

  // MARK: Bytes

  /// Skips white space and returns a Boolean value that indicates whether another byte follows.
  private func skipWhiteSpace(_ bytes: UnsafeBufferPointer<UInt8>, _ progress: inout ParseProgress) -> Bool {
    while progress.position < bytes.count {
      if !bytes[progress.position].isWhiteSpace { return true }
      progress.position += 1
    }
    return false
  }

  private mutating func discardUnkeptText(_ bytes: UnsafeBufferPointer<UInt8>, _ progress: inout ParseProgress) {
    let isKept =
      switch state {
      case .element: true
      case .members: !hasFeatures
      default: false
      }
    if isKept, !isTooLong {
      isTooLong = progress.position - progress.start > progress.maximumRecordBytes
      if isTooLong { progress.noteSkippedRow(in: bytes) }
    }
    if !isKept || isTooLong { progress.start = progress.position }
  }

  private func checkEnd(_ progress: ParseProgress) throws(FormatError) {
    switch state {
    case .end: return
    case .start: throw FormatError(reason: "the text is empty; it must be GeoJSON")
    case .members, .afterElement, .beforeElement:
      throw error("the text ends before its outermost object or array does", progress)
    case .element:
      throw error("the text ends before the row does", progress, row: progress.nextRow)
    }
  }

  private func error(_ reason: String, _ progress: ParseProgress, row: Int? = nil) -> FormatError {
    FormatError(row: row, reason: "not valid JSON at byte \(progress.bytesDropped + progress.position): \(reason)")
  }
}

/// An incremental scanner for the end of a JSON value, by its quotation marks and brackets alone.
struct BracketScanner {
  /// The outcome of a scan.
  enum Outcome {
    /// The bytes ended before the value.
    case more
    /// The value ended before the position.
    case end
    /// A bracket closes that was not opened.
    case mismatch
  }

  /// The depth up to which the kinds of brackets are distinguished.
  private static let trackedDepth = 64

  private var depth = 0

  /// One bit for each open bracket, the innermost lowest; set for a square one.
  private var squareBrackets: UInt64 = 0

  private var isInString = false
  private var isEscaped = false

  /// Scans from the position to just behind the value, or to the end of the bytes.
  ///
  /// A value that is neither an object nor an array ends before the next comma or closing bracket. A bracket left open
  /// is closed with the one around it, so that the value is invalid and the text behind it is not.
  mutating func scan(_ bytes: UnsafeBufferPointer<UInt8>, position: inout Int) -> Outcome {
    while position < bytes.count {
      if isInString {
        isInString = !bytes.skipString(&position, isEscaped: &isEscaped)
        continue
      }
      switch bytes[position] {
      case UInt8(ascii: "\""): isInString = true
      case UInt8(ascii: "{"): open(isSquare: false)
      case UInt8(ascii: "["): open(isSquare: true)
      case UInt8(ascii: ",") where depth == 0: return .end
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if depth == 0 { return .end }
        guard close(isSquare: bytes[position] == UInt8(ascii: "]")) else { return .mismatch }
        if depth == 0 {
          position += 1
          return .end
        }
      default: break
      }
      position += 1
    }
    return .more
  }

  private mutating func open(isSquare: Bool) {
    depth += 1
    if depth <= Self.trackedDepth { squareBrackets = squareBrackets << 1 | (isSquare ? 1 : 0) }
  }

  /// Closes the innermost bracket of the kind and all within it; `false` when there is none.
  private mutating func close(isSquare: Bool) -> Bool {
    if depth > Self.trackedDepth {
      depth -= 1
      return true
    }
    while depth > 0 {
      let closesSquare = squareBrackets & 1 == 1
      depth -= 1
      squareBrackets >>= 1
      if closesSquare == isSquare { return true }
    }
    return false
  }
}

extension UnsafeBufferPointer<UInt8> {
  /// Moves a position within a JSON string to just behind its closing quotation mark, or to the end of the bytes.
  ///
  /// - Parameter isEscaped: a Boolean value that indicates whether the byte at the position is escaped, before and after.
  /// - Returns: `false` if the string does not end in the bytes.
  func skipString(_ position: inout Int, isEscaped: inout Bool) -> Bool {
    while position < count {
      let byte = self[position]
      position += 1
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        return true
      }
    }
    return false
  }
}
