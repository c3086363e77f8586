/// One rule that a description of a place breaks, and where.
public struct PlaceViolation: Error, Hashable, Sendable {
  /// The field, as a JSON pointer (RFC 6901) such as `/lat`.
  public let pointer: String

  /// What is wrong, for a user; it goes on from the field's name.
  public let detail: String

  /// Creates a violation.
  public init(pointer: String, detail: String) {
    self.pointer = pointer
    self.detail = detail
  }
}

/// A description of a place that breaks a rule, with every violation found.
public struct InvalidPlace: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong, at least one, in the order of the fields.
  public let violations: [PlaceViolation]

  /// Creates the error.
  public init(_ violations: [PlaceViolation]) {
    self.violations = violations
  }

  /// What a user is told: every violation in one line.
  public var description: String {
    violations.map { $0.pointer.isEmpty ? $0.detail : "\($0.pointer) \($0.detail)" }.joined(separator: "; ")
  }
}

/// JSON pointers (RFC 6901).
public enum JSONPointer {
  /// A reference token with `~` and `/` escaped.
  public static func escape(_ token: String) -> String {
    var escaped = ""
    for character in token.unicodeScalars {
      switch character {
      case "~": escaped += "~0"
      case "/": escaped += "~1"
      default: escaped.unicodeScalars.append(character)
      }
    }
    return escaped
  }
}
