/// Why a text is not what its format says, so that no more rows can be read from it.
public struct FormatError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The row at which reading stopped, where the error is about one.
  public let row: Int?

  /// What is wrong, for a user.
  public let reason: String

  /// Creates the error.
  public init(row: Int? = nil, reason: String) {
    self.row = row
    self.reason = reason
  }

  /// What a user is told.
  public var description: String {
    if let row { "row \(row): \(reason)" } else { reason }
  }
}
