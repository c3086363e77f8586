/// A date of the proleptic Gregorian calendar.
///
/// The arithmetic counts in eras of 400 years that begin on the first of March, so that the leap day is a year's last
/// (H. Hinnant, "chrono-compatible low-level date algorithms", 2021).
public struct CivilDate: Hashable, Sendable {
  /// The year; 0 is 1 BC.
  public let year: Int

  /// The month, 1 to 12.
  public let month: Int

  /// The day of the month, 1 to 31.
  public let day: Int

  /// Creates a date. A day that the month lacks is one of the next month to ``daysSinceEpoch``.
  public init(year: Int, month: Int, day: Int) {
    self.year = year
    self.month = month
    self.day = day
  }

  public init(daysSinceEpoch: Int) {
    let days = daysSinceEpoch + Self.daysFromEraToEpoch
    let era = (days >= 0 ? days : days - (Self.daysInEra - 1)) / Self.daysInEra
    let dayOfEra = days - era * Self.daysInEra
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  /// The days from 1970-01-01 to this date.
  public var daysSinceEpoch: Int {
    let shiftedYear = month <= 2 ? year - 1 : year
    let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
    let yearOfEra = shiftedYear - era * 400
    let monthFromMarch = (month + 9) % 12
    let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * Self.daysInEra + dayOfEra - Self.daysFromEraToEpoch
  }

  private static let daysInEra = 146_097

  /// The days from 0000-03-01 to 1970-01-01.
  private static let daysFromEraToEpoch = 719_468
}

/// Dates and times as RFC 3339 writes them.
public enum RFC3339 {
  /// Returns the microseconds since 1970-01-01T00:00:00Z of a time such as `2026-11-21T10:15:00Z` or
  /// `2026-11-21T11:15:00.5+01:00`; `nil` for any other text, and for a time outside the years 0 to 9999 in UTC,
  /// which RFC 3339 cannot write.
  ///
  /// Digits of the fraction past the sixth are dropped. A leap second is the second before it plus one.
  public static func microsecondsSinceEpoch(of text: some StringProtocol) -> Int64? {
    var reader = Reader(text)
    guard let date = reader.date(), reader.skip("T", "t"), let hour = reader.number(2, upTo: 23), reader.skip(":"),
      let minute = reader.number(2, upTo: 59), reader.skip(":"), let second = reader.number(2, upTo: 60)
    else { return nil }
    var microseconds: Int64 = 0
    if reader.skip(".") {
      guard let fraction = reader.millionths() else { return nil }
      microseconds = fraction
    }
    var offsetMinutes: Int64 = 0
    if !reader.skip("Z", "z") {
      let isEast = reader.bytes.first == UInt8(ascii: "+")
      guard reader.skip("+", "-"), let hours = reader.number(2, upTo: 23), reader.skip(":"),
        let minutes = reader.number(2, upTo: 59)
      else { return nil }
      offsetMinutes = (isEast ? 1 : -1) * (hours * 60 + minutes)
    }
    guard reader.bytes.isEmpty else { return nil }
    let seconds = Int64(date.daysSinceEpoch) * 86_400 + hour * 3600 + (minute - offsetMinutes) * 60 + second
    return secondsWithText.contains(seconds) ? seconds * 1_000_000 + microseconds : nil
  }

  /// The seconds from the start of the year 0 to the end of 9999.
  private static let secondsWithText: Range<Int64> = -62_167_219_200..<253_402_300_800

  /// Returns the date of a text such as `2026-11-21`; `nil` for any other.
  public static func date(of text: some StringProtocol) -> CivilDate? {
    var reader = Reader(text)
    guard let date = reader.date(), reader.bytes.isEmpty else { return nil }
    return date
  }

  private struct Reader {
    var bytes: ArraySlice<UInt8>

    init(_ text: some StringProtocol) {
      bytes = Array(text.utf8)[...]
    }

    mutating func date() -> CivilDate? {
      guard let year = number(4, upTo: 9999), skip("-"), let month = number(2, upTo: 12), skip("-"),
        let day = number(2, upTo: 31), month > 0, day > 0
      else { return nil }
      let date = CivilDate(year: Int(year), month: Int(month), day: Int(day))
      // A day that the month lacks comes back as another one.
      return CivilDate(daysSinceEpoch: date.daysSinceEpoch) == date ? date : nil
    }

    mutating func number(_ digits: Int, upTo most: Int64) -> Int64? {
      guard bytes.count >= digits else { return nil }
      var value: Int64 = 0
      for byte in bytes.prefix(digits) {
        guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte else { return nil }
        value = value * 10 + Int64(byte - UInt8(ascii: "0"))
      }
      bytes.removeFirst(digits)
      return value <= most ? value : nil
    }

    mutating func millionths() -> Int64? {
      let digits = bytes.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
      guard !digits.isEmpty else { return nil }
      var value: Int64 = 0
      for index in 0..<6 {
        let digit = index < digits.count ? digits[digits.startIndex + index] - UInt8(ascii: "0") : 0
        value = value * 10 + Int64(digit)
      }
      bytes.removeFirst(digits.count)
      return value
    }

    mutating func skip(_ characters: Unicode.Scalar...) -> Bool {
      guard let first = bytes.first, characters.contains(Unicode.Scalar(first)) else { return false }
      bytes.removeFirst()
      return true
    }
  }

  /// The maximum number of bytes of a time.
  public static let maximumLength = 32

  /// Writes a time in UTC as ASCII and returns its number of bytes; there must be room for ``maximumLength`` bytes.
  ///
  /// The seconds are whole, or have the digits of the fraction that are not trailing zeros. Outside the years 0 to
  /// 9999, which RFC 3339 ends at, the year has a sign or more digits.
  public static func write(microsecondsSinceEpoch: Int64, to bytes: UnsafeMutablePointer<UInt8>) -> Int {
    let (seconds, fraction) = microsecondsSinceEpoch.flooredQuotientAndRemainder(dividingBy: 1_000_000)
    let (days, secondOfDay) = seconds.flooredQuotientAndRemainder(dividingBy: 86_400)
    var text = UncheckedBytes(at: bytes)
    write(CivilDate(daysSinceEpoch: Int(days)), to: &text)
    let second = Int(secondOfDay)
    text.write("T")
    write(second / 3600, width: 2, to: &text)
    text.write(":")
    write(second / 60 % 60, width: 2, to: &text)
    text.write(":")
    write(second % 60, width: 2, to: &text)
    if fraction > 0 {
      text.write(".")
      write(Int(fraction), width: 6, to: &text)
      while text.end[-1] == UInt8(ascii: "0") { text.end -= 1 }
    }
    text.write("Z")
    return text.end - bytes
  }

  /// Returns the text of a time in UTC; see ``write(microsecondsSinceEpoch:to:)``.
  public static func text(microsecondsSinceEpoch: Int64) -> String {
    String(atMost: maximumLength) { text in
      text.write(atMost: maximumLength) { write(microsecondsSinceEpoch: microsecondsSinceEpoch, to: $0) }
    }
  }

  /// Returns the text of a whole second as a clock with an offset shows it: `2026-11-21T11:15:00+01:00`.
  ///
  /// - Parameter offsetSeconds: the offset east of UTC; its seconds are dropped.
  public static func text(secondsSinceEpoch: Int64, offsetSeconds: Int) -> String {
    let minutes = offsetSeconds / 60
    var text = text(microsecondsSinceEpoch: (secondsSinceEpoch + Int64(minutes) * 60) * 1_000_000)
    text.removeLast()
    func digits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return text + (minutes < 0 ? "-" : "+") + digits(abs(minutes) / 60) + ":" + digits(abs(minutes) % 60)
  }

  /// Returns the text of a date.
  public static func text(of date: CivilDate) -> String {
    String(atMost: maximumLength) { write(date, to: &$0) }
  }

  private static func write(_ date: CivilDate, to text: inout UncheckedBytes) {
    if date.year < 0 { text.write("-") }
    write(abs(date.year), width: abs(date.year) < 10_000 ? 4 : 6, to: &text)
    text.write("-")
    write(date.month, width: 2, to: &text)
    text.write("-")
    write(date.day, width: 2, to: &text)
  }

  private static func write(_ number: Int, width: Int, to text: inout UncheckedBytes) {
    var rest = number
    for index in stride(from: width - 1, through: 0, by: -1) {
      text.end[index] = UInt8(ascii: "0") + UInt8(rest % 10)
      rest /= 10
    }
    text.end += width
  }
}

extension Int64 {
  /// Returns the quotient rounded down, and the remainder, which is not negative; the divisor is positive.
  fileprivate func flooredQuotientAndRemainder(dividingBy divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
