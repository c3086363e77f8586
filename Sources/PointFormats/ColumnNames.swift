import Basics
import Points

/// The names that people give to columns, in several languages. They count where a table has no column with the
/// service's own name of the field.
///
/// Names are compared by their letters and digits alone, in any case and without accents, and without what stands in
/// parentheses: `Geogr. Breite (WGS84)` is `geogrbreite`.
enum ColumnNames {
  /// A field that columns of different names may hold.
  enum Field: Hashable {
    case name, latitude, longitude, category
    /// Both coordinates, or well-known text.
    case position
    /// A tag.
    case tag(ExactText)
  }

  /// The names of a field, the preferred one first.
  static let names: [(field: Field, names: [String])] = [
    (
      .name,
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
      .latitude,
      [
        "latitude deg", "lat dd", "decimal latitude", "point y", "ycoord", "stop lat", "geo lat",
        "Breitengrad", "geografische Breite", "geographische Breite", "geogr. Breite", "Breite",
        "latitud", "latitudine", "breedtegraad", "geografische breedte", "breedte",
        "szerokość geograficzna", "szerokość", "위도", "緯度",
      ]
    ),
    (
      .longitude,
      [
        "longitude deg", "lon dd", "decimal longitude", "point x", "xcoord", "stop lon", "geo lon", "geo long",
        "Längengrad", "Laengengrad", "geografische Länge", "geographische Länge", "geogr. Länge", "Länge", "Laenge",
        "longitud", "longitudine", "lengtegraad", "geografische lengte", "lengte",
        "długość geograficzna", "długość", "경도", "経度",
      ]
    ),
    (
      .position,
      [
        "coordinates", "coordinate", "coords", "lat long", "lat lon", "lat lng", "latitude longitude", "geo point 2d",
        "geo point", "geolocation", "gps", "gps coordinates", "geom", "geometry", "the geom", "wkt geom", "location",
        "position", "point", "geo coordinates", "geometry coordinates", "geojson coordinates", "xy", "coordonnées XY",
        "coordinates XY", "long lat", "lon lat", "lng lat", "longitude latitude",
        "Koordinaten", "Geokoordinaten", "coordonnées", "coordonnées gps", "coordonnées géographiques",
        "coordenadas", "coordinate geografiche", "coördinaten", "współrzędne", "współrzędne geograficzne",
        "coordenadas geográficas", "좌표", "위경도", "座標", "緯度経度",
      ]
    ),
    (
      .category,
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

  /// Returns the columns that hold fields, by the names of the columns.
  ///
  /// - Parameters:
  ///   - columns: the names of the columns; `nil` for those that have a meaning.
  ///   - isMissing: returns a Boolean value that indicates whether no column holds a field by its own name.
  static func find(in columns: [String?], where isMissing: (Field) -> Bool) -> [Field: Int] {
    let forms = columns.map { $0.map(normalized) }
    var found: [Field: Int] = [:]
    for (field, names) in fields where isMissing(field) {
      let index = names.lazy.compactMap { name in forms.firstIndex { $0?.hasSameBytes(as: name) ?? false } }.first
      if let index, !found.values.contains(index) { found[field] = index }
    }
    return found
  }
}
