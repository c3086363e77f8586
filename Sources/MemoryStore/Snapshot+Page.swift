import Geo
import Points

extension Snapshot {
  /// The places that match, one page of them.
  func page(matching query: PointQuery) -> PointPage {
    // One more than the page holds tells whether there are more.
    let wanted = query.limit + 1
    let box = query.box.map { BoxFilter($0) }
    let found: [Candidate]
    if let proximity = query.proximity {
      var search = NearestSearch(proximity: proximity, box: box, after: query.after, capacity: wanted)
      forEachTree(of: query.categories) { source, _ in source.walk(&search) }
      found = search.removeAllSorted()
    } else {
      var search = IDSearch(box: box, after: query.after?.id, capacity: wanted)
      forEachTree(of: query.categories) { source, slots in search.search(source, byID: slots) }
      found = search.removeAllSorted()
    }
    let hasDistance = query.proximity != nil
    return PointPage(
      points: found.prefix(query.limit).map { candidate in
        FoundPoint(
          point: parts[Int(candidate.part)].segment.point(at: Int(candidate.slot)),
          distanceMetres: hasDistance ? candidate.distance : nil
        )
      },
      hasMore: found.count > query.limit
    )
  }

  /// Calls with a tree over the places of each category in each part, or over all places of the part when there are no
  /// categories, and with the slots of the same places by id.
  @inline(__always)
  private func forEachTree(
    of categories: Set<String>,
    _ search: (TreeSource, UnsafeBufferPointer<UInt32>) -> Void
  ) {
    for (index, part) in parts.enumerated() {
      // What is handed on points into the segment and the tombstones.
      withExtendedLifetime(part) {
        let segment = part.segment
        func source(_ tree: PackedTree) -> TreeSource {
          TreeSource(
            part: UInt32(index),
            columns: segment.columns,
            tombstones: part.tombstones?.pointer,
            tree: tree
          )
        }
        if categories.isEmpty {
          search(source(segment.tree), segment.slotsByID)
        }
        for category in categories {
          guard let number = segment.categories.number(of: category) else { continue }
          search(source(segment.categories.tree(of: number)), segment.categories.slotsByID(of: number))
        }
      }
    }
  }
}
