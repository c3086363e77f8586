public import Basics

/// The id of a point of interest: a UUID (RFC 9562), of version 7 where the service creates it.
///
/// The order is that of the bytes, which is also PostgreSQL's; ids made later sort later.
public struct PointID: Hashable, Sendable, BitwiseCopyable {
  /// The first eight bytes, most significant first.
  public let high: UInt64

  /// The last eight bytes, most significant first.
  public let low: UInt64

  /// Creates an id from its two halves, whatever its version.
  @inlinable
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Creates a new id of version 7 (RFC 9562, section 5.7).
  ///
  /// - Parameters:
  ///   - time: the time that goes into the first 48 bits, in whole milliseconds.
  ///   - generator: the source of the other 74 bits.
  public init(at time: Timestamp, using generator: inout some RandomNumberGenerator) {
    self.init(milliseconds: time.millisecondsSinceEpoch, random: (generator.next(), generator.next()))
  }

  /// Creates the id that is always derived from this identity: of version 7 in form, of time 0, its random bits a hash.
  ///
  /// It is for places without an id in a file that is loaded at each start: several instances, and the next start, give
  /// them the same ids. Two identities share an id with a probability of 1 in 2^74.
  public init(derivedFrom identity: [UInt8]) {
    // FNV-1a in two lanes of different offsets, each finished with SplitMix64's mixer.
    var first = FNV1a()
    var second: UInt64 = 0x9AE1_6A3B_2F90_404F
    for byte in identity {
      first.combine(UInt64(byte))
      second = (second ^ UInt64(byte)) &* 0x9E37_79B9_7F4A_7C15
      second ^= second >> 29
    }
    self.init(milliseconds: 0, random: (SplitMix64.mix(first.value), SplitMix64.mix(second ^ first.value &<< 1)))
  }

  private init(milliseconds: Int64, random: (UInt64, UInt64)) {
    self.init(
      high: UInt64(bitPattern: milliseconds) << 16 | 0x7000 | (random.0 & 0x0FFF),
      low: 0x8000_0000_0000_0000 | (random.1 >> 2)
    )
  }

  /// A hash of the id that is the same in every process and version, distributed evenly over all 64-bit numbers.
  @inlinable
  public var shuffleKey: UInt64 { SplitMix64.mix(high ^ SplitMix64.mix(low)) }
}

extension PointID: Comparable {
  /// Returns a Boolean value that indicates whether the bytes of the first id come first.
  @inlinable
  public static func < (left: PointID, right: PointID) -> Bool {
    left.high != right.high ? left.high < right.high : left.low < right.low
  }
}

extension PointID: LosslessStringConvertible {
  /// Creates the id from the 36 characters of a UUID, in either case; `nil` for any other text.
  public init?(_ description: String) {
    guard let id = description.utf8.withContiguousBytes({ PointID(utf8: $0) }) else { return nil }
    self = id
  }

  /// Creates the id from the bytes of the 36 characters of a UUID, in either case; `nil` for any others.
  public init?(utf8 bytes: UnsafeBufferPointer<UInt8>) {
    var halves: (UInt64, UInt64) = (0, 0)
    var length = 0
    for byte in bytes {
      switch length {
      case 8, 13, 18, 23:
        guard byte == UInt8(ascii: "-") else { return nil }
      case 36...:
        return nil
      default:
        guard let digit = Hexadecimal.value(ofDigit: byte).map(UInt64.init) else { return nil }
        if length < 18 { halves.0 = halves.0 << 4 | digit } else { halves.1 = halves.1 << 4 | digit }
      }
      length += 1
    }
    guard length == 36 else { return nil }
    self.init(high: halves.0, low: halves.1)
  }

  /// The 36 characters of the UUID, in lower case.
  public var description: String {
    String(unsafeUninitializedCapacity: Self.textLength) { buffer in
      write(to: buffer.baseAddress.unsafelyUnwrapped)
      return Self.textLength
    }
  }

  /// The number of bytes that ``write(to:)`` writes.
  public static let textLength = 36

  /// Writes ``description`` as ASCII; there must be room for ``textLength`` bytes.
  public func write(to bytes: UnsafeMutablePointer<UInt8>) {
    let text = UnsafeMutableRawPointer(bytes)
    let (first, second) = (Self.hexadecimal(of: high), Self.hexadecimal(of: low))
    // Each part is written up to its end at least; the next one overwrites what is behind it.
    text.storeBytes(of: first.x, as: UInt64.self)
    text.storeBytes(of: first.y, toByteOffset: 9, as: UInt64.self)
    text.storeBytes(of: first.y &>> 32, toByteOffset: 14, as: UInt64.self)
    text.storeBytes(of: second.x, toByteOffset: 19, as: UInt64.self)
    text.storeBytes(of: second.x &>> 32, toByteOffset: 24, as: UInt64.self)
    text.storeBytes(of: second.y, toByteOffset: 28, as: UInt64.self)
    for position in [8, 13, 18, 23] { bytes[position] = UInt8(ascii: "-") }
  }

  /// Returns the 16 hexadecimal digits of a number as ASCII, the first in the lowest byte.
  @inline(__always)
  private static func hexadecimal(of number: UInt64) -> SIMD2<UInt64> {
    let bytes = SIMD8<UInt16>(truncatingIfNeeded: unsafeBitCast(number.bigEndian, to: SIMD8<UInt8>.self))
    let digits = bytes &>> 4 | (bytes & 15) &<< 8
    // Six more than ten or above carries into the next half of the byte.
    let letters = (digits &+ 0x0606) &>> 4 & 0x0101
    return unsafeBitCast(digits &+ 0x3030 &+ letters &* 0x27, to: SIMD2<UInt64>.self)
  }
}

extension PointID: Codable {
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let id = PointID(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "is not a UUID")
    }
    self = id
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
