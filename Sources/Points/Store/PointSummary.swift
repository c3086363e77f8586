public import Geo

/// The fields of a place in list responses, with its texts as bytes of the store.
///
/// The bytes are valid only during the call that passes the summary.
public struct PointSummary {
  /// The id of the place.
  public let id: PointID

  /// The position, in WGS 84.
  public let coordinate: Coordinate

  /// The geodesic distance in metres from the query's centre or route; `nil` where the query has neither.
  public let distanceMetres: Double?

  /// The length in metres of the query's route up to the place; `nil` where the query has no route.
  public let alongMetres: Double?

  /// The name, in UTF-8.
  public let name: UnsafeBufferPointer<UInt8>

  /// The category, in UTF-8.
  public let category: UnsafeBufferPointer<UInt8>?

  /// The tags, as ``Tags/json``.
  public let tags: UnsafeBufferPointer<UInt8>

  public init(
    id: PointID,
    coordinate: Coordinate,
    distanceMetres: Double?,
    alongMetres: Double? = nil,
    name: UnsafeBufferPointer<UInt8>,
    category: UnsafeBufferPointer<UInt8>?,
    tags: UnsafeBufferPointer<UInt8>
  ) {
    self.id = id
    self.coordinate = coordinate
    self.distanceMetres = distanceMetres
    self.alongMetres = alongMetres
    self.name = name
    self.category = category
    self.tags = tags
  }
}

/// A collection of summaries, in the memory of their store.
public protocol PointSummaries: Sendable {
  /// The number of summaries.
  var count: Int { get }

  /// Calls the body with each summary, in order; its bytes are valid until the body returns.
  func forEach(_ body: (PointSummary) -> Void)
}

/// A page of the places that match a query, as summaries.
public struct SummaryPage: Sendable {
  /// The places, in the query's order, at most as many as its limit.
  public let summaries: any PointSummaries

  /// The position from which the next page continues; `nil` when there is none.
  public let next: PointQuery.Position?

  public init(_ summaries: any PointSummaries, next: PointQuery.Position?) {
    self.summaries = summaries
    self.next = next
  }

  /// Creates the summaries of a page's places.
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
  /// Calls the body with the summary of this place, whose bytes are valid until the body returns.
  public func withSummary(_ body: (PointSummary) -> Void) {
    var (name, tags) = (point.draft.name, point.draft.tags.json)
    name.withUTF8 { name in
      tags.withUTF8 { tags in
        func summary(_ category: UnsafeBufferPointer<UInt8>?) -> PointSummary {
          PointSummary(
            id: point.id,
            coordinate: point.draft.coordinate,
            distanceMetres: distanceMetres,
            alongMetres: alongMetres,
            name: name,
            category: category,
            tags: tags
          )
        }
        if var category = point.draft.category {
          category.withUTF8 { body(summary($0)) }
        } else {
          body(summary(nil))
        }
      }
    }
  }
}
