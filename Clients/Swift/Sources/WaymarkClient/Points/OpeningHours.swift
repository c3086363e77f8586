public import Foundation

/// The opening hours of a place on some days, evaluated on the device, without a network.
///
/// ```swift
/// let hours = try await waymark.hours(of: id)
/// print(hours.status(at: .now).text())
/// for interval in hours.intervals(on: .now) {
///   print(interval.text(in: hours.timeZone), interval.comment ?? "")
/// }
/// ```
///
/// The service has parsed the place's tag and knows the holidays; the value has the resulting intervals. So it is right
/// for the days that were asked for, up to 31, and the state is unknown before and after them.
public struct OpeningHours: Hashable, Sendable {
  /// A time in which the state is the same.
  ///
  /// ```swift
  /// let interval = OpeningHours.Interval(start: .now, end: .now.addingTimeInterval(3600), state: .open)
  /// print(interval.text(in: .gmt))  // 17:00–18:00
  /// ```
  public struct Interval: Hashable, Sendable {
    /// The first moment.
    public var start: Date

    /// The moment after the last one.
    public var end: Date

    /// The state.
    public var state: OpeningState

    /// The comment on the hours, for example "by appointment".
    public var comment: String?

    /// Creates an interval.
    public init(start: Date, end: Date, state: OpeningState, comment: String? = nil) {
      self.start = start
      self.end = end
      self.state = state
      self.comment = comment
    }

    /// Returns the hours of the start and the end, for example "09:00–18:00".
    public func text(in timeZone: TimeZone, locale: Locale = .autoupdatingCurrent) -> String {
      [start, end].map { HoursText.text(of: $0, seenAt: $0, timeZone, locale) }.joined(separator: "–")
    }
  }

  /// The place's tag `opening_hours`; `nil` without one.
  public var text: String?

  /// The reason for which the tag could not be parsed. There are no intervals then.
  public var error: String?

  /// The time zone of the place.
  public var timeZone: TimeZone

  /// The intervals, in order and without gaps.
  public var intervals: [Interval]

  /// Creates opening hours.
  ///
  /// ```swift
  /// let hours = OpeningHours(text: "Mo-Fr 09:00-18:00", timeZone: .gmt, intervals: [])
  /// ```
  public init(text: String? = nil, error: String? = nil, timeZone: TimeZone, intervals: [Interval]) {
    self.text = text
    self.error = error
    self.timeZone = timeZone
    self.intervals = intervals
  }

  /// Returns the status at a time.
  public func status(at date: Date) -> OpeningStatus {
    var status = OpeningStatus(state: .unknown, timeZone: timeZone)
    guard let index = intervals.firstIndex(where: { $0.start <= date && date < $0.end }) else { return status }
    status.state = intervals[index].state
    let later = intervals[(index + 1)...]
    // The last interval may go on after the days that are known.
    if status.state == .open {
      status.openUntil = later.first { $0.state != .open }?.start
    } else {
      status.opensAt = later.first { $0.state == .open }?.start
    }
    return status
  }

  /// Returns the intervals in which the place is not closed and that begin on a day of its calendar.
  ///
  /// - Parameter date: a moment of the day.
  public func intervals(on date: Date) -> [Interval] {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = timeZone
    return intervals.filter { $0.state != .closed && calendar.isDate($0.start, inSameDayAs: date) }
  }
}

extension OpeningHours: Decodable {
  private enum CodingKeys: String, CodingKey {
    case openingHours, error, timeZone, intervals
  }

  /// Decodes the service's JSON.
  ///
  /// - Throws: `DecodingError` where a member is missing or malformed.
  public init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      text: try members.decodeIfPresent(String.self, forKey: .openingHours),
      error: try members.decodeIfPresent(String.self, forKey: .error),
      timeZone: try members.timeZone(forKey: .timeZone) ?? .gmt,
      intervals: try members.decode([Interval].self, forKey: .intervals))
  }
}

extension OpeningHours.Interval: Decodable {
  private enum CodingKeys: String, CodingKey {
    case start, end, state, comment
  }

  /// Decodes the service's JSON.
  ///
  /// - Throws: `DecodingError` where a member is missing or malformed.
  public init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    guard let start = try members.time(forKey: .start), let end = try members.time(forKey: .end) else {
      throw DecodingError.dataCorruptedError(forKey: .start, in: members, debugDescription: "no start or no end")
    }
    self.init(
      start: start, end: end, state: try members.decode(OpeningState.self, forKey: .state),
      comment: try members.decodeIfPresent(String.self, forKey: .comment))
  }
}

extension KeyedDecodingContainer {
  /// Returns the time of a member; `nil` without it.
  ///
  /// - Throws: `DecodingError` where it is no RFC 3339 time.
  func time(forKey key: Key) throws -> Date? {
    guard let text = try decodeIfPresent(String.self, forKey: key) else { return nil }
    guard let date = RFC3339.date(from: text) else {
      throw DecodingError.dataCorruptedError(
        forKey: key, in: self, debugDescription: "not an RFC 3339 time: \(text)")
    }
    return date
  }

  /// Returns the time zone of a member that names one; `nil` without it, or if the device does not know the zone.
  ///
  /// - Throws: `DecodingError` where it is no text.
  func timeZone(forKey key: Key) throws -> TimeZone? {
    try decodeIfPresent(String.self, forKey: key).flatMap { TimeZone(identifier: $0) }
  }
}
