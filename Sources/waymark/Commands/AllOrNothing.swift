import Points

/// Batches of rows that end with an error once a row has been rejected, so that whoever takes them keeps none.
struct AllOrNothing<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable where Base.Element == [ImportRow] {
  private let base: Base
  private let firstRejection: @Sendable () -> RejectedRow?

  /// Makes the sequence.
  ///
  /// - Parameter firstRejection: the first row that was rejected so far.
  init(_ base: Base, firstRejection: @escaping @Sendable () -> RejectedRow?) {
    self.base = base
    self.firstRejection = firstRejection
  }

  func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(base: base.makeAsyncIterator(), firstRejection: firstRejection)
  }

  struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate var base: Base.AsyncIterator
    fileprivate let firstRejection: @Sendable () -> RejectedRow?

    mutating func next() async throws -> [ImportRow]? {
      let batch = try await base.next()
      if let row = firstRejection() { throw RejectedImport(row: row) }
      return batch
    }
  }
}

/// Why an import that takes all rows or none took none.
struct RejectedImport: Error, CustomStringConvertible {
  let row: RejectedRow

  var description: String { "row \(row.number): \(row.detail)" }
}
