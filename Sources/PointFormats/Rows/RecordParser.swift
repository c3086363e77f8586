import Points

/// A parser of the rows of one format.
protocol RecordParser: Sendable {
  /// A Boolean value that indicates whether a Feature had an `id` that is no UUID.
  var hasForeignIDs: Bool { get }

  /// Reads the rows that end within the bytes, as far as these go.
  ///
  /// - Parameters:
  ///   - bytes: the text from `progress.start` on, scanned up to `progress.position`. The caller drops the bytes
  ///     before `progress.start` afterwards.
  ///   - isLast: a Boolean value that indicates whether the text ends with these bytes.
  /// - Throws: ``FormatError`` when no more rows can be read.
  mutating func parse(
    _ bytes: UnsafeBufferPointer<UInt8>, isLast: Bool, progress: inout ParseProgress
  ) throws(FormatError)
}

/// The position up to which a text has been read, and the rows that were read.
struct ParseProgress {
  /// The rows that the caller has not taken yet.
  var rows: [PointParser.Row] = []

  /// The start of the current row.
  var start = 0

  /// The position at which scanning goes on.
  var position = 0

  /// The number of bytes of the text before the current ones.
  var bytesDropped = 0

  var nextRow: Int

  /// The maximum length of a row.
  let maximumRecordBytes: Int

  /// The lines on which the rows so far start.
  private(set) var lines = RowLines()

  private var counter = LineCounter()

  /// The line of a row that was skipped before its number was taken.
  private var skippedLine: Int?

  init(nextRow: Int, maximumRecordBytes: Int) {
    self.nextRow = nextRow
    self.maximumRecordBytes = maximumRecordBytes
  }

  /// Notes the line of the row at ``start``, of which the bytes are about to be dropped.
  mutating func noteSkippedRow(in bytes: UnsafeBufferPointer<UInt8>) {
    if skippedLine == nil { skippedLine = counter.line(at: start, in: bytes) }
  }

  /// Removes the note of ``noteSkippedRow(in:)``: it was no row.
  mutating func removeSkippedRow() { skippedLine = nil }

  /// Appends the row that starts at ``start`` and counts it. A row that the closure skips is counted alone.
  mutating func append(in bytes: UnsafeBufferPointer<UInt8>, _ row: (Int) -> PointParser.Row?) {
    let line = skippedLine ?? counter.line(at: start, in: bytes)
    skippedLine = nil
    lines.append(line, ofRow: nextRow)
    switch row(nextRow) {
    case nil: break
    case .success(let row): rows.append(.success(row))
    case .failure(var rejection):
      rejection.location.line = line
      rows.append(.failure(rejection))
    }
    nextRow += 1
  }

  /// Appends the row that starts at ``start`` as rejected.
  mutating func reject(_ detail: String, in bytes: UnsafeBufferPointer<UInt8>) {
    append(in: bytes) { .failure(RejectedRow(number: $0, detail: detail)) }
  }

  /// Appends the row that starts at ``start`` as too long.
  mutating func rejectAsTooLong(in bytes: UnsafeBufferPointer<UInt8>) {
    reject("is longer than \(maximumRecordBytes) bytes", in: bytes)
  }

  /// Prepares for the bytes before ``start`` to be dropped.
  mutating func dropStart(of bytes: UnsafeBufferPointer<UInt8>) {
    counter.drop(start, of: bytes)
    bytesDropped += start
    position -= start
    start = 0
  }
}
