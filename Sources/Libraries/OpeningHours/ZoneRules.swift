import Basics

/// The offsets from UTC of a time zone, by instants in seconds since 1970-01-01T00:00:00Z.
package struct ZoneRules: Hashable, Sendable {
  /// The last year for which a recurring rule is expanded; afterwards the last offset holds.
  private static let lastYear = 2100

  package let name: String

  /// The instants at which the offset changes, ascending.
  private let transitions: [Int64]

  /// The offsets in seconds east of UTC: before the first transition, and from each one.
  private let offsets: [Int32]

  package static let utc = ZoneRules(name: "UTC", offsetSeconds: 0)

  /// Creates a zone with one offset.
  package init(name: String, offsetSeconds: Int) {
    self.name = name
    transitions = []
    offsets = [Int32(offsetSeconds)]
  }

  /// Creates the rules of a file of the IANA time zone database in the format TZif (RFC 9636), versions 2 to 4; `nil` if
  /// the bytes are not in it.
  package init?(name: String, tzif bytes: some Collection<UInt8>) {
    var reader = TZifReader(bytes: Array(bytes))
    guard let header = reader.header(), header.version >= 2 else { return nil }
    // The first block is for readers of 32 bits.
    guard reader.skip(header.byteCount(timeBytes: 4)), let header = reader.header(),
      let block = reader.block(header), let footer = reader.footer()
    else { return nil }
    var transitions = block.transitions
    var offsets = block.offsets
    if !footer.isEmpty {
      guard let rule = PosixRule(footer) else { return nil }
      if transitions.isEmpty { offsets = [Int32(rule.standardOffset)] }
      let last = transitions.last ?? Int64.min
      let firstYear = transitions.isEmpty ? 1970 : CivilDate(daysSinceEpoch: Int((last / 86_400))).year
      for (instant, offset) in rule.transitions(years: firstYear...max(firstYear, Self.lastYear)) where instant > last {
        transitions.append(instant)
        offsets.append(Int32(offset))
      }
    }
    self.name = name
    self.transitions = transitions
    self.offsets = offsets
  }

  /// Returns the offset at an instant, and the instant of the next change; `Int64.max` if there is none.
  package func offset(at instant: Int64) -> (seconds: Int, until: Int64) {
    var low = 0
    var high = transitions.count
    while low < high {
      let middle = (low + high) / 2
      if transitions[middle] <= instant { low = middle + 1 } else { high = middle }
    }
    return (Int(offsets[low]), low < transitions.count ? transitions[low] : .max)
  }

  /// Returns the instant of a local time in seconds since 1970-01-01T00:00:00 on the wall clock. A time that exists twice
  /// is the first one, and one that does not exist is as far after the change as it would be after its start.
  package func instant(ofLocalSeconds local: Int64) -> Int64 {
    // The offset that held a day before is that before any change in between: changes are months apart, or cancel.
    let before = offset(at: local - 86_400 - 50_400)
    var offset = before
    while true {
      let instant = local - Int64(offset.seconds)
      if instant < offset.until { return instant }
      let next = self.offset(at: offset.until)
      let later = local - Int64(next.seconds)
      // In the gap of a change neither offset gives the time.
      if later < offset.until { return instant }
      offset = next
    }
  }
}

/// A reader of the format TZif.
private struct TZifReader {
  struct Header {
    var version: Int
    var utcIndicators: Int
    var standardIndicators: Int
    var leapSeconds: Int
    var transitions: Int
    var types: Int
    var characters: Int

    func byteCount(timeBytes: Int) -> Int {
      transitions * (timeBytes + 1) + types * 6 + characters + leapSeconds * (timeBytes + 4) + standardIndicators
        + utcIndicators
    }
  }

  let bytes: [UInt8]
  var index = 0

  mutating func skip(_ count: Int) -> Bool {
    guard count >= 0, bytes.count - index >= count else { return false }
    index += count
    return true
  }

  mutating func integer(_ count: Int) -> Int64 {
    var value: UInt64 = 0
    for byte in bytes[index..<(index + count)] { value = value << 8 | UInt64(byte) }
    index += count
    return count == 4 ? Int64(Int32(truncatingIfNeeded: value)) : Int64(bitPattern: value)
  }

  mutating func header() -> Header? {
    guard bytes.count - index >= 44, bytes[index..<(index + 4)].elementsEqual("TZif".utf8) else { return nil }
    let version = bytes[index + 4] == 0 ? 1 : Int(bytes[index + 4]) - 48
    index += 20
    let counts = (0..<6).map { _ in Int(integer(4)) }
    guard counts.allSatisfy({ 0...100_000 ~= $0 }) else { return nil }
    return Header(
      version: version, utcIndicators: counts[0], standardIndicators: counts[1], leapSeconds: counts[2],
      transitions: counts[3], types: counts[4], characters: counts[5])
  }

  mutating func block(_ header: Header) -> (transitions: [Int64], offsets: [Int32])? {
    let end = index + header.byteCount(timeBytes: 8)
    guard header.types > 0, end <= bytes.count else { return nil }
    let transitions = (0..<header.transitions).map { _ in integer(8) }
    let types = bytes[index..<(index + header.transitions)].map(Int.init)
    index += header.transitions
    var typeOffsets: [Int32] = []
    for _ in 0..<header.types {
      typeOffsets.append(Int32(integer(4)))
      index += 2
    }
    index = end
    guard types.allSatisfy({ $0 < header.types }), zip(transitions, transitions.dropFirst()).allSatisfy({ $0 < $1 })
    else { return nil }
    return (transitions, [typeOffsets[0]] + types.map { typeOffsets[$0] })
  }

  /// Returns the text between the last two line feeds.
  mutating func footer() -> String? {
    guard index < bytes.count, bytes[index] == 10, let end = bytes[(index + 1)...].firstIndex(of: 10) else {
      return nil
    }
    return String(decoding: bytes[(index + 1)..<end], as: UTF8.self)
  }
}

/// A rule for the years without explicit transitions, as in POSIX's environment variable TZ with the extensions of RFC
/// 9636: `CET-1CEST,M3.5.0,M10.5.0/3`.
private struct PosixRule {
  enum Day {
    /// The day of the year from 1, without leap days; from 0, with them.
    case julian(Int), ordinal(Int)
    /// The weekday (Sunday is 0) of a week of a month; the fifth is the last.
    case weekday(month: Int, week: Int, day: Int)
  }

  var standardOffset: Int
  var summerOffset = 0
  var changes: (start: (day: Day, seconds: Int), end: (day: Day, seconds: Int))?

  init?(_ text: String) {
    var rest = Substring(text)
    guard Self.skipName(&rest), let west = Self.time(&rest) else { return nil }
    standardOffset = -west
    guard !rest.isEmpty else { return }
    guard Self.skipName(&rest) else { return nil }
    summerOffset = standardOffset + 3_600
    if rest.first != "," {
      guard let west = Self.time(&rest) else { return nil }
      summerOffset = -west
    }
    guard let start = Self.change(&rest), let end = Self.change(&rest), rest.isEmpty else { return nil }
    changes = (start, end)
  }

  private static func skipName(_ rest: inout Substring) -> Bool {
    if rest.first == "<" {
      guard let end = rest.firstIndex(of: ">") else { return false }
      rest = rest[rest.index(after: end)...]
      return true
    }
    let name = rest.prefix { $0.isLetter }
    rest = rest.dropFirst(name.count)
    return name.count >= 3
  }

  private static func number(_ rest: inout Substring) -> Int? {
    let digits = rest.prefix { $0.isASCII && $0.isNumber }
    rest = rest.dropFirst(digits.count)
    return digits.count > 3 ? nil : Int(digits)
  }

  /// Parses `-1`, `+3:30` or `3:30:15` in seconds.
  private static func time(_ rest: inout Substring) -> Int? {
    let isNegative = rest.first == "-"
    if isNegative || rest.first == "+" { rest.removeFirst() }
    guard var seconds = number(&rest).map({ $0 * 3_600 }) else { return nil }
    for unit in [60, 1] where rest.first == ":" {
      rest.removeFirst()
      guard let value = number(&rest) else { return nil }
      seconds += value * unit
    }
    return isNegative ? -seconds : seconds
  }

  private static func change(_ rest: inout Substring) -> (day: Day, seconds: Int)? {
    guard rest.first == "," else { return nil }
    rest.removeFirst()
    let day: Day
    switch rest.first {
    case "M":
      rest.removeFirst()
      guard let month = number(&rest), rest.first == ".", 1...12 ~= month else { return nil }
      rest.removeFirst()
      guard let week = number(&rest), rest.first == ".", 1...5 ~= week else { return nil }
      rest.removeFirst()
      guard let weekday = number(&rest), weekday < 7 else { return nil }
      day = .weekday(month: month, week: week, day: weekday)
    case "J":
      rest.removeFirst()
      guard let number = number(&rest), 1...365 ~= number else { return nil }
      day = .julian(number)
    default:
      guard let number = number(&rest), number < 366 else { return nil }
      day = .ordinal(number)
    }
    guard rest.first == "/" else { return (day, 7_200) }
    rest.removeFirst()
    return time(&rest).map { (day, $0) }
  }

  /// Returns the instants at which the offset changes, ascending, with the offset from then on.
  func transitions(years: ClosedRange<Int>) -> [(instant: Int64, offset: Int)] {
    guard let changes else { return [] }
    var transitions: [(instant: Int64, offset: Int)] = []
    for year in years {
      let start = Int64(Self.dayNumber(changes.start.day, year) * 86_400 + changes.start.seconds - standardOffset)
      let end = Int64(Self.dayNumber(changes.end.day, year) * 86_400 + changes.end.seconds - summerOffset)
      transitions.append((start, summerOffset))
      transitions.append((end, standardOffset))
    }
    return transitions.sorted { $0.instant < $1.instant }
  }

  private static func dayNumber(_ day: Day, _ year: Int) -> Int {
    let first = CivilDate(year: year, month: 1, day: 1).daysSinceEpoch
    switch day {
    case .julian(let number): return first + number - 1 + (number >= 60 && CivilDate.isLeap(year) ? 1 : 0)
    case .ordinal(let number): return first + number
    case .weekday(let month, let week, let weekday):
      let start = CivilDate(year: year, month: month, day: 1).daysSinceEpoch
      // 1970-01-01 was a Thursday.
      let distance = (weekday - (start + 4) % 7 + 7) % 7
      let day = start + distance + 7 * (week - 1)
      let length = CivilDate.dayCount(year: year, month: month)
      return day < start + length ? day : day - 7
    }
  }
}

extension CivilDate {
  static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

  static func dayCount(year: Int, month: Int) -> Int {
    month == 2 ? isLeap(year) ? 29 : 28 : [4, 6, 9, 11].contains(month) ? 30 : 31
  }
}
