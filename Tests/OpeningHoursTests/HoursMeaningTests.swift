import Basics
import OpeningHours
import Testing

/// Tests that a text has the meaning of another, by the states of two weeks.
struct HoursMeaningTests {
  /// Returns the intervals of the two weeks from Monday, 14 December 2026, with holidays on a Wednesday, at Christmas and
  /// on a Saturday.
  private func intervals(_ text: String) throws -> [HoursInterval] {
    try intervals(HoursExpression(text: text))
  }

  private func intervals(_ expression: HoursExpression) throws -> [HoursInterval] {
    let days = ["2026-12-16", "2026-12-25", "2026-12-26"].map { RFC3339.date(of: $0)! }
    let context = HoursContext(zone: .utc, holidays: HolidayCalendar(days: days))
    return expression.intervals(from: CivilDate(year: 2026, month: 12, day: 14), days: 14, in: context)
  }

  /// Compares the states and the comments of a text, and of its canonical text, with those of another.
  private func expect(
    _ text: String, equals other: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let expression = try HoursExpression(text: text)
    #expect(try intervals(expression) == intervals(other), "\(text)", sourceLocation: sourceLocation)
    #expect(
      try HoursExpression(text: expression.text) == expression, "\(expression.text)", sourceLocation: sourceLocation)
  }

  // MARK: States before days

  @Test(arguments: [
    "closed", "Closed", "off", "close", "geschlossen", "geschl.", "Ruhetag", "zu", "fermé", "fermée", "cerrado",
    "chiuso",
    "fechado", "gesloten", "nieczynne", "zamknięte", "zavřeno", "zatvorené", "закрыто", "выходной", "вихідний",
    "зачинено",
    "定休日", "休業", "休み", "休館", "休息", "關閉", "휴무", "lukket", "stängt", "stengt", "suljettu", "tutup", "kapalı",
    "închis", "zárva",
  ])
  func closedStateBeforeDaysClosesOnlyThese(word: String) throws {
    let days = [
      "Su", "Sa-Su", "Sa,Su", "Sa and Su", "PH", "SH", "Su,PH", "Dec 25", "Dec 24-26", "Dec 24,25", "Dec", "Dec-Feb",
      "week 52", "2026", "2026 Dec 25", "25 December", "Su[-1]", "easter", "Dec Su",
    ]
    for day in days {
      for separator in ["; ", ", ", "; \(word) Th; ", " "] {
        let isTwice = separator.count > 2
        try expect(
          "Mo-Su 10:00-18:00\(separator)\(word) \(day)",
          equals: "Mo-Su 10:00-18:00; \(day) off\(isTwice ? "; Th off" : "")")
      }
      try expect("Mo-Su 10:00-18:00; \(word): \(day)", equals: "Mo-Su 10:00-18:00; \(day) off")
      try expect("\(word) \(day)", equals: "\(day) off")
    }
    try expect("Mo-Su 10:00-18:00; \(word) 12:00-13:00", equals: "Mo-Su 10:00-18:00; 12:00-13:00 off")
    try expect("Mo-Su 10:00-18:00, \(word) Mo-Fr 12:00-13:00", equals: "Mo-Su 10:00-18:00; Mo-Fr 12:00-13:00 off")
  }

  @Test(arguments: [
    "open", "geöffnet", "offen", "ouvert", "abierto", "aperto", "aberto", "geopend", "открыто", "відчинено",
  ])
  func openStateBeforeDaysIsThatOfItsHours(word: String) throws {
    for days in [
      "Mo-Fr 10:00-12:00", "Mo-Fr 10:00-12:00, Sa 09:00-11:00", "Dec 21-24 10:00-12:00", "10:00-12:00", "Mo,PH",
    ] {
      try expect("\(word) \(days)", equals: days)
      try expect("\(word): \(days)", equals: days)
      try expect("Mo-Su 08:00-09:00; \(word) \(days)", equals: "Mo-Su 08:00-09:00; \(days)")
    }
  }

  @Test(arguments: [
    ("Mo-Sa 10:00-18:00; closed Su", "Mo-Sa 10:00-18:00; Su off"),
    ("Mo-Fr 09:00-17:00, closed Sunday", "Mo-Fr 09:00-17:00; Su off"),
    ("Tu-Su 10:00-18:00; closed PH", "Tu-Su 10:00-18:00; PH off"),
    ("10:00-18:00; closed Dec 25", "10:00-18:00; Dec 25 off"),
    ("Di-So 10-18 Uhr, geschlossen Montag", "Tu-Su 10:00-18:00; Mo off"),
    ("mardi au dimanche 10h-18h, fermé lundi", "Tu-Su 10:00-18:00; Mo off"),
    ("Closed Sunday", "Su off"), ("open Mo-Fr 10:00-12:00", "Mo-Fr 10:00-12:00"),
    ("24/7 closed Mo", "24/7; Mo off"), ("open Mo-Sa 10:00-18:00 closed Su", "Mo-Sa 10:00-18:00; Su off"),
    ("closed Su open Mo-Sa 10:00-18:00", "Mo-Sa 10:00-18:00; Su off"),
    ("Mo-Fr 9-17 closed Sa closed Su", "Mo-Fr 09:00-17:00"),
    ("open: Mo-Fr 9-17; closed: Sa, Su", "Mo-Fr 09:00-17:00"), ("Sa closed Su 10-12", "Su 10:00-12:00"),
    ("Mo-Su 10:00-18:00; closed on Sundays and bank holidays", "Mo-Sa 10:00-18:00; PH off"),
    ("Mo-Su 10-18; closed Dec 24, Su, PH", "Mo-Sa 10:00-18:00; Dec 24 off; PH off"),
    ("Mo-Su 10-18; unknown Su", "Mo-Su 10:00-18:00; Su unknown"), ("10-18; chiuso il lunedì", "Tu-Su 10:00-18:00"),
    ("10-18; закрыто в воскресенье", "Mo-Sa 10:00-18:00"), ("10:00-18:00、定休日：月曜日", "Tu-Su 10:00-18:00"),
    ("\"winter\": closed Mo; \"winter\": Tu-Su 10-18", "Tu-Su 10:00-18:00 open \"winter\"; Mo off \"winter\""),
    // Hours behind the days on which they do not hold.
    ("closed PH; Mo-Su 10-18", "Mo-Su 10:00-18:00; PH off"), ("Closed Mondays, 10-18", "Tu-Su 10:00-18:00"),
    ("Closed Dec 24-26; Mo-Fr 9-17", "Mo-Fr 09:00-17:00; Dec 24-26 off"), ("Mo geschl., 10-18", "Tu-Su 10:00-18:00"),
    ("Mo geschl., Tu-Su 10:00-18:00", "Tu-Su 10:00-18:00"), ("closed Su; Mo-Sa 10-18", "Mo-Sa 10:00-18:00"),
    ("closed Jan-Mar; Apr-Dec 10:00-18:00", "10:00-18:00"), ("定休日：月曜日、10:00-18:00", "Tu-Su 10:00-18:00"),
  ])
  func stateBeforeDaysHasTheMeaningOfOneBehindThem(text: String, other: String) throws {
    try expect(text, equals: other)
  }

  @Test(arguments: [
    // The days may be those before or behind the state.
    "Mo-Sa 10:00-18:00, closed, Su", "Mo-Sa 10:00-18:00; closed; Su", "closed, Su", "closed; Su", "off, Su 10:00-12:00",
    "Mo-Fr closed Sa-Su", "Sa closed Su", "Mo-Sa 10:00-18:00, closed", "Mo-Sa 10:00-18:00; closed", "closed \"x\" Mo",
    "Mo-Sa 10:00-18:00; open", "Jan-Mar closed Mo-Fr 10:00-12:00", "closed Dec 25; Su", "open Mo-Sa 10:00-18:00 closed",
    // The hours may be those of the closed days or of others.
    "closed Su 10:00-18:00", "closed Su 10:00-18:00 Mo-Sa", "closed Su, Mo-Sa 10:00-18:00", "closed Sa, Su 10:00-12:00",
    "Mo-Fr 08:00-18:00; closed Sa, Su 10:00-12:00", "Mo-Fr 08:00-18:00 closed Sa 10:00-12:00",
    "Mo-Fr 08:00-12:00, closed 12:00-14:00, 14:00-18:00", "Mo-Fr 08:00-18:00; closed PH Mo-Fr",
    "Mo-Fr 08:00-18:00; closed PH Sa 10:00-12:00", "Mo-Fr 08:00-18:00; closed Su Dec 25", "closed Mo Tu-Su 10:00-18:00",
    // The hours are on days that are said to be closed.
    "closed Mo-Fr; Mo 10:00-12:00", "closed Dec 24; Dec 10:00-18:00", "10:00-18:00 || closed Su",
    "closed Mo || 10:00-18:00",
    // A date in numbers is no time, and 10 no day.
    "10:00-18:00; closed 01.01", "10:00-18:00; closed 01.05-03.05", "10:00-18:00; closed 12:00", "Dec 25, 10-18",
  ])
  func stateInDoubtIsRejected(text: String) {
    #expect(throws: HoursError.self) { try HoursExpression(text: text) }
  }

  @Test(arguments: [
    ("Mo-Fr 10:00-18:00; off \"renovation\"", "off \"renovation\""), ("off; Su 10:00-12:00", "Su 10:00-12:00"),
    ("24/7 off, Su 10:00-12:00", "Su 10:00-12:00"), ("Mo 10:00-12:00; 24/7 off", "off"), ("24/7; Su off", "Mo-Sa"),
    ("Su 10:00-12:00 || closed", "Su 10:00-12:00"), ("open; Su off", "Mo-Sa"),
  ])
  func stateOfAllDaysIsRead(text: String, other: String) throws {
    try expect(text, equals: other)
  }

  // MARK: Holidays

  @Test(arguments: [
    ("SH: Mo-Fr 10:00-12:00", "SH Mo-Fr 10:00-12:00"), ("PH: We,Fr", "PH We,Fr"),
    ("PH: Su 10:00-12:00", "PH Su 10:00-12:00"), ("PH: Mo-Sa 10:00-12:00", "PH Mo-Sa 10:00-12:00"),
    ("PH:Sa-Su 10-12", "PH Sa-Su 10:00-12:00"), ("Feiertage: Mi, Fr 10-12", "PH We,Fr 10:00-12:00"),
    ("PH,SH: Mo-Fr 10:00-12:00,14:00-16:00", "PH,SH Mo-Fr 10:00-12:00,14:00-16:00"),
    ("Mo-Su 8-18; PH: Sa off", "Mo-Su 08:00-18:00; PH Sa off"), ("Mo-Su 8-18; PH: off", "Mo-Su 08:00-18:00; PH off"),
    ("Mo-Su 8-18; PH: 10-12", "Mo-Su 08:00-18:00; PH 10:00-12:00"), ("PH -1 day: Th", "PH -1 day Th"),
    ("SH: Mo-Fr 10-12; Sa 9-11", "SH Mo-Fr 10:00-12:00; Sa 09:00-11:00"), ("土日祝 10-15", "Sa,Su,PH 10:00-15:00"),
    ("土・日・祝 10-15", "Sa,Su,PH 10:00-15:00"), ("Sa Su PH 10-15", "PH Sa,Su 10:00-15:00"),
  ])
  func holidaysBeforeAColonSelectTheDaysBehindIt(text: String, other: String) throws {
    try expect(text, equals: other)
  }

  @Test(arguments: [
    "Mo-Fr: PH 10:00-12:00", "Mo-Fr: Sa 09:00-12:00", "PH: SH 10:00-12:00", "SH: Mo-Fr 10:00-12:00, Sa 09:00-11:00",
    "SH: Mo-Fr 10:00-12:00 Sa 09:00-11:00", "PH: Mo,SH 10:00-12:00", "Mo-Su 8-18; closed PH: Mo",
  ])
  func colonsInDoubtAreRejected(text: String) {
    #expect(throws: HoursError.self) { try HoursExpression(text: text) }
  }

  // MARK: Times

  @Test(arguments: [
    ("Mo-Sa 5pm+", "Mo-Sa 17:00+"), ("Su 7:00 pm", "Su 19:00"), ("6:30 PM", "18:30"), ("12 am", "00:00"),
    ("12 pm", "12:00"), ("12am+", "00:00+"), ("12:30 am", "00:30"), ("12:30 p.m.", "12:30"), ("1 am", "01:00"),
    ("Mo-Fr 9am-12pm, 1pm+", "Mo-Fr 09:00-12:00,13:00+"), ("Mo 9 am, 2 pm, 6:30 pm", "Mo 09:00,14:00,18:30"),
    ("9am-5pm+", "09:00-17:00+"), ("5pm+ off", "17:00+ off"), ("noon, 8pm", "12:00,20:00"), ("Su 17:00 pm", "Su 17:00"),
    // Ranges.
    ("12:30 pm-1", "12:30-13:00"), ("9-5pm", "09:00-17:00"), ("12-5pm", "12:00-17:00"), ("12am-8", "00:00-08:00"),
    ("11am-2", "11:00-14:00"), ("5pm-2", "17:00-02:00"), ("9am-12am", "09:00-24:00"), ("9am-dusk", "09:00-dusk"),
    ("noon-10pm", "12:00-22:00"), ("8am-midnight", "08:00-24:00"), ("18:00-Mitternacht", "18:00-24:00"),
    ("noon-2", "12:00-14:00"), ("9-noon", "09:00-12:00"), ("10am-12 noon, 1pm-12 midnight", "10:00-12:00,13:00-24:00"),
    ("midnight-6am", "00:00-06:00"), ("midi-14h", "12:00-14:00"), ("正午-15時", "12:00-15:00"), ("noon+", "12:00+"),
    ("Mo-Fr 9.00-13.00 / 15.30-19.30", "Mo-Fr 09:00-13:00,15:30-19:30"),
    ("9h00-13h00 / 15h30-19h30", "09:00-13:00,15:30-19:30"), ("9am-12pm / 1pm-5pm", "09:00-12:00,13:00-17:00"),
    ("10.00-12.00/14.30+", "10:00-12:00,14:30+"), ("10:00-16:00/30", "10:00-16:00/00:30"),
    ("10:00-16:00/1:30", "10:00-16:00/01:30"),
  ])
  func halvesOfTheDayAndWordsForTimesAreRead(text: String, other: String) throws {
    try expect(text, equals: other)
  }

  @Test(arguments: ["6:30, 8:30 pm", "5-midnight", "11-2", "13 am", "9:00, 10:30, 1:00 pm"])
  func timesInDoubtAreRejected(text: String) {
    #expect(throws: HoursError.self) { try HoursExpression(text: text) }
  }

  // MARK: Days

  @Test(arguments: [
    ("M-F 9am-5pm", "Mo-Fr 09:00-17:00"), ("M-Th 9-5pm, F 9-3pm", "Mo-Th 09:00-17:00; Fr 09:00-15:00"),
    ("M,W,F 9-17", "Mo,We,Fr 09:00-17:00"), ("M to F 9-17", "Mo-Fr 09:00-17:00"),
    ("Weekdays 10 AM-5 PM, Weekends 9 AM-6 PM", "Mo-Fr 10:00-17:00; Sa,Su 09:00-18:00"),
    ("Wochenende 10-18 Uhr", "Sa,Su 10:00-18:00"), ("будни 10-18", "Mo-Fr 10:00-18:00"),
    ("Mo-Su 9-17; closed weekends", "Mo-Fr 09:00-17:00"), ("Mo,weekends 9-17", "Sa-Mo 09:00-17:00"),
    ("täglich außer Mo 10-18", "Tu-Su 10:00-18:00"), ("Mo-Sa außer Mi 10-18", "Mo,Tu,Th-Sa 10:00-18:00"),
    ("10-18, außer Mo", "Tu-Su 10:00-18:00"), ("daily except Mo, Tu 10-18", "We-Su 10:00-18:00"),
    ("open daily except Mo 20:00-02:00", "Tu-Su 20:00-02:00"), ("24/7 except Su", "Mo-Sa"),
    ("daily except Sundays and holidays 10-18", "Mo-Sa 10:00-18:00; PH off"),
    ("Su 10-12; Mo-Sa 9-17 except PH", "Su 10:00-12:00; Mo-Sa 09:00-17:00; PH Mo-Sa off"),
    ("Mo-Su 9-17 except Dec 25", "Mo-Su 09:00-17:00; Dec 25 off"),
    ("Mo-Su 9-17 except Su[-1]", "Mo-Su 09:00-17:00; Dec 27 off"),
    ("Dec 14-20 except We 10-12", "Dec 14-20 Mo,Tu,Th-Su 10:00-12:00"),
    ("tous les jours sauf lundi 10h-18h", "Tu-Su 10:00-18:00"),
    ("todos los días excepto lunes 10-18", "Tu-Su 10:00-18:00"),
    ("tutti i giorni tranne lunedì 10-18", "Tu-Su 10:00-18:00"),
    ("dagelijks behalve maandag 10-18", "Tu-Su 10:00-18:00"),
    ("ежедневно кроме понедельника 10-18", "Tu-Su 10:00-18:00"),
    ("平日 9:00-17:00", "Mo-Fr 09:00-17:00; PH off"), ("평일 9:00-17:00", "Mo-Fr 09:00-17:00; PH off"),
    ("平日9:00-17:00、土日祝10:00-15:00", "Mo-Fr 09:00-17:00; Sa,Su,PH 10:00-15:00"),
  ])
  func wordsForSeveralDaysAreRead(text: String, other: String) throws {
    try expect(text, equals: other)
  }

  @Test(arguments: [
    // Tuesday or Wednesday in other languages, and a holiday in Italian.
    "M 9-17", "M-V 9-17", "F 9-12", "M,Mi 9-17", "M-Do 9-17",
    "täglich außer Mo", "daily except Mo", "täglich Mo-Fr 9-17", "tous les lundis 10-12", "Mo-Fr 9-17 except We 10-12",
    "Mo except Mo 9-17", "Mo-Fr,PH except We 9-17", "except Mo 9-17", "closed except Su 9-17",
    "土日祝10:00-15:00、平日9:00-17:00", "平日 24/7, 12:00-13:00", "平日 休み", "public 9-17",
  ])
  func daysInDoubtAreRejected(text: String) {
    #expect(throws: HoursError.self) { try HoursExpression(text: text) }
  }

  @Test(arguments: [
    ("winter 10-16; summer 9-18", "winter"), ("Sommer: 10-18 Uhr", "Sommer"), ("été 9h-18h", "été"),
    ("10-18 invierno", "invierno"),
  ])
  func seasonIsRejectedWithTheReason(text: String, season: String) {
    let error = #expect(throws: HoursError.self) { try HoursExpression(text: text) }
    #expect(error?.reason == "expected months, got '\(season)', which has no fixed dates")
  }
}
