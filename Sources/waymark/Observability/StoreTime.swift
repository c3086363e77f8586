import Synchronization

/// How long one request has waited for the store so far.
final class StoreTime: Sendable {
  /// That of the request that is being answered; `nil` where nobody wants to know.
  @TaskLocal static var current: StoreTime?

  private let nanoseconds = Atomic<Int64>(0)

  /// How long it is.
  var total: Duration { .nanoseconds(nanoseconds.load(ordering: .relaxed)) }

  /// Adds a call's time.
  func add(_ duration: Duration) { nanoseconds.wrappingAdd(duration.wholeNanoseconds, ordering: .relaxed) }
}
