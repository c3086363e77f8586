package import Geo
import PointIndex
package import Points

/// A store of places in memory: a ``PointIndex/PointIndex`` whose changes are committed to a journal.
///
/// Reads search the current snapshot, and never wait for a write. A write builds the next snapshot, commits its effects
/// to the journal, and replaces the current snapshot.
package final class MemoryStore: Sendable {
  let writer: GroupCommitWriter
  let clock: MonotoneClock
  private let index: PointIndex

  /// A Boolean value that indicates whether no place had ever been written to the store when it was created.
  package let wasNew: Bool

  /// Creates an empty store that keeps nothing beyond the process.
  ///
  /// - Parameters:
  ///   - text: the fields that texts are searched in.
  ///   - clock: the source of the times of places and of the age of idempotency keys.
  package convenience init(
    text configuration: TextIndexConfiguration = .init(), clock: any WallClock = SystemClock()
  ) {
    self.init(JournalContents(), journal: nil, keyLimits: .init(), text: configuration, clock: clock)
  }

  /// Creates a store of the contents of a journal, to which every write is committed before it is visible or
  /// acknowledged.
  ///
  /// O(n log n).
  ///
  /// - Parameters:
  ///   - journal: the journal, used by this store alone.
  ///   - text: the fields that texts are searched in.
  ///   - clock: the source of the times of places and of the age of idempotency keys.
  /// - Throws: ``Points/PointStoreError`` with the reason that the journal can't be read.
  package convenience init(
    journal: any PointJournal,
    text configuration: TextIndexConfiguration = .init(),
    clock: any WallClock = SystemClock()
  ) async throws(PointStoreError) {
    self.init(try await journal.load(), journal: journal, keyLimits: .init(), text: configuration, clock: clock)
  }

  init(
    _ contents: JournalContents,
    journal: (any PointJournal)?,
    keyLimits: IdempotencyKeyCache.Limits,
    text configuration: TextIndexConfiguration = .init(),
    clock: any WallClock
  ) {
    self.clock = MonotoneClock(clock)
    wasNew = contents.isNew
    let now = self.clock.now()
    var versions = VersionCounter(after: contents.highestVersion)
    let dataVersions: DataVersionSequence
    if versions.last == 0 {
      dataVersions = DataVersionSequence(changedAt: now)
    } else {
      // Versions are times of writes. Where the clock has not passed the second of the last one, the next write counts
      // as one of a second without writes.
      let lastWrite = Timestamp(microsecondsSinceEpoch: versions.last)
      if now.microsecondsSinceEpoch - versions.last < 1_000_000 { versions.pass(versions.last + 1_000_000) }
      let nextWrite = Timestamp(microsecondsSinceEpoch: versions.last)
      // The program and its settings may differ from those before, and responses with them.
      dataVersions = DataVersionSequence(changedAt: max(lastWrite, now), nextNotBefore: nextWrite)
    }
    index = PointIndex(PointSnapshot(contents.points, text: configuration), version: dataVersions.last)
    var keys = IdempotencyKeyCache(limits: keyLimits)
    for record in contents.records { _ = keys.insert(record) }
    writer = GroupCommitWriter(
      index: index,
      journal: journal,
      keys: keys,
      sources: contents.sources,
      versions: versions,
      dataVersions: dataVersions,
      clock: self.clock
    )
  }

  /// The number of places.
  package var count: Int { snapshot.count }

  var snapshot: PointSnapshot { index.snapshot }
}

extension MemoryStore: PointStore {
  /// Returns one page of the matching places, all from one snapshot.
  package func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage {
    try snapshot.page(matching: query)
  }

  /// Returns the same page as summaries, whose texts are not copied.
  package func summaries(matching query: PointQuery) async throws(PointStoreError) -> SummaryPage {
    try snapshot.summaries(matching: query)
  }

  /// Returns the number of matching places of one snapshot.
  package func count(matching query: PointQuery) async throws(PointStoreError) -> Int {
    try snapshot.count(matching: query)
  }

  /// Returns the place with that id, or `nil`. O(log² n).
  package func point(id: PointID) async throws(PointStoreError) -> PointOfInterest? {
    snapshot.point(id: id)
  }

  /// Returns every category that a place has, the most frequent first. Without a box they are counted once after a
  /// write.
  package func categoryCounts(in box: BoundingBox?) async throws(PointStoreError) -> [CategoryCount] {
    snapshot.categoryCounts(in: box)
  }

  /// Returns the place with the least ``Points/PointID/shuffleKey`` that is not below the pivot, or else with the least
  /// of all; `nil` when there are no places. O(log² n).
  package func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? {
    snapshot.point(shuffledAtOrAfter: pivot)
  }

  /// Returns the registered data sets, by name.
  package func sources() async throws(PointStoreError) -> [DataSource] { await writer.dataSources }

  /// Returns the version of the current snapshot. No other process gives it, not even with the same places.
  package func dataVersion() async throws(PointStoreError) -> DataVersion? { index.version }

  /// Returns the version of the current snapshot.
  package func knownDataVersion() -> DataVersion? { index.version }

  /// Returns at once: memory can always be read.
  @discardableResult package func checkReadiness() async throws(PointStoreError) -> StoreReadiness { .ready }
}

extension MemoryStore: TextSearchableStore {
  /// Returns a page of the places that match a text, all from one snapshot.
  package func matches(of query: TextQuery) async throws(PointStoreError) -> TextPage {
    try snapshot.page(matching: query)
  }

  /// The fields of places that are searched.
  package var textConfiguration: TextIndexConfiguration { snapshot.textConfiguration }
}

extension MemoryStore: MappedStore {
  /// Returns the current snapshot.
  package func mapSnapshot() async throws(PointStoreError) -> any MapSnapshot { snapshot }
}

extension MemoryStore: PointExporter {
  /// Passes every matching place of the current snapshot to a closure; see
  /// ``PointIndex/PointSnapshot/exportPoints(matching:to:)``.
  package func exportPoints(
    matching query: PointQuery,
    to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    try await snapshot.exportPoints(matching: query, to: consume)
  }
}
