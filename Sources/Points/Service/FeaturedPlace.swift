import Basics

/// The choice of the featured place.
///
/// Time is divided into slots of ten seconds. The slot alone decides where among the shuffled places to look, so every
/// instance over the same places features the same one, and nothing needs to be stored or scheduled.
public enum FeaturedPlace {
  /// The length of a slot, in seconds.
  public static let intervalSeconds: Int64 = 10

  /// An interval of time in which the featured place stays the same.
  public struct Slot: Hashable, Sendable {
    /// The number of slots between 1970-01-01T00:00:00Z and the start of this one.
    public let index: Int64

    /// Creates the slot of a moment.
    public init(at time: Timestamp) {
      let length = FeaturedPlace.intervalSeconds * 1_000_000
      let (quotient, remainder) = time.microsecondsSinceEpoch.quotientAndRemainder(dividingBy: length)
      index = remainder < 0 ? quotient - 1 : quotient
    }

    /// Returns the number of seconds that are left of the slot at a moment in it, 1 to
    /// ``FeaturedPlace/intervalSeconds``, rounded up, so that a request after that many seconds is in the next slot.
    public func remainingSeconds(at time: Timestamp) -> Int64 {
      let end = (index + 1) * FeaturedPlace.intervalSeconds * 1_000_000
      return (end - time.microsecondsSinceEpoch + 999_999) / 1_000_000
    }
  }

  /// Returns the shuffle key that selects the slot's place: the one with the least key that is not below it, or else
  /// the one with the least key of all.
  public static func choice(at slot: Slot) -> UInt64 {
    SplitMix64.mix(UInt64(bitPattern: slot.index))
  }
}
