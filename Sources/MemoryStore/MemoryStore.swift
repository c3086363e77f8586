public import Geo
public import Points

/// Places kept in memory, with indexes over place, category and id.
///
/// A read takes the snapshot of the moment and needs no lock beyond that; it never waits for a write. A write makes the
/// next snapshot beside the one that is read, has its journal keep what it did, and puts the snapshot in its place.
///
/// A page costs in the order of log n plus its length, wherever it is in the answer. What an index cannot narrow down
/// costs what it costs: many places at one distance from the centre, or a box that few of many places are in at its edge.
public final class MemoryStore: Sendable {
  let journal: any PlaceJournal
  let writer: Writer
  private let current: CurrentSnapshot

  /// Whether nothing has ever been written to it, in this process or another.
  public let wasNew: Bool

  /// Creates an empty store that keeps nothing beyond the process.
  ///
  /// - Parameter clock: what places' times of creation and change are read from, and the age of keys.
  public convenience init(clock: any WallClock = SystemClock()) {
    self.init(JournalContents(), journal: VolatileJournal(), keyLimits: .init(), clock: clock)
  }

  /// Creates a store of what a journal has, which keeps every write there before it is seen or answered.
  ///
  /// In the order of n log n.
  ///
  /// - Parameters:
  ///   - journal: used by this store alone.
  ///   - clock: what places' times of creation and change are read from, and the age of keys.
  /// - Throws: ``Points/PointStoreError`` with the reason that the journal can't be read.
  public convenience init(
    journal: any PlaceJournal,
    clock: any WallClock = SystemClock()
  ) async throws(PointStoreError) {
    self.init(try await journal.load(), journal: journal, keyLimits: .init(), clock: clock)
  }

  init(
    _ contents: JournalContents,
    journal: any PlaceJournal,
    keyLimits: KeyMemory.Limits,
    clock: any WallClock
  ) {
    self.journal = journal
    wasNew = contents.lastSequence == 0
    let clock = MonotoneClock(clock)
    let now = clock.now()
    var versions = VersionCounter(after: contents.highestVersion)
    if versions.last == 0 {
      current = CurrentSnapshot(Snapshot(contents.points), at: now)
    } else {
      // Versions are times of writes. Where the clock has not passed the second of the last one, the next write counts
      // as one of a second that no write was in.
      let lastWrite = Timestamp(microsecondsSinceEpoch: versions.last)
      if now.microsecondsSinceEpoch - versions.last < 1_000_000 { versions.pass(versions.last + 1_000_000) }
      let nextWrite = Timestamp(microsecondsSinceEpoch: versions.last)
      current = CurrentSnapshot(Snapshot(contents.points), at: lastWrite, nextNotBefore: nextWrite)
    }
    var keys = KeyMemory(limits: keyLimits)
    for key in contents.keys { _ = keys.remember(key) }
    writer = Writer(
      current: current,
      journal: journal,
      keys: keys,
      lastSequence: contents.lastSequence,
      versions: versions,
      clock: clock
    )
  }

  /// How many places there are.
  public var count: Int { snapshot.count }

  /// The places of the moment.
  var snapshot: Snapshot { current.value }
}

extension MemoryStore: PointStore {
  /// The places that match, one page of them; from the places of one moment.
  public func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage {
    snapshot.page(matching: query)
  }

  /// The same page; the texts are read where they are.
  public func summaries(matching query: PointQuery) async throws(PointStoreError) -> SummaryPage {
    snapshot.summaries(matching: query)
  }

  /// The place of that id, or `nil`. In the order of log² n.
  public func point(id: PointID) async throws(PointStoreError) -> PointOfInterest? {
    let snapshot = snapshot
    return snapshot.location(of: id).map { snapshot.point(at: $0) }
  }

  /// Every category that a place has, the most frequent first. Counted once after a write.
  public func categoryCounts(in box: BoundingBox?) async throws(PointStoreError) -> [CategoryCount] {
    box.map { snapshot.categoryCounts(in: $0) } ?? snapshot.categoryCounts()
  }

  /// The place with the least shuffle key, which is ``Points/PointID/shuffleKey``, that is not below the pivot, or else
  /// with the least of all; `nil` when there are no places. In the order of log² n.
  public func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? {
    snapshot.point(shuffledAtOrAfter: pivot)
  }

  /// The version of the snapshot of the moment. It names the store too: a process that is started again, be it with
  /// the same places, gives other versions.
  public func dataVersion() async throws(PointStoreError) -> DataVersion? { current.version }

  /// The same, which is always known.
  public func knownDataVersion() -> DataVersion? { current.version }

  /// Returns at once: memory is always ready.
  public func checkReadiness() async throws(PointStoreError) {}
}
