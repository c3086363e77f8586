import Basics

/// Numbers of telephones as people write them, in the form of ITU-T E.164.
enum PhoneNumber {
  /// The numbers of digits of a number without the code of the country, and of the whole.
  private static let nationalDigits = 5...13
  private static let maximumDigits = 15

  /// Returns a number as `+` and digits; `nil` if the text is none, or is written as in an unknown country.
  ///
  /// - Parameter country: the ISO 3166-1 alpha-2 code of the country of the place.
  static func text(of text: String, inCountry country: String?) -> String? {
    let rules = country.flatMap { Self.rules[ExactText($0)] }
    // Without an extension. Most numbers have none, and a regular expression takes long.
    var number = text
    if !hasOnlyDigitsAndMarks(number) {
      number = text.replacing(/(?i)[\s,;]*(?:ext\.?|x|durchwahl)[\s=.:]*[0-9]{1,6}\s*$/, with: "")
        .replacing(/(?i)^\s*(?:tel\.?:?|phone:)\s*/, with: "")
      guard hasOnlyDigitsAndMarks(number) else { return nil }
    }
    let isInternational = number.contains("+")
    // The national prefix in parentheses is not dialled after the code of the country.
    let hasPrefix = isInternational && number.contains("(")
    let written = hasPrefix ? number.replacing(/\(\s*0\s*\)/, with: "") : number
    var digits = String(String.UnicodeScalarView(written.unicodeScalars.filter(isDigit)))
    if isInternational {
      let isFirst = number.drop { " (\u{A0}".contains($0) }.first == "+"
      guard isFirst, written.count(where: { $0 == "+" }) == 1 else { return nil }
      return international(digits)
    }
    if let exit = rules?.code == "1" ? "011" : "00", digits.hasPrefix(exit) {
      return international(String(digits.dropFirst(exit.count)))
    }
    guard let rules else { return nil }
    if !rules.prefix.isEmpty, digits.hasPrefix(rules.prefix) { digits.removeFirst(rules.prefix.count) }
    guard nationalDigits.contains(digits.count) else { return nil }
    return international(rules.code + digits)
  }

  private static func international(_ digits: String) -> String? {
    guard digits.first != "0", (nationalDigits.lowerBound + 1...maximumDigits).contains(digits.utf8.count) else {
      return nil
    }
    return "+" + digits
  }

  private static func hasOnlyDigitsAndMarks(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { isDigit($0) || isMark($0) }
  }

  private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }
  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    " +-./()\u{A0}\u{2010}\u{2011}\u{2012}\u{2013}\u{202F}".unicodeScalars.contains(scalar)
  }

  private struct Rules {
    /// The code of the country.
    let code: String
    /// The digits before a number within the country that are not dialled from others.
    let prefix: String
  }

  private static let rules: [ExactText: Rules] = {
    var rules: [ExactText: Rules] = [:]
    for (prefix, countries) in table {
      for country in countries.split(separator: " ") {
        let parts = country.split(separator: ":")
        rules[ExactText(String(parts[0]))] = Rules(code: String(parts[1]), prefix: prefix)
      }
    }
    return rules
  }()

  /// The codes of countries (ITU-T E.164) by their national prefixes. Countries in which numbers are written in several
  /// ways that cannot be told apart are left out.
  private static let table: [(prefix: String, countries: String)] = [
    (
      "0",
      """
      AE:971 AL:355 AM:374 AR:54 AT:43 AU:61 AX:358 AZ:994 BA:387 BD:880 BE:32 BG:359 BO:591 BR:55 CH:41 CN:86 CU:53 \
      DE:49 DZ:213 EC:593 EG:20 ET:251 FI:358 FR:33 GB:44 GE:995 GG:44 GH:233 HR:385 ID:62 IE:353 IL:972 IM:44 IN:91 \
      IQ:964 IR:98 JE:44 JO:962 JP:81 KE:254 KG:996 KH:855 KR:82 LA:856 LB:961 LK:94 MA:212 MD:373 ME:382 MK:389 MM:95 \
      MN:976 MY:60 NG:234 NL:31 NP:977 NZ:64 PE:51 PH:63 PK:92 PS:970 PY:595 RO:40 RS:381 SA:966 SE:46 SI:386 SK:421 \
      SY:963 TH:66 TR:90 TW:886 TZ:255 UA:380 UG:256 UY:598 VE:58 VN:84 ZA:27 ZM:260 ZW:263
      """
    ),
    ("06", "HU:36"),
    ("1", "AG:1 AS:1 BB:1 BM:1 BS:1 CA:1 DO:1 GU:1 JM:1 KY:1 MP:1 PR:1 TT:1 US:1 VI:1"),
    ("8", "BY:375 KZ:7 RU:7 TM:993"),
    (
      "",
      """
      AD:376 BH:973 CL:56 CO:57 CR:506 CY:357 CZ:420 DK:45 EE:372 ES:34 FO:298 GI:350 GL:299 GR:30 GT:502 HK:852 HN:504 \
      IS:354 IT:39 KW:965 LI:423 LU:352 LV:371 MC:377 MO:853 MT:356 MX:52 NI:505 NO:47 OM:968 PA:507 PL:48 PT:351 \
      QA:974 SG:65 SM:378 SN:221 SV:503 TN:216 VA:39
      """
    ),
  ]
}
