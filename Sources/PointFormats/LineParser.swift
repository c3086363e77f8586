import Basics
import Points

/// A parser of rows that are one a line, or each behind a record separator (RFC 8142, where they may span lines).
///
/// The first byte that is not white space determines which of the two it is.
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
    while let end = bytes.firstIndex(of: separator, from: progress.position) {
      takeRecord(progress.start..<end, of: bytes, &progress)
      progress.start = end + 1
      progress.position = end + 1
    }
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
