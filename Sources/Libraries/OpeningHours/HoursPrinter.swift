import Basics

extension HoursExpression {
  /// The canonical text: what OpenStreetMap's specification recommends, with the same meaning as the text it came from.
  package var text: String {
    var text = ""
    for (index, rule) in rules.enumerated() {
      if index > 0 {
        switch rule.separator {
        case .normal: text += "; "
        case .additional: text += ", "
        case .fallback: text += " || "
        }
      }
      // A comma would continue a list of days, or of times.
      let next = index + 1 < rules.count ? rules[index + 1] : nil
      text += rule.text(
        isContinued: next?.separator == .additional && (rule.times.isEmpty || next?.beginsWithTimes == true)
          || rule.separator == .additional && rule.isYear,
        // A state without days among other rules may be that of the days before or behind it.
        isAlone: rules.count == 1 || rule.separator == .fallback)
    }
    return text
  }
}

extension HoursRule {
  fileprivate var beginsWithTimes: Bool { days.isEveryDay && !times.isEmpty }

  /// A Boolean value that indicates whether the rule has nothing but a year, which is a time behind a comma.
  fileprivate var isYear: Bool { days.years.count == 1 && days.count == 1 && times.isEmpty }

  fileprivate func text(isContinued: Bool, isAlone: Bool) -> String {
    var parts = days.parts
    if !times.isEmpty { parts.append(times.map(\.text).joined(separator: ",")) }
    let isBare = parts.isEmpty && isAlone
    if parts.isEmpty, !isAlone { parts.append("24/7") }
    switch state {
    case .open:
      if isBare, comment == nil {
        parts.append("24/7")
      } else if comment != nil || isContinued {
        parts.append("open")
      }
    case .closed: parts.append("off")
    case .unknown: parts.append("unknown")
    }
    if let comment { parts.append("\"\(comment.text)\"") }
    return parts.joined(separator: " ")
  }
}

private let weekdayNames = ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"]
private let monthNames = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

private func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

private func offset(_ days: Int) -> String {
  days == 0 ? "" : " \(days > 0 ? "+" : "-")\(abs(days)) day\(abs(days) == 1 ? "" : "s")"
}

extension DaySelector {
  fileprivate var parts: [String] {
    var parts: [String] = []
    if !years.isEmpty { parts.append(years.map(\.text).joined(separator: ",")) }
    if !dates.isEmpty {
      // `Oct: Su[1]` are Sundays of October, `Mar-Oct Su[1]` ends at one.
      let needsColon = weeks.isEmpty && weekdays == 0 && !nthWeekdays.isEmpty && !intersectsHolidays
      parts.append(dates.map(\.text).joined(separator: ",") + (needsColon ? ":" : ""))
    }
    if !weeks.isEmpty { parts.append("week " + weeks.map(\.text).joined(separator: ",")) }
    let weekdays = weekdayTexts + nthWeekdays.map(\.text)
    let holidays = holidays.map(\.text)
    if intersectsHolidays {
      parts.append(holidays.joined(separator: ",") + " " + weekdays.joined(separator: ","))
    } else if !weekdays.isEmpty || !holidays.isEmpty {
      parts.append((weekdays + holidays).joined(separator: ","))
    }
    return parts
  }

  private var weekdayTexts: [String] {
    var texts: [String] = []
    guard weekdays != 0x7F else { return ["Mo-Su"] }
    func has(_ day: Int) -> Bool { weekdays & 1 << ((day + 7) % 7) != 0 }
    for first in 0..<7 where has(first) && !has(first - 1) {
      var last = first
      while has(last + 1) { last += 1 }
      if last == first {
        texts.append(weekdayNames[first])
      } else if last == first + 1 {
        // In the order of the week, Su before Mo.
        texts.append("\(weekdayNames[first]),\(weekdayNames[last % 7])")
      } else {
        texts.append("\(weekdayNames[first])-\(weekdayNames[last % 7])")
      }
    }
    return texts
  }
}

extension YearRange {
  fileprivate var text: String {
    var text = "\(first)"
    if let last { if last != first { text += "-\(last)" } } else if step == 1 { text += "+" }
    if step != 1 { text += "/\(step)" }
    return text
  }
}

extension WeekRange {
  fileprivate var text: String {
    var text = padded(first)
    if last != first || step != 1 { text += "-" + padded(last) }
    if step != 1 { text += "/\(step)" }
    return text
  }
}

extension DateRange {
  fileprivate var text: String {
    guard let end else { return start.text + "+" }
    guard end != start else { return start.text }
    if end.year == nil, end.dayOffset == 0, end.weekday == nil, start.dayOffset == 0, start.weekday == nil,
      case .day(let month, let first) = start.anchor, case .day(month, let last) = end.anchor, first < last
    {
      return start.text + "-" + padded(last)
    }
    return start.text + "-" + end.text
  }
}

extension DatePoint {
  fileprivate var text: String {
    var text = year.map { "\($0) " } ?? ""
    switch anchor {
    case .month(let month): text += monthNames[month - 1]
    case .day(let month, let day): text += "\(monthNames[month - 1]) \(padded(day))"
    case .weekday(let weekday, let nth, let month): text += "\(monthNames[month - 1]) \(weekdayNames[weekday])[\(nth)]"
    case .easter: text += "easter"
    }
    if let weekday { text += " \(weekday.isNext ? "+" : "-")\(weekdayNames[weekday.weekday])" }
    return text + offset(dayOffset)
  }
}

extension NthWeekday {
  fileprivate var text: String {
    var texts: [String] = []
    for place in 0..<5 where places & 1 << place != 0 { texts.append("\(place + 1)") }
    for place in 0..<5 where places & 1 << (place + 8) != 0 { texts.append("-\(place + 1)") }
    return "\(weekdayNames[weekday])[\(texts.joined(separator: ","))]" + offset(dayOffset)
  }
}

extension HolidaySelector {
  fileprivate var text: String { (kind == .publicHoliday ? "PH" : "SH") + offset(dayOffset) }
}

extension TimeSpan {
  fileprivate var text: String {
    var text = start.text
    if let end { text += "-" + end.text }
    if isOpenEnded { text += "+" }
    if intervalMinutes > 0 { text += "/" + TimePoint(minutes: intervalMinutes).text }
    return text
  }
}

extension TimePoint {
  fileprivate var text: String {
    guard let event else { return "\(padded(minutes / 60)):\(padded(minutes % 60))" }
    guard minutes != 0 else { return "\(event)" }
    let size = abs(minutes)
    return "(\(event)\(minutes > 0 ? "+" : "-")\(padded(size / 60)):\(padded(size % 60)))"
  }
}
