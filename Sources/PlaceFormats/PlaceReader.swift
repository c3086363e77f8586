public import Points

/// Places read from bytes as these arrive, in batches: what a `PointImporter` takes.
///
/// It asks for the next chunk only when a batch is wanted, so that whoever sends the bytes is kept to the pace of
/// whoever takes the places. Memory is bounded by a record, a chunk and a batch, whatever the length of the whole.
public struct PlaceReader<Chunks: AsyncSequence & Sendable>: AsyncSequence, Sendable
where Chunks.Element: Sequence<UInt8> {
  /// Some rows, in order; never none.
  public typealias Element = [ImportRow]

  private let chunks: Chunks
  private let parser: PlaceParser
  private let notes: ImportNotes?
  private let batchSize: Int
  private let onRejection: @Sendable (RejectedRow) -> Void

  /// Creates a reader.
  ///
  /// - Parameters:
  ///   - chunks: the text, in pieces of any size.
  ///   - parser: what reads it, with the format and the number of the first row.
  ///   - batchSize: how many rows a batch has at least, but for the last; it has at most those of one chunk more.
  ///   - notes: where it is noted what was read.
  ///   - onRejection: is told of each row that is rejected, in order.
  public init(
    _ chunks: Chunks,
    parser: PlaceParser,
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

  /// Starts reading.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(
      chunks: chunks.makeAsyncIterator(),
      batcher: RowBatcher(parser: parser, notes: notes, batchSize: batchSize, onRejection: onRejection)
    )
  }

  /// Reads batch after batch.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private var chunks: Chunks.AsyncIterator
    private var batcher: RowBatcher
    private var hasEnded = false

    fileprivate init(chunks: Chunks.AsyncIterator, batcher: RowBatcher) {
      self.chunks = chunks
      self.batcher = batcher
    }

    /// The next batch; `nil` at the end.
    ///
    /// - Throws: ``FormatError``, `CancellationError`, or what the chunks throw.
    public mutating func next() async throws -> [ImportRow]? {
      while !hasEnded, !batcher.isFull {
        if let chunk = try await chunks.next() {
          try batcher.consume(chunk)
        } else {
          // A sequence may end early because its task was cancelled; half a text must not pass for a whole one.
          try Task.checkCancellation()
          hasEnded = true
          try batcher.finish()
        }
      }
      return batcher.takeBatch()
    }
  }
}
