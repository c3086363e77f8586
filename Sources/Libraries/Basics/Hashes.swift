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

/// A hash for tables in memory: each word is multiplied to 128 bits, whose halves are combined, as wyhash does (Wang
/// Yi). It has a seed of the process, so that no client can choose keys that collide.
public struct FoldedHash: Sendable {
  @usableFromInline static let seed = UInt64.random(in: 0 ... .max)

  @usableFromInline var hash: UInt64

  /// The hash of the words and texts so far.
  @inlinable public var value: UInt64 { SplitMix64.mix(hash) }

  @inlinable
  public init() {
    hash = Self.seed
  }

  /// Adds a word.
  @inlinable @inline(__always)
  public mutating func combine(_ word: UInt64) {
    let product = (hash ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
    hash = product.high ^ product.low
  }

  /// Adds bytes and their number.
  @inlinable
  public mutating func combine(bytes: UnsafeBufferPointer<UInt8>) {
    hash ^= UInt64(bytes.count)
    guard let start = UnsafeRawPointer(bytes.baseAddress) else { return combine(0) }
    var position = 0
    while position + 8 <= bytes.count {
      combine(start.loadUnaligned(fromByteOffset: position, as: UInt64.self))
      position += 8
    }
    if position < bytes.count, bytes.count >= 8 {
      combine(start.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self))
    } else {
      var rest: UInt64 = 0
      while position < bytes.count {
        rest = rest << 8 | UInt64(bytes[position])
        position += 1
      }
      combine(rest)
    }
  }

  /// Adds the UTF-8 code units of a text and their number.
  @inlinable
  public mutating func combine(_ text: String) {
    var text = text
    text.withUTF8 { combine(bytes: $0) }
  }
}

/// The keyed hash SipHash-1-3 (J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012),
/// for tables whose hashes are stored: `Hasher` has another key in each process.
package enum SipHash {
  /// The key. Whoever does not know it can't choose inputs that collide.
  package struct Key: BitwiseCopyable, Hashable, Sendable {
    package var first: UInt64
    package var second: UInt64

    package init(first: UInt64, second: UInt64) {
      self.first = first
      self.second = second
    }

    package static func random() -> Key {
      var generator = SystemRandomNumberGenerator()
      return Key(first: generator.next(), second: generator.next())
    }
  }

  /// Returns the hash of a number in little-endian order, followed by some bytes.
  package static func hash(_ number: UInt64, followedBy bytes: UnsafeBufferPointer<UInt8>, key: Key) -> UInt64 {
    var state = State(key)
    state.combine(number)
    let wordCount = bytes.count / 8
    let raw = UnsafeRawBufferPointer(bytes)
    for word in 0..<wordCount {
      state.combine(UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: 8 * word, as: UInt64.self)))
    }
    // The last word has the rest of the bytes and, in its highest byte, the length.
    var last = UInt64(truncatingIfNeeded: bytes.count + 8) << 56
    for index in 8 * wordCount..<bytes.count { last |= UInt64(bytes[index]) << UInt64(8 * (index % 8)) }
    state.combine(last)
    return state.finalize()
  }

  private struct State {
    private var a: UInt64
    private var b: UInt64
    private var c: UInt64
    private var d: UInt64

    init(_ key: Key) {
      a = key.first ^ 0x736F_6D65_7073_6575
      b = key.second ^ 0x646F_7261_6E64_6F6D
      c = key.first ^ 0x6C79_6765_6E65_7261
      d = key.second ^ 0x7465_6462_7974_6573
    }

    mutating func combine(_ word: UInt64) {
      d ^= word
      round()
      a ^= word
    }

    mutating func finalize() -> UInt64 {
      c ^= 0xFF
      for _ in 0..<3 { round() }
      return a ^ b ^ c ^ d
    }

    private mutating func round() {
      a &+= b
      b = rotated(b, 13) ^ a
      a = rotated(a, 32)
      c &+= d
      d = rotated(d, 16) ^ c
      a &+= d
      d = rotated(d, 21) ^ a
      c &+= b
      b = rotated(b, 17) ^ c
      c = rotated(c, 32)
    }

    private func rotated(_ word: UInt64, _ count: UInt64) -> UInt64 { word << count | word >> (64 - count) }
  }
}
