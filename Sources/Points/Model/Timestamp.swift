import Basics

/// A moment in time: microseconds since 1970-01-01T00:00:00Z, without leap seconds.
public struct Timestamp: Hashable, Sendable, Comparable {
  /// Microseconds since 1970-01-01T00:00:00Z.
  public let microsecondsSinceEpoch: Int64

  /// Creates a timestamp from microseconds since 1970-01-01T00:00:00Z.
  @inlinable
  public init(microsecondsSinceEpoch: Int64) {
    self.microsecondsSinceEpoch = microsecondsSinceEpoch
  }

  /// Whole milliseconds since 1970-01-01T00:00:00Z, rounded down.
  @inlinable
  public var millisecondsSinceEpoch: Int64 {
    let (quotient, remainder) = microsecondsSinceEpoch.quotientAndRemainder(dividingBy: 1000)
    return remainder < 0 ? quotient - 1 : quotient
  }

  /// Returns a Boolean value that indicates whether the first time is earlier.
  @inlinable
  public static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.microsecondsSinceEpoch < right.microsecondsSinceEpoch
  }
}

extension Timestamp: CustomStringConvertible {
  /// The time in UTC by RFC 3339: whole seconds, or with the digits of the fraction that are not trailing zeros.
  ///
  /// Outside the years 0 to 9999, which RFC 3339 ends at, the year has a sign or more digits.
  public var description: String {
    String(unsafeUninitializedCapacity: Self.maximumTextLength) { buffer in
      write(to: buffer.baseAddress.unsafelyUnwrapped)
    }
  }

  /// The maximum number of bytes that ``write(to:)`` writes.
  public static let maximumTextLength = 32

  /// Writes ``description`` as ASCII and returns its number of bytes; there must be room for ``maximumTextLength``
  /// bytes.
  public func write(to bytes: UnsafeMutablePointer<UInt8>) -> Int {
    var written = 0
    func put(_ byte: UInt8) {
      bytes[written] = byte
      written += 1
    }
    func put(_ number: Int, width: Int) {
      var rest = number
      for index in stride(from: written + width - 1, through: written, by: -1) {
        bytes[index] = UInt8(ascii: "0") + UInt8(rest % 10)
        rest /= 10
      }
      written += width
    }
    let (seconds, fraction) = microsecondsSinceEpoch.flooredQuotientAndRemainder(dividingBy: 1_000_000)
    let (days, secondOfDay) = seconds.flooredQuotientAndRemainder(dividingBy: 86_400)
    let date = CivilDate(daysSinceEpoch: Int(days))
    let second = Int(secondOfDay)
    if date.year < 0 { put(UInt8(ascii: "-")) }
    put(abs(date.year), width: abs(date.year) < 10_000 ? 4 : 6)
    put(UInt8(ascii: "-"))
    put(date.month, width: 2)
    put(UInt8(ascii: "-"))
    put(date.day, width: 2)
    put(UInt8(ascii: "T"))
    put(second / 3600, width: 2)
    put(UInt8(ascii: ":"))
    put(second / 60 % 60, width: 2)
    put(UInt8(ascii: ":"))
    put(second % 60, width: 2)
    if fraction > 0 {
      put(UInt8(ascii: "."))
      put(Int(fraction), width: 6)
      while bytes[written - 1] == UInt8(ascii: "0") { written -= 1 }
    }
    put(UInt8(ascii: "Z"))
    return written
  }
}

extension Int64 {
  /// Returns the quotient rounded down, and the remainder, which is not negative; the divisor is positive.
  fileprivate func flooredQuotientAndRemainder(dividingBy divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
