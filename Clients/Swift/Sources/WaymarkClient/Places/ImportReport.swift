/// What an import did, or would do.
public struct ImportReport: Hashable, Sendable, Decodable {
  /// A row that did not go in, and why.
  public struct RejectedRow: Hashable, Sendable, Decodable {
    /// The row's number, counted from 1.
    public var row: Int

    /// What is wrong with it.
    public var detail: String

    /// Creates a rejection.
    public init(row: Int, detail: String) {
      self.row = row
      self.detail = detail
    }
  }

  /// Places that were not there before.
  public var created: Int
  /// Places that were there and differ now.
  public var updated: Int
  /// Places that were there just so.
  public var unchanged: Int
  /// Rows that did not go in.
  public var rejected: Int
  /// The first 100 of the rows that did not go in.
  public var errors: [RejectedRow]

  /// Creates a report.
  public init(created: Int = 0, updated: Int = 0, unchanged: Int = 0, rejected: Int = 0, errors: [RejectedRow] = []) {
    self.created = created
    self.updated = updated
    self.unchanged = unchanged
    self.rejected = rejected
    self.errors = errors
  }
}
