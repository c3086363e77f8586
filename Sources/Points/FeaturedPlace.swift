/// Which place is featured when.
///
/// Time is cut into slots of ten seconds; the slot alone decides where among the shuffled places to look, so every
/// instance over the same places features the same one, and nothing needs to be remembered or scheduled.
public enum FeaturedPlace {
  /// How long a place stays featured, in seconds.
  public static let intervalSeconds: Int64 = 10

  /// One interval of time in which the featured place stays the same.
  public struct Slot: Hashable, Sendable {
    /// How many intervals lie between 1970-01-01T00:00:00Z and the start of this one.
    public let index: Int64

    /// The slot that a moment falls into.
    public init(at time: Timestamp) {
      let length = FeaturedPlace.intervalSeconds * 1_000_000
      let (quotient, remainder) = time.microsecondsSinceEpoch.quotientAndRemainder(dividingBy: length)
      index = remainder < 0 ? quotient - 1 : quotient
    }

    /// How many seconds of the slot are left at a moment in it: 1 to ``FeaturedPlace/intervalSeconds``, a begun second
    /// counted whole, so that who asks again after that many finds the next slot.
    public func remainingSeconds(at time: Timestamp) -> Int64 {
      let end = (index + 1) * FeaturedPlace.intervalSeconds * 1_000_000
      return (end - time.microsecondsSinceEpoch + 999_999) / 1_000_000
    }
  }

  /// The shuffle key from which on the slot's place is looked for: the place with the least key that is not below it,
  /// or else the one with the least key of all.
  public static func choice(at slot: Slot) -> UInt64 {
    SplitMix64.mix(UInt64(bitPattern: slot.index))
  }
}
