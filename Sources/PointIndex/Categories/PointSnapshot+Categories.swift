public import Geo
import Basics
public import Points
import Synchronization

extension PointSnapshot {
  /// Returns every category that a place has, or a place in the box, with its number of places, the most frequent
  /// first.
  ///
  /// Without a box the counts are computed once for each snapshot, in O(c log c) for c categories. With one: O(c + e + r)
  /// for e places in tree leaves at the edge of the box and r removed places.
  public func categoryCounts(in box: BoundingBox?) -> [CategoryCount] {
    if let box { return counts(in: RegionFilter(BoxFilter(box))) }
    return categoryCountsCache.withLock { cache in
      if let cache { return cache }
      let counts = counts()
      cache = counts
      return counts
    }
  }

  private func counts() -> [CategoryCount] {
    sortedCounts { part in
      let categories = part.segment.categories
      var counts = categories.names.indices.map { categories.count(of: $0) }
      for (category, dead) in part.deadCounts.enumerated() { counts[category] -= Int(dead) }
      return counts
    }
  }

  private func counts(in region: RegionFilter) -> [CategoryCount] {
    sortedCounts { part in
      let (categories, columns) = (part.segment.categories, part.segment.columns)
      var counts = categories.names.indices.map { number in
        var count = RegionCount(in: region, isEstimate: false)
        SearchTree(part: 0, columns: columns, tombstones: nil, nodes: categories.tree(of: number)).walk(&count)
        return count.places
      }
      part.forEachDeadPlace { category, slot in
        if region.contains(slot, columns) { counts[category] -= 1 }
      }
      return counts
    }
  }

  /// Returns the sums of the parts' counts.
  ///
  /// - Parameter countsOfPart: returns the counts of a part by the numbers of its categories.
  private func sortedCounts(_ countsOfPart: (Part) -> [Int]) -> [CategoryCount] {
    var sums: [ExactText: Int] = [:]
    for part in parts {
      let counts = withExtendedLifetime(part) { countsOfPart(part) }
      for (name, count) in zip(part.segment.categories.names, counts) where count > 0 {
        sums[ExactText(name), default: 0] += count
      }
    }
    return sums.map { CategoryCount(category: $0.key.text, count: $0.value) }.sorted { left, right in
      left.count != right.count
        ? left.count > right.count : left.category.utf8.lexicographicallyPrecedes(right.category.utf8)
    }
  }
}

extension PointSnapshot.Part {
  /// Calls the closure with the category and the slot of each removed place that has a category.
  fileprivate func forEachDeadPlace(_ body: (_ category: Int, _ slot: Int) -> Void) {
    tombstones?.forEach { slot in
      let category = segment.records.category(at: slot)
      if category != PointRecord.none { body(Int(category), slot) }
    }
  }
}
