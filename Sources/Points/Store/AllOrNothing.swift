/// A sequence of batches of rows that ends with an error once a row has been rejected, so that no store keeps any of
/// them.
///
/// After the first rejection the rest is parsed, but not passed on, until ``ImportReport/maximumRejections`` rows have
/// been rejected: an operator sees more than one error at a time.
public struct AllOrNothing<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable where Base.Element == [ImportRow] {
  private let base: Base
  private let rejections: @Sendable () -> ImportReport

  /// Creates the sequence.
  ///
  /// - Parameter rejections: the rows that have been rejected so far.
  public init(_ base: Base, rejections: @escaping @Sendable () -> ImportReport) {
    self.base = base
    self.rejections = rejections
  }

  /// Returns an iterator that starts at the first batch.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(base: base.makeAsyncIterator(), rejections: rejections)
  }

  /// An iterator over the batches.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate var base: Base.AsyncIterator
    fileprivate let rejections: @Sendable () -> ImportReport

    /// Returns the next batch; `nil` at the end.
    ///
    /// - Throws: ``RejectedImport``, or the error of the batches.
    public mutating func next() async throws -> [ImportRow]? {
      let batch = try await base.next()
      guard rejections().rejected > 0 else { return batch }
      var isAtEnd = batch == nil
      while !isAtEnd, rejections().rejected < ImportReport.maximumRejections { isAtEnd = try await base.next() == nil }
      throw RejectedImport(report: rejections())
    }
  }
}

/// The error of an import that takes all rows or none, and took none.
public struct RejectedImport: Error, CustomStringConvertible {
  /// The rows that were rejected: not all of them where there are many.
  public let report: ImportReport

  /// Creates the error from a report with at least one rejection.
  public init(report: ImportReport) {
    self.report = report
  }

  /// The first rejection, for a user.
  public var description: String {
    report.rejections.first.map { "row \($0.number): \($0.detail)" } ?? "a row was rejected"
  }
}
