/// Keeps a cache under a size: the newest items stay, as many as there is room for. Takes n log n time.
public struct MaxSizeCleanupPolicy: CleanupPolicy {
  /// How many bytes may stay.
  public let maxSize: Int

  /// Creates a policy.
  public init(maxSize: Int) {
    self.maxSize = maxSize
  }

  /// The items that are older than the newest `maxSize` bytes. From the first that does not fit, none stays: a cache with
  /// holes in its past would serve answers of very different age.
  public func itemsToRemove(from items: Set<OnDiskCache.Item>) -> Set<OnDiskCache.Item> {
    var itemsToRemove: Set<OnDiskCache.Item> = []
    var cumulativeSize = 0
    for item in items.sorted(by: { ($0.age, $0.path) < ($1.age, $1.path) }) {
      let (size, overflowed) = cumulativeSize.addingReportingOverflow(item.size)
      cumulativeSize = overflowed ? .max : size
      if cumulativeSize > maxSize { itemsToRemove.insert(item) }
    }
    return itemsToRemove
  }
}
