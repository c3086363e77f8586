/// A hash table of numbers that stand for keys stored elsewhere, in 6 to 12 bytes an entry.
///
/// Open addressing with linear probing; the caller compares the keys.
package struct HashIndex: Sendable {
  private static let vacant = UInt32.max

  private var entries: ContiguousArray<UInt32>
  private var mask: Int

  /// Creates an empty table.
  ///
  /// - Parameter capacity: the maximum number of entries.
  package init(capacity: Int) {
    var size = 4
    while size < capacity + capacity / 2 { size *= 2 }
    entries = ContiguousArray(repeating: Self.vacant, count: size)
    mask = size - 1
  }

  /// Returns the entry with a matching key, or `nil`. O(1) on average.
  package func first(hash: Int, where isMatch: (UInt32) -> Bool) -> UInt32? {
    var position = hash & mask
    while entries[position] != Self.vacant {
      if isMatch(entries[position]) { return entries[position] }
      position = (position + 1) & mask
    }
    return nil
  }

  /// Adds an entry, whose key must not be in the table; there must be room.
  package mutating func insert(_ entry: UInt32, hash: Int) {
    var position = hash & mask
    while entries[position] != Self.vacant { position = (position + 1) & mask }
    entries[position] = entry
  }
}
