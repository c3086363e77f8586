/// The time in the form of the `Date` field (IMF-fixdate, RFC 9110, section 5.6.7).
public enum HTTPDate {
  /// Returns `Sun, 06 Nov 1994 08:49:37 GMT`, for 784111777.
  public static func text(secondsSinceEpoch seconds: Int) -> String {
    let days = (Double(seconds) / 86_400).rounded(.down)
    let date = CivilDate(daysSinceEpoch: Int(days))
    let second = seconds - Int(days) * 86_400
    let weekday = (Int(days) % 7 + 11) % 7
    return "\(weekdays[weekday]), \(twoDigits(date.day)) \(months[date.month - 1]) \(date.year) "
      + "\(twoDigits(second / 3600)):\(twoDigits(second / 60 % 60)):\(twoDigits(second % 60)) GMT"
  }

  /// Returns the time of a text in that form; `nil` for another text, the obsolete forms included.
  public static func secondsSinceEpoch(of text: String) -> Int? {
    let parts = text.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 6, parts[0].hasSuffix(","), weekdays.contains(String(parts[0].dropLast())),
      let month = months.firstIndex(of: String(parts[2])), parts[4].utf8.count == 8, parts[5] == "GMT"
    else { return nil }
    let time = "\(parts[3])-\(twoDigits(month + 1))-\(parts[1])T\(parts[4])Z"
    return RFC3339.microsecondsSinceEpoch(of: time).map { Int($0 / 1_000_000) }
  }

  private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
