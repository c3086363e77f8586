import Testing
import WaymarkClient

@Suite struct CleanupPolicyTests {
  private typealias Item = OnDiskCache.Item

  @Test func oldestItemsAreRemovedWithoutRoom() {
    let items: Set = [
      Item(path: "/item1", age: 5, size: 7), Item(path: "/item2", age: 3, size: 2),
      Item(path: "/item3", age: 9, size: 9),
    ]

    let itemsToRemove = MaxSizeCleanupPolicy(maxSize: 10).itemsToRemove(from: items)

    #expect(itemsToRemove == [Item(path: "/item3", age: 9, size: 9)])
  }

  @Test func itemsThatJustFitRemain() {
    let items: Set = [Item(path: "/item1", age: 5, size: 7), Item(path: "/item2", age: 3, size: 3)]

    #expect(MaxSizeCleanupPolicy(maxSize: 10).itemsToRemove(from: items).isEmpty)
  }

  @Test func nothingIsRemovedFromAnEmptyCache() {
    #expect(MaxSizeCleanupPolicy(maxSize: 0).itemsToRemove(from: []).isEmpty)
    #expect(MaxAgeCleanupPolicy(maxAge: 0).itemsToRemove(from: []).isEmpty)
  }

  @Test func noItemOlderThanARemovedOneRemains() {
    let items: Set = [
      Item(path: "/new", age: 1, size: 2), Item(path: "/big", age: 2, size: 9), Item(path: "/old", age: 3, size: 1),
    ]

    let itemsToRemove = MaxSizeCleanupPolicy(maxSize: 10).itemsToRemove(from: items)

    #expect(itemsToRemove.map(\.path).sorted() == ["/big", "/old"])
  }

  @Test func itemThatNeverFitsEvictsNoOther() {
    let items: Set = [
      Item(path: "/new", age: 1, size: 2), Item(path: "/huge", age: 0, size: 11), Item(path: "/old", age: 3, size: 8),
    ]

    #expect(MaxSizeCleanupPolicy(maxSize: 10).itemsToRemove(from: items).map(\.path) == ["/huge"])
  }

  @Test func itemsOfOneAgeAreRemovedInOrderOfPath() {
    let items: Set = [Item(path: "/b", age: 1, size: 6), Item(path: "/a", age: 1, size: 6)]

    #expect(MaxSizeCleanupPolicy(maxSize: 6).itemsToRemove(from: items).map(\.path) == ["/b"])
  }

  @Test func sizesBeyondCountingDoNotOverflow() {
    let items: Set = [Item(path: "/a", age: 1, size: .max), Item(path: "/b", age: 2, size: .max)]

    #expect(MaxSizeCleanupPolicy(maxSize: 10).itemsToRemove(from: items) == items)
  }

  @Test func remainingItemsAlwaysFit() {
    var generator = SeededGenerator(seed: 6)
    for _ in 0..<200 {
      let items = Set(
        (0..<Int.random(in: 0...30, using: &generator)).map { index in
          Item(
            path: "/\(index)", age: .random(in: 0...10, using: &generator), size: .random(in: 0...50, using: &generator)
          )
        })
      let maxSize = Int.random(in: 0...500, using: &generator)

      let removed = MaxSizeCleanupPolicy(maxSize: maxSize).itemsToRemove(from: items)

      let kept = items.subtracting(removed)
      #expect(removed.isSubset(of: items))
      #expect(kept.reduce(0) { $0 + $1.size } <= maxSize)
      // The next older one would have been too much. Items that never fit do not count.
      if let newest = removed.filter({ $0.size <= maxSize }).min(by: { ($0.age, $0.path) < ($1.age, $1.path) }) {
        #expect(kept.reduce(newest.size) { $0 + $1.size } > maxSize)
        #expect(kept.allSatisfy { ($0.age, $0.path) < (newest.age, newest.path) })
      }
    }
  }

  @Test func onlyItemsAboveTheMaximumAgeAreRemoved() {
    let items: Set = [
      Item(path: "/a", age: 9.9, size: 1), Item(path: "/b", age: 10, size: 1), Item(path: "/c", age: 10.1, size: 1),
      Item(path: "/future", age: -5, size: 1),
    ]

    #expect(MaxAgeCleanupPolicy(maxAge: 10).itemsToRemove(from: items).map(\.path) == ["/c"])
  }
}
