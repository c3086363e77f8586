import Points

/// The source of a store's versions: each is greater than every one before it.
///
/// Versions follow the clock, in microseconds, so that a store that has kept nothing goes on above those of the process
/// before; where the clock is behind, they are counted on by one.
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

  /// Returns the next version.
  mutating func next(at now: Timestamp) -> Int64 {
    last = max(last + 1, min(now.microsecondsSinceEpoch, PointOfInterest.maximumCountedVersion))
    return last
  }

  /// Goes on above the given version.
  mutating func pass(_ version: Int64) {
    last = max(last, version)
  }
}
