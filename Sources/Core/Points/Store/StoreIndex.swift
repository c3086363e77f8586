public import Basics
public import Geo
package import SearchWords

/// An index of a store's places in memory, which finds them by text, computes the tiles of maps and runs long searches.
///
/// An index that ``followsDatabase`` may be older than the writes of its store; positions relate the two. The default
/// implementations are those of an index that is the store itself.
public protocol StoreIndex: Sendable {
  /// Returns the places of one moment; `nil` while reads come from elsewhere.
  ///
  /// - Parameter isRequired: a Boolean value that indicates whether only the index serves the caller. The result is not
  ///   `nil` then.
  /// - Throws: if the index is required, ``PointStoreError/indexNotReady`` while it can't be read, and
  ///   ``PointStoreError/indexRequired`` if it ``isUnused``.
  func snapshot(isRequired: Bool) async throws(PointStoreError) -> (any IndexSnapshot)?

  /// Returns the places of the moment where they may be read without waiting; `nil` if ``snapshot(isRequired:)``
  /// must be called, which is the default.
  func snapshotAtOnce() -> (any IndexSnapshot)?

  /// A Boolean value that indicates whether there is no index, for a reason that waiting does not end.
  var isUnused: Bool { get }

  /// A Boolean value that indicates whether the index follows a database, and has positions.
  var followsDatabase: Bool { get }

  /// Returns the position of everything that was committed before the call, as an opaque text of printable ASCII
  /// characters; `nil` if none can be determined.
  func currentPosition() async -> String?

  /// Returns when all later reads contain everything up to a position, except those from the last confirmed state; see
  /// ``PointStore/reading(notBefore:)``.
  ///
  /// - Returns: `false` for a text that is not a position.
  /// - Throws: ``PointStoreError`` if the reads can't be brought up to the position.
  func waitUntilReads(contain position: String) async throws(PointStoreError) -> Bool

  /// The state for operators: a word, and the number of places; `nil` if the index is always complete.
  var state: (phase: String, points: Int)? { get }

  /// A Boolean value that indicates whether the server should not be ready yet, because the index is not complete.
  var isAwaited: Bool { get }

  /// The reads from the last confirmed state; `nil` if there are never any.
  var staleReads: StaleReads? { get }
}

extension StoreIndex {
  public func snapshotAtOnce() -> (any IndexSnapshot)? { nil }
  public var isUnused: Bool { false }
  public var followsDatabase: Bool { false }
  public func currentPosition() async -> String? { nil }
  public func waitUntilReads(contain position: String) async throws(PointStoreError) -> Bool { false }
  public var state: (phase: String, points: Int)? { nil }
  public var isAwaited: Bool { false }
  public var staleReads: StaleReads? { nil }
}

/// The phases that indexes of several stores have.
package enum StoreIndexPhase {
  /// All places are there, and the opening hours of those from files are being evaluated.
  package static let evaluatingHours = "evaluating_hours"
}

/// The places that a search reads.
public enum PlacesView: Sendable {
  /// The places of one moment.
  case snapshot(any IndexSnapshot)

  /// The places of a store that has no index, or whose index is not fresh enough.
  case store(any PointStore)
}

/// The places of one moment, which are searched by computation alone, without waiting.
public protocol IndexSnapshot: Sendable {
  /// Returns a page of the places that match; see ``PointStore/page(matching:)``.
  ///
  /// - Throws: ``PointStoreError/filterTimeout``.
  func page(matching query: PointQuery) throws(PointStoreError) -> PointPage

  /// Returns the number of places that match; see ``PointStore/count(matching:)``.
  ///
  /// - Throws: ``PointStoreError/filterTimeout``.
  func count(matching query: PointQuery) throws(PointStoreError) -> Int

  /// Returns a page of the places that match a text, in the query's order.
  ///
  /// Following ``TextPage/next`` to the end returns every place that matches exactly once, as long as no place is
  /// changed meanwhile: whether typos are searched for depends on the places that match without them.
  ///
  /// - Throws: ``PointStoreError/filterTimeout``.
  func page(matching query: TextQuery) throws(PointStoreError) -> TextPage

  /// Returns every category with the number of its places; see ``PointStore/categoryCounts(in:)``.
  func categoryCounts(in box: BoundingBox?) throws(PointStoreError) -> [CategoryCount]

  /// The least box of all places that does not cross the antimeridian; `nil` if there are none.
  var bounds: BoundingBox? { get }

  /// Returns a box of the places of some categories, or of all places where there are no categories; `nil` if there
  /// are no places. It crosses the antimeridian where that makes it much narrower.
  func extent(ofCategories categories: Set<ExactText>) -> BoundingBox?

  /// Returns the version of the places of a tile.
  func contentVersion(of tile: TileAddress) -> ContentVersion

  /// Returns the versions of a tile that are known without visiting its places.
  func knownVersions(of tile: TileAddress) -> TileVersions

  /// Returns an upper bound of the number of places of a tile.
  func maximumCount(of tile: TileAddress) -> Int

  /// Returns the version of the places of a tile and the encoded vector tile, whose places are visited once for both.
  ///
  /// - Parameter isKnown: returns whether the tile of a version need not be drawn.
  /// - Returns: the version, whatever the filters, and the tile; `nil` if it need not be drawn.
  /// - Throws: ``PointStoreError/filterTimeout``.
  func tile(
    matching query: TileQuery, unless isKnown: (ContentVersion) -> Bool
  ) throws(PointStoreError) -> (version: ContentVersion, bytes: [UInt8]?)

  /// Returns the cells of a grid that have places and touch a box; `nil` if they are more than a limit.
  ///
  /// - Throws: ``PointStoreError/filterTimeout``.
  func cells(matching query: CellQuery, limit: Int) throws(PointStoreError) -> [MapCell]?

  /// Returns the counts of the most frequent values of facets.
  ///
  /// - Throws: ``PointStoreError/filterTimeout``.
  func facets(matching query: FacetQuery) throws(PointStoreError) -> Facets

  /// Returns the pairs of places that are likely the same, in any order; `nil` if the places that would have to be
  /// compared are too many.
  ///
  /// - Throws: ``PointStoreError/filterTimeout``.
  func duplicates(matching query: DuplicateQuery) throws(PointStoreError) -> [DuplicateCandidate]?

  /// Returns the place of an id, or `nil`.
  func point(id: PointID) -> PointOfInterest?

  /// Returns the time until which no place opens or closes, or an earlier one, in minutes since 1970-01-01T00:00:00Z.
  ///
  /// - Parameter minute: the time from which on.
  func nextChangeOfHours(after minute: Int64) -> Int64
}

extension IndexSnapshot {
  /// Returns the time at which other places may match a query because it is now another time; `nil` if the query does
  /// not depend on the time of the request.
  public func expiry(of query: PointQuery) -> Int64? {
    guard let opening = query.opening, opening.isNow, !opening.isOfFirstPage, case .instant(let minute) = opening.time
    else { return nil }
    return nextChangeOfHours(after: Int64(minute))
  }

  /// Returns an encoded vector tile.
  ///
  /// - Throws: ``PointStoreError/filterTimeout``.
  public func tile(matching query: TileQuery) throws(PointStoreError) -> [UInt8] {
    try tile(matching: query) { _ in false }.bytes ?? []
  }
}

/// The reads of a store from its last confirmed state, which writes may have followed.
public struct StaleReads: Hashable, Sendable {
  /// The number of them so far.
  public var count: Int

  /// The latest moment at which the last of them is known to have contained everything that was committed; `nil` before
  /// the first.
  public var confirmedAt: ContinuousClock.Instant?

  public init(count: Int = 0, confirmedAt: ContinuousClock.Instant? = nil) {
    self.count = count
    self.confirmedAt = confirmedAt
  }
}

/// The fields of places that a text index covers.
public struct TextIndexConfiguration: Hashable, Sendable {
  /// The default of ``nameTags``.
  public static let defaultNameTags = [
    "name:*", "alt_name", "official_name", "short_name", "old_name", "loc_name", "brand", "int_name",
  ]

  /// The keys of the tags that hold alternative names; one that ends with `*` stands for all keys that begin like it.
  public var nameTags: [String] { keys.map(\.text) }

  private let keys: [ExactText]

  /// The tree by whose labels and synonyms texts find the places of a category. The index does not contain it.
  package var categories = CategoryTree.empty

  public init(nameTags: [String] = defaultNameTags) {
    keys = nameTags.map { ExactText($0) }
  }
}

extension TextIndexConfiguration: CustomStringConvertible {
  /// The keys, as a text that is different for each configuration.
  public var description: String { "\(nameTags)" }
}
