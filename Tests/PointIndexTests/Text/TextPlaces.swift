import Geo
import Points
import SyntheticData
import TestSupport

@testable import PointIndex

/// Places with names, for tests of searches.
enum TextPlaces {
  /// Returns a place.
  static func place(
    _ number: UInt64, _ name: String, at degrees: (Double, Double) = (0, 0), category: String? = nil,
    tags: [(key: String, value: String)] = []
  ) throws -> PointOfInterest {
    PointOfInterest(
      id: .sample(number),
      draft: try PointDraft(
        name: name, category: category, coordinate: try Coordinate(latitude: degrees.0, longitude: degrees.1),
        tags: try Tags(tags)),
      version: 1, createdAt: Timestamp(microsecondsSinceEpoch: 0), updatedAt: Timestamp(microsecondsSinceEpoch: 0))
  }

  /// Returns a snapshot of places with these names, numbered from 0.
  static func snapshot(_ names: [String]) throws -> PointSnapshot {
    PointSnapshot(ContiguousArray(try names.enumerated().map { try place(UInt64($0), $1) }))
  }

  /// Returns places of random names in many scripts, of which some have a list of the names of others.
  static func synthetic(_ count: Int, seed: UInt64) throws -> [PointOfInterest] {
    var generator = try SyntheticPoints(seed: seed, townCount: 20, content: .names)
    let rows = try generator.rows(count: count)
    return try rows.enumerated().map { index, row in
      var draft = row.draft
      if index % 5 == 0 {
        let names = [1, 2, 3].map { rows[(index + $0 * 7) % count].draft.name.replacing(";", with: " ") }
        draft = try PointDraft(
          name: draft.name, category: draft.category, coordinate: draft.coordinate,
          tags: try Tags(draft.tags.pairs + [("alt_name", names.joined(separator: ";"))]), source: draft.origin?.source,
          sourceID: draft.origin?.sourceID)
      }
      return PointOfInterest(
        id: .sample(UInt64(row.number)), draft: draft, version: 1, createdAt: Timestamp(microsecondsSinceEpoch: 0),
        updatedAt: Timestamp(microsecondsSinceEpoch: 0))
    }
  }
}

extension PointSnapshot {
  /// Returns the names of the first matches of a text.
  func names(_ text: String, completes: Bool = false, near: Coordinate? = nil, limit: Int = 20) -> [String] {
    matches(
      of: TextQuery(
        text: text, completesLastWord: completes, bias: near.map { LocationBias(center: $0) }, limit: limit)
    ).matches.map(\.point.draft.name)
  }

  /// Returns all matches of a query, in pages of its limit.
  func allMatches(of query: TextQuery) -> [TextMatch] {
    var query = query
    var matches: [TextMatch] = []
    while true {
      let page = self.matches(of: query)
      matches += page.matches
      guard let next = page.next else { return matches }
      query.after = next
    }
  }
}
