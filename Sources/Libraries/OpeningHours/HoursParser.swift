import Basics

extension HoursExpression {
  /// Creates the expression of a text in the syntax of OpenStreetMap, or near to it: `docs/opening-hours.md` lists the
  /// tolerances. Linear in the length of the text, without recursion.
  ///
  /// - Throws: ``HoursError`` with the character at which something else was expected.
  package init(text: String) throws(HoursError) {
    guard text.utf8.count <= Self.maximumBytes else {
      throw HoursError(character: 1, reason: "expected at most \(Self.maximumBytes) bytes, got \(text.utf8.count)")
    }
    var parser = HoursParser(tokens: try HoursLexer.tokens(of: text))
    rules = try parser.rules()
  }
}

extension DaySelector {
  /// Gives the year behind a date to it: `Jul 10-Sep 03 2023`.
  ///
  /// - Returns: `false` if there are several years, or the date has a year or ends in the next one.
  fileprivate mutating func attachYear() -> Bool {
    guard years.count == 1, years[0].last == years[0].first, years[0].step == 1, dates.count == 1,
      dates[0].start.year == nil, dates[0].end?.year == nil
    else { return false }
    if let days = dates[0].plainDays, days.first > days.last { return false }
    let isSingle = dates[0].end == dates[0].start
    dates[0].start.year = years[0].first
    if isSingle { dates[0].end = dates[0].start }
    years = []
    return true
  }
}

/// A rule with what its text tells beyond its meaning.
private struct ParsedRule {
  var rule = HoursRule()

  /// The index of its first token.
  var start = 0

  /// A Boolean value that indicates whether the text has a state.
  var hasState = false

  /// A Boolean value that indicates whether the state is before the days: `closed Su`.
  var isStateFirst = false

  /// A Boolean value that indicates whether the text has `24/7`.
  var isAlwaysOpen = false

  /// A Boolean value that indicates whether another rule follows without a separator.
  var isUnseparated = false

  /// A Boolean value that indicates whether a colon is between holidays and their weekdays: `PH: Su`.
  var hasDaysOfHolidays = false

  /// The days that are left out of those of the rule: `daily except Mo`.
  var exception: DaySelector?

  /// The rule that closes those of them that the days cannot leave out, such as holidays.
  var exceptionRule: HoursRule?

  /// A Boolean value that indicates whether the rule is behind all others: `closed PH; 10:00-18:00`.
  var isLast = false

  /// A Boolean value that indicates whether a state before the days ends the hours of other rules.
  var closesFirst: Bool { isStateFirst && rule.state != .open }

  /// A Boolean value that indicates whether the text has nothing but a state.
  var isBare: Bool { hasState && !isAlwaysOpen && rule.days.isEveryDay && rule.times.isEmpty }
}

private struct HoursParser {
  let tokens: [HoursToken]
  private var index = 0

  /// The state of the next rule, if it continues a list of days behind a state: `closed Su, Dec 25`.
  private var continuedState: HoursState?

  init(tokens: [HoursToken]) {
    self.tokens = tokens
  }

  // MARK: Tokens

  private func token(_ distance: Int = 0) -> HoursToken { tokens[min(index + distance, tokens.count - 1)] }

  private func kind(_ distance: Int = 0) -> HoursToken.Kind { token(distance).kind }

  private func number(_ distance: Int = 0) -> (value: Int, digits: Int)? {
    if case .number(let value, let digits) = kind(distance) { return (value, digits) }
    return nil
  }

  private func word(_ distance: Int = 0) -> HoursWord? {
    if case .word(let word) = kind(distance) { return word }
    return nil
  }

  private mutating func take(_ kind: HoursToken.Kind) -> Bool {
    guard self.kind() == kind else { return false }
    index += 1
    return true
  }

  private func isRange(_ distance: Int = 0) -> Bool { kind(distance) == .dash || word(distance) == .to }

  private func isList(_ distance: Int = 0) -> Bool { kind(distance) == .comma || word(distance) == .and }

  private func error(_ reason: String) -> HoursError { HoursError(character: token().start + 1, reason: reason) }

  private func expected(_ what: String) -> HoursError { error("expected \(what)") }

  // MARK: Rules

  /// The stage of a rule; its selectors come in this order.
  private enum Stage: Int, Comparable {
    case start, dates, weekdays, times, modifier

    static func < (left: Stage, right: Stage) -> Bool { left.rawValue < right.rawValue }
  }

  /// The kind of selector that begins at a token.
  private enum Element {
    case year, date, week, weekday, time, state, comment, always
  }

  /// The end of a rule.
  private enum RuleEnd {
    case text, semicolon, comma, fallback
    /// Another rule without a separator.
    case none
  }

  mutating func rules() throws(HoursError) -> [HoursRule] {
    var rules: [ParsedRule] = []
    var separator = HoursRule.Separator.normal
    var selectors = 0
    while true {
      while kind() == .semicolon || kind() == .comma { index += 1 }
      guard kind() != .end else { break }
      if kind() == .fallback {
        guard !rules.isEmpty else { throw expected("days or times before '||'") }
        index += 1
        separator = .fallback
        continue
      }
      var parsed = ParsedRule()
      parsed.start = index
      parsed.rule.separator = rules.isEmpty ? .normal : separator
      if let state = continuedState {
        parsed.rule.state = state
        parsed.hasState = true
        parsed.isStateFirst = true
        continuedState = nil
      }
      let end = try parse(&parsed, after: rules)
      parsed.isUnseparated = end == .none
      separator = end == .comma ? .additional : .normal
      try leaveOutException(&parsed, after: rules)
      try checkSeparation(of: parsed, end, after: rules.last)
      try orderClosedDays(before: parsed, in: &rules)
      selectors += parsed.rule.selectorCount + (parsed.exceptionRule?.selectorCount ?? 0)
      guard selectors <= HoursExpression.maximumSelectors else {
        throw error("expected at most \(HoursExpression.maximumSelectors) selectors")
      }
      if !Self.merge(parsed, into: &rules) { rules.append(parsed) }
      guard rules.count <= HoursExpression.maximumRules else {
        throw error("expected at most \(HoursExpression.maximumRules) rules")
      }
    }
    guard !rules.isEmpty else { throw expected("days or times") }
    var ordered: [HoursRule] = []
    for parsed in rules.filter({ !$0.isLast }) + rules.filter(\.isLast) {
      ordered.append(parsed.rule)
      if parsed.isLast { ordered[ordered.count - 1].separator = .normal }
      if let rule = parsed.exceptionRule { ordered.append(rule) }
    }
    ordered[0].separator = .normal
    guard ordered.count <= HoursExpression.maximumRules else {
      throw error("expected at most \(HoursExpression.maximumRules) rules")
    }
    return ordered
  }

  /// Joins the times of a rule with those of the rule before if, read as it stands, it would delete them: it selects the
  /// same days or none, and its times are later. `Mo-Fr 09:00-12:00; 14:00-18:00`.
  private static func merge(_ parsed: ParsedRule, into rules: inout [ParsedRule]) -> Bool {
    let rule = parsed.rule
    guard rule.separator == .normal, let last = rules.last?.rule, !rule.times.isEmpty, !last.times.isEmpty,
      rule.state == .open, last.state == .open, rule.comment == nil, last.comment == nil,
      rule.days == last.days || rule.days.isEveryDay, parsed.exceptionRule == nil,
      let end = last.times.last?.end, end.event == nil, let start = rule.times.first?.start, start.event == nil,
      end.minutes <= start.minutes, end.minutes > last.times.last!.start.minutes, !last.times.last!.isOpenEnded
    else { return false }
    rules[rules.count - 1].rule.times += rule.times
    return true
  }

  // MARK: Texts in doubt

  private func error(_ reason: String, at parsed: ParsedRule) -> HoursError {
    HoursError(character: tokens[parsed.start].start + 1, reason: reason)
  }

  /// Rejects rules of which it is in doubt to which days and times a state belongs: in `Mo-Sa 10:00-18:00, closed, Su`
  /// and `Mo-Fr closed Sa`, it may be those before or behind it.
  private func checkSeparation(
    of parsed: ParsedRule, _ end: RuleEnd, after last: ParsedRule?
  ) throws(HoursError) {
    let endsClearly = end == .text || end == .semicolon || kind() == .fallback
    if parsed.isBare, parsed.rule.separator != .fallback {
      let beginsClearly = last.map { parsed.rule.separator == .normal && !$0.isUnseparated } ?? true
      // A comment tells the reason for which all is closed.
      guard beginsClearly, endsClearly, last == nil || parsed.rule.state == .unknown || parsed.rule.comment != nil
      else {
        throw error("expected days or times for the state", at: parsed)
      }
    }
    if parsed.closesFirst, parsed.rule.separator == .fallback, parsed.rule.state == .closed {
      throw error("expected an open or unknown state", at: parsed)
    }
    guard let last else { return }
    let isInDoubt =
      last.closesFirst || last.isBare && last.rule.separator != .fallback
      || last.isUnseparated && last.hasState && last.rule.state != .open
    if isInDoubt, parsed.rule.times.isEmpty, !parsed.hasState, !parsed.isAlwaysOpen, parsed.rule.comment == nil {
      throw error("expected times or a state for the days", at: parsed)
    }
    if isInDoubt, last.isUnseparated, !last.isStateFirst, last.rule.times.isEmpty, last.rule.days.hasOnlyDates,
      parsed.rule.days.dates.isEmpty, parsed.rule.days.years.isEmpty
    {
      // `Jan-Mar closed Mo-Fr 10:00-12:00`
      throw error("expected ';'", at: parsed)
    }
  }

  /// Puts closed days behind a rule whose hours would replace them though they are written before it only because of the
  /// order of words: `closed PH; Mo-Fr 10:00-18:00`, `Mo closed, 10:00-18:00`.
  private func orderClosedDays(before parsed: ParsedRule, in rules: inout [ParsedRule]) throws(HoursError) {
    guard parsed.rule.state != .closed else { return }
    let days = parsed.rule.days
    for index in rules.indices {
      let closed = rules[index]
      // A comma adds hours, but those of every day hardly to days that are closed.
      let completesAllDays =
        parsed.rule.separator == .additional && days.isEveryDay && !parsed.rule.times.isEmpty
      let isReplaced =
        completesAllDays && closed.hasState && closed.rule.state == .closed && closed.rule.times.isEmpty
        && !closed.rule.days.isEveryDay
      guard closed.exceptionRule == nil || !completesAllDays else {
        throw error("expected the hours before the days on which they do not hold", at: parsed)
      }
      guard closed.closesFirst || closed.isLast || isReplaced, !closed.rule.days.isDisjoint(from: days) else {
        continue
      }
      // A date is an exception to weekdays and holidays.
      if closed.rule.days.dates.isEmpty, !days.dates.isEmpty, !closed.isLast { continue }
      guard closed.rule.times.isEmpty, parsed.rule.separator != .fallback, days.isMoreGeneral(than: closed.rule.days)
      else { throw error("expected the hours before the days on which they do not hold", at: parsed) }
      rules[index].isLast = true
    }
  }

  // MARK: Exceptions

  /// Takes the exception of a rule from its weekdays; what these cannot leave out becomes a rule that closes.
  private func leaveOutException(_ parsed: inout ParsedRule, after rules: [ParsedRule]) throws(HoursError) {
    guard var exception = parsed.exception else { return }
    let days = parsed.rule.days
    guard parsed.rule.state == .open, parsed.rule.separator != .fallback, days.holidays.isEmpty,
      days.nthWeekdays.isEmpty, !exception.intersectsHolidays,
      exception.isWeekly || exception.dates.isEmpty && exception.years.isEmpty && exception.weeks.isEmpty
        || exception.weekdays == 0 && exception.nthWeekdays.isEmpty && exception.holidays.isEmpty
    else { throw error("expected ';' and the days that are closed", at: parsed) }
    if exception.weekdays != 0 {
      parsed.rule.days.weekdays = (days.weekdays == 0 ? 0x7F : days.weekdays) & ~exception.weekdays
      guard parsed.rule.days.weekdays != 0 else { throw error("expected other days than the exception", at: parsed) }
      exception.weekdays = 0
    }
    guard !exception.isEveryDay else { return }
    var rule = HoursRule()
    rule.state = .closed
    rule.days = parsed.rule.days
    if !exception.holidays.isEmpty {
      guard exception.nthWeekdays.isEmpty, !rules.contains(where: { !$0.rule.days.holidays.isEmpty }) else {
        throw error("expected the hours of holidays behind those of other days", at: parsed)
      }
      rule.days.holidays = exception.holidays
      rule.days.intersectsHolidays = rule.days.weekdays != 0
    } else {
      guard days.isWeekly, exception.nthWeekdays.isEmpty || exception.dates.isEmpty else {
        throw error("expected ';' and the days that are closed", at: parsed)
      }
      if !exception.nthWeekdays.isEmpty { rule.days.weekdays = 0 }
      rule.days.dates = exception.dates
      rule.days.years = exception.years
      rule.days.weeks = exception.weeks
      rule.days.nthWeekdays = exception.nthWeekdays
    }
    parsed.exceptionRule = rule
  }

  private mutating func parseException(_ parsed: inout ParsedRule, _ stage: inout Stage) throws(HoursError) {
    guard parsed.rule.state == .open, parsed.exception == nil else { throw expected("days or times") }
    index += 1
    var excepted = ParsedRule()
    switch element(after: .start) {
    case .weekday?: try parseWeekdays(&excepted)
    case .date?: try parseDates(&excepted.rule, .date)
    case .year?: try parseDates(&excepted.rule, .year)
    case .week?: try parseDates(&excepted.rule, .week)
    default: throw expected("days")
    }
    guard excepted.exception == nil else { throw expected("days") }
    parsed.exception = excepted.rule.days
    guard stage < .times else {
      stage = .modifier
      return
    }
    // Without times, the days may be those of which nothing is known.
    guard kind() != .end, kind() != .semicolon else { throw expected("times") }
    stage = .weekdays
  }

  // MARK: Parts of rules

  /// Parses a rule and the separator behind it; returns how it ends.
  private mutating func parse(_ parsed: inout ParsedRule, after rules: [ParsedRule]) throws(HoursError) -> RuleEnd {
    var stage = Stage.start
    while true {
      switch kind() {
      case .end: return .text
      case .semicolon:
        index += 1
        // `April-September; Mo-Fr 09:00-13:00` has no times for the months alone; the specification reads it so.
        return .semicolon
      case .fallback: return .fallback
      case .slash where stage >= .times:
        // An abused separator: `6:00-18:00 / Sa 6:00-13:00`.
        index += 1
        if element(after: stage) == .time, !parsed.closesFirst { continue }
        return .none
      case .colon where stage == .dates || stage == .weekdays:
        index += 1
        if stage == .weekdays, element(after: stage) == .weekday { try parseDaysOfHolidays(&parsed) }
        continue
      case .word(.except) where stage > .start && stage < .modifier:
        try parseException(&parsed, &stage)
        continue
      case .comma where stage > .start && stage < .modifier && word(1) == .except:
        index += 1
        continue
      case .comma where stage > .start, .word(.and) where stage > .start:
        index += 1
        guard let element = element(after: stage) else { return .comma }
        if parsed.closesFirst {
          try endClosedDays(parsed, before: element, after: rules)
          return .comma
        }
        switch element {
        case .time where stage < .modifier && !parsed.isAlwaysOpen: continue
        case .weekday where stage < .times:
          // `Apr-Oct, PH 09:00-20:00` may mean every day of these months.
          if stage == .dates, case .holiday? = word() { throw expected("weekdays or times") }
          continue
        case .year, .date, .week: if stage <= .dates { continue }
        case .weekday where parsed.hasDaysOfHolidays: throw expected("';'")
        default: break
        }
        return .comma
      default: break
      }
      guard let element = element(after: stage) else { throw expected("days or times") }
      switch element {
      case .comment: try parseComment(&parsed, &stage)
      case .state:
        guard stage < .modifier, case .state(let state)? = word() else { throw expected("the end of the rule") }
        if parsed.hasState {
          // `closed Su open Mo-Sa 10:00-18:00`
          guard parsed.isStateFirst else { throw expected("the end of the rule") }
          return .none
        }
        // `Mo-Fr 09:00-17:00 closed Sa`
        if stage == .times, state != .open, beginsSelectors(1) { return .none }
        index += 1
        parsed.rule.state = state
        parsed.hasState = true
        if parsed.isBare {
          if kind() == .colon { index += 1 }
          if beginsSelectors(0) {
            parsed.isStateFirst = true
            continue
          }
        }
        stage = .modifier
        if case .comment(let comment) = kind() {
          parsed.rule.comment = comment.isEmpty ? parsed.rule.comment : ExactText(comment)
          index += 1
        }
      case .year, .date, .week:
        // `Mo-Fr 10:00-18:00 Sep-Jun …` begins another rule.
        guard stage < .times, !parsed.closesFirst || stage < .weekdays else { return try endUnseparated(parsed) }
        let days = parsed.rule.days
        if stage == .weekdays, !(days.dates.isEmpty && days.years.isEmpty && days.weeks.isEmpty) { return .none }
        let isYearBehindDate = element == .year && days.years.isEmpty && days.dates.count == 1
        guard element == .week || days.dates.isEmpty || isYearBehindDate else { throw expected("',' between dates") }
        try parseDates(&parsed.rule, element)
        guard !isYearBehindDate || parsed.rule.days.attachYear() else { throw expected("the year of each date") }
        stage = max(stage, .dates)
      case .weekday:
        guard stage < .times else { return try endUnseparated(parsed) }
        try parseWeekdays(&parsed)
        stage = .weekdays
      case .always:
        guard stage < .times, !parsed.closesFirst || parsed.rule.days.isEveryDay else {
          return try endUnseparated(parsed)
        }
        skipAlways()
        parsed.isAlwaysOpen = true
        stage = .times
      case .time:
        guard stage < .modifier, !parsed.isAlwaysOpen else { throw expected("the end of the rule") }
        if parsed.closesFirst {
          try parseClosedTimes(&parsed, after: rules)
        } else {
          try parseTimes(&parsed.rule)
        }
        stage = .times
      }
    }
  }

  /// Returns whether days or times begin at a token.
  private func beginsSelectors(_ distance: Int) -> Bool {
    var next = self
    next.index += distance
    switch next.element(after: .start) {
    case .year?, .date?, .week?, .weekday?, .time?, .always?: return true
    case .state?, .comment?, nil: return false
    }
  }

  /// Ends a rule without a separator; in doubt behind closed days, whose hours may follow, and holidays with a colon.
  private func endUnseparated(_ parsed: ParsedRule) throws(HoursError) -> RuleEnd {
    guard !parsed.closesFirst, !parsed.hasDaysOfHolidays else { throw expected("';'") }
    return .none
  }

  /// Ends the list of days behind a state at a comma, if it is not in doubt that it is continued, or ends: `closed Su, PH`,
  /// `closed Su, Dec 25`, `closed Su, 10:00-18:00`.
  private mutating func endClosedDays(
    _ parsed: ParsedRule, before element: Element, after rules: [ParsedRule]
  ) throws(HoursError) {
    switch element {
    case .state, .comment: return
    case .time:
      guard parsed.rule.times.isEmpty, !rules.contains(where: { $0.rule.state == .open }) else {
        throw expected("';'")
      }
    case .year, .date, .week, .weekday:
      guard parsed.rule.times.isEmpty else { throw expected("';'") }
      continuedState = parsed.rule.state
    case .always: throw expected("';'")
    }
  }

  /// Parses the times of closed days if it is not in doubt that they are closed: in `closed Sa, Su 10:00-12:00` they may be
  /// the hours of Sunday, and in `closed Su 10:00-18:00` alone those of other days.
  private mutating func parseClosedTimes(_ parsed: inout ParsedRule, after rules: [ParsedRule]) throws(HoursError) {
    let days = tokens[parsed.start..<index]
    let names = days.count {
      switch $0.kind {
      case .word(.weekday), .word(.weekdays), .word(.holiday), .word(.daily), .word(.workingDays): true
      default: false
      }
    }
    let ranges = days.count { $0.kind == .dash || $0.kind == .word(.to) }
    guard let last = rules.last, rules.contains(where: { $0.rule.state == .open }), !last.isUnseparated,
      parsed.rule.days.count <= 1, names - ranges <= 1,
      case .word(.state) = days.first?.kind,
      !days.contains(where: { $0.kind == .comma || $0.kind == .word(.and) }),
      // A date in numbers: 24.12.
      number() == nil || kind(1) != .dot
    else { throw expected("';' between the closed days and the times") }
    parsed.rule.times = [try timeSpan()]
    guard parsed.rule.times[0].end != nil || parsed.rule.times[0].isOpenEnded else { throw expected("'-'") }
    guard !(isList() && isTimeStart(1)), !isTimeStart(0) else { throw expected("';'") }
  }

  private mutating func parseComment(_ parsed: inout ParsedRule, _ stage: inout Stage) throws(HoursError) {
    guard case .comment(let comment) = kind() else { return }
    guard stage < .modifier else { throw expected("the end of the rule") }
    index += 1
    if !comment.isEmpty { parsed.rule.comment = ExactText(comment) }
    if stage == .start {
      // `"summer": Mo` is open; `"perhaps" Mo` is `Mo "perhaps"`.
      let hasColon = take(.colon)
      switch element(after: .dates) {
      case .comment?, nil: if hasColon { throw expected("days or times") }
      default:
        if !hasColon, !comment.isEmpty { parsed.rule.state = .unknown }
        stage = .dates
        return
      }
    }
    if !comment.isEmpty, !parsed.hasState { parsed.rule.state = .unknown }
    stage = .modifier
  }

  /// Returns what begins at the current token, depending on what the rule has.
  private func element(after stage: Stage) -> Element? {
    switch kind() {
    case .comment: return .comment
    case .open: return .time
    case .word(let word):
      switch word {
      case .weekday, .weekdays, .workingDays, .holiday, .daily: return .weekday
      case .always: return .always
      case .month, .easter: return .date
      case .week: return .week
      case .event, .noon, .midnight: return .time
      case .state: return .state
      default: return nil
      }
    case .number(let value, let digits):
      if isAlways { return .always }
      // A day before its month: 24 December, 24. Dezember.
      if digits <= 2, (1...31).contains(value), isMonth(1) || kind(1) == .dot && isMonth(2) { return .date }
      if beginsYears(0) { return .year }
      guard digits == 4, (1900...2199).contains(value), stage < .weekdays, kind(1) != .colon else { return .time }
      if isRange(1), let (last, digits) = number(2), digits == 4 {
        // 2020-2024 are years, 1900-2200 is a time.
        return (1990...2100).contains(value) && (1990...2199).contains(last) ? .year : .time
      }
      return .year
    default: return nil
    }
  }

  /// Returns whether years begin at a token, by what follows them: `2026 Dec`, `2026-2028 Mo-Fr`, `2026+ week 1`.
  private func beginsYears(_ distance: Int) -> Bool {
    guard isYear(distance) else { return false }
    var next = distance + 1
    if isRange(next), isYear(next + 1) { next += 2 } else if kind(next) == .plus { next += 1 }
    if kind(next) == .slash, number(next + 1) != nil { next += 2 }
    if isDate(next) || kind(next) == .open || number(next) != nil && kind(next + 1) == .colon { return true }
    switch word(next) {
    case .weekday, .weekdays, .workingDays, .holiday, .daily, .week, .event, .state: return true
    default: return false
    }
  }

  private func isMonth(_ distance: Int) -> Bool {
    if case .month? = word(distance) { return true }
    return false
  }

  // MARK: Always

  /// A Boolean value that indicates whether 24/7 or another text of this meaning begins here.
  private var isAlways: Bool { alwaysLength(0) > 0 }

  private func alwaysLength(_ distance: Int) -> Int {
    if word(distance) == .always { return 1 }
    guard let (first, digits) = number(distance), digits <= 2 else { return 0 }
    let end = endOfAlways(distance, first: first)
    return end - distance
  }

  private func endOfAlways(_ distance: Int, first: Int) -> Int {
    // 24/7, 24/24, 7/24, 24h/24h, 24 hours, 24h/7d.
    var length = distance + 1
    let hasHours = word(length) == .hour
    if hasHours { length += 1 }
    guard kind(length) == .slash, let (second, _) = number(length + 1) else {
      return hasHours && first == 24 ? length : distance
    }
    guard first == 24 && (second == 7 || second == 24) || first == 7 && second == 24 else { return distance }
    length += 2
    if word(length) == .hour || word(length) == .day { length += 1 }
    return length
  }

  private mutating func skipAlways() {
    while isAlways { index += alwaysLength(0) }
  }

  // MARK: Years, dates and weeks

  private mutating func parseDates(_ rule: inout HoursRule, _ element: Element) throws(HoursError) {
    switch element {
    case .week: try parseWeeks(&rule)
    case .year: try parseYears(&rule)
    default: try parseDateRanges(&rule, year: nil)
    }
  }

  private func isYear(_ distance: Int = 0) -> Bool {
    guard let (value, digits) = number(distance) else { return false }
    return digits == 4 && (1900...2199).contains(value) && kind(distance + 1) != .colon
  }

  private mutating func parseYears(_ rule: inout HoursRule) throws(HoursError) {
    var ranges: [YearRange] = []
    repeat {
      guard let (first, _) = number() else { throw expected("a year") }
      // Years of dates: 2020 Dec 24,2021 Jan 06.
      if !ranges.isEmpty, isDate(1) {
        index -= 1
        break
      }
      index += 1
      var range = YearRange(first: first, last: first)
      if isRange(), isYear(1), let (last, _) = number(1) {
        index += 2
        guard last >= first else { throw expected("a year after \(first)") }
        range.last = last
      } else if take(.plus) {
        range.last = nil
      }
      if kind() == .slash, let (step, _) = number(1), step > 0 {
        index += 2
        if range.last == first { range.last = nil }
        range.step = step
      }
      ranges.append(range)
    } while isList() && isYear(1) && !isTime(1)
      && {
        index += 1; return true
      }()
    if ranges.count == 1, ranges[0].last == ranges[0].first, ranges[0].step == 1, isDate(0) {
      try parseDateRanges(&rule, year: ranges[0].first)
    } else {
      rule.days.years += ranges
    }
  }

  /// Returns whether a date without year begins at a token.
  private func isDate(_ distance: Int) -> Bool {
    if isMonth(distance) || word(distance) == .easter { return true }
    guard let (value, digits) = number(distance) else { return false }
    return digits <= 2 && (1...31).contains(value)
      && (isMonth(distance + 1) || kind(distance + 1) == .dot && isMonth(distance + 2))
  }

  /// Returns whether the number at a token is that of an hour.
  private func isTime(_ distance: Int) -> Bool {
    guard let (_, digits) = number(distance) else { return true }
    if digits >= 3 { return false }
    if alwaysLength(distance) > 0 { return true }
    switch kind(distance + 1) {
    case .colon, .dot:
      // `Dec 25: 10:00-12:00` and `Dec 25:10:00-12:00` have a day.
      guard let (_, digits) = number(distance + 2), digits == 2,
        !token(distance + 2).followsSpace || kind(distance + 1) == .dot
      else { return false }
      return !(kind(distance + 3) == .colon && number(distance + 4) != nil)
    case .word(.am), .word(.pm), .word(.hour): return true
    default: return false
    }
  }

  private mutating func parseDateRanges(_ rule: inout HoursRule, year: Int?) throws(HoursError) {
    var year = year
    var month: Int?
    var isBareDay = false
    while true {
      let start = try datePoint(year: year, month: month)
      // In `Dec 25, 10-18`, 10 may be an hour.
      if isBareDay, let previous = rule.days.dates.last, case .day(let month, let last)? = previous.end?.anchor,
        case .day(month, let day) = start.anchor, day <= last
      {
        throw HoursError(character: token(-1).start + 1, reason: "expected a later day, or minutes")
      }
      var range = DateRange(start: start, end: start)
      month = Self.monthOfDay(start)
      if isRange(), let end = try rangeEnd(start: start) {
        range.end = end
        month = Self.monthOfDay(end) ?? month
      } else if take(.plus) {
        range.end = nil
      }
      rule.days.dates.append(range)
      year = start.year
      // Another date, or another day of the month.
      guard isList() else { return }
      isBareDay = false
      if isDate(1) { index += 1; continue }
      if isYear(1), isDate(2) {
        index += 1
        year = nil
        continue
      }
      guard month != nil, let (value, digits) = number(1), digits <= 2, (1...31).contains(value), !isTime(1) else {
        return
      }
      index += 1
      isBareDay = true
    }
  }

  private static func monthOfDay(_ point: DatePoint) -> Int? {
    if case .day(let month, _) = point.anchor { return month }
    return nil
  }

  /// Parses the end of a range of dates; returns `nil`, and stays, if what follows the dash is none.
  private mutating func rangeEnd(start: DatePoint) throws(HoursError) -> DatePoint? {
    let before = index
    index += 1
    let hasYear = isYear() && isDate(1)
    if hasYear || isDate(0) {
      // `Jul-Feb Tu[1]` are Tuesdays of these months.
      if case .month = start.anchor, case .month(let month)? = word(), case .weekday? = word(1) {
        index += 1
        return DatePoint(year: nil, anchor: .month(month))
      }
      return try datePoint(year: nil, month: nil, isEnd: true)
    }
    if let month = Self.monthOfDay(start), let (day, digits) = number(), digits <= 2, (1...31).contains(day), !isTime(0)
    {
      index += 1
      skipDayMark()
      var end = DatePoint(year: nil, anchor: try self.day(day, of: month, isEnd: true))
      try parseOffset(&end)
      return end
    }
    index = before
    return nil
  }

  private mutating func skipDayMark() {
    // 24. Dezember
    if kind() == .dot { index += 1 }
  }

  /// Parses a day of a year. `month` is that of a number alone.
  private mutating func datePoint(year: Int?, month: Int?, isEnd: Bool = false) throws(HoursError) -> DatePoint {
    var point = DatePoint(year: year, anchor: .easter)
    if isYear(), let (value, _) = number() {
      point.year = value
      index += 1
    }
    if word() == .easter {
      index += 1
    } else if let (day, digits) = number() {
      guard digits <= 2, (1...31).contains(day) else { throw expected("a day of the month") }
      index += 1
      skipDayMark()
      if case .month(let month)? = word() {
        index += 1
        point.anchor = try self.day(day, of: month, isEnd: isEnd)
      } else if let month {
        point.anchor = try self.day(day, of: month, isEnd: isEnd)
      } else {
        throw expected("a month")
      }
    } else if case .month(let month)? = word() {
      index += 1
      // `Oct Fr[1]` is a day; `Oct Fr[1-2]` are days in October.
      if case .weekday(let weekday)? = word(), kind(1) == .openBracket,
        kind(2) == .dash ? kind(4) == .closeBracket : kind(3) == .closeBracket
      {
        index += 2
        let nth = try nthNumber()
        guard take(.closeBracket) else { throw expected("']'") }
        point.anchor = .weekday(weekday, nth: nth, month: month)
      } else if let (day, digits) = number(), digits <= 2, (1...31).contains(day), !isTime(0) {
        index += 1
        if kind() == .dot { index += 1 }
        point.anchor = try self.day(day, of: month, isEnd: isEnd)
      } else {
        point.anchor = .month(month)
      }
    } else {
      throw expected("a date")
    }
    try parseOffset(&point)
    return point
  }

  /// Returns a day of a month; the end of a range may be one that the month lacks (`Sep 31`).
  private func day(_ day: Int, of month: Int, isEnd: Bool) throws(HoursError) -> DatePoint.Anchor {
    let days = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
    if isEnd { return .day(month: month, day: min(day, days)) }
    guard day <= days else {
      throw HoursError(character: token(-1).start + 1, reason: "expected a day from 1 to \(days)")
    }
    return .day(month: month, day: day)
  }

  /// Parses `+Su`, `-Su`, `+2 days`, `-2 days`.
  private mutating func parseOffset(_ point: inout DatePoint) throws(HoursError) {
    if kind() == .plus || kind() == .dash, !token(1).followsSpace, case .weekday(let weekday)? = word(1) {
      point.weekday = DatePoint.WeekdayOffset(weekday: weekday, isNext: kind() == .plus)
      index += 2
    }
    if let days = try dayOffset() { point.dayOffset = days }
  }

  private mutating func dayOffset() throws(HoursError) -> Int? {
    guard kind() == .plus || kind() == .dash, let (days, _) = number(1), word(2) == .day else { return nil }
    guard days <= 366 else { throw expected("at most 366 days") }
    let isLater = kind() == .plus
    index += 3
    return isLater ? days : -days
  }

  private mutating func parseWeeks(_ rule: inout HoursRule) throws(HoursError) {
    func isWeek(_ distance: Int) -> Bool {
      guard let (value, digits) = number(distance) else { return false }
      return digits <= 2 && (1...53).contains(value) && !isTime(distance)
    }
    index += 1
    guard isWeek(0) else { throw expected("a week from 1 to 53") }
    while true {
      guard let (first, _) = number() else { throw expected("a week from 1 to 53") }
      index += 1
      var range = WeekRange(first: first, last: first)
      if isRange(), isWeek(1), let (last, _) = number(1) {
        range.last = last
        index += 2
      }
      if kind() == .slash, let (step, _) = number(1), step > 0 {
        if range.last == first { range.last = 53 }
        range.step = step
        index += 2
      }
      rule.days.weeks.append(range)
      guard isList() else { return }
      if word(1) == .week, isWeek(2) { index += 2 } else if isWeek(1) { index += 1 } else { return }
    }
  }

  // MARK: Weekdays

  private mutating func parseWeekdays(_ parsed: inout ParsedRule) throws(HoursError) {
    while true {
      switch word() {
      case .daily:
        index += 1
        // Alone it has no hours, and `täglich Mo-Fr` is in doubt.
        guard kind() != .end, kind() != .semicolon, !isWeekday(0) else { throw expected("times") }
        parsed.rule.days.weekdays = 0x7F
      case .weekdays(let weekdays):
        index += 1
        parsed.rule.days.weekdays |= weekdays
      case .workingDays:
        index += 1
        guard parsed.exception == nil, parsed.rule.days.weekdays == 0, parsed.rule.days.holidays.isEmpty,
          !(isList() && isWeekday(1)), !isWeekday(0)
        else { throw expected("working days alone") }
        parsed.rule.days.weekdays = 0x1F
        parsed.exception = DaySelector()
        parsed.exception?.holidays = [HolidaySelector(kind: .publicHoliday)]
      case .weekday(let first):
        index += 1
        try parseWeekday(first, &parsed.rule)
      case .holiday(let kind):
        index += 1
        // `Mo-Th PH`: holidays on these days.
        var selector = HolidaySelector(kind: kind)
        if let days = try dayOffset() { selector.dayOffset = days }
        parsed.rule.days.holidays.append(selector)
      default: throw expected("a weekday")
      }
      if isWeekday(0) {
        // Without a comma: `PH Mo-Fr` are holidays on these days, `Mo Fr` a list.
        // `土日祝` is a list, too.
        let follows = isHoliday(0) != isHoliday(-1) && (isHoliday(-1) || token().followsSpace)
        // `closed PH Mo-Fr` may be two rules.
        if parsed.closesFirst,
          follows || tokens[parsed.start..<index].contains(where: { $0.kind == .dash })
            || kind(1) == .dash || word(1) == .to
        {
          throw expected("';' or ','")
        }
        if follows, parsed.rule.days.hasHolidaysOrWeekdaysAlone { parsed.rule.days.intersectsHolidays = true }
        continue
      }
      guard isList(), isWeekday(1) else { break }
      // `Sa,Su,PH` and `PH,SH Mo-Fr` are lists; a list after `PH Mo` continues it.
      index += 1
    }
    if parsed.rule.days.hasHolidaysOrWeekdaysAlone { parsed.rule.days.intersectsHolidays = false }
  }

  /// Parses the weekdays behind holidays and a colon: `SH: Mo-Fr 10:00-12:00` are the school holidays on these days.
  private mutating func parseDaysOfHolidays(_ parsed: inout ParsedRule) throws(HoursError) {
    let holidays = parsed.rule.days.holidays
    guard !holidays.isEmpty, parsed.rule.days.hasHolidaysOrWeekdaysAlone, parsed.exception == nil, !parsed.closesFirst
    else { throw expected("times") }
    let start = token()
    try parseWeekdays(&parsed)
    guard parsed.rule.days.holidays == holidays, parsed.exception == nil else {
      throw HoursError(character: start.start + 1, reason: "expected weekdays of the holidays")
    }
    parsed.rule.days.intersectsHolidays = true
    parsed.hasDaysOfHolidays = true
  }

  private func isWeekday(_ distance: Int) -> Bool {
    switch word(distance) {
    case .weekday, .weekdays, .workingDays, .holiday, .daily: return true
    default: return false
    }
  }

  private func isHoliday(_ distance: Int) -> Bool {
    guard index + distance >= 0 else { return false }
    if case .holiday? = word(distance) { return true }
    // A distance of days behind the holiday.
    return distance < 0 && word(distance) == .day
  }

  private mutating func parseWeekday(_ first: Int, _ rule: inout HoursRule) throws(HoursError) {
    if isRange(), case .weekday(let last)? = word(1), !(kind(2) == .openBracket) {
      index += 2
      for distance in 0...((last - first + 7) % 7) { rule.days.weekdays |= 1 << ((first + distance) % 7) }
      return
    }
    guard take(.openBracket) else {
      if let days = try dayOffset() {
        rule.days.weekdays |= 1 << (((first + days) % 7 + 7) % 7)
      } else {
        rule.days.weekdays |= 1 << first
      }
      return
    }
    var places: UInt16 = 0
    repeat {
      let nth = try nthNumber()
      if nth > 0, kind() == .dash, let (last, _) = number(1), (nth...5).contains(last) {
        index += 2
        for place in nth...last { places |= 1 << (place - 1) }
      } else {
        places |= nth > 0 ? 1 << (nth - 1) : 1 << (7 - nth)
      }
    } while take(.comma)
    guard take(.closeBracket) else { throw expected("']'") }
    var selector = NthWeekday(weekday: first, places: places)
    if let days = try dayOffset() { selector.dayOffset = days }
    rule.days.nthWeekdays.append(selector)
  }

  private mutating func nthNumber() throws(HoursError) -> Int {
    let isNegative = take(.dash)
    guard let (value, _) = number(), (1...5).contains(value) else { throw expected("a number from 1 to 5 or -5 to -1") }
    index += 1
    return isNegative ? -value : value
  }

  // MARK: Times

  private enum Meridiem { case am, pm }

  /// The half of the day of the last time alone; `nil` if the text has none.
  private var lastMeridiem: Meridiem?

  private mutating func parseTimes(_ rule: inout HoursRule) throws(HoursError) {
    var isUnmarked = false
    while true {
      let start = token().start
      let span = try timeSpan()
      if span.end == nil, span.start.event == nil {
        // `6:30, 8:30 pm` may be 18:30.
        guard !isUnmarked || lastMeridiem != .pm else {
          throw HoursError(character: start + 1, reason: "expected am or pm behind each time, or none")
        }
        isUnmarked = lastMeridiem == nil && span.start.minutes < 780
      }
      rule.times.append(span)
      if isList(), isTimeStart(1) {
        index += 1
      } else if kind() == .slash, isTimeStart(1), number(1) != nil {
        // `09:00-12:00 / 13:00-19:00`
        index += 1
      } else if !isTimeStart(0) {
        return
      } else if rule.times.last?.end == nil {
        // `10:00 18:00` may be a range.
        throw expected("'-' or ','")
      }
    }
  }

  private func isTimeStart(_ distance: Int) -> Bool {
    switch kind(distance) {
    case .open, .word(.event), .word(.noon), .word(.midnight): return true
    case .number(let value, let digits):
      if digits <= 2, (1...31).contains(value),
        isMonth(distance + 1) || kind(distance + 1) == .dot && isMonth(distance + 2)
      {
        return false
      }
      // 2026 Dec 24 and 24/7 begin another rule.
      return !beginsYears(distance) && alwaysLength(distance) == 0
    default: return false
    }
  }

  private mutating func timeSpan() throws(HoursError) -> TimeSpan {
    let begin = index
    var (start, startMeridiem) = try time(isEnd: false)
    var span = TimeSpan(start: start)
    guard isRange() else {
      // A number alone may be anything, and `09:18:00` may be 09:00-18:00.
      let length = index - begin
      Self.apply(&start.minutes, startMeridiem)
      lastMeridiem = startMeridiem
      span.start = start
      if take(.plus) {
        span.isOpenEnded = true
      } else if start.event == nil, length == 1 && startMeridiem == nil || length > 4 {
        throw expected("'-'")
      }
      guard start.event != nil || start.minutes < 1_440 else { throw expected("a time before 24:00") }
      return span
    }
    index += 1
    if take(.plus) || kind() == .end || kind() == .semicolon {
      throw expected("a time")
    }
    let endIndex = index
    var (end, endMeridiem) = try time(isEnd: true)
    // `11-2` may end at 14:00.
    if start.event == nil, end.event == nil, startMeridiem == nil, endMeridiem == nil, endIndex == begin + 2,
      index == endIndex + 1,
      start.minutes <= 720, end.minutes < start.minutes, end.minutes > 0
    {
      throw HoursError(character: tokens[endIndex].start + 1, reason: "expected a later hour, or am or pm")
    }
    // `5-midnight` may begin at 17:00.
    if tokens[endIndex].kind == .word(.midnight), startMeridiem == nil, endIndex == begin + 2, start.event == nil,
      (1..<720).contains(start.minutes)
    {
      throw HoursError(character: tokens[begin].start + 1, reason: "expected am or pm, or minutes")
    }
    if start.event == nil, end.event == nil {
      Self.apply(&start.minutes, &startMeridiem, &end.minutes, &endMeridiem)
    } else {
      if start.event == nil { Self.apply(&start.minutes, startMeridiem) }
      if end.event == nil { Self.apply(&end.minutes, endMeridiem) }
    }
    // 00:00 at the end is the end of the day.
    if end.event == nil, end.minutes == 0 { end.minutes = 1_440 }
    guard start.event != nil || start.minutes < 1_440 else {
      throw HoursError(character: tokens[begin].start + 1, reason: "expected a time before 24:00")
    }
    span.start = start
    span.end = end
    if take(.plus) { span.isOpenEnded = true }
    if kind() == .slash, let (value, digits) = number(1), !beginsSpan(1) {
      // An interval, unless another span follows: `09:00-12:00/13:00-19:00`.
      let isHours = kind(2) == .colon || word(2) == .hour
      let length = kind(2) == .colon ? 4 : word(2) == .hour ? 3 : 2
      if digits <= 3 || isHours {
        let minutes = kind(2) == .colon ? value * 60 + (number(3)?.value ?? 0) : isHours ? value * 60 : value
        guard minutes > 0, minutes <= 1_440 else { throw expected("an interval of at most 24 hours") }
        span.intervalMinutes = minutes
        index += length
      }
    }
    return span
  }

  /// Returns whether a time with an end, an open end or a half of the day begins at a token.
  private func beginsSpan(_ distance: Int) -> Bool {
    var next = self
    next.index += distance
    guard let (_, meridiem) = try? next.time(isEnd: false) else { return false }
    return meridiem != nil || next.isRange() || next.kind() == .plus
  }

  /// Applies the halves of the day to the ends of a span; an end without one takes that of the other.
  private static func apply(_ start: inout Int, _ first: inout Meridiem?, _ end: inout Int, _ last: inout Meridiem?) {
    if first == nil, let half = last, start >= 60, start < 780 {
      // `5-7pm`, `10-5pm`
      var same = start
      apply(&same, half)
      var final = end
      apply(&final, half)
      if same < final { start = same }
      apply(&end, half)
      return
    }
    apply(&start, first)
    // `11am-2`, but not `5pm-2`
    if last == nil, first != nil, end < start, end < 720, end + 720 > start { end += 720 }
    apply(&end, last)
  }

  private static func apply(_ minutes: inout Int, _ half: Meridiem?) {
    guard let half, minutes < 780 else { return }
    minutes %= 720
    if half == .pm { minutes += 720 }
  }

  private mutating func time(isEnd: Bool) throws(HoursError) -> (TimePoint, Meridiem?) {
    if case .event(let event)? = word() {
      index += 1
      return (TimePoint(event: event, minutes: 0), nil)
    }
    if take(.open) {
      guard case .event(let event)? = word() else { throw expected("dawn, sunrise, sunset or dusk") }
      index += 1
      guard kind() == .plus || kind() == .dash else { throw expected("'+' or '-'") }
      let isLater = kind() == .plus
      index += 1
      guard let (hours, digits) = number(), digits <= 2, kind(1) == .colon, let (minutes, _) = number(2), hours <= 24,
        minutes < 60
      else { throw expected("hours and minutes") }
      index += 3
      guard take(.close) else { throw expected("')'") }
      return (TimePoint(event: event, minutes: (isLater ? 1 : -1) * (hours * 60 + minutes)), nil)
    }
    if word() == .noon || word() == .midnight {
      let isNoon = word() == .noon
      index += 1
      return (TimePoint(minutes: isNoon ? 720 : 0), isNoon ? .pm : .am)
    }
    let begin = token().start
    guard let (value, count) = number() else { throw expected("a time") }
    index += 1
    var hours = value
    var minutes = 0
    // 010:00
    let digits = count == 3 && value <= 24 && kind() == .colon ? 2 : count
    if digits >= 3 {
      // 0930, 1730
      guard kind() != .colon, digits <= 4 else { throw expected("hours and minutes") }
      hours = value / 100
      minutes = value % 100
      if word() == .hour { index += 1 }
    } else if let length = minutesLength, let (value, _) = number(length - 1) {
      minutes = value
      index += length
      // Seconds, and marks behind the minutes.
      if kind() == .colon, let (seconds, digits) = number(1), seconds == 0, digits == 2 { index += 2 }
      if word() == .minute || word() == .hour { index += 1 }
    } else if word() == .hour {
      index += 1
    }
    guard minutes < 60, hours * 60 + minutes <= (isEnd ? 2_880 : 1_440) else {
      throw HoursError(character: begin + 1, reason: "expected a time")
    }
    var meridiem: Meridiem?
    if word() == .am || word() == .pm {
      meridiem = word() == .am ? .am : .pm
      index += 1
      guard hours <= 12 || meridiem == .pm && hours < 24 else { throw expected("an hour from 1 to 12") }
    } else if word() == .noon || word() == .midnight, hours == 12, minutes == 0 {
      // `12 noon`
      meridiem = word() == .noon ? .pm : .am
      index += 1
    }
    return (TimePoint(minutes: hours * 60 + minutes), meridiem)
  }

  /// The number of tokens of the minutes after an hour: a mark and a number.
  private var minutesLength: Int? {
    switch kind() {
    case .colon:
      guard let (_, digits) = number(1), digits <= 2 else { return nil }
      return 2
    case .dot:
      guard let (_, digits) = number(1), digits == 2 else { return nil }
      return 2
    case .word(.hour):
      guard let (value, digits) = number(1), digits == 2, value < 60, kind(2) != .colon, word(2) != .hour,
        !token(1).followsSpace
      else { return nil }
      return 2
    default: return nil
    }
  }
}
