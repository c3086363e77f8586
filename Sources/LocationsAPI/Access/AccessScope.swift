/// What an API key allows, each scope with all that those before it allow.
public enum AccessScope: String, Comparable, CaseIterable, Sendable {
  /// Reading places, where that needs a key.
  case read
  /// Changing places too.
  case write
  /// Everything.
  case admin

  /// Whether the left one allows less.
  public static func < (left: AccessScope, right: AccessScope) -> Bool { left.rank < right.rank }

  private var rank: Int {
    switch self {
    case .read: 0
    case .write: 1
    case .admin: 2
    }
  }
}
