/// The hash FNV-1a of 64 bits (Fowler, Noll and Vo): the same in every process, unlike `Hasher`'s.
public struct FNV1a: Sendable {
  /// The hash of the numbers so far.
  @inlinable public var value: UInt64 { hash }

  @usableFromInline var hash: UInt64 = 0xCBF2_9CE4_8422_2325

  /// Creates the hash of nothing.
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
