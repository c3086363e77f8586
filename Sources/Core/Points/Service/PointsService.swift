import Basics
import Synchronization

/// The service through which all handlers read and change places; they do not call the store themselves.
///
/// It has observers note every call of the store, records searches in analytics, and adds what does not depend on where
/// the places are: calls that consist of several, and the rejection of imports that repeat one in progress.
///
/// The parameter `position` of reads is the position that they must contain, for which
/// ``StoreIndex/waitUntilReads(contain:)`` has waited; `nil` for none.
public final class PointsService: Sendable {
  /// The maximum number of attempts at an update that loses to concurrent changes, of which one has succeeded each
  /// time.
  package static let maximumAttempts = 100

  private let store: any PointStore
  private let index: (any StoreIndex)?

  /// A Boolean value that indicates whether the store has an index, now or later.
  public let hasIndex: Bool
  private let observers: [any StoreObserver]
  private let analytics: any Analytics
  private let recordsTexts: Bool
  private let clock: any WallClock
  private let uptime: @Sendable () -> Duration

  /// A Boolean value that indicates whether a restriction is joined to every call, so that no search runs on an
  /// event loop.
  package let isRestricted: Bool

  /// The keys of the imports in progress.
  private let importKeys = Mutex<Set<ExactText>>([])

  /// Creates a service over a store.
  ///
  /// - Parameters:
  ///   - observers: the observers of the calls of the store.
  ///   - analytics: the recorder of each search.
  ///   - recordsTexts: a Boolean value that indicates whether texts that found nothing are recorded.
  ///   - clock: the time of day, which decides the featured place.
  ///   - uptime: a monotonic time, which calls are timed by.
  public convenience init(
    store: any PointStore,
    observers: [any StoreObserver] = [],
    analytics: any Analytics = NoAnalytics(),
    recordsTexts: Bool = false,
    clock: any WallClock = SystemClock(),
    uptime: @escaping @Sendable () -> Duration = monotonicTime
  ) {
    self.init(
      store: store, observers: observers, analytics: analytics, recordsTexts: recordsTexts, isRestricted: false,
      clock: clock, uptime: uptime)
  }

  private init(
    store: any PointStore, observers: [any StoreObserver], analytics: any Analytics, recordsTexts: Bool,
    isRestricted: Bool, clock: any WallClock, uptime: @escaping @Sendable () -> Duration
  ) {
    self.store = store
    self.isRestricted = isRestricted
    index = store.index
    hasIndex = index != nil
    self.observers = observers
    self.analytics = analytics
    self.recordsTexts = recordsTexts
    self.clock = clock
    self.uptime = uptime
  }

  /// Returns a service with the same observers and analytics over the store as a caller with a restriction sees it.
  ///
  /// - Parameter view: returns the store with the restriction joined to every call.
  package func restricted(_ view: (any PointStore) -> any PointStore) -> PointsService {
    PointsService(
      store: view(store), observers: observers, analytics: analytics, recordsTexts: recordsTexts, isRestricted: true,
      clock: clock, uptime: uptime)
  }

  private func store(notBefore position: String?) -> any PointStore {
    guard let position else { return store }
    return store.reading(notBefore: position)
  }

  /// Calls a store, and has the observers note the end of the call.
  ///
  /// - Parameters:
  ///   - isWrite: a Boolean value that indicates whether the call writes; `nil` if the operation tells.
  ///   - onSuccess: called with the value and the duration of a call that did not fail.
  package func observe<Value, Failure: Error>(
    _ operation: StoreOperation, isWrite: Bool? = nil, _ call: () async throws(Failure) -> Value,
    onSuccess: (Value, Duration) -> Void = { _, _ in }
  ) async throws(Failure) -> Value {
    try await observers.observe(operation, isWrite: isWrite, uptime: uptime, call, onSuccess: onSuccess)
  }

  /// Returns the result of a call of the store, whose end the observers note.
  package func observed<Value>(
    _ operation: StoreOperation, isWrite: Bool? = nil, _ call: @autoclosure () async throws(PointStoreError) -> Value
  ) async throws(PointStoreError) -> Value {
    try await observers.observe(operation, isWrite: isWrite, uptime: uptime, call)
  }

  // Inlined, since the closures would copy the query.
  @inline(__always) private func compute<Value>(
    _ operation: StoreOperation, _ search: () throws(PointStoreError) -> Value,
    onSuccess: (Value, Duration) -> Void = { _, _ in }
  ) throws(PointStoreError) -> Value {
    let start = uptime()
    do {
      let value = try search()
      let duration = uptime() - start
      observers.note(operation, error: nil, took: duration, isWrite: false)
      onSuccess(value, duration)
      return value
    } catch {
      observers.note(operation, error: error, took: uptime() - start, isWrite: false)
      throw error
    }
  }

  // MARK: Searches

  /// Returns the places that a search reads, after the wait for the index.
  ///
  /// - Parameters:
  ///   - operation: the operation that fails if the index can't be read.
  ///   - isRequired: a Boolean value that indicates whether only an index can search.
  /// - Throws: ``PointStoreError`` if an index is required and can't be read.
  package func view(
    for operation: StoreOperation, isRequired: Bool, notBefore position: String?
  ) async throws(PointStoreError) -> PlacesView {
    let start = uptime()
    do {
      return try await store(notBefore: position).view(isRequired: isRequired)
    } catch {
      observers.note(operation, error: error, took: uptime() - start, isWrite: false)
      throw error
    }
  }

  /// Returns a page of the places of a store that match; see ``PointStore/page(matching:)``.
  ///
  /// - Parameter isRecorded: a Boolean value that indicates whether the search counts in analytics.
  package func page(
    matching query: PointQuery, in store: any PointStore, isRecorded: Bool = true
  ) async throws(PointStoreError) -> PointPage {
    try await observe(.page) { () throws(PointStoreError) in
      try await store.page(matching: query)
    } onSuccess: { page, duration in
      if isRecorded { analytics.record(Search(query, found: page.count, took: duration)) }
    }
  }

  // MARK: Searches of a snapshot

  /// A Boolean value that indicates whether the index is used, once it is complete.
  public var usesIndex: Bool { index.map { !$0.isUnused } ?? false }

  /// The index of the store, if it follows a database, so that reads may be older than writes; otherwise `nil`.
  public var followingIndex: (any StoreIndex)? { index.flatMap { $0.followsDatabase ? $0 : nil } }

  /// The state of the index, if the server should not be ready yet because of it; otherwise `nil`.
  public var awaitedIndexState: (phase: String, points: Int)? { index.flatMap { $0.isAwaited ? $0.state : nil } }

  /// Returns the current places if they may be read without waiting and on the event loop; otherwise `nil`.
  package func snapshotAtOnce() -> (any IndexSnapshot)? { isRestricted ? nil : index?.snapshotAtOnce() }

  /// Returns a page of the places of a snapshot that match.
  ///
  /// - Parameter isRecorded: a Boolean value that indicates whether the search counts in analytics.
  public func page(
    matching query: PointQuery, in snapshot: any IndexSnapshot, isRecorded: Bool = true
  ) throws(PointStoreError) -> PointPage {
    try compute(.page) { () throws(PointStoreError) in
      try snapshot.page(matching: query)
    } onSuccess: { page, duration in
      if isRecorded { analytics.record(Search(query, found: page.count, took: duration)) }
    }
  }

  /// Returns a page of the places of a snapshot that match a text, in the query's order.
  ///
  /// - Parameters:
  ///   - isRecorded: a Boolean value that indicates whether the search counts in analytics.
  ///   - isEmptyRecorded: a Boolean value that indicates whether it does if nothing is found.
  public func matches(
    of query: TextQuery, in snapshot: any IndexSnapshot, isRecorded: Bool = true, isEmptyRecorded: Bool = true
  ) throws(PointStoreError) -> TextPage {
    try compute(.matches) { () throws(PointStoreError) in
      try snapshot.page(matching: query)
    } onSuccess: { page, duration in
      guard isRecorded, isEmptyRecorded || !page.matches.isEmpty else { return }
      analytics.record(Search(query, found: page.matches.count, took: duration, recordsText: recordsTexts))
    }
  }

  /// Returns the number of places of a snapshot that match.
  public func count(matching query: PointQuery, in snapshot: any IndexSnapshot) throws(PointStoreError) -> Int {
    try compute(.count) { () throws(PointStoreError) in try snapshot.count(matching: query) }
  }

  /// Returns the place of an id in a snapshot, or `nil`.
  package func point(id: PointID, in snapshot: any IndexSnapshot) throws(PointStoreError) -> PointOfInterest? {
    try compute(.point) { snapshot.point(id: id) }
  }

  /// Returns the result of another search of a snapshot, whose end the observers note.
  package func searched<Value>(
    _ operation: StoreOperation, _ search: @autoclosure () throws(PointStoreError) -> Value
  ) throws(PointStoreError) -> Value {
    try compute(operation, search)
  }

  // MARK: Single places

  /// Returns the place of an id, or `nil`.
  public func point(
    id: PointID, notBefore position: String?
  ) async throws(PointStoreError) -> PointOfInterest? {
    try await observed(.point, await store(notBefore: position).point(id: id))
  }

  /// Returns the place of an id as the last committed write left it, or `nil`.
  package func committedPoint(id: PointID) async throws(PointStoreError) -> PointOfInterest? {
    try await observed(.point, await store.committedPoint(id: id))
  }

  /// Returns the featured place of the moment and the number of seconds that it stays, 1 to 10; `nil` when there are no
  /// places.
  public func featuredPoint(
    notBefore position: String?
  ) async throws(PointStoreError) -> (point: PointOfInterest, remainingSeconds: Int64)? {
    let now = clock.now()
    let slot = FeaturedPlace.Slot(at: now)
    let point = try await observed(
      .shuffled, await store(notBefore: position).point(shuffledAtOrAfter: FeaturedPlace.choice(at: slot)))
    return point.map { ($0, slot.remainingSeconds(at: now)) }
  }

  // MARK: The store

  /// Returns the registered data sets, by name.
  public func sources() async throws(PointStoreError) -> [DataSource] {
    try await observed(.sources, await store.sources())
  }

  /// Returns the version of the places; see ``PointStore/dataVersion()``.
  public func dataVersion(notBefore position: String?) async throws(PointStoreError) -> DataVersion? {
    try await observed(.version, await store(notBefore: position).dataVersion())
  }

  /// Returns a version of the places without waiting; see ``PointStore/knownDataVersion()``.
  public func knownDataVersion() -> DataVersion? { store.knownDataVersion() }

  /// Returns the store's readiness; that it refuses writes, if the last one found it unavailable and only writes find
  /// that.
  ///
  /// - Throws: ``PointStoreError`` with the reason if the store is not available.
  @discardableResult public func checkReadiness() async throws(PointStoreError) -> StoreReadiness {
    let readiness = try await observed(.readiness, await store.checkReadiness())
    let refusal = observers.lazy.compactMap(\.refusalOfWrites).first
    return refusal.map { .readOnly(reason: $0) } ?? readiness
  }

  // MARK: Changes

  /// Creates a place under a new id; see ``PointStore/create(_:once:reusingID:as:)``.
  public func create(
    _ draft: PointDraft, once key: IdempotencyKey?, as author: WriteAuthor = .client
  ) async throws(PointWriteError) -> PointOfInterest {
    try await observe(.create) { () throws(PointWriteError) in
      try await store.create(draft, once: key, reusingID: true, as: author)
    }
  }

  /// Replaces the place of an id, or creates it; see ``PointStore/put(_:id:if:as:)``.
  public func put(
    _ draft: PointDraft, id: PointID, if condition: WriteCondition, as author: WriteAuthor = .client
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    try await observe(.put) { () throws(PointWriteError) in
      try await store.put(draft, id: id, if: condition, as: author)
    }
  }

  /// Deletes the place of an id; see ``PointStore/delete(id:if:)``.
  public func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError) {
    try await observe(.delete) { () throws(PointWriteError) in try await store.delete(id: id, if: condition) }
  }

  /// Applies several operations in one transaction; see ``PointStore/apply(_:)``.
  package func apply(_ batch: PointBatch) async throws(PointWriteError) -> [PointOperationResult] {
    try await observe(.batch) { () throws(PointWriteError) in try await store.apply(batch) }
  }

  /// Removes a registered data set without places and areas; see ``PointStore/removeSource(named:)``.
  package func removeSource(named name: String) async throws(PointWriteError) -> SourceRemoval {
    try await observe(.deletions) { () throws(PointWriteError) in try await store.removeSource(named: name) }
  }

  /// Registers data sets; see ``PointStore/register(_:)``.
  package func register(_ sources: [DataSource]) async throws(PointWriteError) {
    try await observe(.import) { () throws(PointWriteError) in try await store.register(sources) }
  }

  /// Deletes all places of a data set, batch by batch; others may read and write in between.
  ///
  /// - Returns: the number of places that were deleted.
  /// - Throws: ``IncompleteDeletion`` when a batch fails or the task is cancelled. The batches before it stay deleted.
  package func deletePlaces(ofSource source: String) async throws(IncompleteDeletion) -> Int {
    var count = 0
    var last: ExactText?
    repeat {
      let batch: DeletedBatch
      do throws(PointWriteError) {
        if Task.isCancelled { throw .store(.unavailable(reason: "the call was cancelled")) }
        batch = try await observe(.deletions) { () throws(PointWriteError) in
          try await store.deleteBatch(ofSource: source, after: last)
        }
      } catch {
        throw IncompleteDeletion(count: count, error: error)
      }
      count += batch.count
      last = batch.next
    } while last != nil
    return count
  }

  /// Replaces the place of an id by the result of a closure.
  ///
  /// The change is made to the version that the closure received, or not at all: if another change came between, the
  /// closure is called again with the result of that one, so that neither is lost.
  ///
  /// - Throws: ``PointUpdateError``.
  package func update<Failure>(
    id: PointID,
    if condition: WriteCondition,
    _ change: (PointOfInterest) throws(Failure) -> PointDraft
  ) async throws(PointUpdateError<Failure>) -> PointOfInterest {
    // A read that may be older can decide neither that the place is absent nor that the condition fails.
    try await condition.update(\.version, of: await committedPoint(id: id), change) {
      changed, condition throws(PointWriteError) in
      try await put(changed, id: id, if: condition).point
    }
  }

  // MARK: Edits

  /// Returns the edits of the place of an id, or `nil`; see ``PointStore/edits(of:)``.
  package func edits(of id: PointID) async throws(PointStoreError) -> PlaceEdits? {
    try await observed(.edits, await store.edits(of: id))
  }

  /// Returns a page of the places with edits; see ``PointStore/edits(matching:)``.
  package func edits(matching query: EditQuery) async throws(PointStoreError) -> EditPage {
    try await observed(.edits, await store.edits(matching: query))
  }

  /// Gives the place of an id the values of its source back; see ``PointStore/forgetEdits(of:)``.
  package func forgetEdits(of id: PointID) async throws(PointWriteError) -> PointOfInterest? {
    try await observe(.put) { () throws(PointWriteError) in try await store.forgetEdits(of: id) }
  }

  // MARK: Imports and exports

  /// Imports all rows except those it rejects, or none when the sequence or the store fails; see
  /// ``PointStore/importRows(_:options:)``.
  ///
  /// An import lasts as long as its upload, and its repeats would wait behind it. A repeat of one in progress here is
  /// rejected before its first row.
  package func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, options: ImportOptions
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    let key = options.dryRun ? nil : options.key.map { ExactText($0.text) }
    if let key, !importKeys.withLock({ $0.insert(key).inserted }) { throw PointWriteError.keyInFlight }
    defer { if let key { importKeys.withLock { _ = $0.remove(key) } } }
    // A dry run writes nothing.
    return try await observe(.import, isWrite: !options.dryRun) {
      try await store.importRows(batches, options: options)
    }
  }

  /// Reads the change log, and has the observers note the end of the call.
  package func observingChanges<Value>(
    _ read: () async throws(ChangeReadError) -> Value
  ) async throws(ChangeReadError) -> Value {
    try await observers.observe(
      .changes, uptime: uptime, read, noting: { if case .store(let error) = $0 { error } else { nil } })
  }

  /// Passes every place that matches to a closure, in batches; see ``PointStore/exportPoints(matching:for:to:)``.
  package func exportPoints(
    matching query: PointQuery, notBefore position: String?, for client: String?,
    to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    try await observe(.export) {
      try await store(notBefore: position).exportPoints(matching: query, for: client, to: consume)
    }
  }
}

/// The error of a deletion that ended before the last place of a data set.
package struct IncompleteDeletion: Error, Hashable, Sendable {
  /// The number of places that were deleted before.
  package let count: Int

  /// The error that ended the deletion.
  package let error: PointWriteError
}

/// The error of an update that was not made.
package enum PointUpdateError<Change: Error>: Error {
  /// The store did not make the change.
  case write(PointWriteError)
  /// The closure failed.
  case change(Change)
  /// The update lost to concurrent changes ``PointsService/maximumAttempts`` times.
  case contended
}

extension PointUpdateError: Equatable where Change: Equatable {}

extension WriteCondition {
  /// Replaces what is stored by the result of a closure, if the condition holds for the version that it receives; again
  /// if another change comes between.
  ///
  /// - Parameters:
  ///   - current: the last committed value; `nil` if there is none.
  ///   - write: stores a draft if the condition holds.
  func update<Value, Draft, Failure>(
    _ version: KeyPath<Value, Int64>, of current: @autoclosure () async throws(PointStoreError) -> Value?,
    _ change: (Value) throws(Failure) -> Draft,
    _ write: (Draft, WriteCondition) async throws(PointWriteError) -> Value
  ) async throws(PointUpdateError<Failure>) -> Value {
    try await retrying(atMost: PointsService.maximumAttempts, orThrow: .contended) {
      () async throws(PointUpdateError<Failure>) -> Value? in
      let former: Value
      do throws(PointWriteError) {
        guard let current = try await PointWriteError.wrapping(await current()) else { throw .notFound }
        let version = current[keyPath: version]
        guard holds(of: version) else { throw .conditionFailed(currentVersion: version) }
        former = current
      } catch {
        throw .write(error)
      }
      let changed: Draft
      do throws(Failure) {
        changed = try change(former)
      } catch {
        throw .change(error)
      }
      do throws(PointWriteError) {
        return try await write(changed, .versions([former[keyPath: version]]))
      } catch .conditionFailed {
        return nil
      } catch {
        throw .write(error)
      }
    }
  }
}

/// The choice of the featured place.
///
/// Time is divided into slots of ten seconds. The slot alone decides where among the shuffled places to look, so every
/// instance over the same places features the same one, and nothing needs to be stored or scheduled.
package enum FeaturedPlace {
  /// The length of a slot, in seconds.
  package static let intervalSeconds: Int64 = 10

  /// An interval of time in which the featured place stays the same.
  package struct Slot: Hashable, Sendable {
    /// The number of slots between 1970-01-01T00:00:00Z and the start of this one.
    package let index: Int64

    package init(at time: Timestamp) {
      let length = FeaturedPlace.intervalSeconds * 1_000_000
      let (quotient, remainder) = time.microsecondsSinceEpoch.quotientAndRemainder(dividingBy: length)
      index = remainder < 0 ? quotient - 1 : quotient
    }

    /// Returns the number of seconds that are left of the slot at a moment in it, 1 to
    /// ``FeaturedPlace/intervalSeconds``, rounded up, so that a request after that many seconds is in the next slot.
    package func remainingSeconds(at time: Timestamp) -> Int64 {
      let end = (index + 1) * FeaturedPlace.intervalSeconds * 1_000_000
      return (end - time.microsecondsSinceEpoch + 999_999) / 1_000_000
    }
  }

  /// Returns the shuffle key that selects the slot's place: the one with the least key that is not below it, or else
  /// the one with the least key of all.
  package static func choice(at slot: Slot) -> UInt64 {
    SplitMix64.mix(UInt64(bitPattern: slot.index))
  }
}

/// An observer of the calls of a store: of their number, their durations and their errors.
public protocol StoreObserver: Sendable {
  /// Notes the end of a call, in its task.
  ///
  /// - Parameters:
  ///   - error: the error of the call; `nil` for a call that succeeded.
  ///   - isWrite: a Boolean value that indicates whether the call writes where it succeeds.
  func note(_ operation: StoreOperation, error: (any Error)?, took duration: Duration, isWrite: Bool)

  /// The reason for which the last write was refused, for clients; `nil` if it was not, and if readiness checks find
  /// that by themselves.
  var refusalOfWrites: String? { get }
}

/// An operation of a store. Metrics have the names of the cases.
public enum StoreOperation: Int, CaseIterable, Sendable {
  case page, matches, count, point, shuffled, categories, sources, version, readiness
  case tile, clusters, facets, duplicates
  case create, put, delete, batch, deletions, `import`, export, changes, areas, areaChanges
  case records, edits

  public var isWrite: Bool {
    switch self {
    case .create, .put, .delete, .batch, .deletions, .import, .areaChanges: true
    case .page, .matches, .count, .point, .shuffled, .categories, .sources, .version, .readiness, .tile,
      .clusters, .facets, .duplicates, .export, .changes, .areas, .records, .edits:
      false
    }
  }
}

extension [any StoreObserver] {
  /// Has all observers note the end of a call.
  func note(_ operation: StoreOperation, error: (any Error)?, took duration: Duration, isWrite: Bool) {
    for observer in self { observer.note(operation, error: error, took: duration, isWrite: isWrite) }
  }

  /// Calls a store, and has the observers note the end of the call.
  ///
  /// - Parameters:
  ///   - isWrite: a Boolean value that indicates whether the call writes; `nil` if the operation tells.
  ///   - uptime: a monotonic time.
  ///   - noted: returns the error that is noted for that of the call; `nil` if it is not the store's.
  ///   - onSuccess: receives the result and the duration of a call that succeeded.
  public func observe<Value, Failure: Error>(
    _ operation: StoreOperation, isWrite: Bool? = nil, uptime: () -> Duration = monotonicTime,
    _ call: () async throws(Failure) -> Value, noting noted: (Failure) -> (any Error)? = { $0 },
    onSuccess: (Value, Duration) -> Void = { _, _ in }
  ) async throws(Failure) -> Value {
    let start = uptime()
    do {
      let value = try await call()
      let duration = uptime() - start
      note(operation, error: nil, took: duration, isWrite: isWrite ?? operation.isWrite)
      onSuccess(value, duration)
      return value
    } catch {
      note(operation, error: noted(error), took: uptime() - start, isWrite: isWrite ?? operation.isWrite)
      throw error
    }
  }
}
