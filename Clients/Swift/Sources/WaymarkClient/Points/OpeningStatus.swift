public import Foundation

/// The state of a place by its opening hours.
///
/// ```swift
/// let isClosed = place.opening?.state == OpeningState.closed
/// ```
public enum OpeningState: String, Hashable, Sendable, Codable, CaseIterable {
  case open, closed, unknown
}

/// The state of the opening hours of a place at a time, and its end.
///
/// ```swift
/// let opening = OpeningStatus(state: .open, openUntil: .now.addingTimeInterval(3600))
/// print(opening.text(locale: Locale(identifier: "en_GB")))  // Open until 18:00
/// ```
public struct OpeningStatus: Hashable, Sendable {
  /// The state.
  public var state: OpeningState

  /// The time at which an open place closes; `nil` if that is not known.
  public var openUntil: Date?

  /// The time at which a place that is not open opens; `nil` if that is not known.
  public var opensAt: Date?

  /// The time zone of the place.
  public var timeZone: TimeZone?

  /// Creates a status.
  public init(state: OpeningState, openUntil: Date? = nil, opensAt: Date? = nil, timeZone: TimeZone? = nil) {
    self.state = state
    self.openUntil = openUntil
    self.opensAt = opensAt
    self.timeZone = timeZone
  }

  /// Returns the status in words, for example "Open until 18:00" or "Closed until Monday 09:00". Times are those of the
  /// place's clock; those of another day than that of `date` have the weekday, and those after a week the date.
  ///
  /// ```swift
  /// let text = place.opening?.text()
  /// ```
  ///
  /// - Parameters:
  ///   - date: the present.
  ///   - locale: the language and the format of times. On Apple platforms the words are in the language of the app.
  public func text(at date: Date = .now, locale: Locale = .autoupdatingCurrent) -> String {
    let (plain, withTime, time): (HoursText, HoursText, Date?) =
      switch state {
      case .open: (.open, .openUntil, openUntil)
      case .closed: (.closed, .closedUntil, opensAt)
      case .unknown: (.unknown, .unknownUntil, opensAt)
      }
    guard let time else { return plain.text(for: locale) }
    return withTime.text(for: locale)
      .replacing("%@", with: HoursText.text(of: time, seenAt: date, timeZone ?? .autoupdatingCurrent, locale))
  }
}

/// The words of opening hours. The English text is the key in `Localizable.xcstrings`.
enum HoursText: String, CaseIterable {
  case open = "Open"
  case openUntil = "Open until %@"
  case closed = "Closed"
  case closedUntil = "Closed until %@"
  case unknown = "Opening hours unknown"
  case unknownUntil = "Perhaps open, surely from %@"

  /// Returns the text in the language of the app, or on Linux of a locale.
  func text(for locale: Locale) -> String {
    MessageCatalogue.standard?.text(of: rawValue, in: locale) ?? rawValue
  }

  /// Returns the text of a time: the hour, with the weekday or the date if it is on another day.
  static func text(of time: Date, seenAt date: Date, _ timeZone: TimeZone, _ locale: Locale) -> String {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = timeZone
    var style = Date.FormatStyle(locale: locale, calendar: calendar, timeZone: timeZone).hour().minute()
    let midnight = calendar.startOfDay(for: date)
    let days = calendar.dateComponents([.day], from: midnight, to: time).day ?? 0
    if days >= 7 || time < midnight {
      style = style.day().month()
    } else if days > 0 {
      style = style.weekday(.wide)
    }
    return time.formatted(style)
  }
}
