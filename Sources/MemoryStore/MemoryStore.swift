public import Points
import Synchronization

/// Places kept in memory, with indexes over place, category and id.
///
/// A read takes the snapshot of the moment and needs no lock beyond that; it never waits for a write. A write makes the
/// next snapshot beside the one that is read, and puts it in its place.
///
/// A page costs in the order of log n plus its length, wherever it is in the answer. What an index cannot narrow down
/// costs what it costs: many places at one distance from the centre, or a box that few of many places are in at its edge.
public final class MemoryStore: Sendable {
  private let current = Mutex(Snapshot())
  private let writer: Writer

  /// Makes an empty store.
  ///
  /// - Parameters:
  ///   - clock: what places' times of creation and change are read from.
  ///   - ids: what gives ids to places that come without.
  public init(clock: any WallClock = SystemClock(), ids: any ImportIDSource = DerivedIDs()) {
    writer = Writer(clock: clock, ids: ids)
  }

  /// The places of the moment.
  var snapshot: Snapshot { current.withLock { $0 } }

  /// Puts what a change makes of the places in their place.
  ///
  /// - Parameter change: makes the changes to a snapshot that stays current until they are made.
  func write<Outcome: Sendable>(
    _ change: @Sendable (Snapshot, Writer.Context) -> (SnapshotChanges, Outcome)
  ) async -> Outcome {
    await writer.run { context in
      let former = snapshot
      let (changes, outcome) = change(former, context)
      let next = former.applying(changes)
      // The former snapshot may be the last of its kind: it is let go outside the lock.
      current.withLock { $0 = next }
      return outcome
    }
  }
}

/// Lets writers run one after another; those that wait hold no thread.
actor Writer {
  /// What a writer needs from outside.
  struct Context: Sendable {
    let clock: any WallClock
    let ids: any ImportIDSource
  }

  private let context: Context

  init(clock: any WallClock, ids: any ImportIDSource) {
    context = Context(clock: clock, ids: ids)
  }

  func run<Outcome: Sendable>(_ body: @Sendable (Context) -> Outcome) -> Outcome {
    body(context)
  }
}

extension MemoryStore: PointStore {
  /// The places that match, one page of them; from the places of one moment.
  public func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage {
    snapshot.page(matching: query)
  }

  /// The place of that id, or `nil`. In the order of log² n.
  public func point(id: PointID) async throws(PointStoreError) -> PointOfInterest? {
    let snapshot = snapshot
    return snapshot.location(of: id).map { snapshot.point(at: $0) }
  }

  /// Every category that a place has, the most frequent first. Counted once after a write.
  public func categoryCounts() async throws(PointStoreError) -> [CategoryCount] {
    snapshot.categoryCounts()
  }

  /// The place with the least shuffle key, which is ``Points/PointID/shuffleKey``, that is not below the pivot, or else
  /// with the least of all; `nil` when there are no places. In the order of log² n.
  public func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? {
    snapshot.point(shuffledAtOrAfter: pivot)
  }

  /// Returns at once: memory is always ready.
  public func checkReadiness() async throws(PointStoreError) {}
}
