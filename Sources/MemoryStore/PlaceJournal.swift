public import Points

/// What keeps a ``MemoryStore``'s writes: the store is an index in memory, fed by this log.
///
/// The store asks for one thing at a time: it loads once, before all else, and commits one batch after another.
public protocol PlaceJournal: Sendable {
  /// All that is kept.
  ///
  /// - Throws: ``PointStoreError`` with the reason that it can't be read.
  func load() async throws(PointStoreError) -> JournalContents

  /// Keeps what some writes did: all of it or nothing. When it returns, the batch is as durable as the journal is.
  ///
  /// - Throws: ``PointStoreError``; nothing of the batch is kept then.
  func commit(_ batch: JournalBatch) async throws(PointStoreError)

  /// The changes behind a sequence number, in their order; see ``Points/ChangeLog``.
  ///
  /// - Throws: ``PointStoreError``.
  func changes(after sequence: Int64, limit: Int) async throws(PointStoreError) -> [PointChange]

  /// Forgets the changes before a time; answers how many.
  ///
  /// - Throws: ``PointStoreError``.
  func pruneChanges(before time: Timestamp) async throws(PointStoreError) -> Int
}

/// What a journal keeps.
public struct JournalContents: Sendable {
  /// The places, in any order.
  public var points: ContiguousArray<PointOfInterest>

  /// The keys of requests that were answered, the oldest first.
  public var keys: [AnsweredKey]

  /// The sequence number of the last change that was ever committed, whether it is kept or not; 0 before the first.
  public var lastSequence: Int64

  /// The greatest version that was ever committed, of places that are gone too; 0 before the first.
  public var highestVersion: Int64

  /// Creates contents.
  public init(
    points: ContiguousArray<PointOfInterest> = [],
    keys: [AnsweredKey] = [],
    lastSequence: Int64 = 0,
    highestVersion: Int64 = 0
  ) {
    self.points = points
    self.keys = keys
    self.lastSequence = lastSequence
    self.highestVersion = highestVersion
  }
}

/// What some writes did.
public struct JournalBatch: Sendable {
  /// The places that came or changed, each once, as they are now.
  public internal(set) var changed: ContiguousArray<PointOfInterest> = []

  /// The places that went, each once.
  public internal(set) var removed: [PointID] = []

  /// What is added to the change log, in the order of the sequence numbers.
  public internal(set) var changes: ContiguousArray<PointChange> = []

  /// The keys of requests that were answered, the oldest first.
  public internal(set) var answeredKeys: [AnsweredKey] = []

  /// The texts of keys that are no longer remembered.
  public internal(set) var forgottenKeys: [String] = []

  /// The greatest version given so far, by these writes or before them.
  public internal(set) var highestVersion: Int64 = 0

  /// Whether there is nothing to keep.
  public var isEmpty: Bool { changes.isEmpty && answeredKeys.isEmpty && forgottenKeys.isEmpty }
}

/// A key whose request was answered, and the answer.
public struct AnsweredKey: Hashable, Sendable {
  /// The key.
  public let key: IdempotencyKey

  /// When it was answered.
  public let time: Timestamp

  /// What the request did.
  public let answer: Answer

  /// What a request did, and a repeat is told again.
  public enum Answer: Hashable, Sendable {
    /// The place that was created, as it was then.
    case place(PointOfInterest)
    /// The report of an import.
    case report(ImportReport)
  }

  /// Creates an answered key.
  public init(key: IdempotencyKey, time: Timestamp, answer: Answer) {
    self.key = key
    self.time = time
    self.answer = answer
  }
}
