import Points

/// Parts the rows that a parser finds into those that go on, in batches, and the rejected ones.
struct RowBatcher {
  private(set) var parser: PlaceParser
  private let batchSize: Int
  private let onRejection: @Sendable (RejectedRow) -> Void
  private var rows: [PlaceParser.Row] = []
  private var batch: [ImportRow] = []

  init(parser: PlaceParser, batchSize: Int, onRejection: @escaping @Sendable (RejectedRow) -> Void) {
    self.parser = parser
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
    defer { sort() }
    try parser.finish(into: &rows)
  }

  /// Goes on with another text.
  mutating func go(onWith parser: PlaceParser) {
    self.parser = parser
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
    for row in rows {
      switch row {
      case .success(let row): batch.append(row)
      case .failure(let rejection): onRejection(rejection)
      }
    }
    rows.removeAll(keepingCapacity: true)
  }
}
