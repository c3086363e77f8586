import Foundation
import Testing
import WaymarkClient

@Suite struct SearchRequestTests {
  private let baseURL: URL
  private let here: Coordinate

  init() throws {
    baseURL = try URL(text: "https://example.com")
    here = try Coordinate(latitude: 37.5, longitude: -121.5)
  }

  private func query(_ search: PointSearch, limit: Int? = nil) throws -> String? {
    let request = try PointSearchRequest(baseURL: baseURL, limit: limit).makeRequest(from: search)
    #expect(request.url?.path() == "/locations")
    return request.url?.query(percentEncoded: true)
  }

  private let fields = "fields=id,name,category,lat,long,distance,tags,source,sourceId,score,match"

  @Test func searchParametersAreInAFixedOrder() throws {
    let filter = PointFilter(center: here, radiusMetres: 5, categories: ["museum"])

    let query = try query(
      PointSearch("café + 서울", filter: filter, order: .distance, isIncomplete: true, languages: ["ko", "en"]), limit: 3)

    #expect(
      query == "q=caf%C3%A9%20%2B%20%EC%84%9C%EC%9A%B8&lat=37.5&long=-121.5&radius=5.0&category=museum&lang=ko,en"
        + "&autocomplete=true&sort=distance&limit=3&\(fields)")
  }

  @Test func plainSearchHasOnlyItsText() throws {
    #expect(try query(PointSearch("a")) == "q=a&\(fields)")
  }

  @Test(arguments: ["", String(repeating: "a", count: 201)])
  func textOutOfRangeIsRejected(text: String) {
    #expect(throws: RequestError.invalidText) { try query(PointSearch(text)) }
    #expect(throws: RequestError.invalidText) {
      try SuggestionsRequest(baseURL: baseURL).makeRequest(from: PointSearch(text))
    }
  }

  @Test func orderByDistanceRequiresACenter() {
    #expect(throws: RequestError.distanceWithoutCenter) { try query(PointSearch("a", order: .distance)) }
  }

  @Test func matchIsDecodedWithItsRanges() throws {
    let data = Data(
      """
      [{"name":"Köln","score":2.5,"match":{"key":"name:en","text":"Cölogne e\\u0301","ranges":[[0,7],[8,10]]}},
      {"name":"A","match":{"key":"name","text":"A","ranges":[[0,2]]}},{"name":"B"}]
      """.utf8)

    let parsed = try PointSearchRequest(baseURL: baseURL).parse(data: data)

    let match = try #require(parsed.value.first)
    #expect(match.place.name == "Köln")
    #expect(match.score == 2.5)
    #expect(match.name?.key == "name:en")
    #expect(match.name?.highlights.map { match.name?.text[$0].unicodeScalars.count } == [7, 2])
    #expect(parsed.value.map(\.place.name) == ["Köln", "B"])
    #expect(parsed.invalidRows.map(\.row) == [2])
  }

  @Test(arguments: ["[[1]]", "[[1,0]]", "[[-1,0]]", "[[0,2]]", "[[]]", "[[9223372036854775807,9223372036854775807]]"])
  func rangesOutsideOfTheTextAreInvalid(ranges: String) {
    let data = Data(#"[{"name":"A","match":{"key":"name","text":"A","ranges":\#(ranges)}}]"#.utf8)

    #expect(throws: DecodingError.self) { try PointSearchRequest(baseURL: baseURL).parse(data: data) }
  }

  @Test func suggestionsAreRequestedAndDecoded() throws {
    let request = SuggestionsRequest(baseURL: baseURL, limit: 5)
    let search = PointSearch("mus", filter: PointFilter(center: here), languages: ["en"])
    let data = Data(
      """
      [{"type":"category","category":"museum","count":3},{"type":"street","name":"S"},
      {"type":"place","id":"0199a1b2-0000-7000-8000-000000000001","name":"Museum","distance":1.5}]
      """.utf8)

    let parsed = try request.parse(data: data)

    #expect(
      try request.makeRequest(from: search).url?.absoluteString
        == "https://example.com/locations/suggest?q=mus&lat=37.5&long=-121.5&lang=en&limit=5")
    #expect(parsed.value.map(\.title) == ["museum", "Museum"])
    #expect(parsed.value.map(\.id) == ["category/museum", "0199A1B2-0000-7000-8000-000000000001"])
    #expect(parsed.invalidRows.map(\.row) == [2])
  }

  @Test(arguments: [0, 51]) func numberOfSuggestionsIsLimited(limit: Int) {
    #expect(throws: RequestError.invalidLimit) {
      try SuggestionsRequest(baseURL: baseURL, limit: limit).makeRequest(from: PointSearch("a"))
    }
  }

  @Test func reverseIsRequestedAndDecoded() throws {
    let plain = ReversePointRequest(baseURL: baseURL)
    let near = ReversePointRequest(baseURL: baseURL, radiusMetres: 10, languages: ["ko"])

    let place = try plain.parseResponse(data: Data(#"{"name":"A","label":"A, B"}"#.utf8))

    #expect(place == LabeledPoint(place: PointOfInterest(name: "A"), label: "A, B"))
    #expect(
      try plain.makeRequest(from: here).url?.absoluteString
        == "https://example.com/locations/reverse?lat=37.5&long=-121.5")
    #expect(
      try near.makeRequest(from: here).url?.absoluteString
        == "https://example.com/locations/reverse?lat=37.5&long=-121.5&radius=10.0&lang=ko")
  }

  @Test func ownNameOfATranslatedPlaceIsKnown() {
    #expect(PointOfInterest(name: "Seoul", tags: ["name:local": "서울"]).localName == "서울")
    #expect(PointOfInterest(name: "Seoul").localName == "Seoul")
  }
}
