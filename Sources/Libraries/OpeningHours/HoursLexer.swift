/// A part of an expression's text.
struct HoursToken: Equatable {
  enum Kind: Equatable {
    /// A number, with the count of its digits.
    case number(Int, digits: Int)
    case word(HoursWord)
    case comment(String)
    case dash, comma, semicolon, fallback, colon, dot, plus, slash, open, close, openBracket, closeBracket
    case end
  }

  var kind: Kind
  /// The place of its first character, counted from 0.
  var start: Int
  /// A Boolean value that indicates whether a space precedes it.
  var followsSpace: Bool
}

/// Divides a text into tokens: case, kinds of dashes, spaces and digits do not matter, and names in one language are
/// those of another.
struct HoursLexer {
  private var scalars: [Unicode.Scalar]
  private var index = 0
  private var tokens: [HoursToken] = []

  /// The words with several meanings, by language.
  private var ambiguous: [(token: Int, length: Int, meanings: [HoursWords.Meaning])] = []

  /// The tokens that are the first letter of a weekday.
  private var initials: [Int] = []

  private init(_ text: String) {
    scalars = Array(text.unicodeScalars)
  }

  static func tokens(of text: String) throws(HoursError) -> [HoursToken] {
    var lexer = HoursLexer(text)
    while try lexer.next() {}
    try lexer.resolveLanguages()
    try lexer.checkInitials()
    lexer.tokens.removeAll { $0.kind == .word(.ignored) }
    try lexer.removeHolidayKinds()
    lexer.removeDoubled()
    lexer.tokens.append(HoursToken(kind: .end, start: lexer.scalars.count, followsSpace: true))
    return lexer.tokens
  }

  /// Removes dashes and commas that follow another one.
  private mutating func removeDoubled() {
    var kept: [HoursToken] = []
    kept.reserveCapacity(tokens.count)
    for token in tokens {
      if token.kind == .dash || token.kind == .comma, kept.last?.kind == token.kind { continue }
      kept.append(token)
    }
    tokens = kept
  }

  /// Rejects the first letters of weekdays if they may be those of another language: `M` is Tuesday in Spanish. They are
  /// English in a text of English words with Monday before a Wednesday, Thursday or Friday, as in `M-F` and `M,W,F`.
  private func checkInitials() throws(HoursError) {
    let days = initials.filter { if case .word(.weekday) = tokens[$0].kind { true } else { false } }
    guard let first = days.first else { return }
    let isEnglish = ambiguous.allSatisfy { word in
      word.meanings.contains { $0.languages & HoursWords.english != 0 && .word($0.word) == tokens[word.token].kind }
    }
    let mondays = days.filter { tokens[$0].kind == .word(.weekday(0)) }
    for monday in mondays.isEmpty ? [first] : mondays {
      guard isEnglish, tokens[monday].kind == .word(.weekday(0)), monday + 2 < tokens.count,
        [.dash, .comma, .word(.to), .word(.and)].contains(tokens[monday + 1].kind),
        case .word(.weekday(2...4)) = tokens[monday + 2].kind
      else { throw error("expected a weekday of at least two letters", at: tokens[monday].start) }
    }
  }

  /// Removes the words that qualify the holidays behind them.
  private mutating func removeHolidayKinds() throws(HoursError) {
    for (index, token) in tokens.enumerated() where token.kind == .word(.holidayKind) {
      guard index + 1 < tokens.count,
        [.word(.holidayKind), .word(.holiday(.publicHoliday))].contains(tokens[index + 1].kind)
      else { throw error("expected 'holidays' behind the word", at: token.start) }
    }
    tokens.removeAll { $0.kind == .word(.holidayKind) }
  }

  private func error(_ reason: String, at start: Int) -> HoursError { HoursError(character: start + 1, reason: reason) }

  private func scalar(at index: Int) -> Unicode.Scalar? { index < scalars.count ? scalars[index] : nil }

  /// Appends the next token; returns `false` at the end.
  private mutating func next() throws(HoursError) -> Bool {
    var hasSpace = index == 0
    while let scalar = scalar(at: index), scalar.properties.isWhitespace || scalar == "\u{200B}" || scalar == "_" {
      hasSpace = true
      index += 1
    }
    guard let scalar = scalar(at: index) else { return false }
    let start = index
    func append(_ kind: HoursToken.Kind, length: Int = 1, to lexer: inout HoursLexer) {
      lexer.tokens.append(HoursToken(kind: kind, start: start, followsSpace: hasSpace))
      lexer.index = start + length
    }
    if let value = digit(scalar) {
      var value = value
      var length = 1
      while let next = self.scalar(at: start + length), let digit = digit(next) {
        guard length < 6 else { throw error("expected a number of at most 6 digits", at: start) }
        value = value * 10 + digit
        length += 1
      }
      append(.number(value, digits: length), length: length, to: &self)
      return true
    }
    switch scalar {
    case "-", "\u{2010}"..."\u{2015}", "\u{2212}", "~", "\u{301C}", "\u{FF5E}", "\u{FF0D}", "\u{30FC}":
      append(.dash, to: &self)
    case ",", "\u{3001}", "\u{FF0C}", "\u{60C}", "\u{30FB}", "\u{FF65}": append(.comma, to: &self)
    case "&": append(.word(.and), to: &self)
    case ";", "\u{FF1B}", "\u{61B}": append(.semicolon, to: &self)
    case "|":
      let isDouble = self.scalar(at: index + 1) == "|"
      append(isDouble ? .fallback : .semicolon, length: isDouble ? 2 : 1, to: &self)
    case ":", "\u{FF1A}", "\u{2236}": append(.colon, to: &self)
    case ".": append(.dot, to: &self)
    case "+": append(.plus, to: &self)
    case "/", "\u{FF0F}": append(.slash, to: &self)
    case "(", "\u{FF08}": append(.open, to: &self)
    case ")", "\u{FF09}": append(.close, to: &self)
    case "[": append(.openBracket, to: &self)
    case "]": append(.closeBracket, to: &self)
    case "㏂": append(.word(.am), to: &self)
    case "㏘": append(.word(.pm), to: &self)
    case "\"", "\u{201C}"..."\u{201F}": try comment(from: start, hasSpace: hasSpace)
    default:
      guard isLetter(scalar) else { throw error("expected days or times, got '\(scalar)'", at: start) }
      try word(from: start, hasSpace: hasSpace)
    }
    return true
  }

  private func digit(_ scalar: Unicode.Scalar) -> Int? {
    if scalar.isASCII { return ("0"..."9").contains(scalar) ? Int(scalar.value) - 48 : nil }
    guard scalar.properties.generalCategory == .decimalNumber, let value = scalar.properties.numericValue else {
      return nil
    }
    return Int(value)
  }

  private func isLetter(_ scalar: Unicode.Scalar) -> Bool {
    scalar.isASCII
      ? scalar.properties.isAlphabetic : scalar.properties.isAlphabetic || ("\u{300}"..."\u{36F}").contains(scalar)
  }

  private mutating func comment(from start: Int, hasSpace: Bool) throws(HoursError) {
    func isQuote(_ scalar: Unicode.Scalar) -> Bool { scalar == "\"" || ("\u{201C}"..."\u{201F}").contains(scalar) }
    // A comment in straight quotes may contain others.
    let isStraight = scalars[start] == "\""
    let end = scalars[(start + 1)...].firstIndex { isStraight ? $0 == "\"" : isQuote($0) }
    guard let end = end ?? scalars[(start + 1)...].firstIndex(where: isQuote) else {
      throw error("expected \" at the end of the comment", at: start)
    }
    var text = String.UnicodeScalarView()
    text.append(contentsOf: scalars[(start + 1)..<end].filter { $0 != "\"" })
    let comment = String(text).split(whereSeparator: \.isWhitespace).joined(separator: " ")
    tokens.append(HoursToken(kind: .comment(comment), start: start, followsSpace: hasSpace))
    index = end + 1
  }

  private mutating func word(from start: Int, hasSpace: Bool) throws(HoursError) {
    var end = start
    while let scalar = scalar(at: end), isLetter(scalar) || (scalar == "'" || scalar == "’") && end > start { end += 1 }
    // a.m. and p.m.
    if end == start + 1,
      scalars[start] == "a" || scalars[start] == "p" || scalars[start] == "A" || scalars[start] == "P",
      scalar(at: end) == "."
    {
      let second = scalar(at: end + 1) == " " ? end + 2 : end + 1
      if scalar(at: second) == "m" || scalar(at: second) == "M" {
        let isMorning = scalars[start] == "a" || scalars[start] == "A"
        tokens.append(HoursToken(kind: .word(isMorning ? .am : .pm), start: start, followsSpace: hasSpace))
        index = scalar(at: second + 1) == "." ? second + 2 : second + 1
        return
      }
    }
    guard end - start <= 24 else { throw error("expected days or times", at: start) }
    if isIdeographic(scalars[start]) { end = endOfIdeographicWord(from: start, to: end) }
    var meanings = HoursWords.meanings(of: folded(start..<end))
    if meanings.isEmpty, let split = splitWord(start..<end) {
      end = split
      meanings = HoursWords.meanings(of: folded(start..<end))
    }
    guard let first = meanings.first else {
      throw error("expected days or times, got '\(string(start..<end))'", at: start)
    }
    if meanings.count > 1 || first.languages != HoursWords.everyLanguage {
      ambiguous.append((tokens.count, end - start, meanings))
    }
    guard first.word != .season else {
      throw error("expected months, got '\(string(start..<end))', which has no fixed dates", at: start)
    }
    if end == start + 1, first.languages == HoursWords.english { initials.append(tokens.count) }
    tokens.append(HoursToken(kind: .word(first.word), start: start, followsSpace: hasSpace))
    index = end
    // The dot of an abbreviation.
    switch first.word {
    case .weekday, .month, .hour, .holiday, .state: if scalar(at: index) == "." { index += 1 }
    default: break
    }
  }

  private func string(_ range: Range<Int>) -> String {
    var view = String.UnicodeScalarView()
    view.append(contentsOf: scalars[range])
    return String(view)
  }

  private func folded(_ range: Range<Int>) -> String {
    // The common case in few steps.
    HoursWords.folded(string(range))
  }

  private func isIdeographic(_ scalar: Unicode.Scalar) -> Bool { scalar.value >= 0x3040 && scalar.value < 0xD7B0 }

  /// Returns the end of the longest known word of a script without spaces.
  private func endOfIdeographicWord(from start: Int, to end: Int) -> Int {
    for length in stride(from: min(HoursWords.longestIdeographicWord, end - start), to: 0, by: -1) {
      if !HoursWords.meanings(of: string(start..<(start + length))).isEmpty { return start + length }
    }
    return end
  }

  /// Returns the end of the first of two words without a space between (`PHoff`, `AugMo`), if both are known.
  private func splitWord(_ range: Range<Int>) -> Int? {
    guard 4...8 ~= range.count else { return nil }
    for end in stride(from: range.upperBound - 2, to: range.lowerBound + 1, by: -1)
    where !HoursWords.meanings(of: folded(range.lowerBound..<end)).isEmpty
      && !HoursWords.meanings(of: folded(end..<range.upperBound)).isEmpty
    {
      return end
    }
    return nil
  }

  /// Gives words with several meanings those of the language in which the text is written: English if it has all words,
  /// else the languages that have all of them, or have them together with English. If these differ, the text is
  /// ambiguous. Together with English, only German has abbreviations of two letters: `Mo-Fr 9-18; St 9-12` is an error
  /// of writing rather than Czech.
  private mutating func resolveLanguages() throws(HoursError) {
    guard !ambiguous.isEmpty else { return }
    let english = HoursWords.english
    var pure = HoursWords.everyLanguage
    var mixed = HoursWords.everyLanguage
    for (token, length, meanings) in ambiguous {
      let languages = meanings.reduce(0) { $0 | $1.languages }
      pure &= languages
      let isAbbreviation = length <= 2 && scalars[tokens[token].start].isASCII
      mixed &=
        languages & english != 0 ? HoursWords.everyLanguage : isAbbreviation ? languages & HoursWords.german : languages
    }
    let candidates = pure & english != 0 ? english : pure != 0 ? pure : mixed
    guard candidates != 0 else {
      throw error("expected words of one language", at: tokens[ambiguous[0].token].start)
    }
    for (token, _, meanings) in ambiguous {
      var found: HoursWord?
      for bit in 0..<32 where candidates & 1 << bit != 0 {
        let language: HoursWords.Languages = 1 << bit
        guard
          let meaning = meanings.first(where: { $0.languages & language != 0 })
            ?? meanings.first(where: { $0.languages & english != 0 })
        else { continue }
        guard found == nil || found == meaning.word else {
          throw error("a word of several languages", at: tokens[token].start)
        }
        found = meaning.word
      }
      if let found { tokens[token].kind = .word(found) }
    }
  }
}
