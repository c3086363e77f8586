import Basics
import Geo
import PointFormats
import Points
import Testing

@Suite struct ColumnNameTests {
  @Test(arguments: [
    ("Bezeichnung;Breitengrad;Längengrad;Kategorie", "de"),
    ("Name;Geogr. Breite (WGS84);Geogr. Länge (WGS84);Rubrik", "de"),
    ("NAME;BREITE;LÄNGE;KATEGORIE", "de"), ("Dénomination;Latitude;Longitude;Catégorie", "fr"),
    ("nom;lat;lon;catégorie", "fr"), ("Nombre;Latitud;Longitud;Categoría", "es"),
    ("denominazione;latitudine;longitudine;categoria", "it"), ("naam;breedtegraad;lengtegraad;categorie", "nl"),
    ("Nazwa;Szerokość geograficzna;Długość geograficzna;Kategoria", "pl"),
    ("designação;latitude;longitude;categoria", "pt"), ("상호명;위도;경도;업종", "ko"), ("名称;緯度;経度;カテゴリー", "ja"),
    ("stop_name;stop_lat;stop_lon;category", "en"),
    // A letter with its accent by itself.
    ("Bezeichnung;Breitengrad;La\u{308}ngengrad;Kategorie", "de"),
  ])
  func columnsAreFoundByTheirNamesInSeveralLanguages(header: String, language: String) throws {
    let row = try #require(Parsed("\(header)\nA;1,5;2;cafe\n", .csv).rows.first, "\(language)")

    #expect(row.draft.name == "A" && row.draft.category == "cafe" && row.draft.tags.dictionary.isEmpty)
    #expect(row.draft.coordinate.latitude == 1.5 && row.draft.coordinate.longitude == 2)
  }

  @Test func columnsOfAddressesAndHoursBecomeTheirTags() throws {
    let header = "Name,Breite,Länge,Öffnungszeiten,Telefon,Straße,Hausnummer,PLZ,Ort,Webseite,Inhaber"
    let row = try #require(Parsed("\(header)\nA,1,2,Mo-Fr 08:00-17:00,1,B,2,3,C,D,E\n", .csv).rows.first)

    #expect(
      row.draft.tags.dictionary == [
        "opening_hours": "Mo-Fr 08:00-17:00", "phone": "1", "addr:street": "B", "addr:housenumber": "2",
        "addr:postcode": "3", "addr:city": "C", "website": "D", "Inhaber": "E",
      ])
  }

  @Test func otherNamesCountOnlyWhereTheFieldsOwnAreMissing() throws {
    let text = "Breite,Titel,name,Länge,lat,long,opening_hours,Öffnungszeiten,Kategorie,category\n9,T,A,9,1,2,o,ö,K,c\n"
    let row = try #require(Parsed(text, .csv).rows.first)

    #expect(row.draft.name == "A" && row.draft.category == "c" && row.draft.coordinate.latitude == 1)
    #expect(
      row.draft.tags.dictionary == [
        "Breite": "9", "Titel": "T", "Länge": "9", "opening_hours": "o", "Öffnungszeiten": "ö", "Kategorie": "K",
      ])
  }

  @Test(arguments: [
    "48.2, 16.3", "(48.2,16.3)", "48.2;16.3", "48.2 16.3", "48,2 16,3", "48,2; 16,3", "48,2, 16,3", "48.2 / 16.3",
    "48°12'00\"N 16°18'00\"E", "N48.2 E16.3", "E16.3, N48.2", "16.3 E, 48.2 N", "POINT (16.3 48.2)",
    "geo:48.2,16.3", "[48.2, 16.3]",
  ])
  func bothCoordinatesInOneColumnAreRead(text: String) throws {
    // An array under the name of GeoJSON's has the longitude first.
    let names = ["Koordinaten", "geo_point_2d", "GPS", "좌표"] + (text.hasPrefix("[") ? [] : ["coordinates"])
    for name in names {
      let row = try #require(Parsed("name,\(name),k\nA,\"\(text.replacing("\"", with: "\"\""))\",v\n", .csv).rows.first)

      #expect(abs(row.draft.coordinate.latitude - 48.2) < 1e-9 && abs(row.draft.coordinate.longitude - 16.3) < 1e-9)
      #expect(row.draft.tags.dictionary == ["k": "v"])
    }
  }

  @Test(arguments: ["Vienna", "48.2", "48.2, 16.3, 5", "91, 2", "N48 N16", "1, x"])
  func otherTextsOfAColumnOfCoordinatesAreRejected(text: String) {
    let parsed = Parsed("name,Koordinaten\nA,\"\(text)\"\n", .csv)

    #expect(
      parsed.details == [1: "/Koordinaten must be the latitude and the longitude in degrees, got '\(text)'"])
  }

  @Test func aHeaderWithoutAFittingColumnNamesThoseThatThereAre() {
    #expect(
      Parsed("Nummer;Strecke\n1;2\n", .csv).error?.reason
        == "the header has no column 'name'; it has 'Nummer', 'Strecke'")
    #expect(Parsed("Name;Höhe\n1;2\n", .csv).error?.reason == "the header has no column 'lat'; it has 'Name', 'Höhe'")
  }

  // MARK: Degrees

  @Test(arguments: [
    ("48°12'30\"N", 48.208333333333336), ("48 12.5 N", 48.208333333333336), ("N48.2", 48.2), ("48.2N", 48.2),
    ("48.2°", 48.2), ("-48° 12,5'", -48.208333333333336), ("48° 12′ 30″ S", -48.208333333333336),
    ("S 48 12 30", -48.208333333333336), ("48°12'30''N", 48.208333333333336), ("48º12’30”", 48.208333333333336),
    ("48:12:30N", 48.208333333333336), ("n 48.5", 48.5), ("−48.5°", -48.5), ("0°30'S", -0.5),
  ])
  func coordinatesAreReadAsPeopleWriteThem(text: String, degrees: Double) throws {
    for separator in [",", ";"] {
      let quoted = "\"\(text.replacing("\"", with: "\"\""))\""
      let row = try #require(
        Parsed(["name", "lat", "long\nA", quoted, "2"].joined(separator: separator), .csv).rows.first, "\(text)")

      #expect(abs(row.draft.coordinate.latitude - degrees) < 1e-12)
    }
  }

  @Test(arguments: [
    "48°60'N", "48°12'60\"N", "48.5°12'N", "48 12 30", "-48N", "48°E", "91°", "N", "48°12\"", "48'", "12 N 48", "N48N",
    "48°12'30\"40", "4८°", "nan N", "48..5N",
  ])
  func otherTextsAreNoLatitude(text: String) {
    let parsed = Parsed("name;lat;long\nA;\"\(text.replacing("\"", with: "\"\""))\";2\n", .csv)

    #expect(parsed.details[1]?.hasPrefix("/lat must be a number from -90 to 90, got ") == true, "\(parsed)")
  }
}
