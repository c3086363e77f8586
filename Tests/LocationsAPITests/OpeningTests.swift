import Foundation
import HTTPServer
import MemoryStore
import NIOHTTP1
import Points
import ServiceTestSupport
import Synchronization
import TestSupport
import Testing

@testable import LocationsAPI

@Suite struct OpeningTests {
  /// A clock that tests set.
  private final class Clock: WallClock {
    private let time: Mutex<Timestamp>

    init(_ text: String) {
      time = Mutex(Timestamp(text: text))
    }

    func now() -> Timestamp { time.withLock { $0 } }
    func set(_ text: String) { time.withLock { $0 = Timestamp(text: text) } }
  }

  /// Monday, 12:30 in Vienna.
  private static let noon = "2026-11-23T11:30:00Z"

  /// Places in the order of their distance from the origin.
  private static func places() throws -> [PointDraft] {
    let hours: KeyValuePairs<String, KeyValuePairs<String, String>> = [
      "Day": ["opening_hours": "Mo-Fr 09:00-18:00; PH off", "timezone": "Europe/Vienna"],
      "Night": ["opening_hours": "20:00-04:00", "timezone": "Europe/Vienna"],
      "Always": ["opening_hours": "24/7"],
      "None": [:],
      "Nonsense": ["opening_hours": "when I like"],
      "Tokyo": ["opening_hours": "Mo-Fr 09:00-18:00", "timezone": "Asia/Tokyo"],
      "Lunch": ["opening_hours": "Mo-Fr 12:00-13:00,18:00-22:00", "timezone": "Europe/Vienna"],
    ]
    return try hours.enumerated().map { number, place in
      try PointDraft.at(
        0, Double(number) / 100, name: place.key, category: "cafe", tags: place.value, sourceID: "\(number)")
    }
  }

  private static func driver(_ clock: Clock = Clock(noon), places: [PointDraft]? = nil) async throws -> ServiceDriver {
    let store = MemoryStore.countingFromOne()
    let rows = try (places ?? Self.places()).enumerated().map {
      ImportRow(number: $0.offset + 1, id: nil, draft: $0.element)
    }
    _ = try await store.load(AsyncStream([rows]))
    var api = LocationsAPI.Configuration(service: PointsService(store: store, clock: clock), version: "1.2.3")
    api.filtering = Filtering(timeLimit: .seconds(600))
    api.clock = clock
    return ServiceDriver(LocationsAPI(api))
  }

  @Test(arguments: [
    (
      "text/csv",
      """
      Name,Lat,Lon,Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday
      A,48.2,16.3,9:00-17:00,9:00-17:00,9:00-17:00,9:00-17:00,9:00-17:00,closed,closed

      """
    ),
    ("application/x-ndjson", #"{"name":"A","lat":48.2,"lon":16.3,"openingHours":["Mo-Fr 09:00-17:00"]}"#),
    (
      "application/x-ndjson",
      #"{"name":"A","lat":48.2,"lon":16.3,"openingHoursSpecification":[{"dayOfWeek":["Monday"],"opens":"09:00","closes":"17:00"}]}"#
    ),
    (
      "application/geo+json",
      #"""
      {"type":"Feature","geometry":{"type":"Point","coordinates":[16.3,48.2]},"properties":{"name":"A","opening_hours":
      {"periods":[{"open":{"day":1,"time":"0900"},"close":{"day":1,"time":"1700"}}]}}}
      """#
    ),
  ])
  func importedSchedulesOfOtherFormsAreFound(type: String, body: String) async throws {
    let driver = ServiceDriver(writing: MemoryStore())

    let report = try await driver.send(.POST, "/locations/import", headers: ["content-type": type], json: body)
    let monday = try await driver.send(.GET, "/locations?open=2026-11-23T10:00")
    let sunday = try await driver.send(.GET, "/locations?open=2026-11-22T10:00")

    #expect(report.text.contains(#""created":1"#), "\(report.text)")
    #expect(monday.text.contains(#""name":"A""#), "\(monday.text)")
    #expect(sunday.text == "[]")
  }

  @Test(arguments: [
    ("open=now", ["Day", "Always", "Lunch"]),
    ("open=now&openUnknown=include", ["Day", "Always", "None", "Nonsense", "Lunch"]),
    ("open=now&openUnknown=exclude", ["Day", "Always", "Lunch"]),
    ("open=2026-11-23T12:30", ["Day", "Always", "Tokyo", "Lunch"]),
    ("open=2026-11-23T12:30:59", ["Day", "Always", "Tokyo", "Lunch"]),
    ("open=2026-11-23T21:00", ["Night", "Always", "Lunch"]),
    ("open=2026-11-24T03:30:00Z", ["Always", "Tokyo"]),
    ("open=2026-11-24T03:30%2B01:00", ["Night", "Always", "Tokyo"]),
    ("open=2026-11-24T03:30+01:00", ["Night", "Always", "Tokyo"]),
    // A public holiday in Austria, the country of the zone.
    ("open=2026-12-08T12:30", ["Always", "Tokyo", "Lunch"]),
    ("open=now&limit=2", ["Day", "Always"]),
    ("open=now&radius=3000", ["Day", "Always"]),
    ("open=now&filter=name%20LIKE%20'%25a%25'", ["Day", "Always"]),
    ("open=now&bbox=0.005,-1,1,1", ["Always", "Lunch"]),
    ("open=now&within=POLYGON((0.005%20-1,1%20-1,1%201,0.005%201,0.005%20-1))", ["Always", "Lunch"]),
    ("open=now&source=test&sourceId=0", ["Day"]),
    ("open=now&source=test&sourceId=1", []),
  ])
  func placesOpenAtATimeAreFound(parameters: String, names: [String]) async throws {
    let response = try await Self.driver().send(.GET, "/locations?lat=0&long=0&\(parameters)")

    #expect(response.status == 200, "\(response.text)")
    #expect(try response.names == names)
  }

  @Test func everyKindOfSearchFindsOnlyOpenPlaces() async throws {
    let driver = try await Self.driver()

    #expect(try await Set(driver.send(.GET, "/locations?open=now").names) == ["Day", "Always", "Lunch"])
    #expect(
      try await driver.send(.GET, "/locations?open=now&route=LINESTRING(0%200,1%200)&radius=100").names
        == ["Day", "Always", "Lunch"])
    #expect(try await driver.send(.GET, "/locations?q=night").names == ["Night"])
    #expect(try await driver.send(.GET, "/locations?q=night&open=now").names.contains("Night") == false)
    #expect(try await driver.send(.GET, "/locations?q=lunch&open=now").names == ["Lunch"])
    #expect(try await driver.send(.GET, "/locations/suggest?q=ni").text.contains("Night"))
    #expect(try await !driver.send(.GET, "/locations/suggest?q=ni&open=now").text.contains("Night"))
    #expect(try await driver.send(.GET, "/locations/facets?by=category&open=now").object["count"] as? Int == 3)
    #expect(
      try await driver.send(.GET, "/locations/facets?by=category&open=now&q=night").object["count"] as? Int == 0)
    let clusters = try await driver.send(.GET, "/locations/clusters?zoom=2&open=now").text
    #expect(clusters.contains(#""count":3"#), "\(clusters)")
    let search = try await driver.send(
      .POST, "/locations/search", json: #"{"lat":0,"long":0,"open":"2026-11-23T21:00","openUnknown":"exclude"}"#)
    #expect(try search.names == ["Night", "Always", "Lunch"])
    let tiles = try await [
      "/tiles/14/8192/8192.mvt", "/tiles/14/8192/8192.mvt?open=now",
      "/tiles/14/8192/8192.mvt?open=2026-11-23T21:00&openUnknown=include",
    ].asyncMap { try await driver.send(.GET, $0).text }
    #expect(["Day", "Night"].map { tiles[0].contains($0) } == [true, true])
    #expect(["Day", "Night"].map { tiles[1].contains($0) } == [true, false])
    #expect(["Day", "Night"].map { tiles[2].contains($0) } == [false, true])
  }

  @Test(arguments: [
    ("open=yes", "open"), ("open=2026-11-23", "open"), ("open=2026-11-23T25:00", "open"), ("open=", "open"),
    ("open=2026-02-30T12:00", "open"), ("open=1999-12-31T12:00", "open"), ("open=2101-01-01T00:00Z", "open"),
    ("openUnknown=include", "open"), ("open=now&openUnknown=maybe", "openUnknown"), ("open=now&open=now", "open"),
  ])
  func invalidTimesAreRejected(parameters: String, name: String) async throws {
    let response = try await Self.driver().send(.GET, "/locations?\(parameters)")

    #expect(response.status == 400)
    #expect(try response.parameters == [name])
  }

  @Test(arguments: ["/locations/export?open=now", "/ogc/collections/places/items?open=now", "/categories?open=now"])
  func callsWithoutTheConditionRejectIt(target: String) async throws {
    #expect(try await Self.driver().send(.GET, target).status == 400)
  }

  @Test(arguments: ["", "&q=cafe", "&q=cafe&lat=0&long=0&sort=distance", "&lat=0&long=0"])
  func allPagesAreOfTheTimeOfTheFirst(parameters: String) async throws {
    let clock = Clock(Self.noon)
    let driver = try await Self.driver(clock)

    var names: [String] = []
    var target: String? = "/locations?open=now&limit=1&fields=name,openState" + parameters
    while let next = target {
      let response = try await driver.send(.GET, next)
      #expect(response.status == 200, "\(response.text)")
      #expect(try response.array.allSatisfy { $0["openState"] as? String == "open" })
      names += try response.names
      target = response.next
      clock.set("2026-11-23T23:30:00Z")
    }

    #expect(names.sorted() == ["Always", "Day", "Lunch"])
  }

  @Test func cursorOfAnotherTimeOrConditionIsRejected() async throws {
    let driver = try await Self.driver()
    let next = try await #require(driver.send(.GET, "/locations?open=now&limit=1").next)

    for (old, new) in [
      ("open=now", "open=2026-11-23T12:30"), ("open=now&", ""), ("open=now", "open=now&openUnknown=include"),
    ] {
      #expect(try await driver.send(.GET, next.replacing(old, with: new)).parameters == ["cursor"], "\(new)")
    }
  }

  @Test(arguments: [
    "/locations?open=now", "/locations?lat=0&long=0&open=now&limit=1", "/locations?q=cafe&open=now",
    "/locations/suggest?q=d&open=now", "/locations/facets?by=category&open=now", "/locations/clusters?zoom=2&open=now",
    "/tiles/14/8192/8192.mvt?open=now", "/locations?fields=name,openState", "/tiles/0/0/0.mvt?open=now&q=cafe",
  ])
  func responsesEndWhenAnyPlaceOpensOrCloses(target: String) async throws {
    let clock = Clock(Self.noon)
    let driver = try await Self.driver(clock)
    let first = try await driver.send(.GET, target)
    let tag = try #require(first.headers.first(name: "etag"))
    // Lunch closes at 13:00 in Vienna.
    #expect(first.headers.first(name: "expires") == "Mon, 23 Nov 2026 12:00:00 GMT")

    clock.set("2026-11-23T11:59:59Z")
    let same = try await driver.send(.GET, target, headers: ["if-none-match": tag])
    clock.set("2026-11-23T12:00:00Z")
    let changed = try await driver.send(.GET, target, headers: ["if-none-match": tag])

    #expect(same.status == 304)
    #expect(same.headers.first(name: "etag") == tag)
    #expect(same.headers.first(name: "expires") == "Mon, 23 Nov 2026 12:00:00 GMT")
    #expect(changed.status == 200)
    #expect(changed.headers.first(name: "etag") != tag)
    #expect(changed.headers.first(name: "expires") == "Mon, 23 Nov 2026 17:00:00 GMT")
  }

  @Test func maximumAgesEndAtTheNextChange() async throws {
    let clock = Clock("2026-11-23T11:59:57Z")
    let driver = try await Self.driver(clock)

    let suggestions = try await driver.send(.GET, "/locations/suggest?q=d&open=now")
    #expect(suggestions.headers.first(name: "cache-control") == "public, max-age=3")
    clock.set(Self.noon)
    let earlier = try await driver.send(.GET, "/locations/suggest?q=d&open=now")
    #expect(earlier.headers.first(name: "cache-control") == "public, max-age=5")
  }

  @Test func changeOfAPlaceEndsATagBeforeItsTime() async throws {
    let driver = try await Self.driver()
    let tag = try await #require(driver.send(.GET, "/locations?open=now").headers.first(name: "etag"))
    _ = try await driver.send(.POST, "/locations", json: #"{"name":"New","lat":0,"long":0,"tags":{}}"#)

    #expect(try await driver.send(.GET, "/locations?open=now", headers: ["if-none-match": tag]).status == 200)
  }

  @Test func fixedTimesHaveTagsWithoutAnEnd() async throws {
    let clock = Clock(Self.noon)
    let driver = try await Self.driver(clock)
    let response = try await driver.send(.GET, "/locations?open=2026-11-23T12:30")
    let tag = try #require(response.headers.first(name: "etag"))

    #expect(!response.headers.contains(name: "expires"))
    clock.set("2027-01-01T00:00:00Z")
    let later = try await driver.send(.GET, "/locations?open=2026-11-23T12:30", headers: ["if-none-match": tag])
    #expect(later.status == 304)
  }

  @Test func fieldsHaveTheStateAndTheNextChange() async throws {
    let driver = try await Self.driver()
    let places = try await driver.send(
      .GET, "/locations?lat=0&long=0&fields=name,openState,openUntil,opensAt,timeZone"
    ).array

    func fields(_ name: String) -> [String: String]? {
      places.first { $0["name"] as? String == name } as? [String: String]
    }
    #expect(
      fields("Day") == [
        "name": "Day", "openState": "open", "openUntil": "2026-11-23T18:00:00+01:00", "timeZone": "Europe/Vienna",
      ])
    #expect(
      fields("Night") == [
        "name": "Night", "openState": "closed", "opensAt": "2026-11-23T20:00:00+01:00", "timeZone": "Europe/Vienna",
      ])
    #expect(fields("Always")?["openState"] == "open")
    #expect(fields("Always")?["openUntil"] == nil)
    #expect(fields("None")?["openState"] == "unknown")
    #expect(fields("Nonsense")?["openState"] == "unknown")
    #expect(
      fields("Tokyo") == [
        "name": "Tokyo", "openState": "closed", "opensAt": "2026-11-24T09:00:00+09:00", "timeZone": "Asia/Tokyo",
      ])
    let csv = try await driver.send(
      .GET, "/locations?lat=0&long=0&limit=1&f=csv&fields=name,openState,openUntil,opensAt,timeZone")
    #expect(
      csv.text
        == "name,openState,openUntil,opensAt,timeZone\r\nDay,open,2026-11-23T18:00:00+01:00,,Europe/Vienna\r\n")
    let geoJSON = try await driver.send(.GET, "/locations?lat=0&long=0&limit=1&f=geojson&fields=id,openState")
    #expect(geoJSON.text.contains(#""openState":"open""#))
  }

  @Test func fieldsAreOfTheTimeOfTheCondition() async throws {
    let response = try await Self.driver().send(
      .GET, "/locations?q=night&open=2026-11-23T21:00&fields=name,openState,openUntil")

    #expect(
      try response.array as? [[String: String]]
        == [["name": "Night", "openState": "open", "openUntil": "2026-11-24T04:00:00+01:00"]])
  }

  @Test func singlePlaceHasItsStateByName() async throws {
    let clock = Clock(Self.noon)
    let driver = try await Self.driver(clock)
    let id = try await #require(driver.send(.GET, "/locations?lat=0&long=0&limit=1").array.first?["id"] as? String)
    let target = "/locations/\(id)?fields=name,openState"

    let open = try await driver.send(.GET, target)
    #expect(try open.object["openState"] as? String == "open")
    #expect(open.headers.first(name: "expires") == "Mon, 23 Nov 2026 17:00:00 GMT")
    clock.set("2026-11-23T17:00:00Z")
    let tag = try #require(open.headers.first(name: "etag"))
    let closed = try await driver.send(.GET, target, headers: ["if-none-match": tag])
    #expect(closed.status == 200)
    #expect(try closed.object["openState"] as? String == "closed")
    #expect(try await driver.send(.GET, "/locations/\(id)").object["openState"] == nil)
    #expect(try await driver.send(.GET, "/locations/\(id)?fields=*").object["openState"] == nil)
    let nearest = try await driver.send(.GET, "/locations/reverse?lat=0&long=0&fields=name,openState,opensAt")
    #expect(try nearest.object["openState"] as? String == "closed")
    #expect(try nearest.object["opensAt"] as? String == "2026-11-24T09:00:00+01:00")
  }

  @Test func hoursOfAPlaceAreItsIntervals() async throws {
    let driver = try await Self.driver()
    let id = try await #require(driver.send(.GET, "/locations?lat=0&long=0&limit=1").array.first?["id"] as? String)

    let week = try await driver.send(.GET, "/locations/\(id)/hours")
    let days = try await driver.send(.GET, "/locations/\(id)/hours?from=2026-12-07&days=2")

    #expect(week.status == 200)
    #expect(try week.object["openingHours"] as? String == "Mo-Fr 09:00-18:00; PH off")
    #expect(try week.object["timeZone"] as? String == "Europe/Vienna")
    #expect(try week.object["holidays"] as? String == "AT")
    #expect(try week.object["openState"] as? String == "open")
    #expect(try week.object["openUntil"] as? String == "2026-11-23T18:00:00+01:00")
    #expect(try week.object["from"] as? String == "2026-11-23")
    #expect(try week.object["days"] as? Int == 7)
    #expect(try (week.object["intervals"] as? [[String: String]])?.count { $0["state"] == "open" } == 5)
    #expect(week.headers.first(name: "expires") == "Mon, 23 Nov 2026 17:00:00 GMT")
    // The second day is a holiday.
    #expect(
      try days.object["intervals"] as? [[String: String]] == [
        ["start": "2026-12-07T00:00:00+01:00", "end": "2026-12-07T09:00:00+01:00", "state": "closed"],
        ["start": "2026-12-07T09:00:00+01:00", "end": "2026-12-07T18:00:00+01:00", "state": "open"],
        ["start": "2026-12-07T18:00:00+01:00", "end": "2026-12-09T00:00:00+01:00", "state": "closed"],
      ])
  }

  @Test func hoursThatCannotBeParsedAreUnknownWithTheReason() async throws {
    let driver = try await Self.driver()
    let places = try await driver.send(.GET, "/locations?lat=0&long=0").array
    let ids = ["Nonsense", "None"].map { name in
      places.first { $0["name"] as? String == name }?["id"] as? String ?? ""
    }

    let nonsense = try await driver.send(.GET, "/locations/\(ids[0])/hours")
    let none = try await driver.send(.GET, "/locations/\(ids[1])/hours")

    #expect(try nonsense.object["openState"] as? String == "unknown")
    #expect(try (nonsense.object["error"] as? String)?.hasPrefix("at character 1: ") == true)
    #expect(try (nonsense.object["intervals"] as? [Any])?.isEmpty == true)
    #expect(try none.object["openingHours"] == nil)
    #expect(try none.object["error"] == nil)
    #expect(try none.object["openState"] as? String == "unknown")
  }

  @Test(arguments: [
    ("from=today", 400), ("from=2026-13-01", 400), ("from=1999-01-01", 400), ("days=0", 400), ("days=32", 400),
    ("days=31", 200), ("from=2026-03-29&days=1", 200), ("open=now", 400),
  ])
  func daysOfHoursAreValidated(parameters: String, status: Int) async throws {
    let driver = try await Self.driver()
    let id = try await #require(driver.send(.GET, "/locations?limit=1").array.first?["id"] as? String)

    #expect(try await driver.send(.GET, "/locations/\(id)/hours?\(parameters)").status == status)
    #expect(try await driver.send(.GET, "/locations/0199a1b2-0000-7000-8000-000000000000/hours").status == 404)
  }
}

extension Timestamp {
  fileprivate init(text: String) {
    let date = ISO8601DateFormatter().date(from: text) ?? .distantPast
    self.init(microsecondsSinceEpoch: Int64(date.timeIntervalSince1970) * 1_000_000)
  }
}

extension Array {
  fileprivate func asyncMap<Result>(_ transform: (Element) async throws -> Result) async rethrows -> [Result] {
    var results: [Result] = []
    for element in self { results.append(try await transform(element)) }
    return results
  }
}
