import Points

/// Parts the rows that a parser finds into those that go on, in batches, and the rejected ones.
struct RowBatcher {
  private(set) var parser: PlaceParser
  private var path: String?
  private let notes: ImportNotes?
  private let batchSize: Int
  private let onRejection: @Sendable (RejectedRow) -> Void
  private var rows: [PlaceParser.Row] = []
  private var batch: [ImportRow] = []

  /// The number of rejected rows of the present text.
  private(set) var rejectedRows = 0

  /// The first of them.
  private(set) var firstRejection: RejectedRow?

  /// Creates a batcher.
  ///
  /// - Parameters:
  ///   - path: the path of the file that the text is, if any.
  ///   - notes: where it is noted what was read.
  init(
    parser: PlaceParser, path: String? = nil, notes: ImportNotes?, batchSize: Int,
    onRejection: @escaping @Sendable (RejectedRow) -> Void
  ) {
    self.parser = parser
    self.path = path
    self.notes = notes
    self.batchSize = batchSize
    self.onRejection = onRejection
  }

  /// Whether there are rows enough for a batch.
  var isFull: Bool { batch.count >= batchSize }

  /// Reads the next piece of a text; see ``PlaceParser/consume(_:into:)``.
  mutating func consume(_ chunk: some Sequence<UInt8>) throws(FormatError) {
    defer { sort() }
    try parser.consume(chunk, into: &rows)
  }

  /// Takes note that a text has ended; see ``PlaceParser/finish(into:)``.
  mutating func finish() throws(FormatError) {
    defer {
      sort()
      notes?.end(parser, path: path)
    }
    try parser.finish(into: &rows)
  }

  /// Goes on with another text.
  mutating func go(onWith parser: PlaceParser, path: String) {
    self.parser = parser
    self.path = path
    rejectedRows = 0
    firstRejection = nil
  }

  /// The rows read since the last batch; `nil` when there are none.
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
