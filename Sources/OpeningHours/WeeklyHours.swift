package import Basics
package import JSONText

/// Opening hours as other sources have them: spans of the weekdays, of public holidays, and exceptions at dates. They
/// become an expression.
package struct WeeklyHours: Hashable, Sendable {
  /// A span that begins on a day, in minutes from its midnight. An end that is not after the start is on the next day.
  package struct Span: Hashable, Sendable {
    package var start: Int
    package var end: Int

    package init(start: Int, end: Int) {
      self.start = start
      self.end = end
    }
  }

  /// Hours that replace those of the week, from one date to another, both included.
  package struct Exception: Hashable, Sendable {
    package var first: CivilDate
    package var last: CivilDate
    /// The weekdays that it holds for, a bit each, Monday first; 0 for all.
    package var weekdays: UInt8 = 0
    /// Closed if empty.
    package var spans: [Span]

    package init(first: CivilDate, last: CivilDate, spans: [Span]) {
      self.first = first
      self.last = last
      self.spans = spans
    }
  }

  /// The spans of the days, Monday first.
  package var weekdays = [[Span]](repeating: [], count: 7)
  package var exceptions: [Exception] = []

  /// The spans of public holidays; `nil` if they are as other days, closed if empty.
  package var holidays: [Span]?

  package init() {}
}

extension HoursExpression {
  /// Creates the expression of weekly hours; `nil` if they have no span and no exception, or too many.
  package init?(_ hours: WeeklyHours) {
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

  /// Creates the expression of columns for the weekdays, Monday first, with times such as `9:00-12:00, 14-18` or
  /// `closed`. A column without a value has no hours.
  ///
  /// - Throws: ``HoursError`` of the first column that is no list of times.
  package init?(columns: [String?]) throws(HoursError) {
    var texts: [String] = []
    for (name, column) in zip(["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"], columns) {
      guard let column, !column.allSatisfy(\.isWhitespace) else { continue }
      let expression = try HoursExpression(text: "\(name) \(column)")
      texts.append(expression.text)
    }
    guard !texts.isEmpty else { return nil }
    try self.init(text: texts.joined(separator: ", "))
  }

  /// Creates the expression of a place's `openingHoursSpecification` or `openingHours` in the vocabulary of schema.org;
  /// `nil` if it is none.
  ///
  /// A specification without `validFrom` is one of the week; `opens` and `closes` of 00:00 are a closed day, as search
  /// engines have it.
  package init?(schemaOrg value: JSONValue) {
    switch value {
    case .string(let text): try? self.init(text: text)
    case .array(let elements):
      let texts = elements.compactMap(\.string)
      if !texts.isEmpty, texts.count == elements.count {
        try? self.init(text: texts.joined(separator: ", "))
      } else {
        self.init(specifications: elements)
      }
    case .object: self.init(specifications: [value])
    default: return nil
    }
  }

  private init?(specifications: [JSONValue]) {
    var hours = WeeklyHours()
    for specification in specifications {
      var weekdays: UInt8 = 0
      var isHoliday = false
      for name in specification["dayOfWeek"]?.strings ?? [] {
        // https://schema.org/Monday, Monday or Mo
        let name = name.split(separator: "/").last.map { $0.lowercased() } ?? ""
        if name == "publicholidays" { isHoliday = true }
        guard let day = ["mo", "tu", "we", "th", "fr", "sa", "su"].firstIndex(where: name.hasPrefix) else { continue }
        weekdays |= 1 << day
      }
      let opens = specification["opens"]?.string.flatMap(minute)
      let closes = specification["closes"]?.string.flatMap(minute)
      var spans: [WeeklyHours.Span] = []
      if let opens, let closes, !(opens == 0 && closes == 0) {
        // 23:59 is the last minute of a day that is open to its end.
        spans = [WeeklyHours.Span(start: opens, end: closes == 1_439 ? 1_440 : closes)]
      } else if (opens == nil) != (closes == nil) {
        return nil
      }
      let from = specification["validFrom"]?.string.flatMap { RFC3339.date(of: $0.prefix(10)) }
      let through = specification["validThrough"]?.string.flatMap { RFC3339.date(of: $0.prefix(10)) }
      if let first = from ?? through, let last = through ?? from {
        var exception = WeeklyHours.Exception(first: first, last: last, spans: spans)
        exception.weekdays = weekdays
        hours.exceptions.append(exception)
      } else if isHoliday {
        hours.holidays = (hours.holidays ?? []) + spans
      }
      guard from == nil, through == nil else { continue }
      for weekday in 0..<7 where weekdays & 1 << weekday != 0 || weekdays == 0 && !isHoliday {
        hours.weekdays[weekday] += spans
      }
    }
    self.init(hours)
  }

  /// Creates the expression of `periods` as map services return them: objects with `open` and `close`, each with `day`,
  /// Sunday is 0, and `time` (`0930`) or `hour` and `minute`. A single period without `close` is always open.
  package init?(periods value: JSONValue) {
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

extension JSONValue {
  fileprivate var string: String? {
    if case .string(let text) = self { return text }
    return nil
  }

  /// The strings of an array, or a string alone.
  fileprivate var strings: [String] {
    if case .array(let elements) = self { return elements.compactMap(\.string) }
    return string.map { [$0] } ?? []
  }

  fileprivate var integer: Int? {
    if case .number(let text) = self { return Int(text) }
    return nil
  }
}

/// Returns the minutes of `09:30` or `09:30:00`, perhaps with an offset behind, which is that of the place.
private func minute(_ text: String) -> Int? {
  let parts = text.prefix(5).split(separator: ":")
  guard parts.count == 2, let hours = Int(parts[0]), let minutes = Int(parts[1]), 0...24 ~= hours, 0..<60 ~= minutes
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
