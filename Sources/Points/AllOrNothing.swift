/// Batches of rows that end with an error once a row has been rejected, so that whoever takes them keeps none.
public struct AllOrNothing<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable where Base.Element == [ImportRow] {
  private let base: Base
  private let firstRejection: @Sendable () -> RejectedRow?

  /// Makes the sequence.
  ///
  /// - Parameter firstRejection: the first row that was rejected so far.
  public init(_ base: Base, firstRejection: @escaping @Sendable () -> RejectedRow?) {
    self.base = base
    self.firstRejection = firstRejection
  }

  /// Starts to read.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(base: base.makeAsyncIterator(), firstRejection: firstRejection)
  }

  /// Reads batch after batch.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate var base: Base.AsyncIterator
    fileprivate let firstRejection: @Sendable () -> RejectedRow?

    /// The next batch; `nil` at the end.
    ///
    /// - Throws: ``RejectedImport``, or what the batches throw.
    public mutating func next() async throws -> [ImportRow]? {
      let batch = try await base.next()
      if let row = firstRejection() { throw RejectedImport(row: row) }
      return batch
    }
  }
}

/// Why an import that takes all rows or none took none.
public struct RejectedImport: Error, CustomStringConvertible {
  /// The first row that was rejected.
  public let row: RejectedRow

  /// Makes the error.
  public init(row: RejectedRow) {
    self.row = row
  }

  /// What a user is told.
  public var description: String { "row \(row.number): \(row.detail)" }
}
