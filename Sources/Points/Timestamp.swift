/// A moment in time: microseconds since 1970-01-01T00:00:00Z, without leap seconds.
public struct Timestamp: Hashable, Sendable, Comparable {
  /// Microseconds since 1970-01-01T00:00:00Z.
  public let microsecondsSinceEpoch: Int64

  /// Makes a timestamp from microseconds since 1970-01-01T00:00:00Z.
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

  @inlinable
  public static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.microsecondsSinceEpoch < right.microsecondsSinceEpoch
  }
}

extension Timestamp: CustomStringConvertible {
  /// RFC 3339 in UTC: whole seconds, or with the digits of the fraction that are not trailing zeros.
  public var description: String {
    var seconds = microsecondsSinceEpoch / 1_000_000
    var fraction = microsecondsSinceEpoch % 1_000_000
    if fraction < 0 {
      fraction += 1_000_000
      seconds -= 1
    }
    var days = seconds / 86_400
    var second = seconds % 86_400
    if second < 0 {
      second += 86_400
      days -= 1
    }
    let (year, month, day) = Self.civil(daysSinceEpoch: days)
    func padded(_ number: Int64, _ width: Int) -> String {
      let digits = String(number)
      return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
    var text = "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
    text += "T\(padded(second / 3600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))"
    if fraction > 0 {
      var digits = padded(fraction, 6)
      while digits.hasSuffix("0") { digits.removeLast() }
      text += "." + digits
    }
    return text + "Z"
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
