import Foundation

/// A moment from the numbers of a UTC clock and calendar, such as a text gives them.
enum CalendarDate {
  /// The moment; `nil` where there is no such day or time. A leap second counts as the second after it.
  static func moment(
    year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int, fraction: Double = 0
  ) -> Date? {
    guard (0...9999).contains(year), (1...12).contains(month), (0...23).contains(hour), (0...59).contains(minute),
      (0...60).contains(second), (1...length(ofMonth: month, year: year)).contains(day)
    else { return nil }
    let seconds = ((days(year: year, month: month, day: day) * 24 + hour) * 60 + minute) * 60 + second
    return Date(timeIntervalSince1970: Double(seconds) + fraction)
  }

  /// The number that these digits are; `nil` where one is none, or there are more than nine.
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

  /// Days since 1970-01-01 in the proleptic Gregorian calendar, with years that begin in March so that the leap day is
  /// the last.
  private static func days(year: Int, month: Int, day: Int) -> Int {
    let shifted = month > 2 ? year : year - 1
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}
