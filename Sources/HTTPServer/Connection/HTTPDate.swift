#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The time in the form of the `Date` field (IMF-fixdate, RFC 9110, section 5.6.7).
public enum HTTPDate {
  /// `Sun, 06 Nov 1994 08:49:37 GMT`, for 784111777.
  public static func text(secondsSinceEpoch seconds: Int) -> String {
    let days = (Double(seconds) / 86_400).rounded(.down)
    let (year, month, day) = civil(daysSinceEpoch: Int(days))
    let second = seconds - Int(days) * 86_400
    let weekday = (Int(days) % 7 + 11) % 7
    return "\(weekdays[weekday]), \(twoDigits(day)) \(months[month - 1]) \(year) "
      + "\(twoDigits(second / 3600)):\(twoDigits(second / 60 % 60)):\(twoDigits(second % 60)) GMT"
  }

  private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  /// The date of a day in the Gregorian calendar: H. Hinnant, "chrono-compatible low-level date algorithms" (2021),
  /// civil_from_days, with years that begin in March.
  private static func civil(daysSinceEpoch: Int) -> (year: Int, month: Int, day: Int) {
    let days = daysSinceEpoch + 719_468
    let era = (days >= 0 ? days : days - 146_096) / 146_097
    let dayOfEra = days - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
  }
}

/// A thread's `Date` field, made anew at most once a second.
final class DateField {
  private var second = -1
  private var text = ""
  private var line: [UInt8] = []

  /// The whole field with its line end.
  var bytes: [UInt8] {
    refresh()
    return line
  }

  /// The field's value.
  var value: String {
    refresh()
    return text
  }

  private func refresh() {
    let now = Int(time(nil))
    guard now != second else { return }
    second = now
    text = HTTPDate.text(secondsSinceEpoch: now)
    line = Array("date: \(text)\r\n".utf8)
  }

  private static let perThread = PerThread { DateField() }

  /// The calling thread's field; it must not leave the thread.
  static var current: DateField { perThread.current }
}
