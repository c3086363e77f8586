import PointIndex
package import Points

/// A log that keeps the writes of a ``MemoryStore``, whose places are an index in memory.
///
/// The store makes one call at a time: it loads once, before anything else, and commits one batch after another.
package protocol PointJournal: Sendable {
  /// The log of records that can't be decoded; `nil` for none.
  var damagedRows: DamagedRows? { get }

  /// Returns the contents: of the places those that have changed since an anchor, or all if the journal does not have
  /// the anchor.
  ///
  /// - Parameter anchor: the anchor of the places that the store has already; `nil` for none. Other anchors have no
  ///   meaning afterwards.
  /// - Throws: ``PointStoreError`` with the reason that they can't be read.
  func load(after anchor: JournalAnchor?) async throws(PointStoreError) -> JournalContents

  /// Commits the effects of some writes: all of them or none. On return the batch is as durable as the journal is.
  ///
  /// - Throws: ``PointStoreError``; nothing of the batch is kept then.
  func commit(_ batch: JournalBatch) async throws(PointStoreError)

  /// Adds a run of the store, after ``load(after:)``.
  ///
  /// - Parameter number: a random number.
  /// - Returns: the runs that are known, the new one last, and the greatest version of a removal that was dropped.
  /// - Throws: ``PointStoreError``.
  func beginRun(_ number: UInt64) async throws(PointStoreError) -> (runs: [ChangeRun], dropped: Int64)

  /// Returns the first changes after a version and an id, up to a version, by version and id; a place that was removed
  /// has that of ``JournalBatch/removalVersion``.
  ///
  /// - Parameter limit: the maximum number of changes; there may be fewer although there are more.
  /// - Throws: ``PointStoreError``.
  func changes(
    after version: Int64, _ id: PointID, upTo last: Int64, limit: Int
  ) async throws(PointStoreError) -> (changes: [PointChange], hasMore: Bool)

  /// Drops the removals from before a version.
  ///
  /// - Returns: their number, and the greatest version of one that was ever dropped.
  /// - Throws: ``PointStoreError``.
  func dropRemovals(before version: Int64) async throws(PointStoreError) -> (count: Int, dropped: Int64)
}

extension PointJournal {
  package var damagedRows: DamagedRows? { nil }
}

/// A mark in a journal, committed together with the state of the places that it stands for.
///
/// A journal that has the mark has had that state, whatever happened to its file: it was restored from a backup, copied
/// or reset to an earlier state. What was committed since is in the same journal.
package struct JournalAnchor: Sendable {
  /// A random text that no other anchor has.
  package let token: String

  /// The greatest version that had been committed.
  package let version: Int64

  private static let prefix = "journal"

  package init(token: String, version: Int64) {
    (self.token, self.version) = (token, version)
  }

  /// Returns a token that no other anchor has.
  static func newToken() -> String {
    var generator = SystemRandomNumberGenerator()
    return "\(String(generator.next(), radix: 36))\(String(generator.next(), radix: 36))"
  }

  /// The anchor as text.
  package var text: String { "\(Self.prefix) \(token) \(version)" }

  /// Creates an anchor from its text; `nil` if it is none.
  package init?(text: String) {
    let fields = text.split(separator: " ", omittingEmptySubsequences: false)
    guard fields.count == 3, fields[0] == Self.prefix, let version = Int64(fields[2]) else { return nil }
    self.init(token: String(fields[1]), version: version)
  }
}

/// The contents of a journal.
package struct JournalContents: Sendable {
  /// The places, in any order: all, or those that were created or changed since an anchor.
  package var points: ContiguousArray<PointOfInterest>

  /// The ids of places that were removed since the anchor. Some may be of places that never were in another batch.
  package var removals: [PointID] = []

  /// A Boolean value that indicates whether ``points`` are all places.
  package var isComplete = true

  /// The outcomes of requests with idempotency keys, the oldest first.
  package var records: [IdempotencyRecord]

  /// The registered data sets.
  package var sources: [DataSource] = []

  /// The ids of removed places by their source references.
  package var formerIDs: [SourceReference: PointID] = [:]

  /// The edits of places, and the deletions. Those of places that other programs have changed may be among them.
  package var edits: [PlaceEdits] = []

  /// The named areas.
  package var areas: [Area] = []

  /// The records of features.
  package var featureRecords: [Record] = []

  /// A Boolean value that indicates whether no place was ever committed, not even one that was removed since.
  package var isNew: Bool

  /// The greatest version that was ever committed, including those of removed places; 0 before the first.
  package var highestVersion: Int64

  package init(
    points: ContiguousArray<PointOfInterest> = [],
    records: [IdempotencyRecord] = [],
    isNew: Bool = true,
    highestVersion: Int64 = 0
  ) {
    self.points = points
    self.records = records
    self.isNew = isNew
    self.highestVersion = highestVersion
  }
}

/// The effects of some writes, which a journal commits together.
package struct JournalBatch: Sendable {
  /// The places that were created or changed, each once, as they are now. Without a journal it has none where nothing
  /// reads them again, because they are too many.
  var puts = PointBuffer()

  /// The number of places that were created or changed.
  package internal(set) var putCount = 0

  /// The places that were created or changed, each once, as they are now.
  package var places: some RandomAccessCollection<PointOfInterest> { puts.points }

  /// The ids of the places that were removed, each once.
  package internal(set) var removals: [PointID] = []

  /// The outcomes of requests with idempotency keys, all of the same time. A journal may
  /// drop those that have expired by then.
  package internal(set) var records: [IdempotencyRecord] = []

  /// The data sets that were registered or changed.
  package internal(set) var sources: [DataSource] = []

  /// The names of the data sets that were removed.
  package internal(set) var removedSources: [String] = []

  /// The ids of the places that were removed, by their source references.
  package internal(set) var formerIDs: [SourceReference: PointID] = [:]

  /// The edits of places and the deletions that were changed, or `nil` for those that were removed.
  package internal(set) var edits: EditChanges = [:]

  /// The areas that were created or changed, each once.
  package internal(set) var areas: [Area] = []

  /// The ids of the areas that were removed.
  package internal(set) var removedAreas: [PointID] = []

  /// The records of features that were added or changed, or `nil` for those that were removed.
  package internal(set) var featureRecords: [RecordKey: Record?] = [:]

  /// The greatest version given so far, by these writes or before them.
  package internal(set) var highestVersion: Int64 = 0

  /// The version of the removals: the next after the greatest one before the batch.
  package internal(set) var removalVersion: Int64 = 0

  /// The anchor to commit with the writes; `nil` for none.
  package internal(set) var anchor: NewAnchor?

  /// An anchor of the state after a batch.
  package struct NewAnchor: Sendable {
    package let token: String

    /// The anchor that is kept beside the new one; `nil` if all others are removed.
    package let former: JournalAnchor?
  }

  /// A Boolean value that indicates whether there is nothing to commit but an anchor.
  package var isEmpty: Bool { hasOnlyFeatureRecords && featureRecords.isEmpty }

  /// A Boolean value that indicates whether nothing but records of features is committed.
  var hasOnlyFeatureRecords: Bool {
    !hasChanges && records.isEmpty && sources.isEmpty && removedSources.isEmpty && edits.isEmpty && areas.isEmpty
      && removedAreas.isEmpty
  }

  /// A Boolean value that indicates whether a place was created, changed or removed.
  package var hasChanges: Bool { putCount > 0 || !removals.isEmpty }
}
