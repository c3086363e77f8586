import Geo
import Points
import Testing

@testable import PointDetails

@Suite struct PostalAddressTests {
  private func line(_ tags: KeyValuePairs<String, String>) throws -> String? {
    PostalAddress(try Tags(tags)).line
  }

  /// The address of a whole set of parts in each country.
  @Test(arguments: [
    ("DE", "B, S 1, 99999 C"), ("FR", "B, 1 S, 99999 C"), ("IT", "B, S 1, 99999 C ST"), ("ES", "B, S, 1, 99999 C"),
    ("HU", "99999 C, S 1"), ("GB", "U, B, 1 S, D, C, 99999"), ("IE", "U, B, 1 S, D, C, Y, 99999"),
    ("US", "B, 1 S U, C, ST 99999"), ("CA", "B, U-1 S, C, ST 99999"), ("AU", "B, U/1 S, C ST 99999"),
    ("NZ", "B, U/1 S, D, C 99999"), ("MX", "B, S 1, D, 99999 C, ST"), ("BR", "B, S, 1, D, C - ST, 99999"),
    ("AR", "B, S 1, 99999 C, ST"), ("CO", "B, S 1, D, C, ST, 99999"), ("PE", "B, S 1, D, C 99999"),
    ("KR", "ST C D S 1, 99999"), ("HK", "B, 1 S, D, C"), ("SG", "B, 1 S, U, C 99999"),
    ("MY", "B, 1, S, D, 99999 C, ST"), ("ID", "B, S 1, D, C 99999, ST"), ("PH", "B, 1 S, D, 99999 C, ST"),
    ("TH", "B, 1 S, D, C, ST 99999"), ("VN", "B, 1 S, D, C, ST 99999"), ("IN", "B, 1 S, N, D, C 99999, ST"),
    ("RU", "S, 1, C, ST, 99999"), ("UA", "S, 1, C, 99999"), ("IR", "ST, C, D, S, 1, 99999"),
    ("TR", "D, S 1, 99999 C, ST"), ("IL", "S 1, C 99999"), ("EG", "B, 1 S, D, C 99999"), ("AE", "B, 1 S, D, C"),
    ("ZA", "U, B, 1 S, D, C, 99999"), ("NG", "B, 1 S, D, C 99999, ST"), ("", "B, S 1, 99999 C, ST"),
    ("XX", "B, S 1, 99999 C, ST"),
  ])
  func partsAreInTheOrderOfTheCountry(country: String, expected: String) throws {
    let line = try line([
      "addr:country": country, "addr:unit": "U", "addr:housename": "B", "addr:housenumber": "1", "addr:street": "S",
      "addr:suburb": "D", "addr:city": "C", "addr:postcode": "99999", "addr:county": "Y", "addr:state": "ST",
      "addr:neighbourhood": "N",
    ])

    #expect(line == expected)
  }

  @Test func japaneseAndChineseAddressesBeginWithTheLargestPart() throws {
    let japan = try line([
      "addr:country": "JP", "addr:postcode": "100-0005", "addr:province": "東京都", "addr:city": "千代田区",
      "addr:quarter": "丸の内", "addr:neighbourhood": "一丁目", "addr:block_number": "9", "addr:housenumber": "1",
    ])
    let china = try line([
      "addr:country": "cn", "addr:province": "北京市", "addr:district": "东城区", "addr:street": "景山前街",
      "addr:housenumber": "4号",
    ])

    #expect(japan == "〒100-0005 東京都千代田区丸の内一丁目9-1")
    #expect(china == "北京市东城区景山前街4号")
  }

  @Test func partsInLatinLettersHaveASpaceBetween() throws {
    let line = try line([
      "addr:country": "CN", "addr:city": "Beijing", "addr:street": "Jingshan Front Street", "addr:housenumber": "4",
    ])

    #expect(line == "Beijing Jingshan Front Street 4")
  }

  @Test(
    arguments: [
      (["addr:housenumber": "5", "addr:country": "CA"], "5"), (["addr:city": "C", "addr:country": "US"], "C"),
      (["addr:state": "SP", "addr:country": "BR"], "SP"), (["addr:postcode": "1", "addr:country": "JP"], "〒1"),
      (["addr:place": "Weiler", "addr:housenumber": "3"], "Weiler 3"), (["addr:street": " ", "addr:city": "C"], "C"),
      (["city": "San José", "country": "US"], "San José"), (["addr:country": "DE"], nil), (["country": "FR"], nil),
      (["name:ko": "이름"], nil), ([:], nil), (["addr:town": "T", "addr:country": "Germany"], "T"),
    ] as [(KeyValuePairs<String, String>, String?)])
  func absentPartsLeaveNoSeparators(tags: KeyValuePairs<String, String>, expected: String?) throws {
    #expect(try line(tags) == expected)
  }

  @Test func fullAddressIsUsedWithoutAStreet() throws {
    let overture: KeyValuePairs = [
      "addr:full": "200 Larkin St", "addr:city": "San Francisco", "addr:state": "CA", "addr:postcode": "94102",
      "addr:country": "US",
    ]
    let whole: KeyValuePairs = ["addr:full": "Am Markt 1, 28195 Bremen", "addr:city": "Bremen"]
    let both: KeyValuePairs = ["addr:full": "Somewhere", "addr:street": "Am Markt", "addr:city": "Bremen"]

    #expect(try line(overture) == "200 Larkin St, San Francisco, CA 94102")
    #expect(try line(whole) == "Am Markt 1, 28195 Bremen")
    #expect(try line(both) == "Am Markt, Bremen")
  }

  @Test(arguments: [("de", "DE"), ("UK", "GB"), ("EL", "GR"), ("Germany", nil), ("D1", nil), ("", nil)])
  func countryIsACode(text: String, code: String?) throws {
    let address = PostalAddress(try Tags(["addr:country": text]))

    #expect(address.countryCode == code)
    #expect(address.countryName == (code == nil && !text.isEmpty ? text : nil))
  }

  @Test func atLeastThirtyCountriesHaveAFormat() {
    let countries = AddressFormat.countries

    #expect(countries.count >= 100)
    #expect(Set(countries.map { $0.utf8.count }) == [2])
    #expect(countries.count == Set(countries.map { Array($0.utf8) }).count)
  }

  @Test func labelBeginsWithTheName() throws {
    let coordinate = try Coordinate(latitude: 1, longitude: 2)
    let place = try PointDraft(
      name: "Rathaus", coordinate: coordinate,
      tags: Tags(["addr:street": "Am Markt", "addr:housenumber": "21", "addr:city": "Bremen", "addr:country": "DE"]))

    #expect(place.label == "Rathaus, Am Markt 21, Bremen")
    #expect(try PointDraft(name: "Rathaus", coordinate: coordinate).label == "Rathaus")
  }
}
