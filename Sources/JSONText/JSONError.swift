/// Why bytes are not a JSON text.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
  /// How many bytes stand before the place where reading stopped.
  public let offset: Int

  /// What was wrong there, for a user.
  public let reason: String

  /// Creates the error.
  public init(offset: Int, reason: String) {
    self.offset = offset
    self.reason = reason
  }

  /// What a user is told.
  public var description: String { "not valid JSON at byte \(offset): \(reason)" }
}
