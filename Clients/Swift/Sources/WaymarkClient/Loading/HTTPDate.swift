import Foundation

/// Times in header fields (RFC 9110, section 5.6.7), in the one form that is still sent.
enum HTTPDate {
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// The moment that a text such as `Sun, 06 Nov 1994 08:49:37 GMT` names; `nil` where it is no such text.
  static func date(from text: String) -> Date? {
    let parts = text.split(separator: " ")
    guard parts.count == 6, parts[0].hasSuffix(","), parts[5] == "GMT",
      let month = months.firstIndex(of: String(parts[2])),
      let day = CalendarDate.number(parts[1].utf8), let year = CalendarDate.number(parts[3].utf8)
    else { return nil }
    let time = parts[4].split(separator: ":").compactMap { CalendarDate.number($0.utf8) }
    guard time.count == 3 else { return nil }
    return CalendarDate.moment(
      year: year, month: month + 1, day: day, hour: time[0], minute: time[1], second: time[2])
  }
}
