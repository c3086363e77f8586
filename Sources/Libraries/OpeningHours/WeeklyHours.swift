import Basics
import JSONText

/// Opening hours as other sources have them: spans of the weekdays, of public holidays, and exceptions at dates. They
/// become an expression.
struct WeeklyHours: Hashable, Sendable {
  /// A span that begins on a day, in minutes from its midnight. An end that is not after the start is on the next day.
  struct Span: Hashable, Sendable {
    var start: Int
    var end: Int
  }

  /// Hours that replace those of the week, from one date to another, both included.
  struct Exception: Hashable, Sendable {
    var first: CivilDate
    var last: CivilDate
    /// The weekdays that it holds for, a bit each, Monday first; 0 for all.
    var weekdays: UInt8 = 0
    /// Closed if empty.
    var spans: [Span]
  }

  /// The spans of the days, Monday first.
  var weekdays = [[Span]](repeating: [], count: 7)
  var exceptions: [Exception] = []

  /// The spans of public holidays; `nil` if they are as other days, closed if empty.
  var holidays: [Span]?
}

extension HoursExpression {
  /// Creates the expression of weekly hours; `nil` if they have no span and no exception, or too many.
  init?(_ hours: WeeklyHours) {
    var rules: [HoursRule] = []
    // Days with equal spans have one rule.
    for (weekday, spans) in hours.weekdays.enumerated() where !spans.isEmpty {
      var rule = HoursRule(spans.sorted { $0.start < $1.start })
      if let index = rules.firstIndex(where: { $0.times == rule.times }) {
        rules[index].days.weekdays |= 1 << weekday
      } else {
        rule.days.weekdays = 1 << weekday
        rules.append(rule)
      }
    }
    // A normal rule would replace the hours that another day has after midnight.
    if rules.contains(where: { $0.times.contains(where: \.endsNextDay) }) {
      for index in rules.indices.dropFirst() { rules[index].separator = .additional }
    }
    if let spans = hours.holidays {
      var rule = HoursRule(spans)
      rule.days.holidays = [HolidaySelector(kind: .publicHoliday)]
      rules.append(rule)
    }
    for exception in hours.exceptions {
      var rule = HoursRule(exception.spans)
      let start = DatePoint(
        year: exception.first.year, anchor: .day(month: exception.first.month, day: exception.first.day))
      let end = DatePoint(
        year: exception.last.year == exception.first.year ? nil : exception.last.year,
        anchor: .day(month: exception.last.month, day: exception.last.day))
      rule.days.dates = [DateRange(start: start, end: exception.first == exception.last ? start : end)]
      rule.days.weekdays = exception.weekdays
      rules.append(rule)
    }
    guard !rules.isEmpty, rules.count <= Self.maximumRules,
      rules.reduce(0, { $0 + $1.selectorCount }) <= Self.maximumSelectors
    else { return nil }
    self.init(rules: rules)
  }

  /// Creates the expression of specifications in the vocabulary of schema.org (`openingHoursSpecification`); `nil` if
  /// one of them is none.
  ///
  /// A specification without `validFrom` is one of the week; `opens` and `closes` of 00:00 are a closed day, as search
  /// engines have it.
  init?(specifications: [JSONValue]) {
    guard specifications.count <= 4 * Self.maximumRules else { return nil }
    var hours = WeeklyHours()
    var dated: [DatedWeek] = []
    for specification in specifications {
      guard case .object = specification, let weekdays = specification.weekdays,
        let spans = specification.spans
      else { return nil }
      let isHoliday = weekdays & 1 << 7 != 0
      let from = specification["validFrom"]?.string.flatMap { RFC3339.date(of: $0.prefix(10)) }
      let through = specification["validThrough"]?.string.flatMap { RFC3339.date(of: $0.prefix(10)) }
      if let first = from ?? through, let last = through ?? from {
        guard !isHoliday, first.daysSinceEpoch <= last.daysSinceEpoch else { return nil }
        let index = dated.firstIndex { $0.first == first && $0.last == last } ?? dated.count
        if index == dated.count { dated.append(DatedWeek(first: first, last: last)) }
        for weekday in 0..<7 where weekdays == 0 || weekdays & 1 << UInt8(weekday) != 0 {
          dated[index].weekdays[weekday] = (dated[index].weekdays[weekday] ?? []) + spans
        }
        continue
      }
      if isHoliday { hours.holidays = (hours.holidays ?? []) + spans }
      for weekday in 0..<7 where weekdays == 0 || weekdays & 1 << UInt8(weekday) != 0 {
        hours.weekdays[weekday] += spans
      }
    }
    hours.exceptions = dated.flatMap(\.exceptions)
    self.init(hours)
  }

  /// Creates the expression of `periods` as map services return them: objects with `open` and `close`, each with `day`,
  /// Sunday is 0, and `time` (`0930`) or `hour` and `minute`. A single period without `close` is always open.
  init?(periods value: JSONValue) {
    guard case .array(let periods) = value else { return nil }
    func time(_ value: JSONValue?) -> (day: Int, minute: Int)? {
      guard let value, let day = value["day"]?.integer, 0...6 ~= day else { return nil }
      if let text = value["time"]?.string, text.count == 4, let number = Int(text) {
        return (day, number / 100 * 60 + number % 100)
      }
      guard let hour = value["hour"]?.integer else { return nil }
      return (day, hour * 60 + (value["minute"]?.integer ?? 0))
    }
    var hours = WeeklyHours()
    for period in periods {
      guard let open = time(period["open"]), 0..<1_440 ~= open.minute else { return nil }
      guard let close = time(period["close"]) else {
        guard periods.count == 1 else { return nil }
        hours.weekdays = Array(repeating: [WeeklyHours.Span(start: 0, end: 1_440)], count: 7)
        break
      }
      guard 0...1_440 ~= close.minute else { return nil }
      // Over several days, each has a span of its own.
      var remaining = ((close.day - open.day + 7) % 7) * 1_440 + close.minute - open.minute
      if remaining <= 0 { remaining += 7 * 1_440 }
      var (day, start) = (open.day, open.minute)
      while remaining > 0 {
        let length = remaining <= 1_440 && start + remaining <= 2_880 ? remaining : 1_440 - start
        hours.weekdays[(day + 6) % 7].append(WeeklyHours.Span(start: start, end: start + length))
        remaining -= length
        (day, start) = ((day + 1) % 7, 0)
      }
    }
    self.init(hours)
  }
}

/// The hours of the weekdays from one date to another; `nil` for a weekday whose hours are those of other weeks.
private struct DatedWeek {
  let first: CivilDate
  let last: CivilDate
  var weekdays = [[WeeklyHours.Span]?](repeating: nil, count: 7)

  /// The exceptions, of days with equal hours together.
  var exceptions: [WeeklyHours.Exception] {
    var exceptions: [WeeklyHours.Exception] = []
    for (weekday, spans) in weekdays.enumerated() {
      guard let spans else { continue }
      let index = exceptions.firstIndex { $0.spans == spans } ?? exceptions.count
      if index == exceptions.count {
        exceptions.append(WeeklyHours.Exception(first: first, last: last, spans: spans))
      }
      exceptions[index].weekdays |= 1 << weekday
    }
    if exceptions.count == 1, exceptions[0].weekdays == 0x7F { exceptions[0].weekdays = 0 }
    return exceptions
  }
}

extension JSONValue {
  /// The value as a string; `nil` if it is none.
  var string: String? {
    if case .string(let text) = self { return text }
    return nil
  }

  /// The weekdays of a specification, a bit each, Monday first, then public holidays; 0 for every day, and `nil` if one
  /// is unknown.
  fileprivate var weekdays: UInt8? {
    let names: [String]
    switch self["dayOfWeek"] {
    case nil, .null?: return 0
    case .string(let name)?: names = [name]
    case .array(let elements)?:
      names = elements.compactMap(\.string)
      guard names.count == elements.count, !names.isEmpty else { return nil }
    default: return nil
    }
    var days: UInt8 = 0
    for name in names {
      // https://schema.org/Monday, Monday or Mo
      let name = name.split(separator: "/").last.map(String.init) ?? ""
      if name.lowercased() == "publicholidays" {
        days |= 1 << 7
      } else if let named = OpeningHours.weekdays(named: name) {
        days |= named
      } else {
        return nil
      }
    }
    return days
  }

  /// The spans of a specification: none for a closed day, and `nil` if a time is missing or cannot be parsed.
  fileprivate var spans: [WeeklyHours.Span]? {
    func minutes(_ name: String) -> Int?? {
      switch self[name] {
      case nil, .null?: return .some(nil)
      case .string(let text)?: return minute(text).map { .some($0) }
      default: return nil
      }
    }
    guard let opens = minutes("opens"), let closes = minutes("closes") else { return nil }
    guard let opens, let closes else { return opens == nil && closes == nil ? [] : nil }
    guard opens < 1_440 else { return nil }
    if opens == 0, closes == 0 { return [] }
    // 23:59 is the last minute of a day that is open to its end.
    return [WeeklyHours.Span(start: opens, end: closes == 1_439 ? 1_440 : closes)]
  }

  fileprivate var integer: Int? {
    if case .number(let text) = self { return Int(text) }
    return nil
  }
}

/// Returns the minutes of `09:30` or `09:30:00`, perhaps with an offset behind, which is that of the place.
private func minute(_ text: String) -> Int? {
  guard let match = text.wholeMatch(of: /([0-9]{1,2}):([0-9]{2})(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?/),
    let hours = Int(match.1), let minutes = Int(match.2), minutes < 60, hours * 60 + minutes <= 1_440
  else { return nil }
  return hours * 60 + minutes
}

extension TimeSpan {
  var endsNextDay: Bool {
    guard let end else { return false }
    return end.minutes <= start.minutes || end.minutes > 1_440
  }
}

extension HoursRule {
  /// Creates a rule of spans; closed if there are none.
  fileprivate init(_ spans: [WeeklyHours.Span]) {
    self.init()
    times = spans.map {
      TimeSpan(start: TimePoint(minutes: $0.start), end: TimePoint(minutes: $0.end == 0 ? 1_440 : $0.end))
    }
    if spans.isEmpty { state = .closed }
    if times == [.wholeDay] { times = [] }
  }
}
