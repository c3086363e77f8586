import Testing
import WaymarkClient

@Suite struct CacheSnippets {
  // snippet: policy
  @Test func theOldestItemGoes() {
    let items: Set = [
      OnDiskCache.Item(path: "/item1", age: 5, size: 7),
      OnDiskCache.Item(path: "/item2", age: 3, size: 2),
      OnDiskCache.Item(path: "/item3", age: 9, size: 9),
    ]

    let itemsToRemove = MaxSizeCleanupPolicy(maxSize: 10).itemsToRemove(from: items)

    #expect(itemsToRemove == [OnDiskCache.Item(path: "/item3", age: 9, size: 9)])
  }
  // end
}
