public import Foundation

/// The choice of the items that a cache removes. It does no I/O, so that it can be tested without a file system.
///
/// ```swift
/// struct CountCleanupPolicy: CleanupPolicy {
///   func itemsToRemove(from items: Set<OnDiskCache.Item>) -> Set<OnDiskCache.Item> {
///     Set(items.sorted { $0.age < $1.age }.dropFirst(100))
///   }
/// }
/// ```
public protocol CleanupPolicy: Sendable {
  /// Returns the items to remove.
  func itemsToRemove(from items: Set<OnDiskCache.Item>) -> Set<OnDiskCache.Item>
}

/// A policy that removes items above an age.
///
/// ```swift
/// let cache = OnDiskCache(folder: folder, policies: [MaxAgeCleanupPolicy(maxAge: 24 * 60 * 60)])
/// ```
public struct MaxAgeCleanupPolicy: CleanupPolicy {
  /// The maximum age of an item in seconds.
  public let maxAge: TimeInterval

  /// Creates a policy.
  public init(maxAge: TimeInterval) {
    self.maxAge = maxAge
  }

  /// Returns the items above the maximum age.
  public func itemsToRemove(from items: Set<OnDiskCache.Item>) -> Set<OnDiskCache.Item> {
    items.filter { $0.age > maxAge }
  }
}

/// A policy that keeps a cache under a size by removing the oldest items. Takes n log n time.
///
/// ```swift
/// let cache = OnDiskCache(folder: folder, policies: [MaxSizeCleanupPolicy(maxSize: 1_000_000)])
/// ```
public struct MaxSizeCleanupPolicy: CleanupPolicy {
  /// The maximum size of the remaining items in bytes.
  public let maxSize: Int

  /// Creates a policy.
  public init(maxSize: Int) {
    self.maxSize = maxSize
  }

  /// Returns the items that are older than the newest `maxSize` bytes. From the first that does not fit, all are
  /// removed: otherwise the cache would serve responses of very different age. An item that is too large even for an
  /// empty cache is removed too, but does not count, so that it does not evict all others.
  public func itemsToRemove(from items: Set<OnDiskCache.Item>) -> Set<OnDiskCache.Item> {
    var itemsToRemove = items.filter { $0.size > maxSize }
    var cumulativeSize = 0
    for item in items.subtracting(itemsToRemove).sorted(by: { ($0.age, $0.path) < ($1.age, $1.path) }) {
      let (size, overflowed) = cumulativeSize.addingReportingOverflow(item.size)
      cumulativeSize = overflowed ? .max : size
      if cumulativeSize > maxSize { itemsToRemove.insert(item) }
    }
    return itemsToRemove
  }
}
