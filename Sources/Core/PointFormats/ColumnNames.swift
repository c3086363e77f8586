import Basics
import Points
import SearchWords

/// The names that people give to columns, in several languages. They count where a table has no column with the
/// service's own name of the field.
///
/// Names are compared by their letters and digits alone, in any case and without accents, and without what stands in
/// parentheses: `Geogr. Breite (WGS84)` is `geogrbreite`.
enum ColumnNames {
  /// A field that columns of different names may hold.
  enum Field: Hashable {
    case field(PointField)
    /// Both coordinates, or well-known text.
    case position
    /// A tag.
    case tag(ExactText)
  }

  /// The names of a field, the preferred one first.
  static let names: [(field: Field, names: [String])] = [
    (
      .field(.name),
      [
        "title", "label", "place name", "poi name", "site name", "facility name", "station name", "stop name",
        "business name",
        "Bezeichnung", "Titel", "Objektname", "Ortsname", "Firmenname", "Firma", "Filiale",
        "nom", "nom station", "dénomination", "désignation", "libellé", "intitulé", "enseigne", "raison sociale",
        "nombre", "denominación", "título", "nombre comercial", "razón social",
        "nome", "denominazione", "titolo", "insegna", "ragione sociale",
        "naam", "benaming", "titel", "nazwa", "tytuł", "designação", "denominação", "razão social",
        "이름", "명칭", "상호명", "상호", "시설명", "업소명", "장소명", "사업장명",
        "名称", "名前", "施設名", "施設名称", "店名", "店舗名", "場所名",
      ]
    ),
    (
      .field(.latitude),
      [
        "latitude", "lat", "latitude deg", "lat dd", "decimal latitude", "point y", "ycoord", "stop lat", "geo lat",
        "Breitengrad", "geografische Breite", "geographische Breite", "geogr. Breite", "Breite",
        "latitud", "latitudine", "breedtegraad", "geografische breedte", "breedte",
        "szerokość geograficzna", "szerokość", "위도", "緯度",
      ]
    ),
    (
      .field(.longitude),
      [
        "longitude", "long", "lon", "lng", "longitude deg", "lon dd", "decimal longitude", "point x", "xcoord",
        "stop lon", "geo lon", "geo long",
        "Längengrad", "Laengengrad", "geografische Länge", "geographische Länge", "geogr. Länge", "Länge", "Laenge",
        "longitud", "longitudine", "lengtegraad", "geografische lengte", "lengte",
        "długość geograficzna", "długość", "경도", "経度",
      ]
    ),
    (
      .position,
      [
        "coordinates", "coordinate", "coords", "lat long", "lat lon", "lat lng", "latitude longitude", "geo point 2d",
        "geo point", "geolocation", "gps", "gps coordinates", "geom", "geometry", "the geom", "wkt geom", "wkt",
        "shape", "location",
        "position", "point", "geo coordinates", "geometry coordinates", "geojson coordinates", "xy", "coordonnées XY",
        "coordinates XY", "long lat", "lon lat", "lng lat", "longitude latitude",
        "Koordinaten", "Geokoordinaten", "coordonnées", "coordonnées gps", "coordonnées géographiques",
        "coordenadas", "coordinate geografiche", "coördinaten", "współrzędne", "współrzędne geograficzne",
        "coordenadas geográficas", "좌표", "위경도", "座標", "緯度経度",
      ]
    ),
    (
      .field(.category),
      [
        "Kategorie", "Rubrik", "catégorie", "categoría", "categoria", "categorie", "kategoria",
        "카테고리", "분류", "업종", "カテゴリ", "カテゴリー", "分類", "業種",
      ]
    ),
    (
      .tag(ExactText("opening_hours")),
      [
        "opening hours", "Öffnungszeiten", "Oeffnungszeiten", "horaires d'ouverture", "horaires",
        "horario de apertura", "horario", "horarios", "orari di apertura", "orario di apertura", "orari", "orario",
        "openingstijden", "godziny otwarcia", "horário de funcionamento", "horário", "영업시간", "운영시간",
        "営業時間", "開館時間",
      ]
    ),
    (
      .tag(ExactText("phone")),
      [
        "Telefonnummer", "Telefon", "téléphone", "teléfono", "telefono", "telefoonnummer", "telefoon", "telefone",
        "전화번호", "전화", "電話番号", "電話",
      ]
    ),
    (
      .tag(ExactText("website")),
      [
        "Webseite", "Homepage", "site web", "site internet", "sitio web", "página web", "sito web",
        "strona internetowa", "strona www", "홈페이지", "웹사이트", "ホームページ", "ウェブサイト",
      ]
    ),
    (.tag(ExactText("email")), ["E-Mail-Adresse", "courriel", "correo electrónico", "이메일", "メールアドレス"]),
    (
      .tag(ExactText("addr:full")),
      ["Adresse", "Anschrift", "dirección", "indirizzo", "adres", "endereço", "주소", "住所", "所在地"]
    ),
    (.tag(ExactText("addr:street")), ["Straße", "rue", "calle", "straat", "ulica", "rua"]),
    (.tag(ExactText("addr:housenumber")), ["Hausnummer", "huisnummer", "numer domu"]),
    (
      .tag(ExactText("addr:postcode")),
      [
        "Postleitzahl", "PLZ", "code postal", "código postal", "CAP", "kod pocztowy", "우편번호", "郵便番号",
      ]
    ),
    (
      .tag(ExactText("addr:city")),
      [
        "Stadt", "Ort", "ville", "commune", "ciudad", "localidad", "città", "comune", "woonplaats", "miasto",
        "miejscowość", "cidade",
      ]
    ),
  ]

  /// Returns a name in the form in which names are compared.
  static func normalized(_ name: String) -> String {
    var outer = ""
    var depth = 0
    for character in name {
      if "([".contains(character) { depth += 1 }
      if depth == 0 { outer.append(character) }
      if ")]".contains(character) { depth = max(0, depth - 1) }
    }
    return String(NormalizedText(outer).text.filter { $0 != " " })
  }

  /// The fields with their names as they are compared.
  private static let fields: [(field: Field, names: [String])] = names.map { ($0.field, $0.names.map(normalized)) }

  /// Returns the names of columns, of which those that hold fields under other names have the service's own instead.
  ///
  /// - Parameter known: the names in lower case that stay, as they have a meaning already.
  static func renamed(_ names: [String], except known: Set<ExactText>) -> [String] {
    let fields = names.map { PointField(column: $0) }
    func has(_ field: PointField) -> Bool { fields.contains(field) }
    let hasPosition = has(.latitude) || has(.longitude)
    let found = find(in: names, hasPosition: hasPosition) { field in
      switch field {
      case .field(let field): field != .category && !has(field)
      case .position: !hasPosition
      case .tag(let key): !names.contains { ExactText($0) == key }
      }
    }
    var result = names
    for (field, index) in found where !known.contains(ExactText(names[index].lowercased())) {
      result[index] =
        switch field {
        case .field(let field): field.name
        case .position: "coordinates"
        case .tag(let key): key.text
        }
    }
    return result
  }

  /// The first or last words of the name of a column that has names, which others qualify: `station name`, `nom de la
  /// gare`, `화장실명`.
  private static let nameWords: (first: [String], last: [String]) = (
    ["nom", "nome", "nombre", "naam", "nazwa"], ["name", "naam", "명", "名", "이름"]
  )

  /// Words of names of columns that have the names of other things.
  private static let otherWords = [
    "file", "user", "street", "strasse", "road", "brand", "city", "town", "village", "country", "county", "state",
    "region", "district", "operator", "owner", "host", "domain", "first", "last", "sur", "middle", "nick", "contact",
    "company", "operateur", "amenageur", "enseigne", "commune", "departement", "rue", "voie", "comune", "provincia",
    "regione", "via", "gestore", "calle", "municipio", "ulic", "gmin", "straat", "plaats", "도로", "시도", "시군구",
    "읍면동", "법정동", "제조", "관리", "기관", "市", "県", "町", "法人",
  ]

  /// Returns the first column that has names by a word in its own; `nil` if there is none.
  private static func namedColumn(in columns: [String?]) -> Int? {
    columns.firstIndex { column in
      guard let column else { return false }
      let text = NormalizedText(column).text
      let words = text.split(separator: " ")
      let hasWord =
        words.count > 1 && nameWords.first.contains { words[0].utf8.elementsEqual($0.utf8) }
        || nameWords.last.contains { text.hasSuffix($0) && text != $0 }
      return hasWord && !otherWords.contains { text.contains($0) }
    }
  }

  /// Returns the columns that hold fields, by the names of the columns. A coordinate counts beside the other one alone,
  /// and before a column of both.
  ///
  /// - Parameters:
  ///   - columns: the names of the columns; `nil` for those that have a meaning.
  ///   - hasPosition: a Boolean value that indicates whether a column holds a coordinate by its own name.
  ///   - isMissing: returns a Boolean value that indicates whether no column holds a field by its own name.
  static func find(in columns: [String?], hasPosition: Bool, where isMissing: (Field) -> Bool) -> [Field: Int] {
    let forms = columns.map { $0.map(normalized) }
    var found: [Field: Int] = [:]
    for (field, names) in fields where isMissing(field) {
      let index = names.lazy.compactMap { name in forms.firstIndex { $0?.hasSameBytes(as: name) ?? false } }.first
      if let index, !found.values.contains(index) { found[field] = index }
    }
    if found[.field(.name)] == nil, isMissing(.field(.name)), let index = namedColumn(in: columns),
      !found.values.contains(index)
    {
      found[.field(.name)] = index
    }
    let hasBoth = found[.field(.latitude)] != nil && found[.field(.longitude)] != nil
    return found.filter { field, _ in
      switch field {
      case .field(.latitude), .field(.longitude): hasBoth || hasPosition
      case .position: !hasBoth
      case .field, .tag: true
      }
    }
  }
}
