import Basics
import Crypto
import Geo
package import Points
import Synchronization

/// A store as a caller with a restriction sees it: places outside of it do not exist.
///
/// The restriction is joined to every query. A change is made to the version that was judged, or not at all, so that a
/// place that another caller moves meanwhile is judged again. What can't be judged place by place is forbidden.
struct RestrictedStore: PointStore {
  let store: any PointStore
  let judge: RestrictionJudge
  let clock: any WallClock

  var restriction: PointRestriction { judge.restriction }

  var index: (any StoreIndex)? { store.index.map { RestrictedIndex(index: $0, restriction: restriction) } }

  func reading(notBefore position: String) -> any PointStore {
    RestrictedStore(store: store.reading(notBefore: position), judge: judge, clock: clock)
  }

  // MARK: Reading

  func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage {
    try await store.page(matching: try query.joined(to: restriction)).withoutChangesOfHours(query)
  }

  func count(matching query: PointQuery) async throws(PointStoreError) -> Int {
    try await store.count(matching: try query.joined(to: restriction))
  }

  func point(id: PointID) async throws(PointStoreError) -> PointOfInterest? {
    guard let point = try await store.point(id: id), try judge.admits(point) else { return nil }
    return point
  }

  func committedPoint(id: PointID) async throws(PointStoreError) -> PointOfInterest? {
    guard let point = try await store.committedPoint(id: id), try judge.admits(point) else { return nil }
    return point
  }

  func categoryCounts(in box: BoundingBox?) async throws(PointStoreError) -> [CategoryCount] {
    guard let snapshot = try await index?.snapshot(isRequired: true) else { throw .indexRequired }
    return try snapshot.categoryCounts(in: box)
  }

  /// Throws `indexRequired`, since no index has a shuffled order of some places.
  func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? {
    throw .indexRequired
  }

  /// Returns all registered data sets, also those without places of the restriction.
  func sources() async throws(PointStoreError) -> [DataSource] { try await store.sources() }

  func dataVersion() async throws(PointStoreError) -> DataVersion? { try await store.dataVersion() }

  func knownDataVersion() -> DataVersion? { store.knownDataVersion() }

  func checkReadiness() async throws(PointStoreError) -> StoreReadiness { try await store.checkReadiness() }

  /// Returns the edits of a place of the restriction, if it would be one with the values of its data set too: these may
  /// be of a time when it was outside. A deletion is not visible, as what the place was is not known.
  func edits(of id: PointID) async throws(PointStoreError) -> PlaceEdits? {
    guard let edits = try await store.edits(of: id), !edits.isDeletion, let point = try await committedPoint(id: id),
      try judge.admits(point.undoing(edits))
    else { return nil }
    return edits
  }

  /// Returns a page of the places of the restriction with edits; see ``edits(of:)``. All edits are read until the page is
  /// full, for at most as long as a filter may take, so that it may end without a place.
  func edits(matching query: EditQuery) async throws(PointStoreError) -> EditPage {
    let end = ContinuousClock.now + restriction.timeLimit
    var (query, found) = (query, [PlaceEdits]())
    let limit = query.limit
    while true {
      let page = try await store.edits(matching: query)
      for place in try await visible(page.places.filter { !$0.isDeletion }) {
        if found.count == limit { return EditPage(places: found, hasMore: true) }
        found.append(place)
      }
      guard let next = page.next, ContinuousClock.now < end else { return EditPage(places: found, next: page.next) }
      query.after = next
    }
  }

  /// Returns those of the edits of some places that are visible.
  private func visible(_ edits: [PlaceEdits]) async throws(PointStoreError) -> [PlaceEdits] {
    var points: [PointID: PointOfInterest] = [:]
    var rest = edits.map(\.id)[...]
    while !rest.isEmpty {
      var query = PointQuery(limit: min(rest.count, PointQuery.maximumIDs))
      query.ids = Array(rest.prefix(query.limit))
      let page = try await page(matching: query)
      for found in page.points { points[found.point.id] = found.point }
      // A page of long places ends early.
      let next = page.hasMore ? page.points.last.flatMap { last in rest.firstIndex(of: last.point.id) } : nil
      rest = next.map { rest[($0 + 1)...] } ?? rest.dropFirst(query.limit)
    }
    let known = edits.filter { points[$0.id] != nil }
    let admitted = try judge.admitted(known.compactMap { edits in points[edits.id]?.undoing(edits) })
    return zip(known, admitted).filter(\.1).map(\.0)
  }

  func exportPoints(
    matching query: PointQuery, for client: String?,
    to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    try await store.exportPoints(matching: try query.joined(to: restriction), for: client, to: consume)
  }

  // MARK: Writing

  /// The id is never that of a deleted place, which may have been outside of the restriction.
  func create(
    _ draft: PointDraft, once key: IdempotencyKey?, reusingID reusesID: Bool, as author: WriteAuthor
  ) async throws(PointWriteError) -> PointOfInterest {
    var generator = SystemRandomNumberGenerator()
    try check(draft, id: PointID(at: clock.now(), using: &generator), replacing: nil)
    let point: PointOfInterest
    do throws(PointWriteError) {
      point = try await store.create(draft, once: key, reusingID: false, as: author)
    } catch {
      throw await visible(error, draft.origin)
    }
    // A repeat has the result of the first call, which may have been made with another restriction.
    guard try admits(point) else { throw .outside }
    return point
  }

  func put(
    _ draft: PointDraft, id: PointID, if condition: WriteCondition, as author: WriteAuthor
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    try await retrying(atMost: PointsService.maximumAttempts, orThrow: .store(.overloaded)) {
      () async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool)? in
      let current = try await PointWriteError.wrapping(await store.committedPoint(id: id))
      if let current, try !admits(current) {
        guard condition.holds(of: nil) else { throw .conditionFailed(currentVersion: nil) }
        throw .takenID
      }
      guard condition.holds(of: current?.version) else { throw .conditionFailed(currentVersion: current?.version) }
      try check(try await merged(draft, onto: current, as: author), id: id, replacing: current)
      do throws(PointWriteError) {
        return try await store.put(draft, id: id, if: current.map { .versions([$0.version]) } ?? .absent, as: author)
      } catch .conditionFailed {
        return nil
      } catch {
        throw await visible(error, draft.origin)
      }
    }
  }

  /// Returns the values that a place will have after a write: those of its data set are merged with its edits.
  private func merged(
    _ draft: PointDraft, onto current: PointOfInterest?, as author: WriteAuthor
  ) async throws(PointWriteError) -> PointDraft {
    guard author == .source, let current, draft.hasSameOrigin(as: current.draft),
      let edits = try await PointWriteError.wrapping(await store.edits(of: current.id)), !edits.isDeletion
    else { return draft }
    return edits.merging(draft, onto: current.draft).draft
  }

  /// Forgets the edits of a place of the restriction, which remains one.
  func forgetEdits(of id: PointID) async throws(PointWriteError) -> PointOfInterest? {
    try await retrying(atMost: PointsService.maximumAttempts, orThrow: .store(.overloaded)) {
      () async throws(PointWriteError) -> PointOfInterest? in
      let edits = try await PointWriteError.wrapping(await store.edits(of: id))
      let current = try await PointWriteError.wrapping(await committedPoint(id: id))
      guard let edits, !edits.isDeletion, let current else { throw .notFound }
      let point: PointOfInterest
      do throws(PointWriteError) {
        // A field that gets the value of its data set is no edit any more.
        point = try await put(
          edits.undone(in: current.draft), id: id, if: .versions([current.version]), as: .client
        ).point
      } catch .conditionFailed {
        return nil
      }
      // An import may have changed a value of the data set without a new version of the place.
      let rest = try await PointWriteError.wrapping(await store.edits(of: id))
      return rest.map { $0.undone(in: point.draft) == point.draft } ?? true ? point : nil
    }
  }

  func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError) {
    if let error = try await apply(PointBatch([.delete(id: id, if: condition)]))[0].error { throw error }
  }

  private func admits(_ point: PointOfInterest) throws(PointWriteError) -> Bool {
    try PointWriteError.wrapping(judge.admits(point))
  }

  /// Checks that a place will be one of the restriction.
  ///
  /// - Throws: ``PointWriteError/forbidden(reason:)``.
  private func check(
    _ draft: PointDraft, id: PointID, replacing current: PointOfInterest?
  ) throws(PointWriteError) {
    let now = clock.now()
    let point = PointOfInterest(
      id: id, draft: draft, version: (current?.version ?? 0) &+ 1, createdAt: current?.createdAt ?? now, updatedAt: now)
    guard try admits(point) else { throw .outside }
  }

  /// Returns an error as the caller may know it: that of a taken origin tells nothing of the other place, nor of a
  /// deleted one.
  private func visible(_ error: PointWriteError, _ origin: SourceReference?) async -> PointWriteError {
    if case .deletedByClient = error { return .hiddenOwner }
    guard error == .originTaken else { return error }
    if let origin {
      let owner = PointQuery(source: .init(name: origin.source, sourceID: origin.sourceID), limit: 1)
      if let page = try? await page(matching: owner), page.count > 0 { return .originTaken }
    }
    return .hiddenOwner
  }

  private var admitted: PointJudge {
    { [judge] points throws(PointStoreError) in try judge.admitted(points) }
  }

  func apply(_ batch: PointBatch) async throws(PointWriteError) -> [PointOperationResult] {
    var batch = batch
    batch.admits = admitted
    return try await store.apply(batch)
  }

  /// The maximum number of places that are deleted in one transaction.
  private static let deleteBatchLength = 250

  /// Deletes the places of the restriction, in the order of their ids.
  func deleteBatch(
    ofSource source: String, after position: ExactText?
  ) async throws(PointWriteError) -> DeletedBatch {
    let last = position.flatMap { PointID($0.text) }
    let query = PointQuery(
      source: .init(name: source), limit: Self.deleteBatchLength, after: last.map { .init(id: $0) })
    let found = try await PointWriteError.wrapping(await page(matching: query))
    let ids = found.points.map(\.point.id)
    guard let last = ids.last else { return DeletedBatch(count: 0, next: nil) }
    var batch = PointBatch(ids.map { .delete(id: $0, if: .none) })
    batch.forgetsDeletions = true
    batch.admits = { [admitted] points throws(PointStoreError) in
      // A place may have changed since it was found.
      zip(points, try admitted(points)).map { $0.draft.origin?.source.hasSameBytes(as: source) == true && $1 }
    }
    let count = try await store.apply(batch).count { !$0.isFailure }
    return DeletedBatch(count: count, next: found.hasMore ? ExactText(last.description) : nil)
  }

  /// Imports the rows; see ``ImportOptions/admits``. The licence and the attribution of a data set are not changed, as
  /// places outside of the restriction have them too.
  func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, options: ImportOptions
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    var options = options
    options.sources = options.sources.map { DataSource(name: $0.name) }
    options.admits = admitted
    return try await store.importRows(batches, options: options)
  }

  // MARK: Forbidden

  func removeSource(named name: String) async throws(PointWriteError) -> SourceRemoval { throw .unjudged }

  func register(_ sources: [DataSource]) async throws(PointWriteError) { throw .unjudged }
}

extension PointWriteError {
  /// The error of a change of places that are not known one by one.
  fileprivate static let unjudged = forbidden(reason: "this is not for keys and tokens with a filter or areas")
}

extension PointOfInterest {
  /// Returns the place with the values of its data set.
  fileprivate func undoing(_ edits: PlaceEdits) -> PointOfInterest {
    PointOfInterest(
      id: id, draft: edits.undone(in: draft), version: version, createdAt: createdAt, updatedAt: updatedAt)
  }
}

extension PointPage {
  /// Returns the page with an expiry that does not depend on the opening hours of places outside of a restriction.
  fileprivate func withoutChangesOfHours(_ query: PointQuery) -> PointPage {
    expiry == nil ? self : PointPage(borrowed, next: next, expiry: query.nextMinute)
  }
}

extension PointQuery {
  /// The minute after that at which places are open, since 1970-01-01T00:00:00Z; `nil` if there is none.
  fileprivate var nextMinute: Int64? {
    guard case .instant(let minutes)? = opening?.time else { return nil }
    return Int64(minutes) + 1
  }
}

/// The decision on single places of a restriction.
package struct RestrictionJudge: Sendable {
  let restriction: PointRestriction

  /// The changes of the store, by whose conditions places are judged.
  let feed: any PointFeed

  package init(restriction: PointRestriction, feed: any PointFeed) {
    self.restriction = restriction
    self.feed = feed
  }

  /// Returns a store as callers with the restriction see it.
  package func restricted(_ store: any PointStore, clock: any WallClock) -> any PointStore {
    RestrictedStore(store: store, judge: self, clock: clock)
  }

  /// The changes as callers with the restriction see them.
  package var restrictedChanges: any PointFeed { RestrictedFeed(self) }

  /// Returns a Boolean value that indicates whether a place is one of the restriction.
  func admits(_ point: PointOfInterest) throws(PointStoreError) -> Bool {
    try admits([.put(point)])
  }

  /// Returns a Boolean value that indicates whether all changes are of existing places of the restriction.
  func admits(_ changes: [PointChange]) throws(PointStoreError) -> Bool {
    try admitted(changes).allSatisfy(\.self)
  }

  /// Returns for each of some places with different ids whether it is one of the restriction.
  func admitted(_ points: [PointOfInterest]) throws(PointStoreError) -> [Bool] {
    try admitted(points.map { .put($0) })
  }

  private func admitted(_ changes: [PointChange]) throws(PointStoreError) -> [Bool] {
    try feed.changes(changes, matching: PointQuery(restriction: restriction)).map {
      if case .put = $0 { true } else { false }
    }
  }
}

/// An index as a caller with a restriction sees it.
struct RestrictedIndex: StoreIndex {
  let index: any StoreIndex
  let restriction: PointRestriction

  func snapshot(isRequired: Bool) async throws(PointStoreError) -> (any IndexSnapshot)? {
    try await index.snapshot(isRequired: isRequired).map { RestrictedSnapshot(snapshot: $0, restriction: restriction) }
  }

  var isUnused: Bool { index.isUnused }
  var followsDatabase: Bool { index.followsDatabase }
  func currentPosition() async -> String? { await index.currentPosition() }

  func waitUntilReads(contain position: String) async throws(PointStoreError) -> Bool {
    try await index.waitUntilReads(contain: position)
  }

  var state: (phase: String, points: Int)? { nil }
  var isAwaited: Bool { index.isAwaited }
  var staleReads: StaleReads? { index.staleReads }
}

/// The places of a moment as a caller with a restriction sees them.
struct RestrictedSnapshot: IndexSnapshot {
  let snapshot: any IndexSnapshot
  let restriction: PointRestriction

  func page(matching query: PointQuery) throws(PointStoreError) -> PointPage {
    try snapshot.page(matching: try query.joined(to: restriction)).withoutChangesOfHours(query)
  }

  func count(matching query: PointQuery) throws(PointStoreError) -> Int {
    try snapshot.count(matching: try query.joined(to: restriction))
  }

  func page(matching query: TextQuery) throws(PointStoreError) -> TextPage {
    var query = query
    query.filters = try query.filters.joined(to: restriction)
    var page = try snapshot.page(matching: query)
    page.expiry = page.expiry.flatMap { _ in query.filters.nextMinute }
    return page
  }

  func categoryCounts(in box: BoundingBox?) throws(PointStoreError) -> [CategoryCount] {
    let query = FacetQuery(
      facets: [.category], filters: PointQuery(box: box), limit: Int(Int32.max), timeLimit: restriction.timeLimit)
    return try facets(matching: query).counts[0].values.map { CategoryCount(category: $0.text, count: $0.count) }
  }

  /// The zoom level of the tiles of which boxes are made.
  private static let boxZoom = 8

  var bounds: BoundingBox? { extent(ofCategories: []) }

  /// Returns a box of tiles that have places of some categories, or of all places of the restriction where there are no
  /// categories; `nil` if there are no places, and the whole earth where that takes too long.
  func extent(ofCategories categories: Set<ExactText>) -> BoundingBox? {
    let query = CellQuery(
      box: nil, level: Self.boxZoom, filters: PointQuery(categories: categories), timeLimit: restriction.timeLimit)
    guard let cells = try? cells(matching: query, limit: .max) else {
      return try? BoundingBox(west: -180, south: -90, east: 180, north: 90)
    }
    let tiles = cells.map { TileAddress(containing: MercatorPosition($0.center), zoom: Self.boxZoom) }
    guard let west = tiles.map(\.x).min(), let east = tiles.map(\.x).max(), let north = tiles.map(\.y).min(),
      let south = tiles.map(\.y).max()
    else { return nil }
    let count = 1 << Self.boxZoom
    func corner(_ x: Int, _ y: Int) -> Coordinate {
      MercatorPosition.coordinate(x: Double(x) / Double(count), y: Double(y) / Double(count))
    }
    let (northWest, southEast) = (corner(west, north), corner(east + 1, south + 1))
    // The poles are in the tiles at the edges.
    return try? BoundingBox(
      west: northWest.longitude, south: south + 1 == count ? -90 : southEast.latitude, east: southEast.longitude,
      north: north == 0 ? 90 : northWest.latitude)
  }

  // The versions of the index are those of all places of a tile, and change with places that the caller does not know.

  func contentVersion(of tile: TileAddress) -> ContentVersion { .empty }

  func knownVersions(of tile: TileAddress) -> TileVersions { TileVersions(own: nil, enclosing: .empty) }

  func maximumCount(of tile: TileAddress) -> Int { TileQuery.maximumPlaces }

  /// Returns the encoded vector tile, and a version that is made of its bytes.
  func tile(
    matching query: TileQuery, unless isKnown: (ContentVersion) -> Bool
  ) throws(PointStoreError) -> (version: ContentVersion, bytes: [UInt8]?) {
    var query = query
    query.filters = try query.filters.joined(to: restriction)
    let bytes = try snapshot.tile(matching: query)
    let digest = Array(SHA256.hash(data: bytes))
    let (high, low) = (UInt64(bigEndianBytes: digest[..<8]), UInt64(bigEndianBytes: digest[8..<16]))
    let version = ContentVersion(count: bytes.isEmpty ? 0 : 1, high: high, low: low)
    return (version, isKnown(version) ? nil : bytes)
  }

  func cells(matching query: CellQuery, limit: Int) throws(PointStoreError) -> [MapCell]? {
    var query = query
    query.filters = try query.filters.joined(to: restriction)
    return try snapshot.cells(matching: query, limit: limit)
  }

  func facets(matching query: FacetQuery) throws(PointStoreError) -> Facets {
    var query = query
    query.filters = try query.filters.joined(to: restriction)
    return try snapshot.facets(matching: query)
  }

  /// Returns `nil`: the places of duplicates are not for senders with a restriction.
  func point(id: PointID) -> PointOfInterest? { nil }

  /// Throws `indexRequired`: the calls of duplicates refuse senders with a restriction.
  func duplicates(matching query: DuplicateQuery) throws(PointStoreError) -> [DuplicateCandidate]? {
    throw .indexRequired
  }

  func nextChangeOfHours(after minute: Int64) -> Int64 { minute + 1 }
}

/// The changes of a store's places as a caller with a restriction sees them.
///
/// A page of the log tells nothing of what a changed place was before. So it is only readable while all of its changes
/// are of existing places of the restriction; otherwise the caller has to begin again. A subscription has the places
/// before, and the removals of those that leave.
struct RestrictedFeed: PointFeed {
  let feed: any PointFeed
  let judge: RestrictionJudge

  init(_ judge: RestrictionJudge) {
    (feed, self.judge) = (judge.feed, judge)
  }

  func presentPosition() async throws(PointStoreError) -> String { try await feed.presentPosition() }

  func page(after position: String, limit: Int) async throws(ChangeReadError) -> ChangePage {
    try await page(after: position, limit: limit, for: .server)
  }

  func page(
    after position: String, limit: Int, for reader: ChangeReader
  ) async throws(ChangeReadError) -> ChangePage {
    let page = try await feed.page(after: position, limit: limit)
    guard !page.changes.isEmpty else { return page }
    // As if it was refused, until it is computed.
    let judgement = Mutex<Result<Bool, PointStoreError>>(.failure(.overloaded))
    _ = await reader.compute { [judge] in
      let result = Result { () throws(PointStoreError) in try judge.admits(page.changes) }
      judgement.withLock { $0 = result }
    }
    let isVisible: Bool
    do throws(PointStoreError) {
      isVisible = try judgement.withLock { $0 }.get()
    } catch {
      throw .store(error)
    }
    guard isVisible else { throw .expired(reason: "some are not of places of the key or token") }
    return page
  }

  func includes(_ position: String, in other: String) -> Bool { feed.includes(position, in: other) }

  func changes(_ changes: [PointChange], matching query: PointQuery) throws(PointStoreError) -> [PointChange] {
    try feed.changes(changes, matching: query.joined(to: judge.restriction))
  }

  func subscribe(matching query: PointQuery, for reader: ChangeReader) -> ChangeSubscription {
    do throws(PointStoreError) {
      return feed.subscribe(matching: try query.joined(to: judge.restriction), for: reader)
    } catch {
      let subscription = ChangeSubscription(matching: query)
      subscription.close()
      return subscription
    }
  }

  /// Does nothing: the changes are those of others too.
  func close() {}
}
