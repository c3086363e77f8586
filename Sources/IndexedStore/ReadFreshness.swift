/// The promise how fresh the results of reads are.
package struct ReadFreshness: Hashable, Sendable {
  /// The relation of a result to the writes before its request.
  package enum Consistency: Hashable, Sendable {
    /// A result contains every write that was committed before the request arrived.
    case strict
    /// A result contains every write that was committed more than this time before.
    case bounded(maximumAge: Duration)
  }

  /// The relation of a result to the writes before its request.
  package var consistency: Consistency

  /// The time after the last confirmation of the index for which reads are answered from it while they can't be
  /// current: the database is unavailable, or only the index can answer them and it catches up or is built again. Zero
  /// for none.
  package var staleLifetime: Duration

  package init(_ consistency: Consistency = .strict, staleLifetime: Duration = .zero) {
    self.consistency = consistency
    self.staleLifetime = staleLifetime
  }

  /// The interval in which the index is confirmed without a request or a notification.
  var pollInterval: Duration {
    switch consistency {
    case .strict: .seconds(1)
    case .bounded(let maximumAge): max(.milliseconds(20), min(.seconds(1), maximumAge / 3))
    }
  }
}
