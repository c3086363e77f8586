/// The promise how fresh the results of reads are.
public struct ReadFreshness: Hashable, Sendable {
  /// The relation of a result to the writes before its request.
  public enum Consistency: Hashable, Sendable {
    /// A result contains every write that was committed before the request arrived.
    case strict
    /// A result contains every write that was committed more than this time before.
    case bounded(maximumAge: Duration)
  }

  /// The relation of a result to the writes before its request.
  public var consistency: Consistency

  /// The time for which reads continue from the index while the database is unavailable; zero for none.
  public var maximumAgeWhenUnavailable: Duration

  /// Creates a promise.
  public init(_ consistency: Consistency = .strict, maximumAgeWhenUnavailable: Duration = .zero) {
    self.consistency = consistency
    self.maximumAgeWhenUnavailable = maximumAgeWhenUnavailable
  }

  /// The interval in which the index is confirmed without a request or a notification.
  var pollInterval: Duration {
    switch consistency {
    case .strict: .seconds(1)
    case .bounded(let maximumAge): max(.milliseconds(20), min(.seconds(1), maximumAge / 3))
    }
  }
}
