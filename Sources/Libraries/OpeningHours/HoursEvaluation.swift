package import Basics
package import Geo

/// The zone, holidays and position that an expression is evaluated with.
package struct HoursContext: Hashable, Sendable {
  package var zone: ZoneRules
  package var holidays: HolidayCalendar

  /// The position; without one, spans with times of the sun have an unknown state.
  package var position: Coordinate?

  package init(zone: ZoneRules, holidays: HolidayCalendar = .none, position: Coordinate? = nil) {
    self.zone = zone
    self.holidays = holidays
    self.position = position
  }
}

/// A state with the time that it lasts. Instants are in seconds since 1970-01-01T00:00:00Z.
package struct HoursInterval: Hashable, Sendable {
  package var start: Int64
  /// The end, exclusive; ``Int64/max`` if the state does not change any more.
  package var end: Int64
  package var state: HoursState
  package var comment: ExactText?

  /// A Boolean value that indicates whether the state changes at the end; otherwise it was only evaluated up to there.
  package var endsWithChange: Bool
}

extension HoursExpression {
  /// Returns the state at an instant, and until when it lasts; the comment is that at the instant.
  ///
  /// The steps are bounded: a state that lasts very long, such as that of a date in ten years, may be returned with an
  /// end at which it does not change.
  package func interval(at instant: Int64, in context: HoursContext) -> HoursInterval {
    var evaluation = HoursEvaluation(self, context)
    return evaluation.interval(at: instant, comparingComments: false)
  }

  /// Returns the state at a time of the place's wall clock, in seconds since 1970-01-01T00:00:00 of its calendar.
  package func state(atLocalSeconds local: Int64, in context: HoursContext) -> HoursState {
    let evaluation = HoursEvaluation(self, context)
    return evaluation.state(atLocalSeconds: local)
  }

  /// Returns the intervals of some days, without gaps, from midnight to midnight by the wall clock. Neighbours differ in
  /// the state or the comment.
  package func intervals(from date: CivilDate, days: Int, in context: HoursContext) -> [HoursInterval] {
    var intervals: [HoursInterval] = []
    let midnight = Int64(date.daysSinceEpoch) * 86_400
    var instant = context.zone.instant(ofLocalSeconds: midnight)
    let end = context.zone.instant(ofLocalSeconds: midnight + Int64(days) * 86_400)
    var evaluation = HoursEvaluation(self, context)
    while instant < end {
      var interval = evaluation.interval(at: instant, comparingComments: true)
      if interval.end >= end {
        interval.end = end
        interval.endsWithChange = false
      }
      intervals.append(interval)
      instant = interval.end
    }
    return intervals
  }
}

/// A day with the numbers that selectors compare.
private struct Day {
  let number: Int
  let date: CivilDate
  /// Monday is 0.
  let weekday: Int

  init(_ number: Int) {
    self.number = number
    date = CivilDate(daysSinceEpoch: number)
    // 1970-01-01 was a Thursday.
    weekday = ((number + 3) % 7 + 7) % 7
  }

  /// The week by ISO 8601.
  var week: Int {
    let thursday = number - weekday + 3
    let year = CivilDate(daysSinceEpoch: thursday).year
    return (thursday - CivilDate(year: year, month: 1, day: 1).daysSinceEpoch) / 7 + 1
  }
}

/// A part of a day with one state.
private struct Segment: Equatable {
  /// The first minute; the segment ends where the next one begins, the last at 24:00.
  var start: Int
  var state: HoursState
  /// The rule whose comment holds; -1 for none.
  var rule: Int
}

/// The evaluation of an expression in a context.
private struct HoursEvaluation {
  private let rules: [HoursRule]
  private let context: HoursContext
  /// The rules with times of the sun.
  private let sunRules: RuleSet
  private let usesSchoolHolidays: Bool

  /// A Boolean value that indicates whether all weeks are alike.
  private let isWeekly: Bool

  /// The remaining steps, each the comparison of about one selector with a day.
  private var steps = 0

  /// The steps that compare all rules with a day.
  private let stepsOfDay: Int

  init(_ expression: HoursExpression, _ context: HoursContext) {
    rules = expression.rules
    self.context = context
    sunRules = expression.rules.enumerated().reduce(0) { set, rule in
      rule.element.times.contains(where: \.usesSun) ? set | 1 << rule.offset : set
    }
    usesSchoolHolidays = expression.usesSchoolHolidays
    isWeekly = sunRules == 0 && rules.allSatisfy(\.days.isWeekly)
    let selectors = rules.reduce(0) { $0 + $1.selectorCount }
    stepsOfDay = selectors + 4
  }

  /// The steps of one evaluation, beyond the first two days.
  private static let maximumSteps = 2_500

  /// The steps that compute the times of the sun of two days.
  private static let stepsOfSun = 80

  // MARK: Instants

  func state(atLocalSeconds local: Int64) -> HoursState {
    let (day, minute) = Self.dayAndMinute(ofLocalSeconds: local)
    let yesterday = Selection(rules, Day(day - 1), context)
    let segments = segments(Day(day), Selection(rules, Day(day), context), yesterday)
    return Self.segment(of: segments, at: minute).state
  }

  private static func dayAndMinute(ofLocalSeconds local: Int64) -> (day: Int, minute: Int) {
    let day = Int(local / 86_400) - (local < 0 && local % 86_400 != 0 ? 1 : 0)
    return (day, Int(local - Int64(day) * 86_400) / 60)
  }

  private static func segment(of segments: [Segment], at minute: Int) -> Segment {
    segments.last { $0.start <= minute } ?? segments[0]
  }

  private func comment(_ segment: Segment) -> ExactText? { segment.rule < 0 ? nil : rules[segment.rule].comment }

  mutating func interval(at instant: Int64, comparingComments: Bool) -> HoursInterval {
    steps = Self.maximumSteps
    var (offset, until) = context.zone.offset(at: instant)
    var found = scan(from: instant + Int64(offset), for: nil, comparingComments)
    let state = found.segment
    var interval = HoursInterval(
      start: instant, end: .max, state: state.state, comment: comment(state), endsWithChange: true)
    while found.end < .max {
      let candidate = found.end - Int64(offset)
      if candidate < until {
        interval.end = candidate
        interval.endsWithChange = found.isChange
        return interval
      }
      // The clock changes first.
      let change = until
      (offset, until) = context.zone.offset(at: change)
      found = scan(from: change + Int64(offset), for: state, comparingComments)
      if differs(found.segment, state, comparingComments) || steps <= 0 {
        interval.end = change
        interval.endsWithChange = differs(found.segment, state, comparingComments)
        return interval
      }
    }
    return interval
  }

  private func differs(_ left: Segment, _ right: Segment, _ comparingComments: Bool) -> Bool {
    left.state != right.state || comparingComments && comment(left) != comment(right)
  }

  /// Returns the segment at a local time, the local time at which its state ends, and whether it does, instead of having
  /// been compared up to there. A segment that differs from the expected one is returned at once.
  private mutating func scan(
    from local: Int64, for expected: Segment?, _ comparingComments: Bool
  ) -> (segment: Segment, end: Int64, isChange: Bool) {
    let (first, minute) = Self.dayAndMinute(ofLocalSeconds: local)
    var day = Day(first)
    var yesterday = Selection(rules, Day(first - 1), context)
    var today = Selection(rules, day, context)
    var segments = segments(day, today, yesterday)
    let state = Self.segment(of: segments, at: minute)
    if let expected, differs(state, expected, comparingComments) { return (state, local, true) }
    /// The selections of the last day that had the state all day; a day with the same ones has it too.
    var unchanging: (today: Selection, yesterday: Selection)?
    while true {
      for segment in segments where day.number > first || segment.start > minute {
        if differs(segment, state, comparingComments) {
          return (state, Int64(day.number) * 86_400 + Int64(segment.start) * 60, true)
        }
      }
      if usesSun(today, yesterday) {
        steps -= Self.stepsOfSun
      } else if day.number > first {
        unchanging = (today, yesterday)
      }
      repeat {
        day = Day(day.number + 1)
        // A week after this one, yesterday included, is compared.
        if isWeekly, day.number > first + 8 { return (state, .max, false) }
        steps -= stepsOfDay
        if steps <= 0 { return (state, Int64(day.number) * 86_400, false) }
        yesterday = today
        today = Selection(rules, day, context)
      } while unchanging.map { $0 == (today, yesterday) } ?? false
      segments = self.segments(day, today, yesterday)
    }
  }

  // MARK: Days

  /// Returns the segments of a day, from minute 0, neighbours with different states or rules.
  private func segments(_ day: Day, _ today: Selection, _ yesterday: Selection) -> [Segment] {
    let without = segments(day, today.rules, yesterday.rules)
    guard usesSchoolHolidays else { return without }
    return Self.merged(without, segments(day, today.schoolHolidayRules, yesterday.schoolHolidayRules))
  }

  private func usesSun(_ today: Selection, _ yesterday: Selection) -> Bool {
    (today.schoolHolidayRules | today.rules | yesterday.schoolHolidayRules | yesterday.rules) & sunRules != 0
  }

  /// Returns the segments with an unknown state where two differ.
  private static func merged(_ left: [Segment], _ right: [Segment]) -> [Segment] {
    var merged: [Segment] = []
    var (i, j) = (0, 0)
    while true {
      let (first, second) = (left[i], right[j])
      let start = max(first.start, second.start)
      var segment = first
      segment.start = start
      if first.state != second.state { segment.state = .unknown }
      if first.rule != second.rule { segment.rule = -1 }
      if let last = merged.last, last.state == segment.state, last.rule == segment.rule {
      } else {
        merged.append(segment)
      }
      let nextLeft = i + 1 < left.count ? left[i + 1].start : 1_440
      let nextRight = j + 1 < right.count ? right[j + 1].start : 1_440
      guard min(nextLeft, nextRight) < 1_440 else { return merged }
      if nextLeft <= nextRight { i += 1 }
      if nextRight <= nextLeft { j += 1 }
    }
  }

  private func segments(_ day: Day, _ today: RuleSet, _ yesterday: RuleSet) -> [Segment] {
    var segments = [Segment(start: 0, state: .closed, rule: -1)]
    let sun: (today: [Int?], yesterday: [Int?]) =
      (today | yesterday) & sunRules != 0 ? (sunMinutes(day.number), sunMinutes(day.number - 1)) : ([], [])
    for (index, rule) in rules.enumerated() {
      let selectsDay = today & 1 << index != 0
      // An open rule replaces what the rules before it say of the day, with what they have after midnight.
      if selectsDay, rule.separator == .normal, rule.state != .closed {
        segments = [Segment(start: 0, state: .closed, rule: -1)]
      }
      if !rule.times.isEmpty, yesterday & 1 << index != 0 {
        paint(rule, index, sun.yesterday, shift: -1_440, on: &segments)
      }
      if selectsDay {
        if rule.times.isEmpty {
          paint(0, 1_440, rule.state, index, rule.separator, on: &segments)
        } else {
          paint(rule, index, sun.today, shift: 0, on: &segments)
        }
      }
    }
    return segments
  }

  /// Paints the spans of a rule that begin on a day, with its times of the sun, shifted to the day of the segments.
  private func paint(_ rule: HoursRule, _ index: Int, _ sun: [Int?], shift: Int, on segments: inout [Segment]) {
    for span in rule.times {
      guard let start = minutes(span.start, sun) else {
        if shift == 0 { paint(0, 1_440, .unknown, index, rule.separator, on: &segments) }
        continue
      }
      var end = start
      if let point = span.end {
        guard let minutes = minutes(point, sun) else {
          if shift == 0 { paint(0, 1_440, .unknown, index, rule.separator, on: &segments) }
          continue
        }
        end = span.end(startingAt: start, minutes)
        paint(start + shift, end + shift, rule.state, index, rule.separator, on: &segments)
      }
      if span.end == nil || span.isOpenEnded {
        // The time until which it may be open; at most to the next span of the rule.
        var latest = end >= 1_320 ? end + 480 : end >= 1_020 ? end + 600 : 1_440
        for other in rule.times {
          if let start = minutes(other.start, sun), start > end { latest = min(latest, start) }
        }
        let state = rule.state == .closed ? HoursState.closed : .unknown
        paint(end + shift, latest + shift, state, index, rule.separator, on: &segments)
      }
    }
  }

  /// Gives the minutes of a range a state; a fallback only those that are closed.
  private func paint(
    _ start: Int, _ end: Int, _ state: HoursState, _ rule: Int, _ separator: HoursRule.Separator,
    on segments: inout [Segment]
  ) {
    let (start, end) = (max(start, 0), min(end, 1_440))
    guard start < end else { return }
    var painted: [Segment] = []
    painted.reserveCapacity(segments.count + 2)
    func append(_ segment: Segment) {
      if let last = painted.last, last.state == segment.state, last.rule == segment.rule { return }
      painted.append(segment)
    }
    for (index, segment) in segments.enumerated() {
      let next = index + 1 < segments.count ? segments[index + 1].start : 1_440
      let isKept = separator == .fallback && segment.state != .closed
      let (first, last) = (max(segment.start, start), min(next, end))
      guard !isKept, first < last else {
        append(segment)
        continue
      }
      if segment.start < first { append(segment) }
      append(Segment(start: first, state: state, rule: rules[rule].comment == nil ? -1 : rule))
      if last < next { append(Segment(start: last, state: segment.state, rule: segment.rule)) }
    }
    segments = painted
  }

  /// Returns a time in minutes from midnight; `nil` if it depends on an unknown position.
  private func minutes(_ point: TimePoint, _ sun: [Int?]) -> Int? {
    guard let event = point.event else { return point.minutes }
    guard let minutes = sun[Int(event.rawValue)] else { return nil }
    // A day without night, or a night without day, has no distance from its events.
    return minutes == 0 || minutes == 1_440 ? minutes : minutes + point.minutes
  }

  /// Returns the times of the events of the sun on a day, in minutes from its midnight; `nil` without a position.
  private func sunMinutes(_ day: Int) -> [Int?] {
    guard let position = context.position else { return Array(repeating: nil, count: SunEvent.allCases.count) }
    let midnight = Int64(day) * 86_400
    let noon = context.zone.instant(ofLocalSeconds: midnight + 43_200)
    return SunEvent.allCases.map { event in
      switch SunTimes.result(event, noon: noon, at: position) {
      case .at(let instant):
        let local = instant + Int64(context.zone.offset(at: instant).seconds)
        return Int((local - midnight) / 60)
      case .above: return event == .dawn || event == .sunrise ? 0 : 1_440
      case .below: return event == .dawn || event == .sunrise ? 1_440 : 0
      }
    }
  }
}

extension TimeSpan {
  /// Returns the minutes of the end of a span whose start and end have these minutes: an end that is not after the start
  /// is on the next day, unless an event of the sun is earlier or later than on other days: `18:00-sunset` and
  /// `sunset-22:00` are empty if the sun sets at 15:00, or at 23:00.
  fileprivate func end(startingAt start: Int, _ minutes: Int) -> Int {
    guard minutes <= start else { return minutes }
    return usesSun && !crossesMidnight ? start : minutes + 1_440
  }

  /// A Boolean value that indicates whether a span with events of the sun ends on the next day: the end is before the
  /// start wherever and whenever the events are.
  private var crossesMidnight: Bool {
    guard let end else { return false }
    switch (start.event, end.event) {
    case (let first?, let last?):
      // An event that is later on each day is not on the next one: `dawn-(sunrise-01:00)`.
      return last.rawValue <= first.rawValue
        && last.usualMinutes.middle + end.minutes <= first.usualMinutes.middle + start.minutes
    case (let first?, nil): return end.minutes < first.usualMinutes.earliest + start.minutes
    case (nil, let last?): return last.usualMinutes.latest + end.minutes <= start.minutes
    case (nil, nil): return end.minutes <= start.minutes
    }
  }
}

extension SunEvent {
  /// The minutes of a day between which the event is, by the clock, wherever the sun rises and sets, and those of a day
  /// and a night of twelve hours.
  fileprivate var usualMinutes: (earliest: Int, middle: Int, latest: Int) {
    switch self {
    case .dawn: (240, 330, 720)
    case .sunrise: (240, 360, 720)
    case .sunset: (720, 1_080, 1_440)
    case .dusk: (720, 1_110, 1_440)
    }
  }
}

// MARK: Selectors

/// A set of rules, a bit each.
private typealias RuleSet = UInt128

/// The rules that select a day.
private struct Selection: Equatable {
  let rules: RuleSet
  /// Those that would if school were out, which is unknown.
  let schoolHolidayRules: RuleSet

  init(_ rules: [HoursRule], _ day: Day, _ context: HoursContext) {
    var (selecting, selectingIfSchoolHoliday): (RuleSet, RuleSet) = (0, 0)
    for (index, rule) in rules.enumerated() {
      let (selects, couldSelect) = rule.days.selects(day, context)
      if selects { selecting |= 1 << index }
      if couldSelect { selectingIfSchoolHoliday |= 1 << index }
    }
    self.rules = selecting
    schoolHolidayRules = selectingIfSchoolHoliday
  }
}

extension DaySelector {
  /// Returns whether a day is selected, if it is no school holiday and if it is one.
  fileprivate func selects(_ day: Day, _ context: HoursContext) -> (Bool, Bool) {
    if !years.isEmpty, !years.contains(where: { $0.contains(day.date.year) }) { return (false, false) }
    if !dates.isEmpty, !dates.contains(where: { $0.contains(day) }) { return (false, false) }
    if !weeks.isEmpty {
      let week = day.week
      guard weeks.contains(where: { $0.contains(week) }) else { return (false, false) }
    }
    let hasWeekdays = weekdays != 0 || !nthWeekdays.isEmpty
    guard hasWeekdays || !holidays.isEmpty else { return (true, true) }
    let isWeekday = weekdays & 1 << day.weekday != 0 || nthWeekdays.contains { $0.contains(day) }
    guard !holidays.isEmpty else { return (isWeekday, isWeekday) }
    let isHoliday = holidays.contains {
      $0.kind == .publicHoliday && context.holidays.contains(day: day.number - $0.dayOffset)
    }
    let couldBeHoliday = isHoliday || holidays.contains { $0.kind == .schoolHoliday }
    return intersectsHolidays
      ? (isWeekday && isHoliday, isWeekday && couldBeHoliday) : (isWeekday || isHoliday, isWeekday || couldBeHoliday)
  }
}

extension YearRange {
  fileprivate func contains(_ year: Int) -> Bool {
    year >= first && year <= last ?? .max && (year - first) % step == 0
  }
}

extension WeekRange {
  fileprivate func contains(_ week: Int) -> Bool {
    guard first <= last else { return week >= first || week <= last }
    return week >= first && week <= last && (week - first) % step == 0
  }
}

extension NthWeekday {
  fileprivate func contains(_ day: Day) -> Bool {
    let day = dayOffset == 0 ? day : Day(day.number - dayOffset)
    guard day.weekday == weekday else { return false }
    let length = CivilDate.dayCount(year: day.date.year, month: day.date.month)
    return places & (1 << ((day.date.day - 1) / 7) | 1 << (8 + (length - day.date.day) / 7)) != 0
  }
}

extension DateRange {
  fileprivate func contains(_ day: Day) -> Bool {
    let year = day.date.year
    if let (first, last) = plainDays {
      let number = day.date.month * 32 + day.date.day
      return first <= last ? first <= number && number <= last : number >= first || number <= last
    }
    guard let end else {
      if let only = start.year { return start.day(in: only, isEnd: false).map { $0 <= day.number } ?? false }
      return start.day(in: year, isEnd: false).map { $0 <= day.number } ?? false
    }
    if let first = start.year ?? end.year {
      var startYear = start.year ?? first
      var endYear = end.year ?? first
      guard let start = start.day(in: startYear, isEnd: false), let last = end.day(in: endYear, isEnd: true) else {
        return false
      }
      if last < start {
        // The end without a year is in the next one, the start without one in the year before.
        if end.year == nil { endYear += 1 } else if self.start.year == nil { startYear -= 1 } else { return false }
        guard let start = self.start.day(in: startYear, isEnd: false), let last = end.day(in: endYear, isEnd: true)
        else { return false }
        return start <= day.number && day.number <= last
      }
      return start <= day.number && day.number <= last
    }
    if start == end, !start.isMonth {
      // An offset may move a day of the year before or after to this one.
      let shift = start.dayOffset + (start.weekday.map { $0.isNext ? 6 : -6 } ?? 0)
      return start.day(in: year, isEnd: false) == day.number
        || shift != 0 && start.day(in: shift > 0 ? year - 1 : year + 1, isEnd: false) == day.number
    }
    // Without years: the range that begins this year, or next to it where an offset moves it across the end of a year or
    // its end is in the next year.
    for year in (year - 1)...(year + 1) {
      guard let first = start.day(in: year, isEnd: false) else { continue }
      guard first <= day.number, var last = end.day(in: year, isEnd: true) else { continue }
      if last < first {
        guard let next = end.day(in: year + 1, isEnd: true) else { continue }
        last = next
      }
      if day.number <= last { return true }
    }
    return false
  }
}

extension DatePoint {
  /// Returns the day in a year; `nil` for a fifth weekday that the month lacks.
  ///
  /// The 29th of February of a year without it is the first of March as a start, and the 28th of February as an end.
  fileprivate func day(in year: Int, isEnd: Bool) -> Int? {
    var number: Int
    switch anchor {
    case .month(let month):
      let day = isEnd ? CivilDate.dayCount(year: year, month: month) : 1
      number = CivilDate(year: year, month: month, day: day).daysSinceEpoch
    case .day(let month, let day):
      let length = CivilDate.dayCount(year: year, month: month)
      number = CivilDate(year: year, month: month, day: isEnd ? min(day, length) : day).daysSinceEpoch
    case .weekday(let weekday, let nth, let month):
      let length = CivilDate.dayCount(year: year, month: month)
      let first = Day(CivilDate(year: year, month: month, day: 1).daysSinceEpoch)
      if nth > 0 {
        let distance = (weekday - first.weekday + 7) % 7 + 7 * (nth - 1)
        guard distance < length else { return nil }
        number = first.number + distance
      } else {
        let last = Day(first.number + length - 1)
        let distance = (last.weekday - weekday + 7) % 7 - 7 * (nth + 1)
        guard distance < length else { return nil }
        number = last.number - distance
      }
    case .easter: number = Self.easter(year)
    }
    if let offset = self.weekday {
      let day = Day(number)
      number += offset.isNext ? (offset.weekday - day.weekday + 7) % 7 : -((day.weekday - offset.weekday + 7) % 7)
    }
    return number + dayOffset
  }

  /// Returns Easter Sunday (the algorithm of J. Meeus, T. H. Jones and T. H. Butcher).
  private static func easter(_ year: Int) -> Int {
    let (century, yearOfCentury) = (year / 100, year % 100)
    let golden = year % 19
    let correction = (century - (century + 8) / 25 + 1) / 3
    let epact = (19 * golden + century - century / 4 - correction + 15) % 30
    let weekday = (32 + 2 * (century % 4) + 2 * (yearOfCentury / 4) - epact - yearOfCentury % 4) % 7
    let shift = (golden + 11 * epact + 22 * weekday) / 451
    let day = epact + weekday - 7 * shift + 114
    return CivilDate(year: year, month: day / 31, day: day % 31 + 1).daysSinceEpoch
  }
}
