/// A token of the text encoding.
enum Token: Hashable {
  /// A name without quotation marks, which may be a keyword.
  case name(String)
  /// A name in quotation marks.
  case quotedName(String)
  case string(String)
  case number(Double)
  /// An operator or a bracket.
  case symbol(String)
  case end
}

/// A reader of the tokens of the text encoding.
struct Lexer {
  private let scalars: [Unicode.Scalar]
  private var next = 0

  /// The token that was read last.
  private(set) var token = Token.end

  /// The index of the token's first character.
  private(set) var start = 0

  /// Creates a reader and reads the first token.
  init(_ text: String) throws(FilterError) {
    scalars = Array(text.unicodeScalars)
    try advance()
  }

  /// A Boolean value that indicates whether an opening parenthesis follows the token.
  var isBeforeParenthesis: Bool {
    var index = next
    while index < scalars.count, scalars[index].isFilterSpace { index += 1 }
    return index < scalars.count && scalars[index] == "("
  }

  /// Reads the next token.
  mutating func advance() throws(FilterError) {
    while next < scalars.count, scalars[next].isFilterSpace { next += 1 }
    start = next
    guard next < scalars.count else {
      token = .end
      return
    }
    let first = scalars[next]
    switch first {
    case "'": token = .string(try quoted("'"))
    case "\"":
      let name = try quoted("\"")
      guard !name.isEmpty else { throw FilterError(.character(start + 1), "expected a name in the quotation marks") }
      token = .quotedName(name)
    case "0"..."9", ".": token = .number(try number())
    case "<", ">":
      next += 1
      var symbol = String(first)
      if next < scalars.count, scalars[next] == "=" || (first == "<" && scalars[next] == ">") {
        symbol.unicodeScalars.append(scalars[next])
        next += 1
      }
      token = .symbol(symbol)
    case "=", "(", ")", ",", "+", "-", "*", "/", "%", "^":
      next += 1
      token = .symbol(String(first))
    case _ where first.isNameStart:
      while next < scalars.count, scalars[next].isNamePart { next += 1 }
      token = .name(text(start..<next))
    default:
      throw FilterError(.character(start + 1), "expected a name, a number, a string or an operator")
    }
  }

  private func text(_ range: Range<Int>) -> String {
    var text = String.UnicodeScalarView()
    text.append(contentsOf: scalars[range])
    return String(text)
  }

  /// Reads what is between two quotes. Twice the quote is the quote itself; in a string, a backslash before it too.
  private mutating func quoted(_ quote: Unicode.Scalar) throws(FilterError) -> String {
    var text = String.UnicodeScalarView()
    next += 1
    while next < scalars.count {
      let scalar = scalars[next]
      let following = next + 1 < scalars.count ? scalars[next + 1] : nil
      if scalar == quote {
        next += 1
        guard following == quote else { return String(text) }
      } else if scalar == "\\", quote == "'", following == quote {
        next += 1
      }
      guard scalars[next] != "\0" else { throw FilterError(.character(next + 1), "expected no NUL character") }
      text.append(scalars[next])
      next += 1
    }
    throw FilterError(.character(scalars.count + 1), "expected \(quote) at the end of what begins with it")
  }

  private mutating func number() throws(FilterError) -> Double {
    func skipDigits() -> Bool {
      let first = next
      while next < scalars.count, ("0"..."9").contains(scalars[next]) { next += 1 }
      return next > first
    }
    let hasInteger = skipDigits()
    var hasFraction = false
    if next < scalars.count, scalars[next] == "." {
      next += 1
      hasFraction = skipDigits()
    }
    guard hasInteger || hasFraction else { throw FilterError(.character(start + 1), "expected a digit") }
    if next < scalars.count, scalars[next] == "e" || scalars[next] == "E" {
      next += 1
      if next < scalars.count, scalars[next] == "+" || scalars[next] == "-" { next += 1 }
      guard skipDigits() else { throw FilterError(.character(next + 1), "expected the digits of an exponent") }
    }
    guard next == scalars.count || !scalars[next].isNamePart else {
      throw FilterError(.character(next + 1), "expected the end of a number")
    }
    // `5.` is a number here.
    guard let value = Double(text(start..<next)) ?? Double(text(start..<next) + "0"), value.isFinite else {
      throw FilterError(.character(start + 1), "expected a number of at most 1.8e308")
    }
    return value
  }
}

extension Unicode.Scalar {
  /// A Boolean value that indicates whether the character separates tokens.
  fileprivate var isFilterSpace: Bool {
    switch value {
    case 0x09...0x0D, 0x20, 0x85, 0xA0, 0x1680, 0x2000...0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000: true
    default: false
    }
  }

  /// A Boolean value that indicates whether a name without quotation marks may begin with the character, by the rule
  /// `identifierStart` of OGC 21-065.
  fileprivate var isNameStart: Bool {
    switch value {
    case 0x3A, 0x5F, 0x41...0x5A, 0x61...0x7A, 0xC0...0xD6, 0xD8...0xF6, 0xF8...0x2FF, 0x370...0x37D, 0x37F...0x167F,
      0x1681...0x1FFE, 0x200C...0x200D, 0x2070...0x218F, 0x2C00...0x2FEF, 0x3001...0xD7FF, 0xF900...0xFDCF,
      0xFDF0...0xFFFD, 0x10000...0xEFFFF:
      true
    default: false
    }
  }

  /// A Boolean value that indicates whether a name without quotation marks may go on with the character.
  fileprivate var isNamePart: Bool {
    switch value {
    case 0x2E, 0x30...0x39, 0x300...0x36F, 0x203F...0x2040: true
    default: isNameStart
    }
  }
}
