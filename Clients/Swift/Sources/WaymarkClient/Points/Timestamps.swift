import Foundation

/// Times in JSON (RFC 3339, section 5.6). Foundation's parser accepts either a fraction or none, and takes longer than
/// decoding the rest of a place.
enum RFC3339 {
  /// Returns the date of a text; `nil` where it is malformed.
  static func date(from text: String) -> Date? {
    let bytes = Array(text.utf8)
    func field(_ range: Range<Int>) -> Int? { CalendarDate.number(bytes[range]) }
    guard bytes.count >= 20, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
      bytes[10] == UInt8(ascii: "T") || bytes[10] == UInt8(ascii: "t"),
      bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
      let year = field(0..<4), let month = field(5..<7), let day = field(8..<10),
      let hour = field(11..<13), let minute = field(14..<16), let second = field(17..<19)
    else { return nil }
    var rest = bytes[19...]
    guard let fraction = takeFraction(from: &rest), let offset = offsetSeconds(rest) else { return nil }
    return CalendarDate.moment(
      year: year, month: month, day: day, hour: hour, minute: minute, second: second, fraction: fraction
    )?.addingTimeInterval(-Double(offset))
  }

  /// Returns the text of a date in UTC, to a microsecond.
  static func text(of date: Date) -> String {
    let wholeSeconds = date.timeIntervalSince1970.rounded(.down)
    let micros = min(999_999, Int(((date.timeIntervalSince1970 - wholeSeconds) * 1e6).rounded()))
    let text = Date(timeIntervalSince1970: wholeSeconds).formatted(.iso8601)
    guard micros > 0 else { return text }
    let digits = String(micros)
    return text.dropLast() + "." + String(repeating: "0", count: 6 - digits.count) + digits + "Z"
  }

  /// Removes and returns a fraction of a second at the beginning; 0 where there is none, `nil` where it has no digits.
  private static func takeFraction(from rest: inout ArraySlice<UInt8>) -> Double? {
    guard rest.first == UInt8(ascii: ".") else { return 0 }
    let digits = rest.dropFirst().prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    rest = rest[digits.endIndex...]
    guard let number = CalendarDate.number(digits.prefix(9)) else { return nil }
    return (0..<min(digits.count, 9)).reduce(Double(number)) { value, _ in value / 10 }
  }

  /// Returns the offset from UTC in seconds; `nil` where it is malformed.
  private static func offsetSeconds(_ text: ArraySlice<UInt8>) -> Int? {
    if text.elementsEqual("Z".utf8) || text.elementsEqual("z".utf8) { return 0 }
    let bytes = Array(text)
    guard bytes.count == 6, bytes[3] == UInt8(ascii: ":"), let hours = CalendarDate.number(bytes[1..<3]),
      let minutes = CalendarDate.number(bytes[4..<6]), hours < 24, minutes < 60
    else { return nil }
    switch bytes[0] {
    case UInt8(ascii: "+"): return (hours * 60 + minutes) * 60
    case UInt8(ascii: "-"): return -(hours * 60 + minutes) * 60
    default: return nil
    }
  }
}

/// Conversion of UTC calendar components to dates.
enum CalendarDate {
  /// Returns the date; `nil` where there is no such day or time. A leap second counts as the second after it.
  static func moment(
    year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int, fraction: Double = 0
  ) -> Date? {
    guard (0...9999).contains(year), (1...12).contains(month), (0...23).contains(hour), (0...59).contains(minute),
      (0...60).contains(second), (1...length(ofMonth: month, year: year)).contains(day)
    else { return nil }
    let seconds = ((days(year: year, month: month, day: day) * 24 + hour) * 60 + minute) * 60 + second
    return Date(timeIntervalSince1970: Double(seconds) + fraction)
  }

  /// Parses a number of up to nine digits; `nil` for anything else.
  static func number(_ digits: some Collection<UInt8>) -> Int? {
    guard (1...9).contains(digits.count) else { return nil }
    var number = 0
    for digit in digits {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
      number = number * 10 + Int(digit - UInt8(ascii: "0"))
    }
    return number
  }

  private static func length(ofMonth month: Int, year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Returns the days since 1970-01-01 in the proleptic Gregorian calendar. Years begin in March, so that the leap day
  /// is the last one.
  private static func days(year: Int, month: Int, day: Int) -> Int {
    let shifted = month > 2 ? year : year - 1
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}
