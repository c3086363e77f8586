import Testing

@testable import OpenStreetMap

@Suite struct NodeLocationsTests {
  @Test(arguments: [1 << 20, 0])
  func sortedIDsFindWhatWasInserted(memory: Int) throws {
    var random = SeededGenerator(seed: 5)
    let ids = SortedIDs(budget: MemoryBudget(limit: memory), folder: nil)
    var expected: Set<Int64> = [.min, .max, 0, -1]
    try ids.insert(Array(expected))
    for shift in [40, 8, 56] as [Int64] {
      let batch = (0..<5000).map { _ in Int64.random(in: .min ... .max, using: &random) >> shift }
      expected.formUnion(batch)
      try ids.insert(batch)
    }
    ids.sort()

    #expect(ids.count == expected.count)
    let ascending = expected.sorted()
    var cursor = ids.cursor()
    for (index, id) in ascending.enumerated() { #expect(cursor.index(of: id) == index) }
    for _ in 0..<2000 {
      let index = Int.random(in: 0..<ascending.count, using: &random)
      #expect(cursor.index(of: ascending[index]) == index)
      let other = Int64.random(in: -1000...100_000_000, using: &random)
      #expect((cursor.index(of: other) != nil) == expected.contains(other))
    }
  }

  @Test func bufferMovesToDiskWhenTheBudgetIsExhausted() throws {
    let budget = MemoryBudget(limit: 1 << 16)
    let buffer = SpillableBuffer<Int64>(budget: budget, folder: nil)
    try buffer.append(contentsOf: [1, 2, 3])
    #expect(!buffer.isOnDisk)

    for start in stride(from: 0, to: 100_000, by: 1000) {
      try buffer.append(contentsOf: (0..<1000).map { Int64(start + $0) })
    }

    #expect(buffer.isOnDisk)
    #expect(Array(buffer.elements) == [1, 2, 3] + Array(0..<100_000))
    // The memory is available again.
    #expect(budget.take(1 << 16))
  }

  @Test func folderThatCannotBeWrittenToIsAnError() {
    let buffer = SpillableBuffer<Int64>(budget: MemoryBudget(limit: 0), folder: "/nonexistent")

    #expect { try buffer.append(contentsOf: [1]) } throws: { "\($0)".contains("/nonexistent") }
  }

  @Test func tasksAreTakenInOrderAndAfterAnErrorNoMore() throws {
    let tasks = OrderedTasks(count: 200, threads: 4) { index throws(OSMError) in
      if index == 150 { throw .unreadable("150") }
      return index
    }
    var taken: [Int] = []
    do {
      while let index = try tasks.next() { taken.append(index) }
    } catch {
      #expect(error == .unreadable("150"))
    }
    #expect(taken == Array(0..<150))
  }
}
