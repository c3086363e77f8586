import Basics

/// An incremental scanner of one record of a CSV file (RFC 4180) and its fields.
///
/// Lines end with LF, CR or both. A quotation mark within a field that does not begin with one is a character like any
/// other.
public struct CSVRecord: Sendable {
  /// The position of a field, counted from the record's start, without the quotation marks around it.
  public struct Field: Sendable {
    public let range: Range<Int>

    /// A Boolean value that indicates whether there are doubled quotation marks in it.
    @usableFromInline let hasDoubledQuotes: Bool

    public let isQuoted: Bool
  }

  /// The outcome of a scan.
  package enum Outcome {
    /// The bytes ended before the record.
    case more
    /// The record ended before the position, its line's end included.
    case end
    /// A quotation mark neither ends a field nor is doubled.
    case strayQuote
  }

  /// The separator of the fields.
  package let separator: UInt8

  /// A Boolean value that indicates whether a quotation mark is a character like any other.
  package let isUnquoted: Bool

  private enum State {
    case fieldStart, plain, quoted, quoteInQuoted
  }

  /// The fields that have ended.
  package private(set) var fields: [Field] = []

  private var state = State.fieldStart
  private var fieldStart = 0
  private var hasDoubledQuotes = false

  /// Creates a scanner of a record.
  package init(separator: UInt8, isUnquoted: Bool = false) {
    self.separator = separator
    self.isUnquoted = isUnquoted
  }

  /// A Boolean value that indicates whether the bytes so far end within quotation marks.
  package var isWithinQuotes: Bool { state == .quoted }

  /// Begins another record.
  package mutating func reset() {
    fields.removeAll(keepingCapacity: true)
    state = .fieldStart
    fieldStart = 0
    hasDoubledQuotes = false
  }

  /// Scans from the position to behind the record's line, or to the end of the bytes.
  ///
  /// - Parameters:
  ///   - bytes: the bytes of the record and maybe more.
  ///   - start: the start of the record.
  ///   - position: the position at which scanning goes on.
  package mutating func scan(
    _ bytes: UnsafeBufferPointer<UInt8>, from start: Int, position: inout Int
  ) -> Outcome {
    while position < bytes.count {
      let byte = bytes[position]
      switch state {
      case .quoted:
        if byte == UInt8(ascii: "\"") { state = .quoteInQuoted }
      case .fieldStart where byte == UInt8(ascii: "\"") && !isUnquoted:
        state = .quoted
        fieldStart = position + 1 - start
      case .quoteInQuoted where byte == UInt8(ascii: "\""):
        state = .quoted
        hasDoubledQuotes = true
      default:
        if byte == separator {
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
  package mutating func finish(at end: Int) {
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
  /// Calls a closure with the field's bytes, each doubled quotation mark replaced by one.
  @inlinable
  public func withBytes<R>(in record: UnsafeBufferPointer<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
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

/// The characters that separate the columns of a CSV file.
package enum CSVSeparator {
  /// Comma, semicolon, tab and vertical bar, the preferred one first.
  private static let all: [UInt8] = [0x2C, 0x3B, 0x09, 0x7C]

  /// Returns the separator that the first line with text has most of, outside quotation marks; the comma where it has
  /// none.
  ///
  /// - Parameter isWhole: a Boolean value that indicates whether no more bytes of the line follow.
  /// - Returns: `nil` if the line may go on.
  package static func separator(ofHeader bytes: UnsafeBufferPointer<UInt8>, isWhole: Bool) -> UInt8? {
    var counts = [Int](repeating: 0, count: all.count)
    var isQuoted = false
    var hasText = false
    for byte in bytes {
      if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
      if isQuoted { continue }
      if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r"), hasText { return choice(counts) }
      if let index = all.firstIndex(of: byte) { counts[index] += 1 }
      hasText = hasText || !byte.isWhiteSpace
    }
    return isWhole ? choice(counts) : nil
  }

  /// Returns the separator that the first line names, such as `sep=;`, as spreadsheets read it, with the length of the
  /// line; `nil` if it names none.
  package static func declared(in bytes: UnsafeBufferPointer<UInt8>) -> (separator: UInt8, lineLength: Int)? {
    let end = bytes.firstIndex { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") } ?? bytes.count
    var line = bytes[..<end]
    if line.count == 7, line.first == UInt8(ascii: "\""), line.last == UInt8(ascii: "\"") {
      line = line.dropFirst().dropLast()
    }
    guard line.count == 5, UnsafeBufferPointer(rebasing: line.prefix(4)).isEqual(toLowercase: "sep="),
      let separator = line.last, separator < 0x80, separator != UInt8(ascii: "\"")
    else { return nil }
    return (separator, end)
  }

  private static func choice(_ counts: [Int]) -> UInt8 {
    let most = counts.max() ?? 0
    return all[counts.firstIndex(of: most) ?? 0]
  }
}
