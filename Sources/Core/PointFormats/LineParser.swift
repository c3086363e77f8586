import Basics
import Points

/// A parser of rows that are one a line, or each behind a record separator (RFC 8142, where they may span lines).
///
/// The first byte that is not white space determines which of the two it is. Lines are parsed on two processors where
/// there are many at once.
struct LineParser: RecordParser {
  private var decoder: JSONRowDecoder
  private var separator: UInt8?
  private var isTooLong = false

  private static let lineFeed = UInt8(ascii: "\n")
  private static let recordSeparator: UInt8 = 0x1E

  var hasForeignIDs: Bool { decoder.hasForeignIDs }

  var rowsWithoutGeometry: Int { decoder.rowsWithoutGeometry }

  init(decoder: JSONRowDecoder) {
    self.decoder = decoder
  }

  mutating func parse(
    _ bytes: UnsafeBufferPointer<UInt8>, isLast: Bool, progress: inout ParseProgress
  ) throws(FormatError) {
    guard let separator = findSeparator(in: bytes, progress: &progress) else { return }
    if separator == Self.lineFeed, let middle = middle(of: bytes, after: progress.start) {
      parseHalves(of: bytes, middle, &progress)
    }
    takeRecords(until: separator, in: bytes, &progress)
    if isLast {
      takeRecord(progress.start..<bytes.count, of: bytes, &progress)
      progress.start = bytes.count
    } else if bytes.count - progress.start > progress.maximumRecordBytes {
      isTooLong = true
      progress.noteSkippedRow(in: bytes)
      progress.start = bytes.count
    }
    progress.position = bytes.count
  }

  /// Reads the records that end with a separator.
  private mutating func takeRecords(
    until separator: UInt8, in bytes: UnsafeBufferPointer<UInt8>, _ progress: inout ParseProgress
  ) {
    while let end = bytes.firstIndex(of: separator, from: progress.position) {
      takeRecord(progress.start..<end, of: bytes, &progress)
      progress.start = end + 1
      progress.position = end + 1
    }
  }

  // MARK: Two processors

  /// The number of bytes from which lines are parsed on two processors, in some hundred microseconds on each.
  static let minimumHalved = 1 << 17

  /// Returns the start of the line behind the middle of the bytes; `nil` if these are few, or have no line end there.
  private func middle(of bytes: UnsafeBufferPointer<UInt8>, after start: Int) -> Int? {
    guard bytes.count - start >= Self.minimumHalved else { return nil }
    return bytes.firstIndex(of: Self.lineFeed, from: start + (bytes.count - start) / 2).map { $0 + 1 }
  }

  /// Reads the complete lines before and behind a position, at which one starts.
  private mutating func parseHalves(
    of bytes: UnsafeBufferPointer<UInt8>, _ middle: Int, _ progress: inout ParseProgress
  ) {
    // Unsafe: the bytes are only read, and not after the call.
    nonisolated(unsafe) let bytes = bytes
    let parser = self
    let former = progress
    progress.rows = []
    let (first, second) = Parallel.both(where: true) {
      var (parser, progress) = (parser, former)
      parser.takeRecords(
        until: Self.lineFeed, in: UnsafeBufferPointer(rebasing: bytes[..<middle]), &progress)
      return (parser, progress)
    } and: {
      var parser = LineParser(decoder: parser.decoder.forOtherRows)
      var progress = ParseProgress(from: middle, maximumRecordBytes: former.maximumRecordBytes)
      parser.takeRecords(until: Self.lineFeed, in: bytes, &progress)
      return (parser, progress)
    }
    (self, progress) = first
    decoder.add(second.0.decoder)
    progress.append(second.1, in: bytes)
  }

  private mutating func findSeparator(
    in bytes: UnsafeBufferPointer<UInt8>,
    progress: inout ParseProgress
  ) -> UInt8? {
    if let separator { return separator }
    while progress.position < bytes.count, bytes[progress.position].isWhiteSpace { progress.position += 1 }
    progress.start = progress.position
    guard progress.position < bytes.count else { return nil }
    separator = bytes[progress.position] == Self.recordSeparator ? Self.recordSeparator : Self.lineFeed
    return separator
  }

  private mutating func takeRecord(
    _ range: Range<Int>, of bytes: UnsafeBufferPointer<UInt8>, _ progress: inout ParseProgress
  ) {
    if isTooLong || range.count > progress.maximumRecordBytes {
      isTooLong = false
      progress.rejectAsTooLong(in: bytes)
      return
    }
    let record = UnsafeBufferPointer(rebasing: bytes[range])
    guard !record.allSatisfy(\.isWhiteSpace) else { return }
    progress.append(in: bytes) { decoder.row($0, of: record) }
  }
}
