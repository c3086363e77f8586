package import Basics

/// The times at which something is open, in the syntax of OpenStreetMap's tag `opening_hours`: rules of which later ones
/// replace or complete earlier ones.
///
/// An expression has no position, no time zone and no holidays, so that places with equal hours share it; they are
/// arguments of the evaluation. Its text is bounded by ``maximumBytes``, ``maximumRules`` and ``maximumSelectors``, so
/// that the time of an evaluation is as well.
package struct HoursExpression: Hashable, Sendable {
  /// The maximum length of a text in bytes.
  package static let maximumBytes = 2_048

  /// The maximum number of selectors in all rules together.
  package static let maximumSelectors = 256

  /// The maximum number of rules.
  package static let maximumRules = 128

  package let rules: [HoursRule]

  init(rules: [HoursRule]) {
    self.rules = rules
  }

  /// A Boolean value that indicates whether the states depend on the position, by times of the sun.
  package var usesSun: Bool { rules.contains { $0.times.contains(where: \.usesSun) } }

  /// A Boolean value that indicates whether the states depend on public holidays.
  package var usesPublicHolidays: Bool { uses(.publicHoliday) }

  /// A Boolean value that indicates whether the states depend on school holidays, which are unknown.
  package var usesSchoolHolidays: Bool { uses(.schoolHoliday) }

  private func uses(_ kind: HolidaySelector.Kind) -> Bool {
    rules.contains { rule in rule.days.holidays.contains { $0.kind == kind } }
  }
}

/// The state of a place at an instant.
package enum HoursState: UInt8, Hashable, Sendable {
  case closed, open, unknown
}

/// Days and times, and the state that they have.
package struct HoursRule: Hashable, Sendable {
  /// The relation to the rules before.
  package enum Separator: UInt8, Hashable, Sendable {
    /// `;`: replaces the hours of the days that it selects; off-times only those hours.
    case normal

    /// `,`: completes the rules before.
    case additional

    /// `||`: holds at times at which the rules before are closed.
    case fallback
  }

  package var separator = Separator.normal
  package var days = DaySelector()

  /// The times of a day; the whole day if empty.
  package var times: [TimeSpan] = []
  package var state = HoursState.open
  package var comment: ExactText?

  package init() {}

  var selectorCount: Int { 1 + days.count + times.count }
}

// MARK: Days

/// A set of days: those that each of its kinds of selectors contains. A kind without selectors contains all days.
package struct DaySelector: Hashable, Sendable {
  var years: [YearRange] = []
  var dates: [DateRange] = []
  var weeks: [WeekRange] = []

  /// The selected weekdays, a bit each, Monday first.
  var weekdays: UInt8 = 0
  var nthWeekdays: [NthWeekday] = []
  var holidays: [HolidaySelector] = []

  /// A Boolean value that indicates whether only holidays on the weekdays are selected (`PH Mo-Fr`), instead of both
  /// (`Mo-Fr,PH`).
  var intersectsHolidays = false

  /// The number of selectors; a date that is computed each year counts as four.
  var count: Int {
    years.count + dates.reduce(0) { $0 + $1.cost } + weeks.count + nthWeekdays.count + holidays.count
      + (weekdays == 0 ? 0 : 1)
  }

  /// A Boolean value that indicates whether all days are selected.
  var isEveryDay: Bool { count == 0 }

  /// A Boolean value that indicates whether holidays are selected and no weekdays, or no holidays.
  var hasHolidaysOrWeekdaysAlone: Bool { holidays.isEmpty || weekdays == 0 && nthWeekdays.isEmpty }

  /// A Boolean value that indicates whether dates are selected and nothing else.
  var hasOnlyDates: Bool { !dates.isEmpty && weekdays == 0 && nthWeekdays.isEmpty && holidays.isEmpty }

  /// A Boolean value that indicates whether no day is in both selectors, by weekdays or by dates of each year alone.
  func isDisjoint(from other: DaySelector) -> Bool {
    if isWeekly, other.isWeekly { return weekdays != 0 && other.weekdays != 0 && weekdays & other.weekdays == 0 }
    guard !dates.isEmpty, !other.dates.isEmpty else { return false }
    return dates.allSatisfy { date in other.dates.allSatisfy(date.isDisjoint) }
  }

  /// A Boolean value that indicates whether the other days are exceptions to these: some of the weekdays of each week, or
  /// dates and holidays.
  func isMoreGeneral(than other: DaySelector) -> Bool {
    guard isWeekly else { return false }
    guard other.isWeekly else { return true }
    let all = weekdays == 0 ? 0x7F : weekdays
    return other.weekdays != 0 && other.weekdays != all && other.weekdays & ~all == 0
  }

  /// A Boolean value that indicates whether only weekdays matter, so that weeks are alike.
  var isWeekly: Bool { count == (weekdays == 0 ? 0 : 1) }
}

/// Years from the first to the last; `nil` for a last one means without end.
struct YearRange: Hashable, Sendable {
  var first: Int
  var last: Int?
  var step = 1
}

/// Weeks by ISO 8601; those across the end of a year if the last is less than the first.
struct WeekRange: Hashable, Sendable {
  var first: Int
  var last: Int
  var step = 1
}

/// Days from one to another, both included, of each year or of one.
struct DateRange: Hashable, Sendable {
  var start: DatePoint
  /// The last day; `nil` for all days from the first: to the end of the year if it has none.
  var end: DatePoint?

  /// The dates of each year from one day to another, without offsets, as numbers that ascend in a year.
  var plainDays: (first: Int, last: Int)? {
    func number(_ point: DatePoint, _ isEnd: Bool) -> Int? {
      guard point.year == nil, point.dayOffset == 0, point.weekday == nil else { return nil }
      switch point.anchor {
      case .month(let month): return month * 32 + (isEnd ? 31 : 1)
      case .day(let month, let day): return month * 32 + day
      case .weekday, .easter: return nil
      }
    }
    guard let end, let first = number(start, false), let last = number(end, true) else { return nil }
    return (first, last)
  }

  /// Returns whether no day of each year is in both ranges; `false` if a range is not that of each year.
  func isDisjoint(from other: DateRange) -> Bool {
    guard let one = plainDays, let two = other.plainDays else { return false }
    let (oneWraps, twoWraps) = (one.first > one.last, two.first > two.last)
    if oneWraps && twoWraps { return false }
    if oneWraps { return two.first > one.last && two.last < one.first }
    if twoWraps { return one.first > two.last && one.last < two.first }
    return one.last < two.first || two.last < one.first
  }

  var cost: Int { start.isComputed || end?.isComputed == true ? 4 : 1 }
}

/// A day of a year.
struct DatePoint: Hashable, Sendable {
  enum Anchor: Hashable, Sendable {
    /// The first day of a month at the start of a range, the last at its end.
    case month(Int)
    case day(month: Int, day: Int)
    /// A weekday of a month, counted from its start, or from its end if `nth` is negative.
    case weekday(Int, nth: Int, month: Int)
    /// Easter Sunday of the Gregorian calendar.
    case easter
  }

  var year: Int?
  var anchor: Anchor
  var dayOffset = 0

  /// The weekday to go to after the offset, Monday is 0: `next` on or after the day, otherwise on or before.
  var weekday: WeekdayOffset?

  var isMonth: Bool {
    if case .month = anchor { return true }
    return false
  }

  var isComputed: Bool {
    switch anchor {
    case .month, .day: dayOffset != 0 || weekday != nil
    case .weekday, .easter: true
    }
  }

  struct WeekdayOffset: Hashable, Sendable {
    var weekday: Int
    var isNext: Bool
  }
}

/// A weekday by its place in the month.
struct NthWeekday: Hashable, Sendable {
  /// The weekday, Monday is 0.
  var weekday: Int
  /// The places, a bit each: from the start of the month 0 to 4, from its end 8 to 12.
  var places: UInt16
  var dayOffset = 0
}

/// The public or school holidays, or days at a distance from them.
package struct HolidaySelector: Hashable, Sendable {
  package enum Kind: UInt8, Hashable, Sendable {
    case publicHoliday, schoolHoliday
  }

  package var kind: Kind
  package var dayOffset = 0
}

// MARK: Times

/// A span of time that begins on a selected day.
package struct TimeSpan: Hashable, Sendable {
  var start: TimePoint
  /// The end; `nil` for a time alone.
  var end: TimePoint?
  /// A Boolean value that indicates whether the end is at least the given one, and otherwise unknown (`+`).
  var isOpenEnded = false
  /// The minutes of `10:00-16:00/90`; 0 without.
  var intervalMinutes = 0

  var usesSun: Bool { start.event != nil || end?.event != nil }

  static let wholeDay = TimeSpan(start: TimePoint(minutes: 0), end: TimePoint(minutes: 1_440))
}

/// A time of day, in minutes from midnight or from an event of the sun.
struct TimePoint: Hashable, Sendable {
  var event: SunEvent?
  var minutes: Int
}

package enum SunEvent: UInt8, Hashable, Sendable, CaseIterable {
  case dawn, sunrise, sunset, dusk
}

/// The reason why a text is no expression.
package struct HoursError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The character at which something else was expected, counted from 1.
  package let character: Int

  /// The reason, for a user.
  package let reason: String

  package var description: String { "at character \(character): \(reason)" }
}
