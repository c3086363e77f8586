@testable import MemoryStore
import Points
import Synchronization
import TestSupport
import Testing

@Suite struct VersionTests {
  @Test func storesOfTheSamePlacesHaveDifferentDataVersions() async throws {
    let clock = FixedClock(Timestamp(microsecondsSinceEpoch: 0))

    let first = try await MemoryStore(clock: clock).dataVersion()
    let second = try await MemoryStore(clock: clock).dataVersion()

    #expect(first?.token != second?.token)
  }
}

/// Versions and times of places while the clock changes.
@Suite struct PointVersionTests {
  private static func batches(_ rows: [ImportRow]) -> AsyncStream<[ImportRow]> {
    AsyncStream { continuation in
      continuation.yield(rows)
      continuation.finish()
    }
  }

  @Test func restartedStoreGivesVersionsAboveThoseOfTheFormerProcess() async throws {
    let clock = SettableClock(Timestamp(microsecondsSinceEpoch: 1_000_000))
    let row = try ImportRow.sample("a", 1, 1, source: "s", sourceID: "1")
    let first = MemoryStore(clock: clock)
    _ = try await first.load(Self.batches([row]))
    let former = try #require(try await first.allPoints().first)

    clock.set(to: Timestamp(microsecondsSinceEpoch: 1_000_002))
    let second = MemoryStore(clock: clock)
    _ = try await second.load(Self.batches([try .sample("edited", 1, 1, source: "s", sourceID: "1")]))

    let point = try #require(try await second.allPoints().first)
    #expect(point.id == former.id)
    #expect(point.version > former.version)
  }

  @Test func timesOfAPlaceNeverGoBackWithTheClock() async throws {
    let clock = SettableClock(Timestamp(microsecondsSinceEpoch: 9_000_000))
    let store = MemoryStore(clock: clock)
    let created = try await store.create(try .sample("a"), once: nil)

    clock.set(to: Timestamp(microsecondsSinceEpoch: 5_000_000))
    let (put, _) = try await store.put(try .sample("b"), id: created.id, if: .none)
    try await store.importRows([.sample("c", 1, 1, id: created.id)])
    let imported = try #require(try await store.point(id: created.id))
    let later = try await store.create(try .sample("d"), once: nil)

    #expect(put.updatedAt >= created.updatedAt)
    #expect(imported.updatedAt >= put.updatedAt)
    #expect(imported.updatedAt >= imported.createdAt)
    #expect(later.createdAt >= created.createdAt)
    #expect(created.version < put.version && put.version < imported.version && imported.version < later.version)
  }

  @Test func versionBeyondTheLimitStopsNeitherWritesNorTheCounter() async throws {
    let clock = FixedClock(Timestamp(microsecondsSinceEpoch: 1_000))
    let time = Timestamp(microsecondsSinceEpoch: 0)
    let point = PointOfInterest(
      id: .sample(1), draft: try .sample("absurd"), version: .max, createdAt: time, updatedAt: time)
    let store = MemoryStore(
      JournalContents(points: [point], isNew: false, highestVersion: .max), journal: nil, clock: clock)

    let (put, wasCreated) = try await store.put(try .sample("mended"), id: .sample(1), if: .versions([.max]))
    let other = try await store.create(try .sample("other"), once: nil)

    #expect(!wasCreated)
    #expect(put.version < 1 << 53)
    #expect(other.version > put.version)
    #expect(other.version < 1 << 53)
  }
}

/// A clock that tests set.
private final class SettableClock: WallClock {
  private let time: Mutex<Timestamp>

  init(_ time: Timestamp) {
    self.time = Mutex(time)
  }

  func set(to time: Timestamp) { self.time.withLock { $0 = time } }

  func now() -> Timestamp { time.withLock { $0 } }
}
