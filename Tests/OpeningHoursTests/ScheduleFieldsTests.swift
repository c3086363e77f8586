import Foundation
import JSONText
import OpeningHours
import Testing

@Suite struct ScheduleFieldsTests {
  /// Returns the outcome for fields with texts; `nil` for a text is a field without a value.
  private func read(_ fields: KeyValuePairs<String, String?>) -> ScheduleFields.Outcome? {
    ScheduleFields(names: fields.map(\.key))?.read { index in fields[index].value.map { .string($0) } }
  }

  /// Returns the hours of fields with texts; `nil` if they have none.
  private func hours(_ fields: KeyValuePairs<String, String?>) -> String? {
    if case .hours(let text, _)? = read(fields) { text } else { nil }
  }

  private func value(_ text: String) throws -> JSONValue { try JSONReader.value(of: Data(text.utf8)) }

  // MARK: Columns

  private static let weeks = [
    "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday", "MON,TUE,WED,THU,FRI,SAT,SUN",
    "Mo,Tu,We,Th,Fr,Sa,Su", "Mo,Di,Mi,Do,Fr,Sa,So", "Montag,Dienstag,Mittwoch,Donnerstag,Freitag,Samstag,Sonntag",
    "lundi,mardi,mercredi,jeudi,vendredi,samedi,dimanche", "lunes,martes,miércoles,jueves,viernes,sábado,domingo",
    "Lu,Ma,Mi,Ju,Vi,Sa,Do", "lunedì,martedì,mercoledì,giovedì,venerdì,sabato,domenica",
    "segunda-feira,terça-feira,quarta-feira,quinta-feira,sexta-feira,sábado,domingo",
    "maandag,dinsdag,woensdag,donderdag,vrijdag,zaterdag,zondag", "ma,di,wo,do,vr,za,zo",
    "poniedziałek,wtorek,środa,czwartek,piątek,sobota,niedziela",
    "pondělí,úterý,středa,čtvrtek,pátek,sobota,neděle",
    "понедельник,вторник,среда,четверг,пятница,суббота,воскресенье", "Пн,Вт,Ср,Чт,Пт,Сб,Вс",
    "月,火,水,木,金,土,日", "月曜日,火曜日,水曜日,木曜日,金曜日,土曜日,日曜日", "周一,周二,周三,周四,周五,周六,周日",
    "월요일,화요일,수요일,목요일,금요일,토요일,일요일", "mandag,tirsdag,onsdag,torsdag,fredag,lørdag,søndag",
    "maanantai,tiistai,keskiviikko,torstai,perjantai,lauantai,sunnuntai",
    "Öffnungszeiten Montag,Öffnungszeiten Dienstag,Öffnungszeiten Mittwoch,Öffnungszeiten Donnerstag,"
      + "Öffnungszeiten Freitag,Öffnungszeiten Samstag,Öffnungszeiten Sonntag",
    "hours_monday,hours_tuesday,hours_wednesday,hours_thursday,hours_friday,hours_saturday,hours_sunday",
    "openingHours.monday,openingHours.tuesday,openingHours.wednesday,openingHours.thursday,openingHours.friday,"
      + "openingHours.saturday,openingHours.sunday",
    "horaire lundi,horaire mardi,horaire mercredi,horaire jeudi,horaire vendredi,horaire samedi,horaire dimanche",
    "orario di lunedì,orario di martedì,orario di mercoledì,orario di giovedì,orario di venerdì,orario di sabato,"
      + "orario di domenica",
    "営業時間（月曜）,営業時間（火曜）,営業時間（水曜）,営業時間（木曜）,営業時間（金曜）,営業時間（土曜）,営業時間（日曜）",
  ]

  @Test(arguments: weeks)
  func oneFieldForEachWeekdayIsRead(names: String) {
    let names = names.split(separator: ",").map(String.init)
    let fields = ScheduleFields(names: ["name"] + names + ["k"])
    let values = ["9:00-17:00", "9:00-17:00", "9:00-17:00", "9:00-17:00", "9:00-12:00", "closed", nil]

    let outcome = fields?.read { index in values[index - 1].map { .string($0) } }

    #expect(outcome == .hours("Mo-Th 09:00-17:00; Fr 09:00-12:00; Sa off", fields: [1, 2, 3, 4, 5, 6]))
  }

  @Test(arguments: [
    ("von", "bis", "Montag %,Dienstag %,Mittwoch %,Donnerstag %,Freitag %,Samstag %,Sonntag %"),
    ("open", "close", "monday_%,tuesday_%,wednesday_%,thursday_%,friday_%,saturday_%,sunday_%"),
    ("opens", "closes", "%_monday,%_tuesday,%_wednesday,%_thursday,%_friday,%_saturday,%_sunday"),
    ("Open", "Close", "mon%,tue%,wed%,thu%,fri%,sat%,sun%"),
    ("opening time", "closing time", "Mon %,Tue %,Wed %,Thu %,Fri %,Sat %,Sun %"),
    ("Von", "Bis", "Mo%,Di%,Mi%,Do%,Fr%,Sa%,So%"),
    ("ouverture", "fermeture", "lundi %,mardi %,mercredi %,jeudi %,vendredi %,samedi %,dimanche %"),
    ("apertura", "cierre", "lunes %,martes %,miércoles %,jueves %,viernes %,sábado %,domingo %"),
    ("apertura", "chiusura", "lunedì %,martedì %,mercoledì %,giovedì %,venerdì %,sabato %,domenica %"),
    ("abertura", "fechamento", "segunda %,terça %,quarta %,quinta %,sexta %,sábado %,domingo %"),
    ("van", "tot", "maandag %,dinsdag %,woensdag %,donderdag %,vrijdag %,zaterdag %,zondag %"),
    ("od", "do", "poniedziałek %,wtorek %,środa %,czwartek %,piątek %,sobota %,niedziela %"),
    ("開始時間", "終了時間", "月曜日%,火曜日%,水曜日%,木曜日%,金曜日%,土曜日%,日曜日%"),
    ("시작", "종료", "월요일 %,화요일 %,수요일 %,목요일 %,금요일 %,토요일 %,일요일 %"),
  ])
  func pairsOfOpeningAndClosingTimesAreRead(opens: String, closes: String, names: String) {
    let days = names.split(separator: ",").map(String.init)
    let fields = days.flatMap { [$0.replacing("%", with: opens), $0.replacing("%", with: closes)] }
    let values = Array(repeating: ["09:00", "17:30"], count: 5).flatMap(\.self) + ["", "", "closed", "closed"]

    let outcome = ScheduleFields(names: fields)?.read { .string(values[$0]) }

    #expect(outcome == .hours("Mo-Fr 09:00-17:30; Su off", fields: Array(0..<10) + [12, 13]), "\(fields)")
  }

  @Test func severalFieldsOfOneDayAddToEachOther() {
    #expect(
      hours([
        "Montag vormittag": "8-12", "Montag nachmittag": "14-18", "Dienstag vormittag": "8-12",
        "Dienstag nachmittag": "geschlossen", "Mittwoch vormittag": "8-12", "Mittwoch nachmittag": "-",
        "Donnerstag vormittag": "8-12", "Donnerstag nachmittag": "14-18", "Freitag vormittag": "8-12",
        "Freitag nachmittag": "",
      ]) == "Mo,Th 08:00-12:00,14:00-18:00; Tu,We,Fr 08:00-12:00")
    #expect(
      hours([
        "mon_open_1": "8", "mon_close_1": "12", "mon_open_2": "14", "mon_close_2": "18", "tue_open_1": "8",
        "tue_close_1": "12", "tue_open_2": nil, "tue_close_2": nil, "wed_open_1": nil, "wed_close_1": nil,
        "thu_open_1": nil, "thu_close_1": nil, "fri_open_1": "8", "fri_close_1": "12",
      ]) == "Mo 08:00-12:00,14:00-18:00; Tu,Fr 08:00-12:00")
  }

  @Test func namesOfRangesAndHolidaysAreRead() {
    #expect(
      hours(["Mo-Fr": "9-18", "Sa": "9-13", "So": "", "Feiertag": "geschlossen"])
        == "Mo-Fr 09:00-18:00; Sa 09:00-13:00; PH off")
    #expect(hours(["Montag bis Freitag": "9-18", "Samstag": "zu"]) == "Mo-Fr 09:00-18:00; Sa off")
    #expect(hours(["weekday_hours": "9-18", "weekend_hours": "10-16"]) == "Mo-Fr 09:00-18:00; Sa,Su 10:00-16:00")
    #expect(
      hours([
        "평일운영시작시각": "09:00", "평일운영종료시각": "18:00", "토요일운영시작시각": "09:00", "토요일운영종료시각": "13:00", "일요일운영시작시각": "",
        "일요일운영종료시각": "",
      ]) == "Mo-Fr 09:00-18:00; Sa 09:00-13:00")
  }

  @Test func hoursAfterMidnightRemainBesideClosedDays() {
    #expect(
      hours(["mon": "closed", "tue": "closed", "wed": "closed", "thu": "18-2", "fri": "20:00-04:00", "sat": "closed"])
        == "Th 18:00-02:00, Fr 20:00-04:00")
  }

  @Test(arguments: [
    ("24h", ""), ("Open 24 hours", ""), ("24/7", ""), ("9:00 AM – 5:00 PM", " 09:00-17:00"),
    ("9-12; 14-18", " 09:00-12:00,14:00-18:00"), ("8.30-12.00 / 13-17", " 08:30-12:00,13:00-17:00"),
    ("geöffnet von 10 bis 18 Uhr", " 10:00-18:00"), ("Dienstag: 9-12", " 09:00-12:00"), ("Closed", " off"),
  ])
  func timesOfADayAreReadAsPeopleWriteThem(text: String, times: String) {
    #expect(
      hours(["Montag": "7-8", "Dienstag": text, "Mittwoch": "7-8"]) == "Mo,We 07:00-08:00; Tu\(times)", "\(text)")
  }

  @Test func fieldsThatSayThatADayIsClosedCount() {
    #expect(
      hours([
        "monday_open": "9:00", "monday_close": "17:00", "monday_closed": "0", "tuesday_open": "9:00",
        "tuesday_close": "17:00", "tuesday_closed": "true", "wednesday_open": "9:00", "wednesday_close": "17:00",
        "thursday_open": "9:00", "thursday_close": "17:00", "friday_open": "9:00", "friday_close": "17:00",
      ]) == "Mo,We-Fr 09:00-17:00; Tu off")
  }

  @Test(arguments: [
    ["mo", "so", "name"], ["Sat", "Sun"], ["mon", "tue", "wed", "thu"], ["Monday"], ["do", "to", "la", "me", "ma"],
    ["monday_open", "tuesday_open"], ["Monday special", "Tuesday special", "Wednesday special", "Thursday special"],
    ["weekday"], ["sun_exposure", "mon_repos", "fr", "so", "di", "sa"], ["opens", "closes"],
    ["토요일운영시작시각", "토요일운영종료시각", "공휴일운영시작시각", "공휴일운영종료시각"],
  ])
  func namesThatOnlyLookLikeWeekdaysAreNone(names: [String]) {
    #expect(ScheduleFields(names: names) == nil)
  }

  @Test(arguments: ["by appointment", "9", "25", "open 9", "Tu 9-12; We 9-12", "pasta", "Dec 24 9-12"])
  func aDayThatCannotBeParsedMakesTheHoursUnreadable(text: String) {
    let fields = ScheduleFields(names: ["Monday", "Tuesday", "Wednesday"])

    #expect(fields?.read { .string($0 == 1 ? text : "9-17") } == .unreadable("Tuesday: \(text)"))
  }

  @Test(arguments: [("9:00", ""), ("", "17:00"), ("00:00", "00:00"), ("9:00", "nine"), ("closed", "17:00")])
  func aPairThatIsInDoubtIsUnreadable(opens: String, closes: String) {
    let days = ["mon", "tue", "wed", "thu", "fri"]
    let fields = ScheduleFields(names: days.flatMap { ["\($0)_open", "\($0)_close"] })

    guard case .unreadable? = fields?.read({ .string($0 % 2 == 0 ? opens : closes) }) else {
      Issue.record("\(opens) to \(closes) was read")
      return
    }
  }

  @Test func aWeekWithoutAnyTimesIsNotClosed() {
    #expect(read(["mon": "", "tue": nil, "wed": "-", "thu": "", "fri": " ", "sat": "", "sun": ""]) == nil)
    #expect(hours(["mon": "", "tue": nil, "wed": "", "thu": "", "fri": "", "sat": "", "sun": "closed"]) == nil)
    #expect(
      hours([
        "mon": "closed", "tue": "closed", "wed": "closed", "thu": "closed", "fri": "closed", "sat": "closed",
        "sun": "closed",
      ]) == "Mo-Su off")
  }

  // MARK: Values

  @Test(arguments: [
    ("openingHours", #"["Mo-Fr 09:00-17:00"]"#, "Mo-Fr 09:00-17:00"),
    ("openingHours", #""Mo-Fr 9-17""#, "Mo-Fr 09:00-17:00"),
    ("openingHours", #"["Fr 18:00-02:00","Sa closed"]"#, "Fr 18:00-02:00"),
    (
      "openingHoursSpecification", #"[{"dayOfWeek":["Monday"],"opens":"09:00","closes":"17:00"}]"#, "Mo 09:00-17:00"
    ),
    ("openingHoursSpecification", #"{"dayOfWeek":"Mittwoch","opens":"9:00","closes":"17:00"}"#, "We 09:00-17:00"),
    (
      "opening_hours", #"{"periods":[{"open":{"day":1,"time":"0900"},"close":{"day":1,"time":"1700"}}]}"#,
      "Mo 09:00-17:00"
    ),
    (
      "regularOpeningHours",
      #"{"openNow":true,"periods":[{"open":{"day":0,"hour":9,"minute":0},"close":{"day":0,"hour":17,"minute":30}}]}"#,
      "Su 09:00-17:30"
    ),
    ("periods", #"[{"open":{"day":1,"time":"0900"},"close":{"day":1,"time":"1700"}}]"#, "Mo 09:00-17:00"),
    (
      "opening_hours", #"{"weekday_text":["Monday: 9:00 AM – 5:00 PM","Tuesday: Closed"]}"#, "Mo 09:00-17:00; Tu off"
    ),
    (
      "hours", #"{"monday":"9-17","tuesday":["9-12","14-18"],"sunday":null}"#,
      "Mo 09:00-17:00; Tu 09:00-12:00,14:00-18:00"
    ),
    (
      "opening_hours",
      #"{"mon":{"open":"09:00","close":"17:00"},"tue":[["09:00","12:00"]],"sat":{"isOpen":false},"sun":[]}"#,
      "Mo 09:00-17:00; Tu 09:00-12:00; Sa off"
    ),
    ("openingHours", #""[\"Mo-Fr 09:00-17:00\"]""#, "Mo-Fr 09:00-17:00"),
  ])
  func valuesOfOtherVocabulariesBecomeHours(name: String, source: String, text: String) throws {
    let value = try value(source)

    #expect(ScheduleFields(names: ["name", name])?.read { $0 == 1 ? value : nil } == .hours(text, fields: [1]))
  }

  @Test(arguments: [
    // A day, a time or a form that is unknown must not open the place on other days.
    #"[{"dayOfWeek":["Caturday"],"opens":"09:00","closes":"17:00"}]"#,
    #"[{"dayOfWeek":"Monday","opens":"9 o'clock","closes":"17 o'clock"}]"#,
    #"[{"dayOfWeek":"Monday","opens":"09:00"}]"#, #"[{"dayOfWeek":"Monday","opens":"24:30","closes":"25:00"}]"#,
    #"[{"dayOfWeek":"PublicHolidays","opens":"09:00","closes":"12:00","validFrom":"2026-12-24"}]"#,
    #"{"openNow":true}"#, "[]", "{}", "17", #""when I like""#, #"{"monday":"when I like"}"#,
  ])
  func otherValuesAreUnreadable(source: String) throws {
    let value = try value(source)

    guard case .unreadable? = ScheduleFields(names: ["openingHoursSpecification"])?.read({ _ in value }) else {
      Issue.record("\(source) was read")
      return
    }
  }

  @Test func textOfTheTagWins() {
    #expect(read(["opening_hours": "24/7", "openingHours": "Mo 9-17"]) == nil)
    #expect(read(["opening_hours": "", "openingHours": "Mo 9-17"]) == .hours("Mo 09:00-17:00", fields: [1]))
  }

  @Test(arguments: ["9 to 5 or so", "bronze age", #"["bronze age","iron age"]"#, "3"])
  func otherTextsOfCommonNamesAreNoHours(text: String) {
    #expect(read(["hours": text]) == nil)
    #expect(read(["periods": text]) == nil)
  }

  @Test func spansOfOneDateAddToEachOther() throws {
    let value = try value(
      #"""
      [{"dayOfWeek":["Monday","Tuesday"],"opens":"09:00","closes":"17:00"},
      {"dayOfWeek":["Monday","Tuesday"],"opens":"09:00","closes":"12:00","validFrom":"2026-12-28","validThrough":"2026-12-31"},
      {"dayOfWeek":["Monday","Tuesday"],"opens":"14:00","closes":"16:00","validFrom":"2026-12-28","validThrough":"2026-12-31"}]
      """#)

    #expect(
      HoursExpression(schedule: value)?.text
        == "Mo,Tu 09:00-17:00; 2026 Dec 28-31 Mo,Tu 09:00-12:00,14:00-16:00")
  }
}
