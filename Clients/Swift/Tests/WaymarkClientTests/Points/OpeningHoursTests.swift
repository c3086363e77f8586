import Foundation
import Testing
import WaymarkTesting

@testable import WaymarkClient

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct OpeningHoursTests {
  /// Monday and Tuesday in Vienna.
  private static let json = """
    {"openingHours":"Mo 09:00-12:00,13:00-18:00; Tu 22:00-02:00 \\"bar\\"","timeZone":"Europe/Vienna","holidays":"AT",
    "openState":"closed","opensAt":"2026-11-23T09:00:00+01:00","from":"2026-11-23","days":2,"intervals":[
    {"start":"2026-11-23T00:00:00+01:00","end":"2026-11-23T09:00:00+01:00","state":"closed"},
    {"start":"2026-11-23T09:00:00+01:00","end":"2026-11-23T12:00:00+01:00","state":"open"},
    {"start":"2026-11-23T12:00:00+01:00","end":"2026-11-23T13:00:00+01:00","state":"unknown","comment":"ring"},
    {"start":"2026-11-23T13:00:00+01:00","end":"2026-11-23T18:00:00+01:00","state":"open"},
    {"start":"2026-11-23T18:00:00+01:00","end":"2026-11-24T22:00:00+01:00","state":"closed"},
    {"start":"2026-11-24T22:00:00+01:00","end":"2026-11-25T00:00:00+01:00","state":"open","comment":"bar"}]}
    """

  private let hours: OpeningHours
  private let english = Locale(identifier: "en_GB")

  init() throws {
    hours = try JSONDecoder().decode(OpeningHours.self, from: Data(Self.json.utf8))
  }

  private func date(_ text: String) throws -> Date { try #require(RFC3339.date(from: text)) }

  @Test(arguments: [
    ("2026-11-23T08:59:59+01:00", "Closed until 09:00"), ("2026-11-23T09:00:00+01:00", "Open until 12:00"),
    ("2026-11-23T12:30:00+01:00", "Perhaps open, surely from 13:00"),
    ("2026-11-23T18:00:00+01:00", "Closed until Tuesday 22:00"), ("2026-11-24T12:00:00+01:00", "Closed until 22:00"),
    // The last interval may go on.
    ("2026-11-24T23:00:00+01:00", "Open"), ("2026-11-25T00:00:00+01:00", "Opening hours unknown"),
    ("2026-11-22T12:00:00+01:00", "Opening hours unknown"),
  ])
  func statusIsEvaluatedOnTheDevice(time: String, text: String) throws {
    let date = try date(time)

    #expect(hours.status(at: date).text(at: date, locale: english) == text)
  }

  @Test(arguments: [
    ("de_DE", "Geschlossen bis Dienstag, 22:00"), ("ja_JP", "営業時間外（火曜日 22:00から営業）"),
    ("tlh", "Closed until Tuesday 22:00"),
  ])
  func wordsAreThoseOfTheLanguage(locale: String, text: String) throws {
    let date = try date("2026-11-23T18:00:00+01:00")
    let found = hours.status(at: date).text(at: date, locale: Locale(identifier: locale))

    #expect(found.filter { !$0.isWhitespace && $0 != "," } == text.filter { !$0.isWhitespace && $0 != "," })
  }

  @Test func timesAfterAWeekHaveTheDate() throws {
    let date = try date("2026-11-23T18:00:00+01:00")
    let status = OpeningStatus(
      state: .closed, opensAt: date.addingTimeInterval(10 * 86_400), timeZone: hours.timeZone)

    #expect(status.text(at: date, locale: english).contains("3 Dec"))
  }

  @Test func intervalsOfADayAreThoseThatBeginOnIt() throws {
    let monday = hours.intervals(on: try date("2026-11-23T23:30:00+01:00"))
    let tuesday = hours.intervals(on: try date("2026-11-24T00:30:00+01:00"))

    #expect(
      monday.map { $0.text(in: hours.timeZone, locale: english) } == ["09:00–12:00", "12:00–13:00", "13:00–18:00"])
    #expect(monday.map(\.comment) == [nil, "ring", nil])
    #expect(tuesday.map { $0.text(in: hours.timeZone, locale: english) } == ["22:00–00:00"])
    #expect(hours.intervals(on: try date("2026-11-25T10:00:00+01:00")).isEmpty)
  }

  @Test func hoursThatCannotBeParsedAreUnknown() throws {
    let json = #"{"openingHours":"when I like","error":"no","timeZone":"Etc/GMT-1","intervals":[]}"#
    let hours = try JSONDecoder().decode(OpeningHours.self, from: Data(json.utf8))

    #expect(hours.error == "no" && hours.text == "when I like")
    #expect(hours.status(at: .now).state == .unknown)
  }

  @Test(arguments: [
    #"{"timeZone":"UTC"}"#, #"{"timeZone":"UTC","intervals":[{"start":"today","end":"tomorrow","state":"open"}]}"#,
    #"{"timeZone":"UTC","intervals":[{"start":"2026-11-23T00:00:00Z","end":"2026-11-24T00:00:00Z","state":"ajar"}]}"#,
    #"{"timeZone":"UTC","intervals":[{"start":"2026-11-23T00:00:00Z","state":"open"}]}"#,
    #"{"timeZone":7,"intervals":[]}"#,
  ])
  func malformedHoursAreRejected(json: String) {
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(OpeningHours.self, from: Data(json.utf8)) }
  }

  @Test func searchForOpenPlacesAsksForTheirStates() throws {
    let baseURL = try URL(text: "https://example.com")
    let time = try date("2026-11-23T12:30:59.5+01:00")
    let now = try PointsRequest(baseURL: baseURL, fields: .allWithOpening).makeRequest(from: PointFilter(open: .now))
    let then = try PointSearchRequest(baseURL: baseURL).makeRequest(
      from: PointSearch("cafe", filter: PointFilter(open: .at(time), includesUnknownHours: true)))

    #expect(now.url?.query() == "open=now&fields=%2A,openState,openUntil,opensAt,timeZone")
    #expect(then.url?.query()?.hasPrefix("q=cafe&open=2026-11-23T11%3A30%3A00Z&openUnknown=include&fields=id,") == true)
    #expect(then.url?.query()?.hasSuffix("score,match,openState,openUntil,opensAt,timeZone") == true)
    #expect(throws: RequestError.unsupportedFilter) {
      try ExportPointsRequest(baseURL: baseURL).makeRequest(from: PointFilter(open: .now))
    }
  }

  @Test func placesHaveTheirState() throws {
    let json = """
      {"name":"A","openState":"open","openUntil":"2026-11-23T18:00:00+01:00","timeZone":"Europe/Vienna"}
      """
    let place = try JSONDecoder().decode(PointOfInterest.self, from: Data(json.utf8))
    let again = try JSONDecoder().decode(PointOfInterest.self, from: JSONEncoder().encode(place))

    #expect(
      place.opening
        == OpeningStatus(
          state: .open, openUntil: try date("2026-11-23T17:00:00Z"), timeZone: TimeZone(identifier: "Europe/Vienna")))
    #expect(again == place)
    #expect(try JSONDecoder().decode(PointOfInterest.self, from: Data(#"{"name":"A"}"#.utf8)).opening == nil)
  }

  @Test func hoursAreRequestedByPlaceAndDays() async throws {
    let service = try MockService { request, _ in try MockResponse.ok(Self.json).response(to: request) }
    let waymark = Waymark(baseURL: service.baseURL, session: service.session)
    let id = try #require(UUID(uuidString: "0199a1b2-0000-7000-8000-000000000001"))

    #expect(try await waymark.hours(of: id) == hours)
    _ = try await waymark.hours(of: id, days: 31)
    let path = "/locations/\(id.uuidString.lowercased())/hours"
    #expect(service.requests.map { $0.url?.path() } == [path, path])
    #expect(service.requests.map { $0.url?.query() } == [nil, "days=31"])
    await #expect(throws: RequestError.invalidDays) { try await waymark.hours(of: id, days: 32) }
  }
}
