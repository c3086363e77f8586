public import Basics

/// The writing of single places.
///
/// A change is one transaction: it is made whole or not at all, and when a call returns it is as durable as the store.
/// Of two changes with the same version as their condition exactly one succeeds.
public protocol PointWriter: Sendable {
  /// Creates a place under a new id.
  ///
  /// - Parameter key: makes a repeat of the call return the result of the first, for ``IdempotencyKey/lifetime``.
  /// - Throws: ``PointWriteError``: `originTaken`, `keyInFlight`, `keyReused` or `store`.
  func create(_ place: PointDraft, once key: IdempotencyKey?) async throws(PointWriteError) -> PointOfInterest

  /// Replaces the place of an id, or creates it. A place that has the values already is left unchanged and keeps its
  /// version.
  ///
  /// - Throws: ``PointWriteError``: `originTaken`, `conditionFailed` or `store`.
  func put(
    _ place: PointDraft, id: PointID, if condition: WriteCondition
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool)

  /// Deletes the place of an id.
  ///
  /// - Throws: ``PointWriteError``: `notFound`, `conditionFailed` or `store`.
  func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError)

  /// Deletes a batch of the places of a data set. The batch is one transaction, of a size that the store chooses and at
  /// most 1,000 places; each is deleted and logged as by ``delete(id:if:)``.
  ///
  /// Following ``DeletedBatch/next`` to the end deletes every place that is of the data set throughout.
  ///
  /// - Parameters:
  ///   - source: the name of the data set.
  ///   - position: the start of the batch; `nil` for the first batch.
  /// - Throws: ``PointWriteError``: `store`. The batch was not deleted then, unless the outcome is unknown.
  func deleteBatch(ofSource source: String, after position: ExactText?) async throws(PointWriteError) -> DeletedBatch
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

  /// Returns a Boolean value that indicates whether the condition holds for the current version, which is `nil` where
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

  public init(text: String, requestHash: UInt64) {
    self.text = text
    self.requestHash = requestHash
  }
}

/// The error of a change that was not made.
public enum PointWriteError: Error, Hashable, Sendable {
  /// Another place has the same source and source id.
  case originTaken
  /// The place does not exist.
  case notFound
  /// The condition does not hold for the current version, if any.
  case conditionFailed(currentVersion: Int64?)
  /// The first request with the key is still in progress.
  case keyInFlight
  /// The key was used for a different request.
  case keyReused
  /// The store failed. The change was not made, unless the error is ``PointStoreError/outcomeUnknown(reason:)``.
  case store(PointStoreError)
}

/// The export of places in bulk.
public protocol PointExporter: Sendable {
  /// Passes every place that matches the query's conditions, from one snapshot, by id, in batches; the query's limit,
  /// order and position are ignored. The next batch is built when the one before has been consumed: memory is bounded.
  /// The store keeps nothing of a batch that it has passed.
  ///
  /// - Throws: ``PointStoreError``, or the error of `consume`.
  func exportPoints(
    matching query: PointQuery, to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws
}
