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

  /// Whether the left one is earlier.
  @inlinable
  public static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.microsecondsSinceEpoch < right.microsecondsSinceEpoch
  }
}

extension Timestamp: CustomStringConvertible {
  /// RFC 3339 in UTC: whole seconds, or with the digits of the fraction that are not trailing zeros.
  ///
  /// Outside the years 0 to 9999, which RFC 3339 ends at, the year has a sign or more digits.
  public var description: String {
    String(unsafeUninitializedCapacity: Self.maximumTextLength) { buffer in
      write(to: buffer.baseAddress.unsafelyUnwrapped)
    }
  }

  /// How many bytes ``write(to:)`` writes at most.
  public static let maximumTextLength = 32

  /// Writes ``description`` as ASCII and answers how many bytes it took; there must be room for
  /// ``maximumTextLength`` bytes.
  public func write(to bytes: UnsafeMutablePointer<UInt8>) -> Int {
    var written = 0
    func put(_ byte: UInt8) {
      bytes[written] = byte
      written += 1
    }
    func put(_ number: Int64, width: Int) {
      var rest = number
      for index in stride(from: written + width - 1, through: written, by: -1) {
        bytes[index] = UInt8(ascii: "0") + UInt8(rest % 10)
        rest /= 10
      }
      written += width
    }
    let (seconds, fraction) = microsecondsSinceEpoch.flooredQuotientAndRemainder(dividingBy: 1_000_000)
    let (days, second) = seconds.flooredQuotientAndRemainder(dividingBy: 86_400)
    let (year, month, day) = Self.civil(daysSinceEpoch: days)
    if year < 0 { put(UInt8(ascii: "-")) }
    put(abs(year), width: abs(year) < 10_000 ? 4 : 6)
    put(UInt8(ascii: "-"))
    put(month, width: 2)
    put(UInt8(ascii: "-"))
    put(day, width: 2)
    put(UInt8(ascii: "T"))
    put(second / 3600, width: 2)
    put(UInt8(ascii: ":"))
    put(second / 60 % 60, width: 2)
    put(UInt8(ascii: ":"))
    put(second % 60, width: 2)
    if fraction > 0 {
      put(UInt8(ascii: "."))
      put(fraction, width: 6)
      while bytes[written - 1] == UInt8(ascii: "0") { written -= 1 }
    }
    put(UInt8(ascii: "Z"))
    return written
  }

  /// The date in the proleptic Gregorian calendar, counted in eras of 400 years that begin on the first of March, so
  /// that the leap day is a year's last.
  private static func civil(daysSinceEpoch: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let daysInEra: Int64 = 146_097
    let shifted = daysSinceEpoch + 719_468
    let era = (shifted >= 0 ? shifted : shifted - (daysInEra - 1)) / daysInEra
    let dayOfEra = shifted - era * daysInEra
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }
}

extension Int64 {
  /// The quotient rounded down, and the remainder, which is not negative; the divisor is positive.
  fileprivate func flooredQuotientAndRemainder(dividingBy divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
