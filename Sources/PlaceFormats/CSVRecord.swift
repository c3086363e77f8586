/// Finds where a record of a CSV file (RFC 4180) and its fields end, in a text that comes in pieces.
///
/// Lines end with LF, CR or both. A quotation mark within a field that does not begin with one is a character like any
/// other.
struct CSVRecord {
  /// Where a field stands, counted from the record's start, without the quotation marks around it.
  struct Field {
    let range: Range<Int>

    /// Whether the quotation marks in it are doubled.
    let hasDoubledQuotes: Bool

    let isQuoted: Bool
  }

  /// How a scan ended.
  enum Outcome {
    /// The bytes ended before the record.
    case more
    /// The record ended before the position, its line's end included.
    case end
    /// A quotation mark neither ends a field nor is doubled.
    case strayQuote
  }

  private enum State {
    case fieldStart, plain, quoted, quoteInQuoted
  }

  /// The fields that have ended.
  private(set) var fields: [Field] = []

  private var state = State.fieldStart
  private var fieldStart = 0
  private var hasDoubledQuotes = false

  /// Whether the bytes so far end within quotation marks.
  var isWithinQuotes: Bool { state == .quoted }

  /// Forgets the record.
  mutating func reset() {
    fields.removeAll(keepingCapacity: true)
    state = .fieldStart
    fieldStart = 0
    hasDoubledQuotes = false
  }

  /// Goes on from the position to behind the record's line, or to the end of the bytes.
  ///
  /// - Parameters:
  ///   - bytes: the bytes of the record and maybe more.
  ///   - start: where the record starts.
  ///   - position: where to go on.
  mutating func scan(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int, position: inout Int) -> Outcome {
    while position < bytes.count {
      let byte = bytes[position]
      switch state {
      case .quoted:
        if byte == UInt8(ascii: "\"") { state = .quoteInQuoted }
      case .fieldStart where byte == UInt8(ascii: "\""):
        state = .quoted
        fieldStart = position + 1 - start
      case .quoteInQuoted where byte == UInt8(ascii: "\""):
        state = .quoted
        hasDoubledQuotes = true
      default:
        if byte == UInt8(ascii: ",") {
          endField(at: position - start)
          fieldStart = position + 1 - start
        } else if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") {
          endField(at: position - start)
          position += 1
          return .end
        } else if state == .quoteInQuoted {
          return .strayQuote
        } else {
          state = .plain
        }
      }
      position += 1
    }
    return .more
  }

  /// Ends the record where the text ends.
  mutating func finish(at end: Int) {
    endField(at: end)
  }

  private mutating func endField(at end: Int) {
    let isQuoted = state == .quoteInQuoted
    fields.append(
      Field(range: fieldStart..<(isQuoted ? end - 1 : end), hasDoubledQuotes: hasDoubledQuotes, isQuoted: isQuoted)
    )
    state = .fieldStart
    hasDoubledQuotes = false
  }
}

extension CSVRecord.Field {
  /// Calls with the field's bytes, its doubled quotation marks made single.
  func withBytes<R>(in record: UnsafeBufferPointer<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
    let bytes = UnsafeBufferPointer(rebasing: record[range])
    guard hasDoubledQuotes else { return body(bytes) }
    var single: [UInt8] = []
    single.reserveCapacity(bytes.count)
    var isSecond = false
    for byte in bytes {
      isSecond = byte == UInt8(ascii: "\"") && !isSecond
      if !isSecond { single.append(byte) }
    }
    return single.withUnsafeBufferPointer(body)
  }
}
