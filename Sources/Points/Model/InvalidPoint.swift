/// A rule that a draft violates, with its position.
public struct PointViolation: Error, Hashable, Sendable {
  /// The field, as a JSON pointer (RFC 6901) such as `/lat`.
  public let pointer: String

  /// The rule, for a user: the rest of a sentence that begins with the field's name.
  public let detail: String

  public init(pointer: String, detail: String) {
    self.pointer = pointer
    self.detail = detail
  }
}

/// The error of a draft that violates rules, with all violations.
public struct InvalidPoint: Error, Hashable, Sendable, CustomStringConvertible {
  /// The violations, at least one, in the order of the fields.
  public let violations: [PointViolation]

  public init(_ violations: [PointViolation]) {
    self.violations = violations
  }

  /// All violations in one line, for a user.
  public var description: String {
    violations.map { $0.pointer.isEmpty ? $0.detail : "\($0.pointer) \($0.detail)" }.joined(separator: "; ")
  }
}
