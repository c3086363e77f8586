public import Geo

/// Where places are kept.
///
/// An implementation is safe to call from many tasks at once. No call blocks the thread it is made on; a call may
/// suspend. Distances are those of `Geodesic.distanceMetres(from:to:)`, to the last bit, so that a page's
/// end found by one instance is understood by another.
public protocol PointStore: Sendable {
  /// The places that match, one page of them, in the query's order. It ends early where its places' texts are longer than
  /// ``PointPage/maximumTextBytes``.
  ///
  /// Following ``PointPage/next`` to the end gives every place that is there throughout exactly once, whatever is
  /// written meanwhile.
  ///
  /// - Throws: ``PointStoreError``.
  func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage

  /// The same page as ``page(matching:)``, without what answers seldom carry: a store that has less to read or to copy
  /// for it does so.
  ///
  /// - Throws: ``PointStoreError``.
  func summaries(matching query: PointQuery) async throws(PointStoreError) -> SummaryPage

  /// The place of that id, or `nil`.
  ///
  /// - Throws: ``PointStoreError``.
  func point(id: PointID) async throws(PointStoreError) -> PointOfInterest?

  /// Every category that a place has and how many places have it: the most frequent first, ties by the category's
  /// Unicode scalars.
  ///
  /// - Parameter box: the box whose places count; `nil` for all places.
  /// - Throws: ``PointStoreError``.
  func categoryCounts(in box: BoundingBox?) async throws(PointStoreError) -> [CategoryCount]

  /// The place with the least shuffle key that is not below the pivot; where there is none, that with the least of all;
  /// `nil` when there are no places. One index look-up.
  ///
  /// A shuffle key is a hash of the id, the store's own, even over all 64-bit numbers and never changing, so that
  /// a random pivot finds a random place.
  ///
  /// - Throws: ``PointStoreError``.
  func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest?

  /// The version of the places as they are at some moment of the call; `nil` where the store can't tell. It costs much
  /// less than a search.
  ///
  /// - Throws: ``PointStoreError``.
  func dataVersion() async throws(PointStoreError) -> DataVersion?

  /// A version that was the current one at some moment before now, without waiting for it; `nil` where none is known.
  ///
  /// It may have been told by the same ``DataVersion/source`` as one from before: then every answer in between came from
  /// that source too.
  func knownDataVersion() -> DataVersion?

  /// Returns when the store can answer and its schema is current.
  ///
  /// - Throws: ``PointStoreError`` with the reason it can't.
  func checkReadiness() async throws(PointStoreError)
}

extension PointStore {
  /// Returns every category that a place has and how many places have it; see ``categoryCounts(in:)``.
  ///
  /// - Throws: ``PointStoreError``.
  public func categoryCounts() async throws(PointStoreError) -> [CategoryCount] { try await categoryCounts(in: nil) }
}

/// Why a store did not answer.
public enum PointStoreError: Error, Hashable, Sendable {
  /// The store can't be reached, or broke off; a later call may succeed. The reason is for operators.
  case unavailable(reason: String)

  /// The store's schema is not the one this version needs. The reason names the command that mends it.
  case schemaMismatch(reason: String)

  /// The store's operator has not allowed the service what the call needs; nothing was done. The reason names what is
  /// missing, for operators.
  case misconfigured(reason: String)

  /// The call waited too long for its turn, or too many were waiting already.
  case overloaded

  /// The store took longer over the call than it is allowed. A write was not made, and will not be.
  case timeout

  /// A write may have been made or not, and may yet be made: the store broke off or took too long, and could not be made
  /// to take it back. The reason is for operators.
  case outcomeUnknown(reason: String)

  /// The store answered with something that should not happen. The reason is for operators.
  case unexpected(reason: String)

  /// A slug for metrics and logs, one of as many as there are cases.
  public var shortDescription: String {
    switch self {
    case .unavailable: "unavailable"
    case .schemaMismatch: "schema_mismatch"
    case .misconfigured: "misconfigured"
    case .overloaded: "overloaded"
    case .timeout: "timeout"
    case .outcomeUnknown: "outcome_unknown"
    case .unexpected: "unexpected"
    }
  }
}

extension PointStoreError: CustomStringConvertible {
  /// What happened, and why where that is known; for operators.
  public var description: String {
    switch self {
    case .unavailable(let reason), .schemaMismatch(let reason), .misconfigured(let reason),
      .outcomeUnknown(let reason), .unexpected(let reason):
      "\(shortDescription): \(reason)"
    case .overloaded, .timeout: shortDescription
    }
  }
}
