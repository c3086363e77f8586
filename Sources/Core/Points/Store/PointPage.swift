public import Basics
public import Geo
package import SearchWords

/// A place that a query found.
public struct FoundPoint: Hashable, Sendable {
  /// The place.
  public internal(set) var point: PointOfInterest

  /// The geodesic distance in metres from the query's centre or route; `nil` if the query has neither.
  public let distanceMetres: Double?

  /// The length in metres of the query's route up to its position that is nearest to the place; `nil` if the query
  /// has no route.
  public let alongMetres: Double?

  /// The attribution of the place's data set, where it was requested and there is one.
  @ComparedByBytes public var attribution: String? = nil

  /// The label of the place, where it was requested.
  @ComparedByBytes public var label: String? = nil

  /// The state by the opening hours, where it was requested.
  public package(set) var state: PlaceState? = nil

  /// The score of the match, where the place was found by a text.
  public var score: Double? = nil

  /// The name that matches the text, where it was requested.
  public var match: TextMatch.Name? = nil

  public init(point: PointOfInterest, distanceMetres: Double?, alongMetres: Double? = nil) {
    self.point = point
    self.distanceMetres = distanceMetres
    self.alongMetres = alongMetres
  }
}

extension FoundPoint {
  /// Creates the place of a match.
  public init(_ match: TextMatch) {
    self.init(point: match.point, distanceMetres: match.distanceMetres)
    score = match.score
    self.match = match.name
  }
}

/// A place that is borrowed from its store: its texts are bytes of the store in UTF-8, which are valid until the call
/// that they are passed to returns.
///
/// A page is written as one place after another. So its initializer is inlined, which builds the place where it is
/// read: a call passes most of its arguments in memory, and its result is copied once more.
@frozen
public struct BorrowedPoint {
  public var id: PointID

  /// The position, in WGS 84.
  public var coordinate: Coordinate

  /// The geodesic distance in metres from the query's centre or route; `nil` if the query has neither.
  public var distanceMetres: Double?

  /// The length in metres of the query's route up to the place; `nil` if the query has no route.
  public var alongMetres: Double?

  public var version: Int64
  public var createdAt: Timestamp
  public var updatedAt: Timestamp
  public var name: UnsafeBufferPointer<UInt8>
  public var category: UnsafeBufferPointer<UInt8>?

  /// The tags, as ``Tags/json``: a beginning that places of the store share, which may be empty, and the rest.
  public var tags: (beginning: UnsafeBufferPointer<UInt8>, rest: UnsafeBufferPointer<UInt8>)

  /// The data set that the place was imported from; `nil` if it was not imported from any.
  public var source: UnsafeBufferPointer<UInt8>?

  /// The id of the place in that data set; `nil` if ``source`` is.
  public var sourceID: UnsafeBufferPointer<UInt8>?

  /// Creates a place from stored values, without validation.
  @inlinable
  public init(
    id: PointID, coordinate: Coordinate, distanceMetres: Double? = nil, alongMetres: Double? = nil, version: Int64,
    createdAt: Timestamp, updatedAt: Timestamp, name: UnsafeBufferPointer<UInt8>, category: UnsafeBufferPointer<UInt8>?,
    beginningOfTags: UnsafeBufferPointer<UInt8> = .init(start: nil, count: 0), tags: UnsafeBufferPointer<UInt8>,
    source: UnsafeBufferPointer<UInt8>?, sourceID: UnsafeBufferPointer<UInt8>?
  ) {
    self.id = id
    self.coordinate = coordinate
    self.distanceMetres = distanceMetres
    self.alongMetres = alongMetres
    self.version = version
    self.createdAt = createdAt
    self.updatedAt = updatedAt
    self.name = name
    self.category = category
    self.tags = (beginningOfTags, tags)
    self.source = source
    self.sourceID = sourceID
  }
}

extension FoundPoint {
  /// Calls the body with this place, borrowed.
  public func withBorrowed(_ body: (BorrowedPoint) -> Void) {
    let draft = point.draft
    Self.withUTF8(draft.name) { name in
      Self.withUTF8(draft.category) { category in
        Self.withUTF8(draft.tags.json) { tags in
          Self.withUTF8(draft.origin?.source) { source in
            Self.withUTF8(draft.origin?.sourceID) { sourceID in
              body(
                BorrowedPoint(
                  id: point.id, coordinate: draft.coordinate, distanceMetres: distanceMetres, alongMetres: alongMetres,
                  version: point.version, createdAt: point.createdAt, updatedAt: point.updatedAt,
                  name: name ?? UnsafeBufferPointer(start: nil, count: 0), category: category,
                  tags: tags ?? UnsafeBufferPointer(start: nil, count: 0), source: source, sourceID: sourceID))
            }
          }
        }
      }
    }
  }

  private static func withUTF8(_ text: String?, _ body: (UnsafeBufferPointer<UInt8>?) -> Void) {
    guard var text else { return body(nil) }
    text.withUTF8 { body($0) }
  }
}

/// The places of a page, in the memory of their store.
public protocol PagePoints: Sendable {
  var count: Int { get }

  /// Calls the body with each place, in the order of the page.
  func forEach(_ body: (BorrowedPoint) -> Void)

  /// The places as values, which each access creates.
  var points: [FoundPoint] { get }
}

/// A page of the places that match a query.
public struct PointPage: Sendable {
  /// The maximum number of bytes of the names and tags of a page's places together. A page whose places have more ends
  /// early, with at least one place, so that a page of long places is bounded too.
  public static let maximumTextBytes = 4 * 1024 * 1024

  /// The places, in the query's order, at most as many as its limit.
  public let borrowed: any PagePoints

  /// The position from which the next page continues; `nil` if no other place matches.
  public let next: PointQuery.Position?

  /// The time at which places open or close, in minutes since 1970-01-01T00:00:00Z, so that others may match; `nil` if
  /// the query does not depend on the time of the request.
  public let expiry: Int64?

  /// The number of places that match, on this page and others; `nil` if they were not counted.
  package var total: Int?

  public init(_ borrowed: any PagePoints, next: PointQuery.Position?, expiry: Int64? = nil) {
    self.borrowed = borrowed
    self.next = next
    self.expiry = expiry
  }

  /// Creates a page of places that are values already.
  public init(points: [FoundPoint], hasMore: Bool) {
    borrowed = OwnedPoints(points: points)
    let last = hasMore ? points.last : nil
    next = last.map { .init(distanceMetres: $0.alongMetres ?? $0.distanceMetres ?? 0, id: $0.point.id) }
    expiry = nil
  }

  /// The number of places.
  public var count: Int { borrowed.count }

  /// The places as values of their own, which are made anew for each call.
  public var points: [FoundPoint] { borrowed.points }

  /// A Boolean value that indicates whether at least one more place matches.
  public var hasMore: Bool { next != nil }

  /// Returns the number of the first places that fit into a page by the length of their texts, at least one if there is
  /// one.
  ///
  /// - Parameters:
  ///   - count: the number of places for the page.
  ///   - textBytes: returns the number of bytes of the name and the tags of a place, by its index in the order.
  @inlinable
  public static func fittingCount(of count: Int, textBytes: (Int) -> Int) -> Int {
    var total = 0
    for index in 0..<count {
      total += textBytes(index)
      if total > maximumTextBytes { return max(index, 1) }
    }
    return count
  }
}

private struct OwnedPoints: PagePoints {
  let points: [FoundPoint]

  var count: Int { points.count }

  func forEach(_ body: (BorrowedPoint) -> Void) {
    for point in points { point.withBorrowed(body) }
  }
}

/// The number of places of a category.
public struct CategoryCount: Hashable, Sendable {
  /// The category.
  @ComparedByBytes public private(set) var category: String

  /// The number of places that have it.
  public let count: Int

  public init(category: String, count: Int) {
    self.category = category
    self.count = count
  }
}

extension CategoryTree {
  /// Returns the numbers of places of each category and those below it, and the counts of the categories that are not
  /// in the tree, in their order.
  package func totals(of counts: [CategoryCount]) -> (totals: [Int], others: [CategoryCount]) {
    var own = Array(repeating: 0, count: categories.count)
    var others: [CategoryCount] = []
    for count in counts {
      if let number = number(ofNameInData: ExactText(count.category)) {
        own[number] += count.count
      } else {
        others.append(count)
      }
    }
    return (totals(of: own), others)
  }
}
