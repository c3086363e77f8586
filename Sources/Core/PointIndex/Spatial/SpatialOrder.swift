import Basics
import Geo

/// The order of the places of a ``PackedTree``: near ones together, so that each of its nodes is compact.
enum SpatialOrder {
  /// A place while it is being sorted.
  struct Item: BitwiseCopyable {
    var position: EarthCentred
    /// The index of the place before sorting.
    var index: UInt32
  }

  /// Sorts the items: the children of each node of the tree are made by halving across the longest side, with places
  /// counted out so that all nodes but the last are full. O(n log n), on several processors
  /// where the items are many.
  static func sort(_ items: UnsafeMutableBufferPointer<Item>) {
    var unit = PackedTree.leafCapacity
    while unit < items.count { unit *= PackedTree.fanOut }
    split(items, unit: unit)
  }

  /// Sorts items that are all beneath one node of `unit` places when full.
  private static func split(_ items: UnsafeMutableBufferPointer<Item>, unit: Int) {
    var unit = unit
    while items.count <= unit {
      if unit == PackedTree.leafCapacity { return }
      unit /= PackedTree.fanOut
    }
    halve(items, unit: unit)
  }

  /// Sorts the items of several nodes, each of `unit` places when full.
  private static func halve(_ items: UnsafeMutableBufferPointer<Item>, unit: Int) {
    let nodes = (items.count + unit - 1) / unit
    guard nodes > 1 else { return split(items, unit: unit) }
    let middle = nodes / 2 * unit
    partition(items, at: middle)
    // Unsafe: the halves have no items in common.
    nonisolated(unsafe) let first = UnsafeMutableBufferPointer(rebasing: items[..<middle])
    nonisolated(unsafe) let second = UnsafeMutableBufferPointer(rebasing: items[middle...])
    // Without closures, which take memory.
    guard items.count > Parallel.maximumUndivided else {
      halve(first, unit: unit)
      halve(second, unit: unit)
      return
    }
    _ = Parallel.both(where: true) {
      halve(first, unit: unit)
    } and: {
      halve(second, unit: unit)
    }
  }

  private static func partition(_ items: UnsafeMutableBufferPointer<Item>, at middle: Int) {
    var (minX, minY, minZ) = (Double.infinity, Double.infinity, Double.infinity)
    var (maxX, maxY, maxZ) = (-Double.infinity, -Double.infinity, -Double.infinity)
    for item in items {
      (minX, maxX) = (min(minX, item.position.x), max(maxX, item.position.x))
      (minY, maxY) = (min(minY, item.position.y), max(maxY, item.position.y))
      (minZ, maxZ) = (min(minZ, item.position.z), max(maxZ, item.position.z))
    }
    let (width, depth, height) = (maxX - minX, maxY - minY, maxZ - minZ)
    if width >= depth && width >= height {
      select(items, at: middle) { $0.position.x }
    } else if depth >= height {
      select(items, at: middle) { $0.position.y }
    } else {
      select(items, at: middle) { $0.position.z }
    }
  }

  /// Moves the item that belongs at a position there, with no greater ones before and no lesser ones after it (C. A. R.
  /// Hoare, "Algorithm 65: Find", Communications of the ACM 4, 1961).
  @inline(__always)
  private static func select(
    _ items: UnsafeMutableBufferPointer<Item>,
    at position: Int,
    by key: (Item) -> Double
  ) {
    var low = 0
    var high = items.count - 1
    while low < high {
      let pivot = median(key(items[low]), key(items[low + (high - low) / 2]), key(items[high]))
      var left = low
      var right = high
      while left <= right {
        while key(items[left]) < pivot { left += 1 }
        while key(items[right]) > pivot { right -= 1 }
        if left <= right {
          items.swapAt(left, right)
          left += 1
          right -= 1
        }
      }
      if position <= right {
        high = right
      } else if position >= left {
        low = left
      } else {
        return
      }
    }
  }

  private static func median(_ a: Double, _ b: Double, _ c: Double) -> Double {
    max(min(a, b), min(max(a, b), c))
  }
}
