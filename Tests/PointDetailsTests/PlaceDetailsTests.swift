import Geo
import Points
import Testing

@testable import PointDetails

@Suite struct PlaceDetailsTests {
  private func draft(_ category: String?, _ tags: KeyValuePairs<String, String>) throws -> PointDraft {
    try PointDraft(
      name: "P", category: category, coordinate: Coordinate(latitude: 1, longitude: 2),
      tags: Tags(tags.map { ($0.key, $0.value) }))
  }

  @Test(
    arguments: [
      ("+43 1 513 4567", nil, "+4315134567"), ("+43 (0) 1 513-4567", nil, "+4315134567"),
      ("01 / 513 45 67", "AT", "+4315134567"), ("0043 1 5134567", "DE", "+4315134567"), ("01/5134567", nil, nil),
      ("(415) 555-2671", "US", "+14155552671"), ("1-415-555-2671", "US", "+14155552671"),
      ("011 49 30 123456", "US", "+4930123456"), ("06 1 234 5678", "HU", "+3612345678"),
      ("06 6982", "IT", "+39066982"), ("020 7946 0958 ext. 12", "GB", "+442079460958"),
      ("8 (495) 123-45-67", "RU", "+74951234567"), ("03-1234-5678", "JP", "+81312345678"),
      ("tel: +49 30 123456", nil, "+4930123456"), ("1-800-FLOWERS", "US", nil), ("112", "AT", nil), ("+", nil, nil),
      ("++43 1 5134567", nil, nil), ("+43 1 5134567 +43", nil, nil), ("+0 123 4567", nil, nil),
      ("12345678901234567", "AT", nil), ("", "AT", nil),
    ] as [(String, String?, String?)])
  func numbersHaveTheInternationalForm(text: String, country: String?, expected: String?) {
    #expect(PhoneNumber.text(of: text, inCountry: country) == expected)
  }

  @Test func valuesOfOpenStreetMapAndOvertureHaveOneForm() throws {
    let details = PlaceDetails(
      try draft(
        nil,
        [
          "addr:street": "Graben", "addr:housenumber": "1", "addr:postcode": "1010", "addr:city": "Wien",
          "addr:country": "AT", "phone": "+43 1 513 4567; 0664 123 4567", "contact:phone": "0043 1 5134567",
          "contact:website": "https://a.example/;x", "url": "https://b.example;https://c.example",
          "website": "javascript:alert(1)",
          "email": "a@b.example;not an address", "contact:instagram": "@cafe.wien", "facebook": "https://evil.example/",
          "social": #"["https://www.facebook.com/cafe","https://x.com/cafe"]"#, "brand": " Café ",
          "brand:wikidata": "Q38076", "operator": "A GmbH", "wheelchair": "limited", "payment:cash": "yes",
          "payment:visa": "no", "payment:Bad Key": "yes", "diet:vegan": "only", "entrance": "main",
        ]))

    #expect(details.address.lines == ["Graben 1", "1010 Wien"])
    #expect(details.phones == ["+4315134567", "+436641234567"])
    #expect(details.websites == ["https://a.example/;x", "https://b.example", "https://c.example"])
    #expect(details.emails == ["a@b.example"])
    #expect(details.social.map(\.network) == ["instagram", "facebook", "twitter"])
    #expect(
      details.social.map(\.url) == [
        "https://www.instagram.com/cafe.wien", "https://www.facebook.com/cafe", "https://x.com/cafe",
      ])
    #expect(details.brand.name == "Café" && details.brand.wikidata == "Q38076")
    #expect(details.operator == "A GmbH" && details.wheelchair == .limited && details.entrance == "main")
    #expect(details.payment == ["cash"] && details.diet == ["vegan"])
    #expect(details.status == .operating)
  }

  @Test func valuesThatDoNotValidateAreLeftOut() throws {
    let details = PlaceDetails(
      try draft(
        nil,
        [
          "phone": "call us", "website": "www.example.com", "email": "@", "wheelchair": "maybe",
          "brand:wikidata": "38076",
          "entrance": "no", "contact:tiktok": "a b", "social": "[1,", "operator": " ",
        ]))

    #expect(details.phones.isEmpty && details.websites.isEmpty && details.emails.isEmpty && details.social.isEmpty)
    #expect(details.wheelchair == nil && details.brand.wikidata == nil && details.entrance == nil)
    #expect(details.operator == nil && details.address.lines.isEmpty)
  }

  @Test(
    arguments: [
      (nil, [:], .operating), ("cafe", ["operating_status": "open"], .operating),
      ("cafe", ["operating_status": "temporarily_closed"], .temporarilyClosed),
      ("cafe", ["operating_status": "permanently_closed"], .closed),
      ("cafe", ["business_status": "CLOSED_TEMPORARILY"], .temporarilyClosed), ("cafe", ["disused": "yes"], .closed),
      ("cafe", ["disused": "no"], .operating), ("pub", ["disused:amenity": "pub"], .closed),
      ("amenity:pub", ["was:amenity": "pub"], .closed), (nil, ["abandoned:shop": "yes"], .closed),
      // Tags of a former place.
      ("supermarket", ["disused:amenity": "pub"], .operating), ("pub", ["disused:railway": "station"], .operating),
      ("cafe", ["operating_status": "open", "disused:amenity": "cafe"], .operating),
      ("cafe", ["operating_status": "perhaps"], .operating),
      ("cafe", ["temporarily_closed": "yes"], .temporarilyClosed),
    ] as [(String?, KeyValuePairs<String, String>, OperatingStatus)])
  func statusFollowsFromTheTags(
    category: String?, tags: KeyValuePairs<String, String>, expected: OperatingStatus
  ) throws {
    #expect(OperatingStatus(of: try draft(category, tags)) == expected)
  }
}
