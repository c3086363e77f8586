/// A hash table of numbers that stand for keys kept elsewhere: four bytes an entry, and half as many more.
///
/// Open addressing with linear probing; who asks compares the keys.
struct HashIndex: Sendable {
  private static let vacant = UInt32.max

  private var entries: ContiguousArray<UInt32>
  private var mask: Int

  /// Creates a table for up to so many entries.
  init(capacity: Int) {
    var size = 4
    while size < capacity + capacity / 2 { size *= 2 }
    entries = ContiguousArray(repeating: Self.vacant, count: size)
    mask = size - 1
  }

  /// The entry whose key is the one looked for, or `nil`. Constant time on average.
  func first(hash: Int, where isMatch: (UInt32) -> Bool) -> UInt32? {
    var position = hash & mask
    while entries[position] != Self.vacant {
      if isMatch(entries[position]) { return entries[position] }
      position = (position + 1) & mask
    }
    return nil
  }

  /// Adds an entry; there must be room, and its key must not be there.
  mutating func insert(_ entry: UInt32, hash: Int) {
    var position = hash & mask
    while entries[position] != Self.vacant { position = (position + 1) & mask }
    entries[position] = entry
  }
}
