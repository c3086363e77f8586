import Synchronization

/// A clock whose sleeps return immediately and are recorded.
final class RecordingClock: Clock {
  struct Instant: InstantProtocol {
    var offset: Duration

    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }

    func duration(to other: Instant) -> Duration { other.offset - offset }

    static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  private struct State {
    var now = Instant(offset: .zero)
    var sleeps: [Duration] = []
  }

  private let state = Mutex(State())

  var now: Instant { state.withLock { $0.now } }

  let minimumResolution = Duration.zero

  /// The durations of the sleeps.
  var sleeps: [Duration] { state.withLock { $0.sleeps } }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try Task.checkCancellation()
    state.withLock { state in
      state.sleeps.append(state.now.duration(to: deadline))
      state.now = max(state.now, deadline)
    }
  }
}

/// A clock that never moves: a sleep lasts until it is cancelled.
struct EndlessClock: Clock {
  typealias Instant = RecordingClock.Instant

  /// A gate that opens when a sleep begins.
  let isWaitedFor = Gate()

  var now: Instant { Instant(offset: .zero) }

  var minimumResolution: Duration { .zero }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let (stream, continuation) = AsyncStream<Never>.makeStream()
    isWaitedFor.open()
    // A stream without elements ends when the task is cancelled.
    for await _ in stream {}
    withExtendedLifetime(continuation) {}
    throw CancellationError()
  }
}
