import MemoryStore
import Points
import Synchronization
import TestSupport
import Testing

@Suite struct VersionTests {
  @Test func theTimeOfAVersionNeverGoesBackWhateverTheClockDoes() async throws {
    let clock = SettableClock(Timestamp(microsecondsSinceEpoch: 100))
    let store = MemoryStore(clock: clock)

    clock.set(to: Timestamp(microsecondsSinceEpoch: 200))
    _ = try await store.create(try .sample("a"), once: nil)
    let before = try await store.dataVersion()
    clock.set(to: Timestamp(microsecondsSinceEpoch: 50))
    _ = try await store.create(try .sample("b"), once: nil)
    let after = try await store.dataVersion()

    #expect(before?.changedAt == Timestamp(microsecondsSinceEpoch: 200))
    #expect(after?.changedAt == Timestamp(microsecondsSinceEpoch: 200))
    #expect(before?.token != after?.token)
  }

  @Test func storesOfTheSamePlacesHaveVersionsOfTheirOwn() async throws {
    let clock = FixedClock(Timestamp(microsecondsSinceEpoch: 0))

    let first = try await MemoryStore(clock: clock).dataVersion()
    let second = try await MemoryStore(clock: clock).dataVersion()

    #expect(first?.token != second?.token)
  }
}

/// A clock that is set by hand.
private final class SettableClock: WallClock {
  private let time: Mutex<Timestamp>

  init(_ time: Timestamp) {
    self.time = Mutex(time)
  }

  func set(to time: Timestamp) { self.time.withLock { $0 = time } }

  func now() -> Timestamp { time.withLock { $0 } }
}
