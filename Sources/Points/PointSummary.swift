public import Geo

/// What an answer says of a place unless it is asked for more, its texts as the bytes that their store has.
///
/// The bytes are there only during the call that hands the summary over.
public struct PointSummary {
  /// The place's id.
  public let id: PointID

  /// Where it is.
  public let coordinate: Coordinate

  /// Its geodesic distance in metres from the query's centre; `nil` where the query has no proximity.
  public let distanceMetres: Double?

  /// Its name, in UTF-8.
  public let name: UnsafeBufferPointer<UInt8>

  /// Its category, in UTF-8.
  public let category: UnsafeBufferPointer<UInt8>?

  /// Its tags, as ``Tags/json``.
  public let tags: UnsafeBufferPointer<UInt8>

  /// Creates a summary.
  public init(
    id: PointID,
    coordinate: Coordinate,
    distanceMetres: Double?,
    name: UnsafeBufferPointer<UInt8>,
    category: UnsafeBufferPointer<UInt8>?,
    tags: UnsafeBufferPointer<UInt8>
  ) {
    self.id = id
    self.coordinate = coordinate
    self.distanceMetres = distanceMetres
    self.name = name
    self.category = category
    self.tags = tags
  }
}

/// The summaries of some places, wherever their store has them.
public protocol PointSummaries: Sendable {
  /// How many there are.
  var count: Int { get }

  /// Hands over each, in order; the bytes in it are there until the body returns.
  func forEach(_ body: (PointSummary) -> Void)
}

/// One page of an answer, as summaries.
public struct SummaryPage: Sendable {
  /// The places, in the query's order, at most as many as its limit.
  public let summaries: any PointSummaries

  /// Where the next page starts; `nil` when there is none.
  public let next: PointQuery.Position?

  /// Creates a page.
  public init(_ summaries: any PointSummaries, next: PointQuery.Position?) {
    self.summaries = summaries
    self.next = next
  }

  /// The summaries of a page's places.
  public init(_ page: PointPage) {
    self.init(FoundPointSummaries(points: page.points), next: page.next)
  }
}

private struct FoundPointSummaries: PointSummaries {
  let points: [FoundPoint]

  var count: Int { points.count }

  func forEach(_ body: (PointSummary) -> Void) {
    for point in points { point.withSummary(body) }
  }
}

extension FoundPoint {
  /// Hands over the summary of this place; the bytes in it are not there for longer.
  public func withSummary(_ body: (PointSummary) -> Void) {
    var (name, tags) = (point.place.name, point.place.tags.json)
    name.withUTF8 { name in
      tags.withUTF8 { tags in
        func summary(_ category: UnsafeBufferPointer<UInt8>?) -> PointSummary {
          PointSummary(
            id: point.id,
            coordinate: point.place.coordinate,
            distanceMetres: distanceMetres,
            name: name,
            category: category,
            tags: tags
          )
        }
        if var category = point.place.category {
          category.withUTF8 { body(summary($0)) }
        } else {
          body(summary(nil))
        }
      }
    }
  }
}
