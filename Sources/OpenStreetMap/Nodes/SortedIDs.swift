/// A set of ids as a sorted array: ids are added in batches, and looked up after ``sort()``.
final class SortedIDs: @unchecked Sendable {
  // Written before ``sort()`` by one thread, only read after it.
  private let buffer: SpillableBuffer<Int64>

  init(budget: MemoryBudget, folder: String?) { buffer = SpillableBuffer(budget: budget, folder: folder) }

  var count: Int { buffer.count }

  func insert(_ ids: [Int64]) throws(OSMError) { try buffer.append(contentsOf: ids) }

  /// Sorts the ids and removes duplicates, in place.
  func sort() {
    let ids = buffer.elements
    if !ids.isEmpty, !SortedIDs.isAscending(ids) { SortedIDs.sort(ids, shift: 56) }
    var kept = 0
    for index in ids.indices where kept == 0 || ids[index] != ids[kept - 1] {
      ids[kept] = ids[index]
      kept += 1
    }
    buffer.truncate(to: kept)
  }

  /// Returns a cursor for lookups, which are fast if they are mostly in ascending order.
  func cursor() -> Cursor { Cursor(ids: UnsafeBufferPointer(buffer.elements), owner: self) }

  struct Cursor {
    fileprivate let ids: UnsafeBufferPointer<Int64>
    fileprivate let owner: SortedIDs
    private var position = 0

    fileprivate init(ids: UnsafeBufferPointer<Int64>, owner: SortedIDs) {
      self.ids = ids
      self.owner = owner
    }

    /// Returns the index of an id, or nil. The cursor stays at the first id that is not less.
    @inline(__always)
    mutating func index(of id: Int64) -> Int? {
      if position < ids.count, ids[position] >= id, position == 0 || ids[position - 1] < id {
        return ids[position] == id ? position : nil
      }
      return search(id)
    }

    private mutating func search(_ id: Int64) -> Int? {
      // Gallops from the last position, or from the start if the id is before it.
      var low = position < ids.count && ids[position] < id ? position : 0
      var step = 1
      while low + step < ids.count, ids[low + step] < id {
        low += step
        step *= 2
      }
      var high = min(low + step, ids.count)
      while low < high {
        let middle = (low + high) / 2
        if ids[middle] < id { low = middle + 1 } else { high = middle }
      }
      position = low
      return low < ids.count && ids[low] == id ? low : nil
    }
  }

  private static func isAscending(_ ids: UnsafeMutableBufferPointer<Int64>) -> Bool {
    for index in 1..<ids.count where ids[index] < ids[index - 1] { return false }
    return true
  }

  /// Sorts by the byte at the shift and those below it: a radix sort in place (McIlroy, Bostic and McIlroy, 1993:
  /// American flag sort).
  private static func sort(_ ids: UnsafeMutableBufferPointer<Int64>, shift: UInt64) {
    guard ids.count > 512 else {
      var ids = ids
      return ids.sort()
    }
    // The sign bit is flipped, so that negative ids come first.
    func digit(_ id: Int64) -> Int { Int((UInt64(bitPattern: id) ^ 1 << 63) &>> shift & 0xFF) }
    withUnsafeTemporaryAllocation(of: Int.self, capacity: 512) { memory in
      let (next, end) = (memory.baseAddress.unsafelyUnwrapped, memory.baseAddress.unsafelyUnwrapped + 256)
      end.initialize(repeating: 0, count: 256)
      for id in ids { end[digit(id)] += 1 }
      var start = 0
      for bucket in 0..<256 {
        next[bucket] = start
        start += end[bucket]
        end[bucket] = start
      }
      for bucket in 0..<256 {
        while next[bucket] < end[bucket] {
          var id = ids[next[bucket]]
          while digit(id) != bucket {
            let place = next[digit(id)]
            next[digit(id)] += 1
            let other = ids[place]
            ids[place] = id
            id = other
          }
          ids[next[bucket]] = id
          next[bucket] += 1
        }
      }
      guard shift > 0 else { return }
      var from = 0
      for bucket in 0..<256 {
        sort(UnsafeMutableBufferPointer(rebasing: ids[from..<end[bucket]]), shift: shift - 8)
        from = end[bucket]
      }
    }
  }
}
