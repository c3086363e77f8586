public import Points

/// Places read from chunks of bytes as they arrive, in batches for a `PointImporter`.
///
/// A chunk is read only when a batch is needed, so that the importer applies back-pressure to the sender. Memory is
/// bounded by a record, a chunk and a batch, whatever the length of the whole.
public struct PointFileReader<Chunks: AsyncSequence & Sendable>: AsyncSequence, Sendable
where Chunks.Element: Sequence<UInt8> {
  /// Some rows, in order; never none.
  public typealias Element = [ImportRow]

  private let chunks: Chunks
  private let parser: PointParser
  private let notes: ImportNotes?
  private let batchSize: Int
  private let onRejection: @Sendable (RejectedRow) -> Void

  /// Creates a reader.
  ///
  /// - Parameters:
  ///   - chunks: the text, in chunks of any size.
  ///   - parser: the parser of the text, with the number of the first row.
  ///   - batchSize: the minimum number of rows of a batch, except the last; it has at most the rows of one chunk more.
  ///   - notes: the notes about the rows.
  ///   - onRejection: called with each rejected row, in order.
  public init(
    _ chunks: Chunks,
    parser: PointParser,
    batchSize: Int = 1000,
    notes: ImportNotes? = nil,
    onRejection: @escaping @Sendable (RejectedRow) -> Void
  ) {
    self.chunks = chunks
    self.parser = parser
    self.batchSize = batchSize
    self.notes = notes
    self.onRejection = onRejection
  }

  /// Returns an iterator from the first chunk.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(
      chunks: chunks.makeAsyncIterator(),
      batcher: RowBatcher(parser: parser, notes: notes, batchSize: batchSize, onRejection: onRejection)
    )
  }

  /// An iterator over the batches.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate var chunks: Chunks.AsyncIterator
    fileprivate var batcher: RowBatcher
    fileprivate var hasEnded = false

    /// Returns the next batch; `nil` at the end.
    ///
    /// - Throws: ``FormatError``, `CancellationError`, or what the chunks throw.
    public mutating func next() async throws -> [ImportRow]? {
      while !hasEnded, !batcher.isFull {
        if let chunk = try await chunks.next() {
          try batcher.consume(chunk)
        } else {
          // A sequence may end early because its task was cancelled; a part of a text must not pass for the whole.
          try Task.checkCancellation()
          hasEnded = true
          try batcher.finish()
        }
      }
      return batcher.takeBatch()
    }
  }
}
