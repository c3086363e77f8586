/// The hash FNV-1a of 64 bits (Fowler, Noll and Vo): the same in every process, unlike `Hasher`'s.
public struct FNV1a: Sendable {
  /// The hash of the numbers so far.
  @inlinable public var value: UInt64 { hash }

  @usableFromInline var hash: UInt64 = 0xCBF2_9CE4_8422_2325

  @inlinable
  public init() {}

  /// Adds a number: a byte, or a word as if it were one.
  @inlinable
  public mutating func combine(_ number: UInt64) {
    hash = (hash ^ number) &* 0x100_0000_01B3
  }

  /// Adds bytes.
  @inlinable
  public mutating func combine(bytes: some Sequence<UInt8>) {
    for byte in bytes { combine(UInt64(byte)) }
  }
}

/// The output function of the generator SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014).
public enum SplitMix64 {
  /// Returns a hash of a number: a bijection that turns nearby numbers into unrelated ones.
  @inlinable
  public static func mix(_ number: UInt64) -> UInt64 {
    var mixed = number &+ 0x9E37_79B9_7F4A_7C15
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}
