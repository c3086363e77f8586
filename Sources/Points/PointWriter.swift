public import JSONText

/// What changes places one at a time: a store's other side.
///
/// A change is one transaction: it is there whole, with its entry in the change log, or not at all, and when a call
/// returns it is durable as far as the store is. Of two changes that ask for the same version exactly one succeeds.
public protocol PointWriter: Sendable {
  /// Creates a place under a new id.
  ///
  /// - Parameter key: makes a repeat of the call answer as the first did, for ``IdempotencyKey/lifetime``.
  /// - Throws: ``PointWriteError``: `originTaken`, `keyInFlight`, `keyReused` or `store`.
  func create(_ place: Place, once key: IdempotencyKey?) async throws(PointWriteError) -> PointOfInterest

  /// Replaces the place of that id, or creates it. A place that is just so already is left alone and keeps its version.
  ///
  /// - Throws: ``PointWriteError``: `originTaken`, `conditionFailed` or `store`.
  func put(
    _ place: Place, id: PointID, if condition: WriteCondition
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool)

  /// Removes the place of that id.
  ///
  /// - Throws: ``PointWriteError``: `notFound`, `conditionFailed` or `store`.
  func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError)

  /// Removes a batch of a data set's places. The batch is one transaction, of as many places as the store takes at a time
  /// and 1,000 at most; each is removed and logged as by ``delete(id:if:)``.
  ///
  /// Following ``DeletedBatch/next`` to the end removes every place that is of the data set throughout.
  ///
  /// - Parameters:
  ///   - source: the name of the data set.
  ///   - position: where the batch begins; `nil` for the first batch.
  /// - Throws: ``PointWriteError``: `store`. The batch was not removed then, unless the outcome is unknown.
  func deleteBatch(ofSource source: String, after position: ExactText?) async throws(PointWriteError) -> DeletedBatch
}

/// Places that were removed together.
public struct DeletedBatch: Hashable, Sendable {
  /// The number of places that were removed.
  public let count: Int

  /// The place behind which the next batch begins, named as the store does it; `nil` when this batch was the last.
  public let next: ExactText?

  /// Creates a batch.
  public init(count: Int, next: ExactText?) {
    self.count = count
    self.next = next
  }
}

/// What must hold of a place for a change to be made (RFC 9110, section 13).
public enum WriteCondition: Hashable, Sendable {
  /// Nothing.
  case none
  /// There is such a place: `If-Match: *`.
  case exists
  /// There is no such place: `If-None-Match: *`.
  case absent
  /// It is of one of these versions: `If-Match` with tags.
  case versions(Set<Int64>)

  /// Whether the condition holds of the current version; `nil` where there is no such place.
  public func holds(of version: Int64?) -> Bool {
    switch self {
    case .none: true
    case .exists: version != nil
    case .absent: version == nil
    case .versions(let versions): version.map(versions.contains) ?? false
    }
  }
}

/// What a client calls one request by, so that its repeats are known.
public struct IdempotencyKey: Hashable, Sendable {
  /// How long a key is remembered.
  public static let lifetime: Duration = .seconds(24 * 60 * 60)

  /// Whose key it is and the key: what is unique.
  @ComparedByBytes public private(set) var text: String

  /// A hash of the request, which a repeat has too.
  public let requestHash: UInt64

  /// Creates a key.
  public init(text: String, requestHash: UInt64) {
    self.text = text
    self.requestHash = requestHash
  }
}

/// Why a change was not made.
public enum PointWriteError: Error, Hashable, Sendable {
  /// Another place has the origin.
  case originTaken
  /// There is no such place.
  case notFound
  /// The condition does not hold; the version that there is, if any.
  case conditionFailed(currentVersion: Int64?)
  /// The first request of the key has not been answered yet.
  case keyInFlight
  /// The key was another request's.
  case keyReused
  /// The store did not answer. The change was not made, unless the error is ``PointStoreError/outcomeUnknown(reason:)``.
  case store(PointStoreError)
}

/// One change to a place, as the change log keeps it.
public struct PointChange: Hashable, Sendable {
  /// What was done.
  public enum Kind: String, Hashable, Sendable {
    /// The place was created.
    case created
    /// The place was replaced.
    case updated
    /// The place was removed.
    case deleted
  }

  /// Where the change stands among all, growing.
  public let sequence: Int64
  /// Which place was changed.
  public let id: PointID
  /// What was done.
  public let kind: Kind
  /// The place's version after it; that which was removed.
  public let version: Int64
  /// When.
  public let time: Timestamp

  /// Creates a change.
  public init(sequence: Int64, id: PointID, kind: Kind, version: Int64, time: Timestamp) {
    self.sequence = sequence
    self.id = id
    self.kind = kind
    self.version = version
    self.time = time
  }
}

/// What tells of the changes that were made.
public protocol ChangeLog: Sendable {
  /// The changes behind a sequence number, in their order.
  ///
  /// - Throws: ``PointStoreError``.
  func changes(after sequence: Int64, limit: Int) async throws(PointStoreError) -> [PointChange]

  /// Forgets the changes before a time; answers how many.
  ///
  /// - Throws: ``PointStoreError``.
  func pruneChanges(before time: Timestamp) async throws(PointStoreError) -> Int
}

/// What gives away all places in bulk: a store's way out.
public protocol PointExporter: Sendable {
  /// Hands over every place that matches the query's conditions, from one snapshot, by id, in batches; its limit,
  /// order and position do not count. The next batch is made when the one before has been taken: memory is bounded. The
  /// store keeps nothing of a batch that it has handed over.
  ///
  /// - Throws: ``PointStoreError``, or what `consume` throws.
  func exportPoints(
    matching query: PointQuery, to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws
}
