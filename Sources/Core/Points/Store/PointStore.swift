public import Basics
public import Geo

/// A store of places.
///
/// An implementation is safe to call from many tasks at once. No call blocks the thread it is made on; a call may
/// suspend. Distances are those of `Geodesic.distanceMetres(from:to:)`, to the last bit, so that the end of a page of
/// one instance is valid for another.
///
/// A change is one transaction: it is made whole or not at all, and when a call returns it is as durable as the store.
/// Of two changes with the same version as their condition exactly one succeeds.
public protocol PointStore: Sendable {
  /// The index of the places in memory, which searches for texts, maps and long searches need; `nil` if there is none.
  var index: (any StoreIndex)? { get }

  // MARK: Reading

  /// Returns the store for reads that contain everything up to a position, also where the others may come from an older
  /// state, after ``StoreIndex/waitUntilReads(contain:)`` for that position. The default returns the store itself, all
  /// of whose reads do.
  func reading(notBefore position: String) -> any PointStore

  /// Returns the places that a search reads, after the wait for the index if there is one.
  ///
  /// - Parameter isRequired: a Boolean value that indicates whether only the index serves the caller; see
  ///   ``StoreIndex/snapshot(isRequired:)``.
  /// - Throws: ``PointStoreError`` if the index is required and can't be read.
  func view(isRequired: Bool) async throws(PointStoreError) -> PlacesView

  /// Returns a page of the places that match, in the query's order. It ends early where the texts of its places are
  /// longer than ``PointPage/maximumTextBytes``.
  ///
  /// Following ``PointPage/next`` to the end returns every place that exists throughout exactly once, whatever is
  /// written meanwhile.
  ///
  /// - Throws: ``PointStoreError``.
  func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage

  /// Returns the number of places that match. The query's order, limit and position are ignored.
  ///
  /// - Throws: ``PointStoreError``.
  func count(matching query: PointQuery) async throws(PointStoreError) -> Int

  /// Returns the place of an id, or `nil`.
  ///
  /// - Throws: ``PointStoreError``.
  func point(id: PointID) async throws(PointStoreError) -> PointOfInterest?

  /// Returns the place of an id as the last committed write left it, or `nil`, also where ``point(id:)`` may be older.
  ///
  /// - Throws: ``PointStoreError``.
  func committedPoint(id: PointID) async throws(PointStoreError) -> PointOfInterest?

  /// Returns every category with the number of its places, the most frequent first, ties by the Unicode scalars of the
  /// category.
  ///
  /// - Parameter box: the box whose places count; `nil` for all places.
  /// - Throws: ``PointStoreError``.
  func categoryCounts(in box: BoundingBox?) async throws(PointStoreError) -> [CategoryCount]

  /// Returns the place with the least shuffle key that is not below the pivot; where there is none, that with the least
  /// of all; `nil` when there are no places. One index look-up.
  ///
  /// A shuffle key is a hash of the id, of the store's own choice, distributed evenly over all 64-bit numbers and
  /// constant, so that a random pivot finds a random place.
  ///
  /// - Throws: ``PointStoreError``.
  func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest?

  /// Returns the registered data sets, by name.
  ///
  /// - Throws: ``PointStoreError``.
  func sources() async throws(PointStoreError) -> [DataSource]

  /// Returns the version of the places at some moment of the call; `nil` if the store has none. It costs much less
  /// than a search.
  ///
  /// - Throws: ``PointStoreError``.
  func dataVersion() async throws(PointStoreError) -> DataVersion?

  /// Returns a version that was current at some moment before the call, without waiting; `nil` if none is known.
  ///
  /// If it is of the same ``DataVersion/source`` as an earlier version, every result in between came from that source
  /// too.
  func knownDataVersion() -> DataVersion?

  /// Returns the edits of the place of an id, or its deletion, as the last committed write left them; `nil` for none.
  ///
  /// - Throws: ``PointStoreError``.
  func edits(of id: PointID) async throws(PointStoreError) -> PlaceEdits?

  /// Returns a page of the places with edits and of the deleted places that match, by id, as the last committed write
  /// left them.
  ///
  /// - Throws: ``PointStoreError``.
  func edits(matching query: EditQuery) async throws(PointStoreError) -> EditPage

  /// Returns when the store is available and its schema is current.
  ///
  /// - Throws: ``PointStoreError`` with the reason where it is not.
  @discardableResult func checkReadiness() async throws(PointStoreError) -> StoreReadiness

  // MARK: Writing

  /// Creates a place under a new id, or under that of the deleted place that had its origin last.
  ///
  /// - Parameters:
  ///   - key: makes a repeat of the call return the result of the first, for ``IdempotencyKey/lifetime``.
  ///   - reusesID: a Boolean value that indicates whether the id may be that of a deleted place. It may not for a caller
  ///     who may not have known that place.
  ///   - author: has no effect: a new place has no edits. A deletion of a place with its origin is forgotten.
  /// - Throws: ``PointWriteError``: `originTaken`, `keyInFlight`, `keyReused` or `store`.
  func create(
    _ place: PointDraft, once key: IdempotencyKey?, reusingID reusesID: Bool, as author: WriteAuthor
  ) async throws(PointWriteError) -> PointOfInterest

  /// Replaces the place of an id, or creates it. A place that has the values already is left unchanged and keeps its
  /// version.
  ///
  /// - Parameter author: the author of the values. What a client changes of a place that keeps its origin is an edit;
  ///   see ``PlaceEdits``. A place that its data set replaces keeps its edits, as in an import.
  /// - Throws: ``PointWriteError``: `originTaken`, `conditionFailed` or `store`.
  func put(
    _ place: PointDraft, id: PointID, if condition: WriteCondition, as author: WriteAuthor
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool)

  /// Deletes the place of an id. If it has an origin, the deletion is an edit: no import brings the place back.
  ///
  /// - Throws: ``PointWriteError``: `notFound`, `conditionFailed` or `store`.
  func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError)

  /// Applies several operations in one transaction. Each sees the effects of those before it.
  ///
  /// - Returns: the result of each operation, in their order. Where one fails an atomic batch, the results end with it;
  ///   nothing was changed then, and the key is not kept. Nor is it where all operations fail.
  /// - Throws: ``PointWriteError``: `keyInFlight`, `keyReused`, `tooLarge` or `store`.
  func apply(_ batch: PointBatch) async throws(PointWriteError) -> [PointOperationResult]

  /// Deletes a batch of the places of a data set. The batch is one transaction, of a size that the store chooses and at
  /// most 1,000 places; each is logged as by ``delete(id:if:)``. All edits of the data set are forgotten, also earlier
  /// deletions: the next import brings the places back.
  ///
  /// Following ``DeletedBatch/next`` to the end deletes every place that is of the data set throughout.
  ///
  /// - Parameters:
  ///   - source: the name of the data set.
  ///   - position: the start of the batch; `nil` for the first batch.
  /// - Throws: ``PointWriteError``: `store`. The batch was not deleted then, unless the outcome is unknown.
  func deleteBatch(ofSource source: String, after position: ExactText?) async throws(PointWriteError) -> DeletedBatch

  /// Forgets the edits of a place. Its fields have the values of its data set again, as far as these are known: a change
  /// as any other. A deletion is only forgotten: the next import brings the place back, under its id.
  ///
  /// - Returns: the place; `nil` if it was deleted.
  /// - Throws: ``PointWriteError``: `notFound` if there are no edits, or `store`.
  func forgetEdits(of id: PointID) async throws(PointWriteError) -> PointOfInterest?

  /// Removes a registered data set without places and areas, the time of its last import, and the deletions of its
  /// places.
  ///
  /// - Throws: ``PointWriteError``: `store`.
  func removeSource(named name: String) async throws(PointWriteError) -> SourceRemoval

  /// Registers data sets, or replaces those of their values that are given.
  ///
  /// - Throws: ``PointWriteError``: `store`.
  func register(_ sources: [DataSource]) async throws(PointWriteError)

  // MARK: Bulk

  /// Imports all rows except those it rejects, or none when the sequence or the store fails.
  ///
  /// A row with an id replaces the place of that id, or creates it. A row without one replaces the place of the same
  /// origin; where there is none, or the row has no origin, it creates a place, under the id of the deleted place that
  /// had the origin last, if any. A replaced place keeps its id and its `createdAt`, and its version grows; a place that
  /// has the row's values already is left unchanged. Of rows for the same place the last one counts and the others are
  /// reported as rejected; so is a row whose id and origin belong to two places. Places keep their edits, and deleted
  /// places stay deleted; see ``PlaceEdits`` and ``ImportOptions/conflicts``.
  ///
  /// A parser that rejects rows itself throws from the sequence where the mode is ``ImportMode/atomic``; see
  /// ``AllOrNothing``.
  ///
  /// - Parameters:
  ///   - batches: the rows, some thousands at a time; requested one batch after another, at the store's pace.
  /// - Throws: ``PointStoreError``, ``PointWriteError/keyInFlight``, ``PointWriteError/keyReused``,
  ///   ``EmptyReplacement``, ``TooManyDeletions``, or the error of the sequence; nothing has been imported then.
  func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, options: ImportOptions
  ) async throws -> ImportReport where Batches.Element == [ImportRow]

  /// Passes every place that matches the query's conditions, from one snapshot, by id, in batches; the query's limit,
  /// order and position are ignored. The next batch is built when the one before has been consumed: memory is bounded.
  /// The store keeps nothing of a batch that it has passed.
  ///
  /// - Parameter client: the client whose share of the store's connections the export takes; `nil` for the program
  ///   itself.
  /// - Throws: ``PointStoreError``, or the error of `consume`.
  func exportPoints(
    matching query: PointQuery, for client: String?,
    to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws
}

extension PointStore {
  public func reading(notBefore position: String) -> any PointStore { self }

  public func view(isRequired: Bool) async throws(PointStoreError) -> PlacesView {
    guard let snapshot = try await index?.snapshot(isRequired: isRequired) else { return .store(self) }
    return .snapshot(snapshot)
  }

  public func committedPoint(id: PointID) async throws(PointStoreError) -> PointOfInterest? { try await point(id: id) }

  /// Creates a place of a client; see ``create(_:once:reusingID:as:)``.
  public func create(
    _ place: PointDraft, once key: IdempotencyKey?, reusingID reusesID: Bool = true
  ) async throws(PointWriteError) -> PointOfInterest {
    try await create(place, once: key, reusingID: reusesID, as: .client)
  }

  /// Replaces the place of an id, or creates it, for a client; see ``put(_:id:if:as:)``.
  public func put(
    _ place: PointDraft, id: PointID, if condition: WriteCondition
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    try await put(place, id: id, if: condition, as: .client)
  }

  /// Returns every category with the number of its places; see ``categoryCounts(in:)``.
  ///
  /// - Throws: ``PointStoreError``.
  public func categoryCounts() async throws(PointStoreError) -> [CategoryCount] { try await categoryCounts(in: nil) }

  /// Imports all rows except those it rejects; see ``importRows(_:options:)``.
  public func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, mode: ImportMode = .partial, dryRun: Bool = false, once key: ImportKey? = nil
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    try await importRows(batches, options: ImportOptions(mode: mode, dryRun: dryRun, key: key))
  }

  /// Passes every place that matches to a closure, for the program itself; see ``exportPoints(matching:for:to:)``.
  package func exportPoints(
    matching query: PointQuery, to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    try await exportPoints(matching: query, for: nil, to: consume)
  }
}

/// The abilities of a store that is available.
public enum StoreReadiness: Hashable, Sendable {
  /// It reads and writes.
  case ready

  /// It reads, and refuses writes. The reason may be shown to clients: it contains no addresses or paths.
  case readOnly(reason: String)
}

/// The version of all places of a store: a name that no other state of them has.
///
/// Two versions with the same token mean the same places, down to their fields: nothing was written, or only what was
/// rolled back before it was visible. The converse does not hold: a store may change the token although no place
/// changed.
///
/// A caller that reads a version *before* a search may label the result with it. If the places changed in between, the
/// result is newer than its label, and the label is never used again, so that a later comparison with the current
/// version fails. A stale result is never confirmed.
public struct DataVersion: Hashable, Sendable {
  /// The name: letters, digits and hyphens.
  public let token: String

  /// The server that the version was read from. Where a store has several servers, with different lag, a result is of a
  /// version only if the same source had it before the search and still serves after it.
  public let source: UInt64

  /// A Boolean value that indicates whether a read between two calls that return this version has exactly its places.
  /// Otherwise, as for a version that was read before and is cached, the read may have newer ones.
  public let isExact: Bool

  public init(token: String, source: UInt64 = 0, isExact: Bool = true) {
    self.token = token
    self.source = source
    self.isExact = isExact
  }
}

/// The outcome of the removal of a data set.
public enum SourceRemoval: Hashable, Sendable {
  case removed
  /// There is no registered data set of that name.
  case unknown
  /// The data set has places, and stays.
  case hasPlaces
  /// The data set has named areas but no places, and stays.
  case hasAreas
}

/// A batch of places that were deleted together.
public struct DeletedBatch: Hashable, Sendable {
  /// The number of places that were deleted.
  public let count: Int

  /// The place after which the next batch begins, in the store's own form; `nil` when this batch was the last.
  public let next: ExactText?

  public init(count: Int, next: ExactText?) {
    self.count = count
    self.next = next
  }
}

/// The precondition of a change (RFC 9110, section 13).
public enum WriteCondition: Hashable, Sendable {
  /// No condition.
  case none
  /// The place exists: `If-Match: *`.
  case exists
  /// The place does not exist: `If-None-Match: *`.
  case absent
  /// The place has one of these versions: `If-Match` with tags.
  case versions(Set<Int64>)

  /// Returns a Boolean value that indicates whether the condition holds for the current version, which is `nil` if
  /// the place does not exist.
  public func holds(of version: Int64?) -> Bool {
    switch self {
    case .none: true
    case .exists: version != nil
    case .absent: version == nil
    case .versions(let versions): version.map(versions.contains) ?? false
    }
  }
}

/// A client's key of one request, by which its repeats are recognised.
public struct IdempotencyKey: Hashable, Sendable {
  /// The time for which a key is kept.
  public static let lifetime: Duration = .seconds(24 * 60 * 60)

  /// The owner of the key and the key, together unique.
  @ComparedByBytes public private(set) var text: String

  /// A hash of the request, which a repeat must share.
  public let requestHash: UInt64

  /// The client to whose share of the room for keys the key counts.
  @ComparedByBytes public private(set) var client: String

  /// Creates a key.
  ///
  /// - Parameter client: the client to whose share the key counts; `nil` for the owner of the key, which the text names
  ///   before its first colon.
  public init(text: String, requestHash: UInt64, client: String? = nil) {
    self.text = text
    self.requestHash = requestHash
    self.client = client ?? Self.owner(ofKey: text)
  }

  static func owner(ofKey text: String) -> String {
    String(Substring(text.utf8.prefix { $0 != UInt8(ascii: ":") }))
  }
}

/// The error of a change that was not made.
public enum PointWriteError: Error, Hashable, Sendable {
  /// Another place has the same source and source id.
  case originTaken
  /// A client deleted the place of the source and source id, and a write as its data set does not bring it back. The id
  /// is that of the deletion; see ``PointStore/forgetEdits(of:)``.
  case deletedByClient(id: PointID)
  /// The place does not exist.
  case notFound
  /// The condition does not hold for the current version, if any.
  case conditionFailed(currentVersion: Int64?)
  /// The first request with the key is still in progress.
  case keyInFlight
  /// The key was used for a different request, or the outcome of the first one can't be read any more.
  case keyReused
  /// The places that a batch reads and writes are larger than ``PointBatch/maximumBytes``. Nothing was done.
  case tooLarge
  /// The caller may not make the change. The reason is for clients.
  case forbidden(reason: String)
  /// The store failed. The change was not made, unless the error is ``PointStoreError/outcomeUnknown(reason:)``.
  case store(PointStoreError)

  /// Returns the value of a call whose error becomes ``store(_:)``.
  package static func wrapping<Value>(
    _ call: @autoclosure () throws(PointStoreError) -> Value
  ) throws(PointWriteError) -> Value {
    do {
      return try call()
    } catch {
      throw .store(error)
    }
  }

  /// Returns the value of a call whose error becomes ``store(_:)``.
  package static func wrapping<Value>(
    _ call: @autoclosure () async throws(PointStoreError) -> Value
  ) async throws(PointWriteError) -> Value {
    do {
      return try await call()
    } catch {
      throw .store(error)
    }
  }
}

/// Repeats an attempt, which reads, decides and writes if nothing else was written meanwhile, until it has an outcome.
///
/// - Parameters:
///   - maximum: the maximum number of attempts. Each time that one has no outcome, another write has succeeded.
///   - exhausted: the error after the last attempt.
///   - attempt: returns `nil` if another write came between, and nothing was done.
package func retrying<Outcome, Failure: Error>(
  atMost maximum: Int = 20, orThrow exhausted: @autoclosure () -> Failure,
  _ attempt: () async throws(Failure) -> Outcome?
) async throws(Failure) -> Outcome {
  for _ in 0..<maximum {
    if let outcome = try await attempt() { return outcome }
  }
  throw exhausted()
}

/// The error of a store that did not complete a call.
public enum PointStoreError: Error, Hashable, Sendable {
  /// The store can't be reached, or the connection broke; a later call may succeed. The reason is for operators.
  case unavailable(reason: String)

  /// The store reads, and refuses writes: its server is a standby or was made read-only. Nothing was done; a later call
  /// may succeed. The reason may be shown to clients: it contains no addresses or paths.
  case readOnly(reason: String)

  /// The store's schema is not the one that this version needs. The reason names the command that corrects it.
  case schemaMismatch(reason: String)

  /// The service lacks a privilege that the call needs; nothing was done. The reason names it, for operators.
  case misconfigured(reason: String)

  /// The call needs the index of places in memory, and there is none.
  case indexRequired

  /// The call needs the index of places in memory, which is not ready yet or not fresh enough; a later call may
  /// succeed.
  case indexNotReady

  /// A filter took longer than its time limit, or its task was cancelled.
  case filterTimeout

  /// A search reached the step limit of its query. It can be repeated without one where it holds up no other request.
  case stepLimit

  /// The call waited too long in the queue, or the queue was full.
  case overloaded

  /// The rows of an import came too slowly while another call waited for its connection; nothing was imported.
  case uploadTooSlow

  /// The caller's share of the room for idempotency keys is full; nothing was done. Keys that are known stay valid.
  case keysExhausted

  /// The store has as many edits as it may have; nothing was done. Edits of places that have some stay possible, and so
  /// do deletions.
  case editsExhausted

  /// The call exceeded its timeout. A write was not made, and will not be.
  case timeout

  /// A write may have been made or not, and may yet be made: the connection broke or the call exceeded its timeout, and
  /// the write could not be rolled back. The reason is for operators.
  case outcomeUnknown(reason: String)

  /// The store returned an unexpected result. The reason is for operators.
  case unexpected(reason: String)

  /// A slug for metrics and logs, one per case.
  public var shortDescription: String {
    switch self {
    case .unavailable: "unavailable"
    case .readOnly: "read_only"
    case .schemaMismatch: "schema_mismatch"
    case .misconfigured: "misconfigured"
    case .indexRequired: "index_required"
    case .indexNotReady: "index_not_ready"
    case .filterTimeout: "filter_timeout"
    case .stepLimit: "step_limit"
    case .overloaded: "overloaded"
    case .uploadTooSlow: "upload_too_slow"
    case .keysExhausted: "keys_exhausted"
    case .editsExhausted: "edits_exhausted"
    case .timeout: "timeout"
    case .outcomeUnknown: "outcome_unknown"
    case .unexpected: "unexpected"
    }
  }
}

extension PointStoreError: CustomStringConvertible {
  /// The slug and the reason, for operators.
  public var description: String {
    switch self {
    case .unavailable(let reason), .readOnly(let reason), .schemaMismatch(let reason), .misconfigured(let reason),
      .outcomeUnknown(let reason), .unexpected(let reason):
      "\(shortDescription): \(reason)"
    case .indexRequired, .indexNotReady, .filterTimeout, .stepLimit, .overloaded, .uploadTooSlow, .keysExhausted,
      .editsExhausted, .timeout:
      shortDescription
    }
  }
}
