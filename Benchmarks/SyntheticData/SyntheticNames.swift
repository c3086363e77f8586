/// A generator of names like those of real places, in sixteen languages of fourteen scripts: a proper name made of
/// syllables, a kind of place, or both. Few proper names are frequent, most are rare.
package struct SyntheticNames {
  struct Language {
    /// The syllables of proper names.
    let syllables: [String]

    /// The kinds of places, the most frequent first.
    let kinds: [String]

    /// A Boolean value that indicates whether the kind comes before the proper name.
    let isKindFirst: Bool

    /// The text between words.
    let separator: String
  }

  /// The number of different proper names of a language.
  private static let properNameCount = 60_000

  private var generator: SeededGenerator

  /// Creates a generator; the same seed gives the same names.
  package init(seed: UInt64) {
    generator = SeededGenerator(seed: seed)
  }

  /// The number of languages.
  package static let languageCount = languages.count

  /// A country of each language.
  static let countries = [
    "GB", "DE", "FR", "ES", "PL", "VN", "RU", "GR", "EG", "IL", "IN", "TH", "JP", "CN", "KR", "GE",
  ]

  /// Returns the next name, in the language of a number.
  package mutating func name(language number: Int) -> String {
    let language = Self.languages[number % Self.languages.count]
    let kindDraw = Double.random(in: 0..<1, using: &generator)
    let kind = language.kinds[Int(kindDraw * kindDraw * Double(language.kinds.count))]
    let proper = properName(language)
    switch Int.random(in: 0..<10, using: &generator) {
    case 0: return proper
    case 1: return [proper, properName(language)].joined(separator: language.separator)
    case 2:
      let words = [proper, properName(language)]
      return (language.isKindFirst ? [kind] + words : words + [kind]).joined(separator: language.separator)
    case 3: return "\(language.isKindFirst ? kind : proper) \(Int.random(in: 1..<400, using: &generator))"
    default:
      return (language.isKindFirst ? [kind, proper] : [proper, kind]).joined(separator: language.separator)
    }
  }

  /// Returns the next name of a street or a town.
  package mutating func properName(language number: Int) -> String {
    properName(Self.languages[number % Self.languages.count])
  }

  private mutating func properName(_ language: Language) -> String {
    let draw = Double.random(in: 0..<1, using: &generator)
    // The fourth power makes the first names the frequent ones.
    var number = UInt64(draw * draw * draw * draw * Double(Self.properNameCount))
    number = SeededGenerator.mixed(number &* 31 &+ 7)
    let count = 2 + Int(number % 3)
    var name = ""
    for _ in 0..<count {
      number = SeededGenerator.mixed(number)
      name += language.syllables[Int(number % UInt64(language.syllables.count))]
    }
    return name.prefix(1).uppercased() + name.dropFirst()
  }
}

extension SeededGenerator {
  /// Returns a number that another one alone determines.
  fileprivate static func mixed(_ number: UInt64) -> UInt64 {
    var generator = SeededGenerator(seed: number)
    return generator.next()
  }
}

extension SyntheticNames {
  private static func words(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }

  private static func language(
    _ syllables: String, _ kinds: String, isKindFirst: Bool = false, separator: String = " "
  ) -> Language {
    Language(syllables: words(syllables), kinds: words(kinds), isKindFirst: isKindFirst, separator: separator)
  }

  static let languages: [Language] = [
    language(
      "win ches ter ton ford ham bur y mill wood brook field hill stone ash oak ox cam bridge lin coln west east nor th",
      "Hotel Cafe Park School Church Museum Restaurant Bar Library Station Pharmacy Market Bakery Theatre Bank Hospital"
    ),
    language(
      "berg burg stein feld bach dorf wald kirch heim haus neu alt ober unter grün wein rosen königs münster hafen brück",
      "Bäckerei Apotheke Gasthaus Schule Kirche Museum Bahnhof Straße Café Rathaus Krankenhaus Bücherei Metzgerei"),
    language(
      "mont ville mar seille bel val roche fleur châ teau saint-é ri vière beau lieu clair font haute neuf bois dor",
      "Café Boulangerie Pharmacie École Église Musée Hôtel Restaurant Mairie Gare Théâtre Marché Bibliothèque",
      isKindFirst: true),
    language(
      "san ta cruz mar ía gue rra val le jo sé ló pez gar cía ría ñal to rre blan ca flor es ta",
      "Farmacia Bar Restaurante Iglesia Escuela Hotel Museo Estación Plaza Mercado Panadería Teatro",
      isKindFirst: true),
    language(
      "łó dź kra ków wro cław no wa sta ra gó ra zie lo na szcze cin by dgo rze szów świę ty żar",
      "Apteka Szkoła Kościół Hotel Muzeum Restauracja Sklep Dworzec Piekarnia Szpital Teatr"),
    language(
      "nguyễn trần lê phạm hoàng huỳnh phan vũ đặng bùi đỗ hồ ngô dương lý thị văn hữu đức minh",
      "Quán Chùa Trường Nhà-hàng Chợ Bệnh-viện Khách-sạn Công-viên Bảo-tàng", isKindFirst: true),
    language(
      "мос ква нов го род пет ро ви ле нин ки ев бе ло зе ле но крас ный сла ва мир ный дуб",
      "Аптека Школа Магазин Музей Кафе Гостиница Церковь Больница Вокзал Театр Рынок Библиотека", isKindFirst: true),
    language(
      "α θή να θεσ σα λο νί κη πά τρα ρό δος κρή τη μύ κο νος νά ξος δελ φοί",
      "Φαρμακείο Σχολείο Εκκλησία Μουσείο Ταβέρνα Ξενοδοχείο Καφέ Νοσοκομείο", isKindFirst: true),
    language(
      "مَ حمد علي حسن نور سلا م قا هر ة بغ دا د دم شق بي رو ت الر يا ض صنع اء طر ا بلس",
      "مسجد مدرسة مطعم صيدلية مستشفى فندق متحف سوق مقهى", isKindFirst: true),
    language(
      "יְ רו שלים תל אביב חי פה בא ר שבע נת ניה כר מל גלי ל ים דר ום",
      "קפה מסעדה בית-ספר בית-כנסת מוזיאון מלון שוק תיאטרון", isKindFirst: true),
    language(
      "दि ल्ली मुं बई राम नगर पुर गढ़ शिव गंगा सूर्य चंद्र कृष्ण लाल बाग महा देव",
      "मंदिर विद्यालय अस्पताल होटल बाज़ार संग्रहालय पार्क"),
    language(
      "กรุง เทพ เชียง ใหม่ ภูเก็ต ชล บุรี นคร ศรี ทอง วัง น้ำ หิน ดี สุข",
      "วัด โรงเรียน โรงแรม ร้านอาหาร ตลาด พิพิธภัณฑ์ โรงพยาบาล", isKindFirst: true, separator: ""),
    language(
      "東 京 大 阪 山 川 田 中 西 南 北 上 下 高 松 竹 梅 桜 橋 本 島 森",
      "駅 病院 小学校 神社 公園 図書館 博物館 ホテル カフェ ラーメン 郵便局", separator: ""),
    language(
      "北 京 上 海 广 州 深 圳 天 津 南 宁 西 安 成 都 武 汉 长 沙 新 华 光 明",
      "医院 小学 公园 图书馆 博物馆 酒店 餐厅 银行 超市 药店 车站", separator: ""),
    language(
      "서 울 부 산 대 구 인 천 광 주 수 원 강 남 동 해 신 촌 한 빛 은 하",
      "병원 학교 공원 도서관 박물관 호텔 식당 약국 시장 카페"),
    language(
      "თბი ლი სი ბა თუ მი ქუ თა გო რი მც ხე რუს თა ვი ზუგ დი დი",
      "აფთიაქი სკოლა ეკლესია მუზეუმი სასტუმრო რესტორანი"),
  ]
}
