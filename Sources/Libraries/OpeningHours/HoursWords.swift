/// A word of an expression.
enum HoursWord: Hashable, Sendable {
  case weekday(Int)
  /// Several weekdays, a bit each, Monday first: `weekends`.
  case weekdays(UInt8)
  /// Monday to Friday without public holidays.
  case workingDays
  case month(Int)
  case event(SunEvent)
  case state(HoursState)
  case holiday(HolidaySelector.Kind)
  case week, easter
  /// `day` or `days`.
  case day
  /// A word that qualifies public holidays: `bank holidays`.
  case holidayKind
  /// Every day of the week.
  case daily
  /// At all times.
  case always
  /// The word between the ends of a range.
  case to
  /// The word before the last element of a list.
  case and
  /// The word between days and those of them that are left out.
  case except
  case am, pm
  case noon, midnight
  /// A season, which has no fixed dates.
  case season
  /// The mark after an hour (`8h30`), or hours as such (`24 hours`).
  case hour
  /// The mark after a minute.
  case minute
  /// A word without meaning.
  case ignored
}

/// The words of the languages in which people write opening hours.
enum HoursWords {
  /// A set of languages; bit 0 is English with the abbreviations of OpenStreetMap.
  typealias Languages = UInt32

  static let everyLanguage = Languages.max
  static let english: Languages = 1
  static let german: Languages = 1 << 1

  struct Meaning {
    var word: HoursWord
    var languages: Languages
  }

  /// The meanings of a word in lower case without diacritics.
  static func meanings(of word: String) -> [Meaning] { table[word] ?? [] }

  /// The maximum number of characters of a word in a script without spaces.
  static let longestIdeographicWord = 4

  private static let table: [String: [Meaning]] = {
    var table: [String: [Meaning]] = [:]
    func add(_ text: String, _ word: HoursWord, _ languages: Languages) {
      let key = folded(text)
      if let index = table[key, default: []].firstIndex(where: { $0.word == word }) {
        table[key]![index].languages |= languages
      } else {
        table[key, default: []].append(Meaning(word: word, languages: languages))
      }
    }
    for (words, meaning) in common {
      for text in words.split(separator: " ") { add(String(text), meaning, everyLanguage) }
    }
    for (bit, language) in languages.enumerated() {
      for (day, words) in language.weekdays.enumerated() {
        for text in words.split(separator: " ") { add(String(text), .weekday(day), 1 << bit) }
      }
      for (month, words) in language.months.enumerated() {
        for text in words.split(separator: " ") { add(String(text), .month(month + 1), 1 << bit) }
      }
      for (words, meaning) in language.others {
        for text in words.split(separator: " ") { add(String(text), meaning, 1 << bit) }
      }
    }
    return table
  }()

  /// Returns a word in lower case without the diacritics of the Latin script.
  static func folded(_ text: some StringProtocol) -> String {
    var folded = ""
    for scalar in text.lowercased().unicodeScalars {
      switch scalar {
      case "à", "á", "â", "ã", "å", "ą", "ä", "ă": folded += "a"
      case "ç", "č", "ć": folded += "c"
      case "ď": folded += "d"
      case "è", "é", "ê", "ë", "ę", "ě": folded += "e"
      case "ì", "í", "î", "ï", "ı": folded += "i"
      case "ł": folded += "l"
      case "ñ", "ń", "ň": folded += "n"
      case "ò", "ó", "ô", "õ", "ö", "ø", "ő": folded += "o"
      case "ř": folded += "r"
      case "ś", "š", "ş", "ș": folded += "s"
      case "ť", "ț": folded += "t"
      case "ù", "ú", "û", "ü", "ů", "ű": folded += "u"
      case "ý": folded += "y"
      case "ź", "ż", "ž": folded += "z"
      case "ё": folded += "е"
      case "\u{300}"..."\u{36F}": break
      default: folded.unicodeScalars.append(scalar)
      }
    }
    return folded
  }

  private static let common: [(String, HoursWord)] = [
    ("dawn", .event(.dawn)), ("sunrise", .event(.sunrise)), ("sunset sundown", .event(.sunset)),
    ("dusk", .event(.dusk)),
    ("open", .state(.open)), ("closed off close", .state(.closed)), ("unknown", .state(.unknown)),
    ("except excluding excl", .except), ("noon midday", .noon), ("midnight", .midnight),
    ("winter summer spring autumn", .season), ("public bank legal statutory", .holidayKind),
    ("weekend weekends", .weekdays(0x60)),
    ("ph holidays holiday", .holiday(.publicHoliday)), ("sh", .holiday(.schoolHoliday)),
    ("week weeks wk", .week), ("easter", .easter), ("day days", .day),
    ("am a.m", .am), ("pm p.m", .pm), ("to till til until thru through bis", .to), ("and und", .and),
    ("h hr hrs hour hours uhr std 時 时 點 点 시", .hour), ("分 분 min", .minute),
    ("daily everyday", .daily), ("always nonstop круглосуточно цілодобово", .always), ("from on", .ignored),
  ]

  private struct Language {
    /// Names of the days, Monday first, with spaces between.
    var weekdays: [String]
    var months: [String] = []
    var others: [(String, HoursWord)] = []
  }

  private static let languages: [Language] = [
    // English
    Language(
      weekdays: [
        "mo mon monday mondays m", "tu tue tues tuesday tuesdays", "we wed weds wednesday wednesdays w",
        "th thu thur thurs thursday thursdays", "fr fri friday fridays f", "sa sat saturday saturdays",
        "su sun sunday sundays",
      ],
      months: [
        "jan january", "feb february", "mar march", "apr april", "may", "jun june", "jul july", "aug august",
        "sep sept september", "oct october", "nov november", "dec december",
      ],
      others: [("weekday weekdays", .weekdays(0x1F)), ("fall", .season)]),
    // German
    Language(
      weekdays: [
        "mo montag montags", "di die dienstag dienstags", "mi mit mittwoch mittwochs", "do don donnerstag donnerstags",
        "fr fre freitag freitags", "sa sam samstag samstags sonnabend", "so son sonntag sonntags",
      ],
      months: [
        "januar jan jänner", "februar feb", "märz", "april apr", "mai", "juni", "juli", "august aug",
        "september sept sep",
        "oktober okt", "november nov", "dezember dez",
      ],
      others: [
        ("geschlossen geschl ruhetag zu", .state(.closed)), ("geöffnet offen", .state(.open)), ("von an", .ignored),
        ("außer ausser ausgenommen", .except), ("mitternacht", .midnight), ("wochenende wochenenden", .weekdays(0x60)),
        ("sommer frühling frühjahr herbst", .season), ("gesetzliche gesetzlichen", .holidayKind),
        ("feiertag feiertage feiertags feiertagen", .holiday(.publicHoliday)), ("täglich", .daily), ("kw", .week),
        ("sonnenaufgang", .event(.sunrise)), ("sonnenuntergang", .event(.sunset)), ("tag tage", .day),
        ("stunden", .hour), ("ostern", .easter),
      ]),
    // French
    Language(
      weekdays: [
        "lu lun lundi lundis", "ma mardi mardis", "me mer mercredi mercredis", "je jeu jeudi jeudis",
        "ve ven vendredi vendredis", "sa sam samedi samedis", "di dim dimanche dimanches",
      ],
      months: [
        "janvier janv", "février fév", "mars", "avril avr", "mai", "juin", "juillet juil", "août", "septembre sept",
        "octobre oct", "novembre nov", "décembre déc",
      ],
      others: [
        ("à a au", .to), ("et", .and), ("fermé fermée ferme", .state(.closed)), ("ouvert", .state(.open)),
        ("du de le les la des", .ignored), ("heures heure", .hour), ("fériés férié", .holiday(.publicHoliday)),
        ("jours jour", .ignored), ("lever", .event(.sunrise)), ("tous quotidien", .daily), ("sauf excepté", .except),
        ("midi", .noon), ("minuit", .midnight), ("hiver été printemps automne", .season),
      ]),
    // Spanish
    Language(
      weekdays: [
        "lu lun lunes", "ma martes", "mi mie mier miercoles", "ju jue juev jueves", "vi vie vier viernes",
        "sa sab sabado sabados", "do dom domingo domingos",
      ],
      months: [
        "enero ene", "febrero feb", "marzo", "abril abr", "mayo", "junio jun", "julio jul", "agosto ago",
        "septiembre setiembre sep", "octubre oct", "noviembre nov", "diciembre dic",
      ],
      others: [
        ("a al hasta", .to), ("y e", .and), ("cerrado cerrados", .state(.closed)), ("abierto", .state(.open)),
        ("de desde los el las la del", .ignored), ("horas hora hs", .hour),
        ("feriados festivos feriado festivo", .holiday(.publicHoliday)),
        ("diario todos", .daily), ("días día", .ignored), ("excepto salvo", .except), ("mediodía", .noon),
        ("medianoche", .midnight), ("invierno verano primavera otoño", .season),
      ]),
    // Italian
    Language(
      weekdays: [
        "lu lun lunedì", "ma martedì", "me mer mercoledì", "gi gio giovedì", "ve ven venerdì", "sa sab sabato",
        "do dom domenica",
      ],
      months: [
        "gennaio gen", "febbraio feb", "marzo", "aprile apr", "maggio mag", "giugno giu", "luglio lug", "agosto ago",
        "settembre set", "ottobre ott", "novembre nov", "dicembre dic",
      ],
      others: [
        ("a al alle ad", .to), ("e", .and), ("chiuso", .state(.closed)), ("aperto", .state(.open)),
        ("dal dalle da il la i giorni", .ignored), ("ore", .ignored), ("festivi", .holiday(.publicHoliday)),
        ("tutti", .daily), ("tranne eccetto salvo", .except), ("mezzogiorno", .noon), ("mezzanotte", .midnight),
        ("inverno estate primavera autunno", .season),
      ]),
    // Portuguese
    Language(
      weekdays: [
        "seg segunda segunda-feira", "ter terça", "qua quarta", "qui quinta", "sex sexta",
        "sab sáb sábado", "dom domingo",
      ],
      months: [
        "janeiro", "fevereiro fev", "março", "abril abr", "maio mai", "junho", "julho", "agosto ago", "setembro set",
        "outubro out", "novembro nov", "dezembro dez",
      ],
      others: [
        ("a à às as até ao", .to), ("e", .and), ("fechado", .state(.closed)), ("aberto", .state(.open)),
        ("de das da do", .ignored), ("feira", .ignored), ("horas hs", .hour), ("feriados", .holiday(.publicHoliday)),
        ("todos diariamente", .daily), ("os dias", .ignored), ("exceto", .except), ("inverno verão", .season),
      ]),
    // Dutch
    Language(
      weekdays: [
        "ma maa maandag", "di din dinsdag", "wo woe woensdag", "do don donderdag", "vr vrij vrijdag", "za zat zaterdag",
        "zo zon zondag",
      ],
      months: [
        "januari", "februari", "maart", "april apr", "mei", "juni", "juli", "augustus", "september", "oktober okt",
        "november", "december",
      ],
      others: [
        ("tot", .to), ("en", .and), ("gesloten gesl", .state(.closed)), ("geopend", .state(.open)),
        ("van op", .ignored), ("behalve", .except), ("middernacht", .midnight), ("weekdagen", .weekdays(0x1F)),
        ("zomer herfst lente", .season),
        ("feestdagen", .holiday(.publicHoliday)),
        ("uur", .hour), ("dagelijks", .daily),
      ]),
    // Polish
    Language(
      weekdays: [
        "pn pon poniedziałek", "wt wto wtorek", "śr śro środa", "cz czw czwartek", "pt pia piątek", "sob sobota",
        "nd nie niedz niedziela",
      ],
      months: [
        "styczeń", "luty", "marzec", "kwiecień", "maj", "czerwiec", "lipiec", "sierpień", "wrzesień", "październik",
        "listopad", "grudzień",
      ],
      others: [
        ("do", .to), ("i", .and), ("nieczynne zamknięte", .state(.closed)), ("od w", .ignored), ("codziennie", .daily),
        ("oprócz", .except), ("zima lato", .season),
      ]),
    // Czech and Slovak
    Language(
      weekdays: [
        "po pon pondělí pondelok", "út úterý ut utorok", "st středa streda", "čt čtvrtek št štvrtok",
        "pá pátek pi piatok",
        "so sobota", "ne neděle nedeľa",
      ],
      others: [
        ("až", .to), ("zavřeno zatvorené", .state(.closed)), ("denně denne", .daily), ("kromě okrem", .except),
      ]),
    // Russian
    Language(
      weekdays: [
        "пн пон понедельник понедельника", "вт вто вторник вторника", "ср сре среда среды среду",
        "чт чет четверг четверга", "пт пят пятница пятницы пятницу", "сб суб суббота субботы субботу",
        "вс вск вос воскресенье воскресенья",
      ],
      months: [
        "январь янв", "февраль фев", "март мар", "апрель апр", "май", "июнь", "июль", "август авг", "сентябрь сен",
        "октябрь окт", "ноябрь ноя", "декабрь дек",
      ],
      others: [
        ("до по", .to), ("и", .and), ("выходной закрыто вых", .state(.closed)), ("открыто", .state(.open)),
        ("с от", .ignored),
        ("рассвет рассвета", .event(.dawn)), ("восход восхода", .event(.sunrise)), ("закат заката", .event(.sunset)),
        ("ежедневно", .daily), ("часов часа час", .hour), ("в во", .ignored), ("кроме", .except),
        ("будни будням", .weekdays(0x1F)),
        ("полдень полудня", .noon), ("полночь полуночи", .midnight), ("лето летом зима зимой", .season),
      ]),
    // Ukrainian
    Language(
      weekdays: [
        "пн пон понеділок", "вт вівторок", "ср середа", "чт четвер", "пт п’ятниця п'ятниця", "сб субота",
        "нд неділя",
      ],
      others: [
        ("до по", .to), ("і та", .and), ("вихідний зачинено", .state(.closed)), ("відчинено", .state(.open)),
        ("з від", .ignored),
        ("щодня", .daily), ("годин години", .hour), ("крім", .except),
      ]),
    // Japanese
    Language(
      weekdays: [
        "月 月曜 月曜日", "火 火曜 火曜日", "水 水曜 水曜日", "木 木曜 木曜日", "金 金曜 金曜日", "土 土曜 土曜日",
        "日 日曜 日曜日",
      ],
      others: [
        ("定休日 定休 休業 休業日 休館 休館日 休み", .state(.closed)), ("営業", .state(.open)),
        ("祝 祝日", .holiday(.publicHoliday)), ("毎日", .daily), ("時間", .hour), ("平日", .workingDays),
        ("週末", .weekdays(0x60)), ("正午", .noon), ("夏季 冬季 夏期 冬期", .season),
      ]),
    // Chinese
    Language(
      weekdays: [
        "周一 星期一 礼拜一 週一", "周二 星期二 礼拜二 週二", "周三 星期三 礼拜三 週三", "周四 星期四 礼拜四 週四",
        "周五 星期五 礼拜五 週五", "周六 星期六 礼拜六 週六", "周日 星期日 礼拜日 週日 星期天 周天",
      ],
      others: [
        ("至 到", .to), ("休息 關閉 关闭 休馆 休館", .state(.closed)), ("每天 每日", .daily), ("小时 小時", .hour),
        ("工作日 平日", .workingDays), ("周末 週末", .weekdays(0x60)), ("正午", .noon), ("午夜", .midnight),
        ("公众假期 公眾假期", .holiday(.publicHoliday)), ("除", .except),
      ]),
    // Korean
    Language(
      weekdays: ["월 월요일", "화 화요일", "수 수요일", "목 목요일", "금 금요일", "토 토요일", "일 일요일"],
      others: [
        ("매일", .daily), ("휴무 휴무일", .state(.closed)), ("시간", .hour), ("평일", .workingDays),
        ("주말", .weekdays(0x60)), ("공휴일", .holiday(.publicHoliday)), ("정오", .noon), ("자정", .midnight),
      ]),
    // Danish, Norwegian and Swedish
    Language(
      weekdays: [
        "man mandag mån måndag", "tir tirsdag tis tisdag", "ons onsdag", "tor tors torsdag", "fre fredag",
        "lør lørdag lör lördag", "søn søndag sön söndag",
      ],
      months: [
        "januar januari", "februar februari", "marts mars", "april", "maj mai", "juni", "juli", "august augusti",
        "september",
        "oktober okt", "november", "december desember",
      ],
      others: [
        ("til till", .to), ("og och", .and), ("lukket stängt stengt", .state(.closed)), ("kl", .ignored),
        ("undtagen unntatt utom", .except), ("dagligen dagligt daglig", .daily), ("midnat midnatt", .midnight),
        ("vinter sommer sommar", .season),
      ]),
    // Finnish
    Language(
      weekdays: [
        "ma maanantai", "ti tiistai", "ke keskiviikko", "to torstai", "pe perjantai", "la lauantai", "su sunnuntai",
      ],
      others: [("suljettu", .state(.closed)), ("klo", .ignored)]),
    // Indonesian
    Language(
      weekdays: ["senin", "selasa", "rabu", "kamis", "jumat jum'at", "sabtu", "minggu"],
      others: [("sampai hingga", .to), ("dan", .and), ("tutup", .state(.closed)), ("jam", .hour)]),
    // Turkish
    Language(
      weekdays: ["pzt pazartesi", "salı", "çarşamba çar", "perşembe per", "cuma cum", "cumartesi cmt", "pazar paz"],
      others: [("kapalı", .state(.closed)), ("ve", .and), ("saat", .hour)]),
    // Romanian
    Language(
      weekdays: ["lu luni", "ma marți", "mi miercuri", "jo joi", "vi vineri", "sâ sâmbătă", "du duminică"],
      others: [("închis", .state(.closed)), ("și", .and)]),
    // Hungarian
    Language(
      weekdays: ["h hétfő", "k kedd", "sze szerda", "cs csütörtök", "p péntek", "szo szombat", "v vasárnap"],
      others: [("zárva", .state(.closed))]),
    // Greek
    Language(weekdays: [
      "δευ δευτέρα", "τρι τρίτη", "τετ τετάρτη", "πεμ πέμπτη", "παρ παρασκευή", "σαβ σάββατο", "κυρ κυριακή",
    ]),
  ]
}
