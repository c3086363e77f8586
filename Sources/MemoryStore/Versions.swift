import Points

/// A counter of a store's versions: each is greater than every one before it.
///
/// Versions follow the clock, in microseconds, so that a store that keeps nothing continues above those of the process
/// before; where the clock is behind, they are incremented by one.
struct VersionCounter: Sendable {
  /// The greatest version given so far, or 0.
  private(set) var last: Int64

  /// Creates a counter.
  ///
  /// - Parameter highest: the greatest version given before, in this process or another; 0 for none. One from
  ///   ``Points/PointOfInterest/versionLimit`` on can't have been given, and counts as
  ///   ``Points/PointOfInterest/maximumCountedVersion``.
  init(after highest: Int64 = 0) {
    last = highest < PointOfInterest.versionLimit ? max(highest, 0) : PointOfInterest.maximumCountedVersion
  }

  mutating func next(at now: Timestamp) -> Int64 {
    last = max(last + 1, min(now.microsecondsSinceEpoch, PointOfInterest.maximumCountedVersion))
    return last
  }

  /// Continues above the given version.
  mutating func pass(_ version: Int64) {
    last = max(last, version)
  }
}

/// The data versions of a store, one for each snapshot.
struct DataVersionSequence: Sendable {
  /// The version of the current snapshot.
  private(set) var last: DataVersion

  /// A random prefix of the tokens: no other store has it, not even one of the same places in another process.
  private let prefix = String(UInt64.random(in: .min ... .max), radix: 36)

  private var generation: UInt64 = 0
  private let nextNotBefore: Timestamp?

  /// Creates a sequence with the version of the first snapshot.
  ///
  /// - Parameters:
  ///   - time: the time of the last change to the places or to what responses depend on beside them, as far as it is
  ///     known.
  ///   - nextNotBefore: the earliest time of later versions, whatever the clock says.
  init(changedAt time: Timestamp, nextNotBefore: Timestamp? = nil) {
    self.nextNotBefore = nextNotBefore
    last = DataVersion(token: "\(prefix)-0", changedAt: time)
  }

  /// Returns the version of the next snapshot. Its time is never before that of the last one, whatever the clock says.
  mutating func next(at now: Timestamp) -> DataVersion {
    generation += 1
    let changedAt = max(now, last.changedAt ?? now, nextNotBefore ?? now)
    last = DataVersion(token: "\(prefix)-\(generation)", changedAt: changedAt)
    return last
  }
}
