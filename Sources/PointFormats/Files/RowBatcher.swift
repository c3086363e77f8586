import Points

/// Divides the rows of a parser into batches of valid ones and the rejected ones.
struct RowBatcher {
  private(set) var parser: PointParser
  private var path: String?
  private let notes: ImportNotes?
  private let batchSize: Int
  private let onRejection: @Sendable (RejectedRow) -> Void
  private var rows: [PointParser.Row] = []
  private var batch: [ImportRow] = []

  /// The number of rejected rows of the current text.
  private(set) var rejectedRows = 0

  /// The first of them.
  private(set) var firstRejection: RejectedRow?

  /// Creates a batcher.
  ///
  /// - Parameters:
  ///   - path: the path of the file, if any.
  ///   - notes: the notes about the rows.
  init(
    parser: PointParser, path: String? = nil, notes: ImportNotes?, batchSize: Int,
    onRejection: @escaping @Sendable (RejectedRow) -> Void
  ) {
    self.parser = parser
    self.path = path
    self.notes = notes
    self.batchSize = batchSize
    self.onRejection = onRejection
  }

  var isFull: Bool { batch.count >= batchSize }

  /// Parses the next chunk of a text; see ``PointParser/consume(_:into:)``.
  mutating func consume(_ chunk: some Sequence<UInt8>) throws(FormatError) {
    defer { sort() }
    try parser.consume(chunk, into: &rows)
  }

  /// Ends a text; see ``PointParser/finish(into:)``.
  mutating func finish() throws(FormatError) {
    defer {
      sort()
      notes?.end(parser, path: path)
    }
    try parser.finish(into: &rows)
  }

  /// Begins another text.
  mutating func go(onWith parser: PointParser, path: String) {
    self.parser = parser
    self.path = path
    rejectedRows = 0
    firstRejection = nil
  }

  /// Returns the rows since the last batch; `nil` when there are none.
  mutating func takeBatch() -> [ImportRow]? {
    guard !batch.isEmpty else { return nil }
    defer {
      batch = []
      batch.reserveCapacity(batchSize)
    }
    return batch
  }

  private mutating func sort() {
    let start = batch.count
    for row in rows {
      switch row {
      case .success(let row): batch.append(row)
      case .failure(var rejection):
        rejectedRows += 1
        rejection.location = ImportNotes.location(
          ofRow: rejection.number, line: rejection.location.line, path: path, format: parser.format,
          firstRow: parser.firstRow)
        if firstRejection == nil { firstRejection = rejection }
        onRejection(rejection)
      }
    }
    notes?.note(batch[start...])
    rows.removeAll(keepingCapacity: true)
  }
}
