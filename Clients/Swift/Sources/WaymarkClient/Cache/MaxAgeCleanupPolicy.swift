public import Foundation

/// Lets no item grow older than an age.
public struct MaxAgeCleanupPolicy: CleanupPolicy {
  /// How many seconds old an item may be.
  public let maxAge: TimeInterval

  /// Creates a policy.
  public init(maxAge: TimeInterval) {
    self.maxAge = maxAge
  }

  /// The items that are older.
  public func itemsToRemove(from items: Set<OnDiskCache.Item>) -> Set<OnDiskCache.Item> {
    items.filter { $0.age > maxAge }
  }
}
