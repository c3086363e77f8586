/// A clock that never moves: who waits for it waits until cancelled.
struct EndlessClock: Clock {
  typealias Instant = RecordingClock.Instant

  /// Opens when someone waits.
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
