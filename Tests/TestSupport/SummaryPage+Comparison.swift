import Geo
package import Points

extension SummaryPage {
  /// A copy of the page's contents, for comparison.
  package var contents: SummaryPageContents {
    var entries: [SummaryPageContents.Entry] = []
    summaries.forEach { summary in
      entries.append(
        .init(
          id: summary.id,
          coordinate: summary.coordinate,
          distanceMetres: summary.distanceMetres,
          name: Array(summary.name),
          category: summary.category.map(Array.init),
          tags: Array(summary.tags)
        )
      )
    }
    return SummaryPageContents(entries: entries, next: next)
  }
}

/// A copy of a page of summaries.
package struct SummaryPageContents: Hashable, Sendable {
  struct Entry: Hashable, Sendable {
    let id: PointID
    let coordinate: Coordinate
    let distanceMetres: Double?
    let name: [UInt8]
    let category: [UInt8]?
    let tags: [UInt8]
  }

  let entries: [Entry]
  let next: PointQuery.Position?
}
