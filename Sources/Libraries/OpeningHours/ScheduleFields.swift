import Basics
package import JSONText

/// The fields of a table, or of an object, that hold opening hours in another form than the text of the tag
/// `opening_hours`: fields for the weekdays, `openingHours` and `openingHoursSpecification` of schema.org, and
/// `periods`.
///
/// The set of names decides, since `mo` and `so` alone may be anything: fields of weekdays count if their names are of
/// one language and select at least five days, or three by their full names.
package struct ScheduleFields: Hashable, Sendable {
  /// The outcome of reading a record.
  package enum Outcome: Hashable, Sendable {
    /// The value of the tag `opening_hours`, and the indices of the fields that it comes from.
    case hours(String, fields: [Int])

    /// The first field that cannot be parsed, for a user.
    case unreadable(String)
  }

  /// A field whose value alone has the hours.
  private struct Whole: Hashable {
    let index: Int
    let name: String
    let kind: ScheduleName.Kind
  }

  /// A field for days.
  private struct Day: Hashable {
    let index: Int
    let name: String
    let days: UInt8
    let part: ScheduleName.Part
  }

  private let wholes: [Whole]
  private let days: [Day]

  /// The indices of the fields, in order.
  package let indices: [Int]

  /// Returns a Boolean value that indicates whether a field of this name may be one of them, beside others.
  package static func mayInclude(_ name: String) -> Bool { ScheduleName(name) != nil }

  /// Creates the fields of a record from their names; `nil` if there are none.
  ///
  /// - Parameter names: the names of fields; `nil` for those that have another meaning.
  package init?(names: [String?]) {
    var wholes: [Whole] = []
    var headings: [(index: Int, name: String, heading: WeekdayHeading)] = []
    for (index, name) in names.enumerated() {
      guard let name else { continue }
      switch ScheduleName(name) {
      case .whole(let kind)?: wholes.append(Whole(index: index, name: name, kind: kind))
      case .weekdays(let heading)?: headings.append((index, name, heading))
      case nil: break
      }
    }
    wholes.sort { $0.kind < $1.kind }
    let selected = WeekdayHeading.selection(of: headings.map(\.heading), isWithinHours: false)
    days = zip(headings, selected).compactMap { heading, selected in
      selected.map { Day(index: heading.index, name: heading.name, days: $0.days, part: $0.part) }
    }
    self.wholes = wholes
    indices = (wholes.map(\.index) + days.map(\.index)).sorted()
    if indices.isEmpty { return nil }
  }

  /// Returns the hours of a record; `nil` if these fields have none, or if `opening_hours` has a text.
  ///
  /// - Parameter value: returns the value of a field by its index.
  package func read(_ value: (Int) -> JSONValue?) -> Outcome? {
    var unreadable: String?
    for field in wholes {
      guard let value = value(field.index), !value.isBlank else { continue }
      let structure = value.structure
      if structure == nil, field.kind != .specification, field.kind != .openingHours {
        if field.kind == .tag { return nil }
        continue
      }
      if let text = HoursExpression(schedule: structure ?? value)?.checkedText {
        return .hours(text, fields: [field.index])
      }
      // The tag itself is found to be unreadable by whoever reads the tags.
      if field.kind == .tag { return nil }
      // `periods` and `hours` may be anything else.
      if field.kind == .specification || field.kind == .openingHours {
        unreadable = unreadable ?? Self.quote(field.name, value)
      }
    }
    var hours = DailyHours()
    var fields: [Int] = []
    var opens: [UInt8: [(name: String, text: String)]] = [:]
    var closes: [UInt8: [(name: String, text: String)]] = [:]
    for day in days {
      guard let value = value(day.index), !value.isBlank else {
        // A pair keeps its place.
        if day.part == .opens { opens[day.days, default: []].append((day.name, "")) }
        if day.part == .closes { closes[day.days, default: []].append((day.name, "")) }
        continue
      }
      fields.append(day.index)
      do throws(HoursError) {
        switch day.part {
        case .whole: for text in try DailyHours.texts(of: value) { try hours.add(text, days: day.days) }
        case .opens: opens[day.days, default: []].append((day.name, try DailyHours.time(value)))
        case .closes: closes[day.days, default: []].append((day.name, try DailyHours.time(value)))
        case .isClosed: try hours.addClosed(value, days: day.days)
        }
      } catch {
        return .unreadable(Self.quote(day.name, value))
      }
    }
    for (days, starts) in opens.sorted(by: { $0.key < $1.key }) {
      for (start, end) in zip(starts, closes[days] ?? []) {
        do throws(HoursError) {
          try hours.add(opens: start.text, closes: end.text, days: days)
        } catch {
          let both = [start, end].filter { !$0.text.isEmpty }
          return .unreadable(both.map { Self.quote($0.name, .string($0.text)) }.joined(separator: ", "))
        }
      }
    }
    if !fields.isEmpty {
      if let text = hours.expression?.checkedText { return .hours(text, fields: fields) }
      if hours.isStated { unreadable = unreadable ?? "days without times" }
    }
    return unreadable.map { .unreadable($0) }
  }

  private static func quote(_ name: String, _ value: JSONValue) -> String {
    "\(name.prefix(30)): \(value.string?.prefix(60) ?? String(decoding: value.text, as: UTF8.self).prefix(60))"
  }
}

extension HoursExpression {
  /// The text of the expression; `nil` if it is none that can be parsed, such as one that is too long.
  fileprivate var checkedText: String? {
    let text = text
    return (try? HoursExpression(text: text)) == nil ? nil : text
  }
}

extension JSONValue {
  /// A Boolean value that indicates whether the value is null, or a string of white space.
  fileprivate var isBlank: Bool {
    switch self {
    case .null: true
    case .string(let text): text.allSatisfy(\.isWhitespace)
    default: false
    }
  }

  /// The array or object that the value is, or whose JSON text it is; `nil` if it is none.
  fileprivate var structure: JSONValue? {
    switch self {
    case .array, .object: return self
    case .string(let text):
      guard let first = text.utf8.first(where: { !$0.isWhiteSpace }),
        first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
      else { return nil }
      return try? JSONReader.value(of: text.utf8)
    default: return nil
    }
  }
}

// MARK: Names

/// The meaning of a field's name.
private enum ScheduleName {
  /// A field whose value alone has the hours, the preferred one first.
  enum Kind: Int, Comparable {
    /// The tag `opening_hours`.
    case tag
    case specification, openingHours, periods
    /// A name such as `hours`.
    case otherName

    static func < (left: Kind, right: Kind) -> Bool { left.rawValue < right.rawValue }
  }

  /// The part of the hours of its days that a field holds.
  enum Part {
    case whole, opens, closes, isClosed
  }

  case whole(Kind)
  case weekdays(WeekdayHeading)

  /// Creates the meaning of a name; `nil` if it is neither.
  init?(_ name: String) {
    guard name.utf8.count <= 60 else { return nil }
    if let kind = Self.kind(of: name) {
      self = .whole(kind)
    } else if let heading = WeekdayHeading(name) {
      self = .weekdays(heading)
    } else {
      return nil
    }
  }

  private static func kind(of name: String) -> Kind? {
    switch name.utf8.first {
    case UInt8(ascii: "o"), UInt8(ascii: "O"), UInt8(ascii: "p"), UInt8(ascii: "P"), UInt8(ascii: "h"),
      UInt8(ascii: "H"), UInt8(ascii: "r"), UInt8(ascii: "R"), UInt8(ascii: "b"), UInt8(ascii: "B"):
      break
    default: return nil
    }
    if name == "opening_hours" { return .tag }
    return switch String(name.lowercased().filter { $0.isLetter }) {
    case "openinghoursspecification": .specification
    case "openinghours", "regularopeninghours": .openingHours
    case "periods": .periods
    case "hours", "businesshours": .otherName
    default: nil
    }
  }
}

/// The name of a field for one weekday or several, in any language, such as `Montag von`, `monday_open` or `Mo-Fr`.
private struct WeekdayHeading {
  /// The days by the languages in which the name means them: a bit each, Monday first, then public holidays.
  private var meanings: [(languages: HoursWords.Languages, days: UInt8)] = []
  private let part: ScheduleName.Part

  /// A Boolean value that indicates whether the days are named in full.
  private let isFull: Bool

  private static let holidays: UInt8 = 1 << 7

  // MARK: Words

  private enum Word {
    case opens, closes, isClosed
    /// Between two days a range, otherwise a closing time.
    case to
    case and
    case ignored
  }

  private static let words: [String: Word] = {
    var words: [String: Word] = [:]
    let lists: [(Word, String)] = [
      (
        .opens,
        """
        open opens opening opened start starts begin begins from von ab beginn öffnet öffnung auf ouverture ouvre début \
        de dès apertura abre desde inicio apre dalle dal da abertura início das van vanaf opent otwarcie od otwarte \
        otevřeno otváracia fra från åbner öppnar åpner avataan alkaen с от открытие начало з від відкриття начало buka \
        açılış deschide nyitás áνοιγμα από 開店 開始 開館 開門 開 시작 오픈 开始 开门 开 open
        """
      ),
      (
        .closes,
        """
        close closes closing end ends until till thru ende schließt schluss schließung zu fermeture ferme fin jusque \
        cierre cierra hasta chiusura chiude alle fine fechamento fecha até às fim tot sluit sluiting einde zamknięcie \
        до закрытие конец до зачинення 閉店 終了 閉館 閉門 閉 종료 마감 结束 關閉 关门 关 lukker stänger stenger slut slutt \
        suljetaan tutup kapanış închide zárás κλείσιμο έως
        """
      ),
      (
        .isClosed,
        "closed off geschlossen ruhetag fermé fermée cerrado chiuso fechado gesloten zamknięte nieczynne закрыто 휴무 定休 休業"
      ),
      (.to, "to bis à a al au ao do do až til hasta par through по sampai to ～ 至 到 から"),
      (.and, "and und et y e en i og och a și ve e"),
      (
        .ignored,
        """
        hours hour hrs time times opening's business store shop operating trading working office schedule day is \
        öffnungszeit öffnungszeiten uhr uhrzeit zeit zeiten horaire horaires heure heures le la les du des l \
        horario horarios hora horas el los las del orario orari ora ore il lo di horário horários feira o os as \
        openingstijd openingstijden tijd uur godziny godzina tid timer tider jam am pm morning afternoon evening \
        vormittag vormittags nachmittag nachmittags abend matin après midi soir mañana tarde mattina pomeriggio manhã \
        ochtend middag 営業時間 営業 時間 時刻 開店時間 영업시간 영업 운영시간 운영 시간 시각 时间 營業時間 营业时间 часы время работы години \
        of on the first second slot period
        """
      ),
    ]
    for (word, list) in lists {
      for text in list.split(separator: " ") where words[HoursWords.folded(text)] == nil {
        words[HoursWords.folded(text)] = word
      }
    }
    // `ferme` is both, and so closes.
    words["ferme"] = .closes
    return words
  }()

  /// Words for several days.
  private static let groups: [String: UInt8] = [
    "weekday": 0x1F, "weekdays": 0x1F, "weekend": 0x60, "weekends": 0x60, "wochenende": 0x60, "平日": 0x1F,
    "週末": 0x60, "土日": 0x60, "평일": 0x1F, "주말": 0x60, "공휴일": holidays, "工作日": 0x1F, "周末": 0x60,
  ]

  /// A part of a name.
  private struct Piece {
    var text: String
    /// A Boolean value that indicates whether a dash, or nothing but white space, is before it.
    var followsDash = false
    var followsBlank = false
  }

  /// Creates the heading of a name; `nil` if it names no day, or has other words.
  init?(_ name: String) {
    var days: [(index: Int, meanings: [(languages: HoursWords.Languages, days: UInt8)], isFull: Bool)] = []
    let pieces = Self.pieces(of: name)
    guard (1...8).contains(pieces.count) else { return nil }
    var others: [Int: Word] = [:]
    for (index, piece) in pieces.enumerated() {
      let meanings = Self.days(of: piece.text)
      if let word = Self.words[piece.text] { others[index] = word }
      if meanings.isEmpty {
        guard others[index] != nil else { return nil }
      } else {
        let isIdeographic = piece.text.unicodeScalars.allSatisfy { $0.value >= 0x3040 }
        let isFull = isIdeographic ? piece.text.count > 1 : piece.text.count >= 5
        days.append((index, meanings, isFull))
      }
    }
    // A word that may also be another one is a day only if nothing else is: `poniedziałek do`, `orario di lunedì`.
    if days.contains(where: { others[$0.index] == nil }) { days.removeAll { others[$0.index] != nil } }
    guard let first = days.first, days.count <= 7 else { return nil }
    isFull = days.allSatisfy(\.isFull)
    let dayIndices = Set(days.map(\.index))
    var isRange = false
    if days.count == 2, let last = days.last {
      let between = (first.index + 1)..<last.index
      isRange = pieces[last.index].followsDash || between.contains { others[$0] == .to }
      if !isRange, between.isEmpty, pieces[last.index].followsBlank {
        // `mon_fri` is a range, `tue_thu` may be anything.
        let isClear = first.meanings.contains { one in
          last.meanings.contains { other in
            one.languages & other.languages != 0 && (one.days == 1 || one.days << 1 == other.days)
          }
        }
        guard isClear else { return nil }
        isRange = true
      }
      if isRange { for index in between { others[index] = .ignored } }
    }
    meanings = Self.combined(days.map(\.meanings), isRange: isRange)
    guard !meanings.isEmpty else { return nil }
    let words = others.filter { !dayIndices.contains($0.key) }.map(\.value)
    part =
      words.contains { if case .isClosed = $0 { true } else { false } }
      ? .isClosed
      : words.contains { if case .closes = $0 { true } else { false } }
        ? .closes
        : words.contains { if case .opens = $0 { true } else { false } }
          ? .opens : words.contains { if case .to = $0 { true } else { false } } ? .closes : .whole
  }

  /// Returns the days that a word in lower case without diacritics means, by language.
  private static func days(of word: String) -> [(languages: HoursWords.Languages, days: UInt8)] {
    if let days = groups[word] { return [(HoursWords.everyLanguage, days)] }
    return HoursWords.meanings(of: word).compactMap { meaning in
      switch meaning.word {
      case .weekday(let day): (meaning.languages, 1 << UInt8(day))
      case .holiday(.publicHoliday): (meaning.languages, holidays)
      default: nil
      }
    }
  }

  /// Returns the days of several words together, by language.
  private static func combined(
    _ days: [[(languages: HoursWords.Languages, days: UInt8)]], isRange: Bool
  ) -> [(languages: HoursWords.Languages, days: UInt8)] {
    guard days.count > 1 else { return days.first ?? [] }
    var combined: [(languages: HoursWords.Languages, days: UInt8)] = []
    for bit in 0..<32 {
      let language: HoursWords.Languages = 1 << bit
      let ones = days.compactMap { meanings in meanings.first { $0.languages & language != 0 }?.days }
      guard ones.count == days.count else { continue }
      var mask = ones.reduce(0, |)
      if isRange {
        guard ones.allSatisfy({ $0.nonzeroBitCount == 1 && $0 != holidays }) else { continue }
        let (first, last) = (ones[0].trailingZeroBitCount, ones[1].trailingZeroBitCount)
        mask = (0...((last - first + 7) % 7)).reduce(0) { $0 | 1 << UInt8((first + $1) % 7) }
      }
      combined.append((language, mask))
    }
    return combined
  }

  /// Divides a name into words in lower case without diacritics: at all but letters, at digits, which are left out, and
  /// where an upper-case letter follows a lower-case one. Of scripts without spaces, words are the longest known ones.
  private static func pieces(of name: String) -> [Piece] {
    var pieces: [Piece] = []
    var current = String.UnicodeScalarView()
    var next = Piece(text: "")
    func isIdeographic(_ scalar: Unicode.Scalar) -> Bool { scalar.value >= 0x3040 && scalar.value < 0xD7B0 }
    func end() {
      guard !current.isEmpty else { return }
      next.text = HoursWords.folded(String(current))
      if current.first.map(isIdeographic) == true {
        append(ideographs: next)
      } else {
        pieces.append(next)
      }
      current = String.UnicodeScalarView()
      next = Piece(text: "")
    }
    func append(ideographs piece: Piece) {
      var rest = Array(piece.text.unicodeScalars)[...]
      var piece = piece
      while !rest.isEmpty {
        func text(_ length: Int) -> String {
          var view = String.UnicodeScalarView()
          view.append(contentsOf: rest.prefix(length))
          return String(view)
        }
        let length = stride(from: min(6, rest.count), to: 0, by: -1).first { length in
          let text = text(length)
          return words[text] != nil || !days(of: text).isEmpty
        }
        piece.text = text(length ?? rest.count)
        pieces.append(piece)
        rest = rest.dropFirst(length ?? rest.count)
        piece = Piece(text: "")
      }
    }
    var isLower = false
    for scalar in name.unicodeScalars {
      let isMark = ("\u{300}"..."\u{36F}").contains(scalar)
      let isApostrophe = (scalar == "'" || scalar == "’") && !current.isEmpty
      if scalar.properties.isAlphabetic || isMark || isApostrophe {
        if let last = current.last,
          isLower && scalar.properties.isUppercase || isIdeographic(last) != isIdeographic(scalar)
        {
          end()
        }
        current.append(scalar)
        if !isMark { isLower = scalar.properties.isLowercase }
        continue
      }
      end()
      isLower = false
      switch scalar {
      case "-", "\u{2010}"..."\u{2015}", "~", "\u{301C}", "\u{FF5E}", "\u{FF0D}": next.followsDash = true
      case "_", " ": next.followsBlank = true
      default: break
      }
    }
    end()
    return pieces
  }

  // MARK: Selection

  /// Returns the days and the part of the headings of a record that count; `nil` for the others. They are of the
  /// language in which most have a meaning.
  ///
  /// - Parameter isWithinHours: a Boolean value that indicates whether the record is known to be one of hours, so that
  ///   a single day is enough.
  static func selection(
    of headings: [WeekdayHeading], isWithinHours: Bool
  ) -> [(days: UInt8, part: ScheduleName.Part)?] {
    let none = [(days: UInt8, part: ScheduleName.Part)?](repeating: nil, count: headings.count)
    var best: (count: Int, selected: [UInt8?]) = (0, [])
    for bit in 0..<32 {
      let language: HoursWords.Languages = 1 << bit
      let selected = headings.map { heading in heading.meanings.first { $0.languages & language != 0 }?.days }
      let count = Set(selected.compactMap(\.self)).count
      if count > best.count { best = (count, selected) }
    }
    guard best.count > 0 else { return none }
    var parts = headings.map(\.part)
    func indices(_ part: ScheduleName.Part, _ days: UInt8? = nil) -> [Int] {
      parts.indices.filter {
        parts[$0] == part && best.selected[$0] != nil && (days == nil || best.selected[$0] == days)
      }
    }
    // `opening hours Monday` has no counterpart.
    if indices(.closes).isEmpty { for index in indices(.opens) { parts[index] = .whole } }
    // Each opening time needs a closing time: without it, the day would seem to be closed.
    let hasPairs = best.selected.compactMap(\.self).allSatisfy {
      indices(.opens, $0).count == indices(.closes, $0).count
    }
    guard hasPairs else { return none }
    let timed = parts.indices.filter { best.selected[$0] != nil && parts[$0] != .isClosed }
    let days = timed.reduce(0) { $0 | (best.selected[$1] ?? 0) }
    let columns = Set(timed.compactMap { best.selected[$0] }).count
    let isFull = timed.allSatisfy { headings[$0].isFull }
    let weekdays = (days & ~holidays).nonzeroBitCount
    guard columns >= 2 && (weekdays >= 5 || isFull && weekdays >= 3) || isWithinHours && weekdays >= 1 else {
      return none
    }
    // Holidays beside no Sunday may include it.
    if !isWithinHours, days & holidays != 0, days & 1 << 6 == 0 { return none }
    return zip(best.selected, parts).map { days, part in days.map { ($0, part) } }
  }
}

// MARK: Days

/// The hours of the days of a week, from texts such as `9:00-12:00, 14-18` or `closed`.
private struct DailyHours {
  /// The hours of a day.
  private struct Day: Hashable {
    var times: [TimeSpan] = []
    var state = HoursState.closed
    var comment: ExactText?
    /// A Boolean value that indicates whether the day is closed whatever the times are.
    var isClosed = false
    /// The days of the field that the hours come from.
    var field: UInt8
  }

  /// The hours, Monday first, then those of public holidays; `nil` for a day without any.
  private var days = [Day?](repeating: nil, count: 8)

  private static func error(_ reason: String) -> HoursError { HoursError(character: 1, reason: reason) }

  /// A Boolean value that indicates whether any day has hours, or is closed.
  var isStated: Bool { days.contains { $0 != nil } }

  /// Adds the hours of a text to days, a bit each.
  mutating func add(_ text: String, days mask: UInt8) throws(HoursError) {
    guard text.contains(where: { $0.isLetter || $0.isNumber }) else { return }
    let rule = try Self.rule(of: text, days: mask)
    try forEachDay(of: mask) { (day) throws(HoursError) in
      guard rule.state != .closed else { return }
      guard day.state == .closed || day.state == rule.state && day.comment == rule.comment else {
        throw Self.error("expected one state of a day")
      }
      // Without times it is the whole day.
      let isWhole = rule.times.isEmpty || day.state == rule.state && day.times.isEmpty
      day.state = rule.state
      day.comment = rule.comment
      day.times = isWhole ? [] : day.times + rule.times
      guard day.times.count <= Self.maximumTimes else { throw Self.error("expected fewer times") }
    }
  }

  /// Adds the hours from one time to another.
  mutating func add(opens: String, closes: String, days mask: UInt8) throws(HoursError) {
    func isBlank(_ text: String) -> Bool { !text.contains { $0.isLetter || $0.isNumber } }
    if isBlank(opens), isBlank(closes) { return }
    let rules = try [opens, closes].filter { !isBlank($0) }.map { text throws(HoursError) in
      text.contains(where: \.isNumber) ? nil : try Self.rule(of: text, days: mask)
    }
    // `closed` at both ends, or beside none.
    if rules.allSatisfy({ $0?.state == .closed }) { return try add("off", days: mask) }
    guard !isBlank(opens), !isBlank(closes) else { throw Self.error("expected two times") }
    let rule = try Self.rule(of: "\(opens)-\(closes)", days: mask)
    // From midnight to midnight may be a day that is closed, or open.
    guard rule.times.count == 1, let span = rule.times.first, let end = span.end,
      span.start.event != nil || end.event != nil || end.minutes % 1_440 != span.start.minutes % 1_440
        || opens.contains("24") || closes.contains("24")
    else { throw Self.error("expected two different times") }
    try add("\(opens)-\(closes)", days: mask)
  }

  /// Adds the value of a field that says whether the days are closed.
  mutating func addClosed(_ value: JSONValue, days mask: UInt8) throws(HoursError) {
    switch value.string?.lowercased() ?? String(decoding: value.text, as: UTF8.self) {
    case "true", "1", "yes", "y", "x", "ja", "oui", "si", "sí", "sì", "sim", "closed", "t":
      try forEachDay(of: mask) { day in day.isClosed = true }
    case "false", "0", "no", "n", "nein", "non", "nee", "não", "open", "f", "-": break
    default: throw Self.error("expected yes or no")
    }
  }

  /// Adds the hours of the days that a text names.
  mutating func add(_ text: String) throws(HoursError) {
    let expression = try HoursExpression(text: text)
    guard expression.rules.count == 1, let rule = expression.rules.first, rule.days.isWeekly, rule.days.weekdays != 0
    else { throw Self.error("expected weekdays and times") }
    try add(text, days: rule.days.weekdays)
  }

  private mutating func forEachDay(
    of mask: UInt8, _ change: (inout Day) throws(HoursError) -> Void
  ) throws(HoursError) {
    for index in 0..<8 where mask & 1 << UInt8(index) != 0 {
      var day = days[index] ?? Day(field: mask)
      // `Mo-Fr` and `Mo` may add to each other, or not.
      guard day.field == mask else { throw Self.error("expected one field for a day") }
      try change(&day)
      days[index] = day
    }
  }

  /// Returns the rule of a text for one day, with or without the name of the day before it.
  private static func rule(of text: String, days mask: UInt8) throws(HoursError) -> HoursRule {
    func rule(_ text: String, _ weekdays: UInt8) throws(HoursError) -> HoursRule? {
      let rules = try HoursExpression(text: text).rules
      guard rules.count == 1, let rule = rules.first, rule.days.isWeekly, rule.days.weekdays == weekdays,
        rule.state != .closed || rule.times.isEmpty
      else { return nil }
      return rule
    }
    if let rule = try? rule("Mo \(text)", 1) { return rule }
    // `Open 24 hours`
    let words = text.split(maxSplits: 1, whereSeparator: \.isWhitespace)
    if words.count == 2,
      HoursWords.meanings(of: HoursWords.folded(words[0])).contains(where: { $0.word == .state(.open) }),
      let rule = try? rule("Mo \(words[1])", 1), rule.state == .open
    {
      return rule
    }
    guard let rule = try rule(text, mask) else { throw error("expected times") }
    return rule
  }

  /// The expression; `nil` if no day has hours, and not all are closed.
  var expression: HoursExpression? {
    var rules: [HoursRule] = []
    var closed: UInt8 = 0
    for index in 0..<7 {
      guard let day = days[index] else { continue }
      guard day.state != .closed, !day.isClosed else {
        closed |= 1 << UInt8(index)
        continue
      }
      var rule = HoursRule()
      rule.times = day.times
      rule.state = day.state
      rule.comment = day.comment
      let same = rules.firstIndex {
        $0.times == rule.times && $0.state == rule.state && $0.comment == rule.comment
      }
      if let same {
        rules[same].days.weekdays |= 1 << UInt8(index)
      } else {
        rule.days.weekdays = 1 << UInt8(index)
        rules.append(rule)
      }
    }
    guard !rules.isEmpty || closed == 0x7F else { return nil }
    // A normal rule would replace the hours that another day has after midnight.
    if rules.contains(where: { $0.times.contains(where: \.endsNextDay) }) {
      for index in rules.indices.dropFirst() { rules[index].separator = .additional }
    } else if closed != 0 {
      var rule = HoursRule()
      rule.state = .closed
      rule.days.weekdays = closed
      rules.append(rule)
    }
    if let day = days[7] {
      var rule = HoursRule()
      rule.times = day.isClosed ? [] : day.times
      rule.state = day.isClosed ? .closed : day.state
      rule.comment = day.comment
      rule.days.holidays = [HolidaySelector(kind: .publicHoliday)]
      rules.append(rule)
    }
    return HoursExpression(rules: rules)
  }

  // MARK: Values

  private static let maximumDepth = 4

  /// The maximum number of times of a day, and of elements of a list.
  static let maximumTimes = 64

  /// Returns the text of a value that is one time.
  static func time(_ value: JSONValue) throws(HoursError) -> String {
    switch value {
    case .string(let text), .number(let text): return text
    case .null: return ""
    default: throw error("expected a time")
    }
  }

  /// Returns the texts of a day's value: a text, a list of texts or of pairs of times, or objects such as
  /// `{"open": "09:00", "close": "17:00"}`.
  static func texts(of value: JSONValue, depth: Int = 0) throws(HoursError) -> [String] {
    guard depth < maximumDepth else { throw error("expected times") }
    switch value.structure ?? value {
    case .null: return []
    case .string(let text): return [text]
    case .bool(let isOpen):
      guard !isOpen else { throw error("expected times") }
      return ["off"]
    case .number: throw error("expected times")
    case .array(let elements):
      if elements.count == 2, let start = elements[0].string, let end = elements[1].string, isTime(start), isTime(end) {
        return ["\(start)-\(end)"]
      }
      guard elements.count <= maximumTimes else { throw error("expected fewer times") }
      var texts: [String] = []
      for element in elements { texts += try Self.texts(of: element, depth: depth + 1) }
      return texts
    case .object(let members):
      var (opens, closes, isClosed) = (String?.none, String?.none, false)
      var inner: JSONValue?
      for member in members {
        switch (member.name.lowercased().filter(\.isLetter), member.value) {
        case ("isopen", .bool(let isOpen)), ("open", .bool(let isOpen)), ("opened", .bool(let isOpen)):
          isClosed = isClosed || !isOpen
        case ("closed", .bool(let value)), ("isclosed", .bool(let value)): isClosed = isClosed || value
        case ("open", let value), ("opens", let value), ("from", let value), ("start", let value),
          ("opentime", let value), ("starttime", let value):
          opens = try time(value)
        case ("close", let value), ("closes", let value), ("to", let value), ("end", let value),
          ("closetime", let value), ("endtime", let value), ("until", let value):
          closes = try time(value)
        case ("hours", let value), ("intervals", let value), ("slots", let value), ("times", let value),
          ("periods", let value), ("openintervals", let value):
          inner = value
        default: break
        }
      }
      if isClosed { return ["off"] }
      if let opens, let closes {
        if opens.isEmpty, closes.isEmpty { return [] }
        guard isTime(opens), isTime(closes), opens != closes else { throw error("expected two times") }
        return ["\(opens)-\(closes)"]
      }
      guard opens == nil, closes == nil, let inner else { throw error("expected times") }
      return try texts(of: inner, depth: depth + 1)
    }
  }

  /// Returns a Boolean value that indicates whether a text is a time, and no span.
  private static func isTime(_ text: String) -> Bool {
    text.contains(where: \.isNumber) && !text.contains { "-–—~".contains($0) } && text.count <= 12
  }
}

// MARK: Values

extension HoursExpression {
  /// Creates the expression of a value that holds a week's hours: a text, a list of them, `openingHoursSpecification` of
  /// schema.org, an object with `periods`, or one with a member for each weekday; `nil` if it is none.
  package init?(schedule value: JSONValue) {
    switch value {
    case .string(let text): try? self.init(text: text)
    case .array(let elements):
      let texts = elements.compactMap(\.string)
      if !texts.isEmpty, texts.count == elements.count {
        self.init(texts: texts)
      } else if elements.contains(where: { $0["open"]?["day"] != nil }) {
        self.init(periods: value)
      } else {
        self.init(specifications: elements)
      }
    case .object(let members):
      if let periods = value["periods"] {
        self.init(periods: periods)
      } else if case .array(let elements)? = value["weekday_text"] ?? value["weekdayDescriptions"] {
        self.init(texts: elements.compactMap(\.string))
      } else if value["opens"] != nil || value["closes"] != nil {
        self.init(specifications: [value])
      } else {
        self.init(weekdays: members)
      }
    case .null, .bool, .number: return nil
    }
  }

  /// Creates the expression of several texts, each with days of its own.
  private init?(texts: [String]) {
    guard texts.count <= DailyHours.maximumTimes else { return nil }
    var hours = DailyHours()
    do throws(HoursError) {
      for text in texts { try hours.add(text) }
    } catch {
      try? self.init(text: texts.joined(separator: ", "))
      return
    }
    guard let expression = hours.expression else { return nil }
    self = expression
  }

  /// Creates the expression of an object with a member for each weekday.
  private init?(weekdays members: [JSONValue.Member]) {
    guard members.count <= DailyHours.maximumTimes else { return nil }
    var hours = DailyHours()
    let headings = members.map { WeekdayHeading($0.name) }
    let selected = WeekdayHeading.selection(of: headings.compactMap(\.self), isWithinHours: true)
    do throws(HoursError) {
      for (member, selected) in zip(zip(members, headings).filter { $1 != nil }.map(\.0), selected) {
        guard let selected, selected.part == .whole else { continue }
        for text in try DailyHours.texts(of: member.value) { try hours.add(text, days: selected.days) }
      }
    } catch {
      return nil
    }
    guard let expression = hours.expression else { return nil }
    self = expression
  }
}

/// Returns the weekdays that a name means, a bit each, Monday first, then public holidays; `nil` if it means none, or
/// different ones in several languages.
func weekdays(named name: String) -> UInt8? {
  WeekdayHeading(name)?.clearDays
}

extension WeekdayHeading {
  /// The days, if all languages agree, or English has the name.
  fileprivate var clearDays: UInt8? {
    guard part == .whole, let first = meanings.first(where: { $0.languages & 1 != 0 }) ?? meanings.first,
      first.languages & 1 != 0 || meanings.allSatisfy({ $0.days == first.days })
    else { return nil }
    return first.days
  }
}
