/// A hash table of numbers that stand for keys stored elsewhere, in 8 bytes an entry.
///
/// Open addressing with linear probing; the caller compares the keys.
package struct HashIndex: Sendable {
  private static let vacant = UInt32.max

  private var entries: ContiguousArray<UInt32>

  /// Creates an empty table.
  ///
  /// - Parameter capacity: the maximum number of entries.
  package init(capacity: Int) {
    entries = ContiguousArray(repeating: Self.vacant, count: 2 * max(capacity, 2))
  }

  /// The number of bytes.
  var byteCount: Int { entries.count * MemoryLayout<UInt32>.stride }

  /// Returns the entry with a matching key, or `nil`. O(1) on average.
  package func first(hash: Int, where isMatch: (UInt32) -> Bool) -> UInt32? {
    var position = position(of: hash)
    while entries[position] != Self.vacant {
      if isMatch(entries[position]) { return entries[position] }
      position = next(position)
    }
    return nil
  }

  /// Adds an entry, whose key must not be in the table; there must be room.
  package mutating func insert(_ entry: UInt32, hash: Int) {
    var position = position(of: hash)
    while entries[position] != Self.vacant { position = next(position) }
    entries[position] = entry
  }

  /// Returns the position that the lowest 32 bits of a hash, as a fraction of 2³², are of the table.
  @inline(__always)
  private func position(of hash: Int) -> Int {
    Int(truncatingIfNeeded: (UInt64(UInt32(truncatingIfNeeded: hash)) &* UInt64(entries.count)) >> 32)
  }

  @inline(__always)
  private func next(_ position: Int) -> Int { position + 1 == entries.count ? 0 : position + 1 }
}
