/// What decides which of a cache's items go. It decides and does nothing, so that it is tested without a file system.
public protocol CleanupPolicy: Sendable {
  /// Those of the items that are to be removed.
  func itemsToRemove(from items: Set<OnDiskCache.Item>) -> Set<OnDiskCache.Item>
}
