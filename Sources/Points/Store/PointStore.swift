public import Geo

/// A store of places, for reading.
///
/// An implementation is safe to call from many tasks at once. No call blocks the thread it is made on; a call may
/// suspend. Distances are those of `Geodesic.distanceMetres(from:to:)`, to the last bit, so that the
/// end of a page of one instance is valid for another.
public protocol PointStore: Sendable {
  /// Returns a page of the places that match, in the query's order. It ends early where the texts of its places are
  /// longer than ``PointPage/maximumTextBytes``.
  ///
  /// Following ``PointPage/next`` to the end returns every place that exists throughout exactly once, whatever is
  /// written meanwhile.
  ///
  /// - Throws: ``PointStoreError``.
  func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage

  /// Returns the same page as ``page(matching:)``, with only the fields of list responses, which may be less to read or
  /// to copy.
  ///
  /// - Throws: ``PointStoreError``.
  func summaries(matching query: PointQuery) async throws(PointStoreError) -> SummaryPage

  /// Returns the number of places that match. The query's order, limit and position are ignored.
  ///
  /// - Throws: ``PointStoreError``.
  func count(matching query: PointQuery) async throws(PointStoreError) -> Int

  /// Returns the place of an id, or `nil`.
  ///
  /// - Throws: ``PointStoreError``.
  func point(id: PointID) async throws(PointStoreError) -> PointOfInterest?

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

  /// Returns the version of the places at some moment of the call; `nil` where the store has none. It costs much less
  /// than a search.
  ///
  /// - Throws: ``PointStoreError``.
  func dataVersion() async throws(PointStoreError) -> DataVersion?

  /// Returns a version that was current at some moment before the call, without waiting; `nil` where none is known.
  ///
  /// If it is of the same ``DataVersion/source`` as an earlier version, every result in between came from that source
  /// too.
  func knownDataVersion() -> DataVersion?

  /// Returns when the store is available and its schema is current.
  ///
  /// - Throws: ``PointStoreError`` with the reason where it is not.
  @discardableResult func checkReadiness() async throws(PointStoreError) -> StoreReadiness
}

/// The abilities of a store that is available.
public enum StoreReadiness: Hashable, Sendable {
  /// It reads and writes.
  case ready

  /// It reads, and refuses writes. The reason is for all, without addresses and paths.
  case readOnly(reason: String)
}

extension PointStore {
  /// Returns no data sets, for stores that know none.
  public func sources() async throws(PointStoreError) -> [DataSource] { [] }

  /// Returns every category with the number of its places; see ``categoryCounts(in:)``.
  ///
  /// - Throws: ``PointStoreError``.
  public func categoryCounts() async throws(PointStoreError) -> [CategoryCount] { try await categoryCounts(in: nil) }
}

/// The error of a store that did not complete a call.
public enum PointStoreError: Error, Hashable, Sendable {
  /// The store can't be reached, or the connection broke; a later call may succeed. The reason is for operators.
  case unavailable(reason: String)

  /// The store reads, and refuses writes: its server is a standby or was made read-only. Nothing was done; a later call
  /// may succeed. The reason is for all, without addresses and paths.
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
    case .indexRequired, .indexNotReady, .filterTimeout, .stepLimit, .overloaded, .timeout: shortDescription
    }
  }
}
