import WaymarkClient

/// A clock whose sleeps return immediately and are recorded.
///
/// ```swift
/// let clock = RecordingClock()
/// let service = try MockService(.problem(429, code: "rate-limited", fields: ["Retry-After": "4"]), .ok("[]"))
/// let waymark = Waymark(
///   baseURL: service.baseURL, session: service.session,
///   configuration: LoaderConfiguration(clock: clock, random: { 0 }))
/// _ = try await waymark.categories()
/// #expect(clock.sleeps == [.seconds(4)])
/// ```
public final class RecordingClock: Clock {
  /// A time on the clock.
  ///
  /// ```swift
  /// let instant = RecordingClock.Instant(offset: .seconds(4))
  /// ```
  public struct Instant: InstantProtocol {
    /// The time since the creation of the clock.
    public var offset: Duration

    /// Creates an instant.
    public init(offset: Duration) {
      self.offset = offset
    }

    /// Returns a later instant.
    public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }

    /// Returns the time until another instant.
    public func duration(to other: Instant) -> Duration { other.offset - offset }

    /// Returns whether an instant is before another one.
    public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  private struct State {
    var now = Instant(offset: .zero)
    var sleeps: [Duration] = []
  }

  private let state = Locked(State())

  /// Creates a clock at zero.
  public init() {}

  /// The end of the longest sleep.
  public var now: Instant { state.withLock { $0.now } }

  /// The minimum resolution: none.
  public let minimumResolution = Duration.zero

  /// The durations of the sleeps, in order.
  public var sleeps: [Duration] { state.withLock { $0.sleeps } }

  /// Records the sleep, and returns immediately.
  ///
  /// - Throws: `CancellationError` if the current task is cancelled.
  public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try Task.checkCancellation()
    state.withLock { state in
      state.sleeps.append(state.now.duration(to: deadline))
      state.now = max(state.now, deadline)
    }
  }
}

/// A clock that never moves: a sleep lasts until its task is cancelled.
///
/// ```swift
/// let clock = StoppedClock()
/// let model = AutocompleteModel<String>(clock: clock) { _ in [] }
/// model.text = "mus"
/// let search = Task { await model.search() }
/// await clock.isWaitedFor.pass()
/// search.cancel()
/// ```
public struct StoppedClock: Clock {
  /// A time on the clock.
  public typealias Instant = RecordingClock.Instant

  /// A gate that opens when a sleep begins.
  public let isWaitedFor = Gate()

  /// Creates a clock at zero.
  public init() {}

  /// Zero.
  public var now: Instant { Instant(offset: .zero) }

  /// The minimum resolution: none.
  public var minimumResolution: Duration { .zero }

  /// Waits until the current task is cancelled.
  ///
  /// - Throws: `CancellationError`.
  public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let (stream, continuation) = AsyncStream<Never>.makeStream()
    isWaitedFor.open()
    // A stream without elements ends when the task is cancelled.
    for await _ in stream {}
    withExtendedLifetime(continuation) {}
    throw CancellationError()
  }
}
