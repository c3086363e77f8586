import Basics
import Points

/// A parser of CSV.
///
/// A quotation mark that is left open would include the rows behind it in its field. The row of such a mark is
/// rejected, and parsing goes on with the next line.
struct CSVParser: RecordParser {
  private let options: RowOptions
  private let mapping: (any RecordMapping)?
  private var decoder: CSVRowDecoder?
  private var record: CSVRecord?

  private var isSkippingLine = false

  /// The number of bytes that may yet be read a second time. It grows with each valid record, so that parsing stays
  /// linear in the text's length however often a quotation mark is left open.
  private var rereadingCredit = 8 << 20

  var hasForeignIDs: Bool { false }

  init(options: RowOptions, mapping: (any RecordMapping)?) {
    self.options = options
    self.mapping = mapping
    if let separator = mapping?.table?.separator {
      record = CSVRecord(separator: separator, isUnquoted: mapping?.table?.isUnquoted ?? false)
    }
  }

  mutating func parse(
    _ bytes: UnsafeBufferPointer<UInt8>, isLast: Bool, progress: inout ParseProgress
  ) throws(FormatError) {
    var record: CSVRecord
    if let known = self.record.take() {
      record = known
    } else {
      let start = UnsafeBufferPointer(rebasing: bytes[progress.start...])
      let isWhole = isLast || start.count > progress.maximumRecordBytes
      guard let separator = CSVSeparator.separator(ofHeader: start, isWhole: isWhole) else { return }
      record = CSVRecord(separator: separator, isUnquoted: mapping?.table?.isUnquoted ?? false)
    }
    defer { self.record = record }
    if decoder == nil, let columns = mapping?.table?.columns, let mapping {
      decoder = CSVRowDecoder(columns: columns, mapping: mapping, separator: record.separator)
    }
    while true {
      if isSkippingLine, !skipLine(bytes, &progress) { break }
      // Up to the maximum length of a row, so that the outcome for a longer one is independent of how the text is cut.
      let limit = min(bytes.count, progress.start + progress.maximumRecordBytes + 1)
      let inReach = UnsafeBufferPointer(rebasing: bytes[..<limit])
      switch record.scan(inReach, from: progress.start, position: &progress.position) {
      case .end:
        try takeRecord(&record, endingAt: progress.position - 1, of: bytes, &progress)
        continue
      case .strayQuote:
        try rejectQuotes(&record, bytes, &progress)
        continue
      case .more: break
      }
      if progress.position - progress.start > progress.maximumRecordBytes {
        try rejectAsTooLong(&record, bytes, &progress)
        continue
      }
      guard isLast else { return }
      if record.isWithinQuotes {
        try rejectQuotes(&record, bytes, &progress)
        continue
      }
      if progress.start < bytes.count {
        record.finish(at: bytes.count - progress.start)
        try takeRecord(&record, endingAt: bytes.count, of: bytes, &progress)
      }
      break
    }
    if isLast, decoder == nil { throw FormatError(reason: "the text is empty; it must begin with a header row") }
  }

  // MARK: Records

  private mutating func takeRecord(
    _ record: inout CSVRecord, endingAt end: Int, of bytes: UnsafeBufferPointer<UInt8>, _ progress: inout ParseProgress
  ) throws(FormatError) {
    defer { startRecord(&record, &progress) }
    let text = UnsafeBufferPointer(rebasing: bytes[progress.start..<end])
    rereadingCredit += text.count
    guard record.fields.count > 1 || record.fields.first?.isQuoted == true || !text.allSatisfy(\.isWhiteSpace) else {
      return
    }
    if decoder == nil {
      decoder = try CSVRowDecoder(
        header: text, fields: record.fields, separator: record.separator, options: options, mapping: mapping)
    } else {
      let fields = record.fields
      progress.append(in: bytes) { number in
        decoder == nil ? Self.noHeader(number) : decoder?.row(number, of: text, fields: fields)
      }
    }
  }

  /// Returns the row of a text without a header, which ``takeRecord(endingAt:of:_:)`` rules out.
  private static func noHeader(_ number: Int) -> PointParser.Row {
    .failure(RejectedRow(number: number, detail: "stands before the header"))
  }

  private func startRecord(_ record: inout CSVRecord, _ progress: inout ParseProgress) {
    progress.start = progress.position
    record.reset()
  }

  // MARK: Malformed records

  private mutating func rejectQuotes(
    _ record: inout CSVRecord, _ bytes: UnsafeBufferPointer<UInt8>, _ progress: inout ParseProgress
  ) throws(FormatError) {
    let detail = "has a quotation mark that neither ends its field nor is doubled, or a quoted field that does not end"
    guard decoder != nil else { throw FormatError(reason: "the header " + detail) }
    progress.reject(detail, in: bytes)
    goOnWithNextLine(&record, bytes, &progress)
  }

  private mutating func rejectAsTooLong(
    _ record: inout CSVRecord, _ bytes: UnsafeBufferPointer<UInt8>, _ progress: inout ParseProgress
  ) throws(FormatError) {
    if record.isWithinQuotes { return try rejectQuotes(&record, bytes, &progress) }
    guard decoder != nil else {
      throw FormatError(reason: "the header is longer than \(progress.maximumRecordBytes) bytes")
    }
    progress.rejectAsTooLong(in: bytes)
    isSkippingLine = true
    startRecord(&record, &progress)
  }

  /// Goes back to the line after the one in which the record started, where that may be read again; otherwise on to the
  /// next.
  private mutating func goOnWithNextLine(
    _ record: inout CSVRecord, _ bytes: UnsafeBufferPointer<UInt8>, _ progress: inout ParseProgress
  ) {
    let lineEnd = bytes[progress.start..<progress.position].firstIndex { $0.endsLine }
    if let lineEnd, progress.position - lineEnd <= rereadingCredit {
      rereadingCredit -= progress.position - lineEnd
      progress.position = lineEnd + 1
    } else {
      isSkippingLine = true
    }
    startRecord(&record, &progress)
  }

  /// Goes on behind the line's end; `false` when the bytes end before it.
  private mutating func skipLine(_ bytes: UnsafeBufferPointer<UInt8>, _ progress: inout ParseProgress) -> Bool {
    let lineEnd = bytes[progress.position...].firstIndex { $0.endsLine }
    progress.position = lineEnd.map { $0 + 1 } ?? bytes.count
    progress.start = progress.position
    isSkippingLine = lineEnd == nil
    return lineEnd != nil
  }
}

extension UInt8 {
  /// A Boolean value that indicates whether a line of a CSV file ends with this byte.
  fileprivate var endsLine: Bool { self == UInt8(ascii: "\n") || self == UInt8(ascii: "\r") }
}
