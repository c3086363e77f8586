import OpeningHours
import Testing

struct HoursTextTests {
  @Test(arguments: [
    "24/7", "Mo-Fr 08:00-12:00,13:00-17:30; Sa 08:00-12:00; PH off", "Su-Tu 11:00-01:00, We,Th 11:00-03:00",
    "week 01-53/2 Fr 09:00-12:00", "2020-2024 10:00-12:00", "2020+ Mo", "2020-2030/2 Jan 01", "2012 Dec 24-26 off",
    "Dec 24-Jan 06 off", "2020 Dec 24-2021 Jan 06 off", "Jan-Mar,Oct 10:00-12:00", "easter -2 days-easter +1 day off",
    "Mar Su[-1]-Oct Su[-1] -1 day 10:00-18:00", "Sa[1,-1] +1 day 10:00-12:00", "PH -1 day 10:00-12:00",
    "PH Mo-Fr 10:00-12:00", "Mo-Fr,PH,SH 10:00-12:00", "sunrise-sunset", "(sunrise-00:30)-(sunset+01:00)",
    "10:00-12:00+", "10:00+", "(sunrise+01:00)+", "Mo 10:00", "10:00-16:00/01:30",
    "Mo-Fr 10:00-12:00 || unknown \"by appointment\"",
    "Mo-Fr open, Sa 10:00-12:00",
    "10:00-12:00 open \"members\", 12:00-14:00 off \"cleaning\"; Su unknown", "Mo 20:00-26:00",
    "Dec 01 +Su 10:00-12:00",
    "Dec 24+ off", "open \"always\"", "09:00-18:00 open, 07:30-18:00 open \"shop\"",
    "Mo 10:00-12:00, 24/7", "Mo 10:00-12:00, 2033 01:00-17:00 off", "2020 Dec 24+ off", "Su,Mo off",
    "Mar-Oct: Su[-1] 07:30-11:00", "Oct Su[-1] 07:30-11:00", "Mo 10:00-12:00; 24/7 off \"renovation\"",
    "24/7 off; Su 10:00-12:00", "Mo-Fr 09:00-17:00; PH Mo-Fr off", "12:00, 2026 open",
  ])
  func canonicalTextIsPrintedAsItIs(text: String) throws {
    #expect(try HoursExpression(text: text).text == text)
  }

  @Test(arguments: [
    // Case, spaces, dashes and digits.
    ("mo-fr 10-20", "Mo-Fr 10:00-20:00"), ("Mo–Fr 9:00 – 17:00", "Mo-Fr 09:00-17:00"),
    ("Mo-Fr10:00-18:00;Sa10:00-14:00", "Mo-Fr 10:00-18:00; Sa 10:00-14:00"), ("10：00〜19：00", "10:00-19:00"),
    ("Mo-Su_09:00-17:00", "Mo-Su 09:00-17:00"), ("09 : 00 - 12 : 00 , 13 : 00 - 19 : 00", "09:00-12:00,13:00-19:00"),
    // Times.
    ("9h-12h30", "09:00-12:30"), ("8.30-17.00 Uhr", "08:30-17:00"), ("0600-1800", "06:00-18:00"),
    ("Mo 9am-5pm", "Mo 09:00-17:00"), ("5-7pm", "17:00-19:00"), ("10-5pm", "10:00-17:00"),
    ("9 a.m. to 12 a.m.", "09:00-24:00"),
    ("12:00 pm-12:30am", "12:00-00:30"), ("17時00分～23時30分", "17:00-23:30"), ("07:00-00:00", "07:00-24:00"),
    ("10:00:00-18:00:00", "10:00-18:00"), ("10:00-16:00/90", "10:00-16:00/01:30"),
    // Always.
    ("24h/24h", "24/7"), ("24 hours", "24/7"), ("24/24", "24/7"), ("24/7 open", "24/7"), ("Fr-Su 24/7", "Fr-Su"),
    ("24/7 closed", "off"),
    // Names.
    ("Monday to Friday 8:00AM to 4:30PM", "Mo-Fr 08:00-16:30"),
    ("Mo.-Fr. 8-12 Uhr und 14-18 Uhr", "Mo-Fr 08:00-12:00,14:00-18:00"),
    ("Lundi au Vendredi 8h - 17h", "Mo-Fr 08:00-17:00"), ("Lu-Ve 8-12; Di fermé", "Mo-Fr 08:00-12:00; Su off"),
    ("Di-So 10:00-18:00, Mo Ruhetag", "Tu-Su 10:00-18:00, Mo off"),
    ("Gio, Sab e Dom: 9.00-12.30", "Th,Sa,Su 09:00-12:30"),
    ("Segunda a Sexta 08:00h a 16:00h", "Mo-Fr 08:00-16:00"),
    ("Пн-Пт 08:00-20:00; Сб выходной", "Mo-Fr 08:00-20:00; Sa off"),
    ("月～土 17:00～23:00", "Mo-Sa 17:00-23:00"), ("水曜日～土曜日10:00～19:00", "We-Sa 10:00-19:00"),
    ("täglich 10-18", "Mo-Su 10:00-18:00"), ("24. Dezember-6. Januar geschlossen", "Dec 24-Jan 06 off"),
    ("Jul 10-Sep 03 2023 10:00-12:00", "2023 Jul 10-Sep 03 10:00-12:00"),
    ("24. Dezember 2026 geschlossen", "2026 Dec 24 off"),
    // Separators.
    ("Mo-Fr 10:00-21:00 Sa 09:00-21:00", "Mo-Fr 10:00-21:00; Sa 09:00-21:00"),
    ("Mo-Fr: 8-12, Sa: 9-11", "Mo-Fr 08:00-12:00, Sa 09:00-11:00"),
    ("Mo-Fr 08:00-12:00 14:00-18:00", "Mo-Fr 08:00-12:00,14:00-18:00"), ("Mo-Fr, 10:00-12:00", "Mo-Fr 10:00-12:00"),
    ("6:00-18:00 / Sa 6:00-13:00", "06:00-18:00; Sa 06:00-13:00"), ("9-12/13-19", "09:00-12:00,13:00-19:00"),
    ("Mo-Fr 9-12; 14-18", "Mo-Fr 09:00-12:00,14:00-18:00"), ("Mo 9-12; Mo 14-18", "Mo 09:00-12:00,14:00-18:00"),
    ("08:00-12:00;", "08:00-12:00"), ("Mo Fr 9-12", "Mo,Fr 09:00-12:00"),
    ("May-Aug, Mo-Th 9-12", "May-Aug Mo-Th 09:00-12:00"),
    ("Apr-Oct: Mo-Fr: 9-12", "Apr-Oct Mo-Fr 09:00-12:00"),
    ("Mar-Oct Su[-1]", "Mar-Oct: Su[-1]"), ("Dec 24,25,31 off", "Dec 24,Dec 25,Dec 31 off"),
    ("2020 Dec 24,25 off", "2020 Dec 24,2020 Dec 25 off"),
    ("week 1-3, week 5 Mo", "week 01-03,05 Mo"), ("Jan 5: 8-12", "Jan 05 08:00-12:00"),
    ("Dec 10:00-12:00", "Dec 10:00-12:00"),
    ("Mo-Fr 10:00-12:00 “by appointment”", "Mo-Fr 10:00-12:00 unknown \"by appointment\""),
    ("\"summer\": 10:00-12:00", "10:00-12:00 open \"summer\""), ("Mo-Su", "Mo-Su"), ("PHoff", "PH off"),
    ("\"winter\": off", "off \"winter\""),
    ("\"perhaps\" We 10:00-16:00", "We 10:00-16:00 unknown \"perhaps\""),
  ])
  func peopleTextIsPrintedInCanonicalForm(text: String, printed: String) throws {
    let expression = try HoursExpression(text: text)
    #expect(expression.text == printed)
    #expect(try HoursExpression(text: printed) == expression)
  }

  @Test(arguments: [
    ("", 1), ("by appointment", 1), ("Mo-Fr 10:00-", 13), ("Mo-Fr 10:00-18:00 ???", 19), ("Mo 25:61-26:00", 4),
    ("Mo[6] 10:00-12:00", 4), ("Feb 30 off", 5), ("|| Mo", 1), ("Mo off 10:00-12:00", 8), ("Mo \"open", 4), ("9", 2),
    // Tuesday in French, Spanish and Italian, Monday in Dutch and Finnish.
    ("Ma 10:00-12:00", 1), ("daily", 6), ("2020 Dec 2 easter", 12), ("Apr-Oct, PH 09:00-20:00", 10),
    ("\"summer\":", 10), ("week 54", 6),
    ("(sunset+1)-24:00", 9),
  ])
  func otherTextIsRejectedAtTheCharacter(text: String, character: Int) {
    let error = #expect(throws: HoursError.self) { try HoursExpression(text: text) }
    #expect(error?.character == character)
  }

  @Test func longTextsAreRejected() {
    #expect(throws: HoursError.self) { try HoursExpression(text: "Mo " + String(repeating: " ", count: 2_046)) }
    #expect(throws: HoursError.self) {
      try HoursExpression(text: (0..<200).map { _ in "Mo 1-2" }.joined(separator: ";"))
    }
  }
}
