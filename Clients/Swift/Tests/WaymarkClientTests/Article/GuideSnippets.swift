import Foundation
import Testing
import WaymarkTesting

@testable import WaymarkClient

@Suite struct GuideSnippets {
  // MARK: Getting started

  @Test func exampleOfAFirstSearchFindsCafes() async throws {
    let service = try MockService(.ok(#"[{"name":"A"}]"#))
    let (baseURL, session) = (service.baseURL, service.session)

    // snippet: start
    let waymark = Waymark(baseURL: baseURL, session: session)
    let here = try Coordinate(latitude: 37.3293, longitude: -121.8893)
    let cafes = try await waymark.places(near: here, radius: 1500, category: "cafe").firstPage()
    // end

    #expect(cafes.map(\.name) == ["A"])
    #expect(service.requests.first?.url?.query()?.contains("category=cafe") == true)
  }

  private static let hours = """
    {"openingHours":"24/7","timeZone":"Europe/Vienna","intervals":[
    {"start":"2020-01-01T00:00:00+01:00","end":"2100-01-01T00:00:00+01:00","state":"open"}]}
    """

  @Test func exampleOfOpeningHoursTellsWhatIsOpen() async throws {
    let service = try MockService { request, _ in
      let isHours = request.url?.lastPathComponent == "hours"
      let places = #"[{"id":"0199a1b2-0000-7000-8000-000000000001","name":"A","openState":"open"}]"#
      return try MockResponse.ok(isHours ? Self.hours : places).response(to: request)
    }
    let waymark = Waymark(baseURL: service.baseURL, session: service.session)
    let here = try Coordinate(latitude: 1, longitude: 2)

    // snippet: open places
    let cafes = try await waymark.places(PointFilter(center: here, categories: ["cafe"], open: .now)).firstPage()
    for cafe in cafes {
      print(cafe.name, cafe.opening?.text() ?? "")
    }
    let hours = try await waymark.hours(of: cafes[0].id, days: 14)
    let tomorrow = hours.status(at: .now.addingTimeInterval(86_400))
    print(hours.status(at: .now).text(), tomorrow.state == .open)
    // end

    #expect(cafes.map(\.opening?.state) == [.open])
    #expect(service.requests.last?.url?.query() == "days=14")
    #expect(tomorrow.state == .open)
  }

  @Test func exampleOfStoredHoursIsEvaluatedOnTheDevice() async throws {
    let service = try MockService(.ok(Self.hours))
    let waymark = Waymark(baseURL: service.baseURL, session: service.session)
    let id = try #require(UUID(uuidString: "0199A1B2-0000-7000-8000-000000000001"))

    // snippet: stored hours
    let hours = try await waymark.hours(of: id, days: 31)
    let caption = hours.status(at: .now).text()
    // end

    #expect(!caption.isEmpty && hours.status(at: .now).state == .open)
  }

  @Test func exampleOfAnUpdateSendsTheVersion() async throws {
    let id = try #require(UUID(uuidString: "0199A1B2-0000-7000-8000-000000000001"))
    let service = try MockService(
      .ok(#"{"id":"0199a1b2-0000-7000-8000-000000000001","name":"A","lat":1,"long":2,"version":3}"#))
    let waymark = Waymark(baseURL: service.baseURL, session: service.session)

    // snippet: update
    var place = try await waymark.place(id)
    place.tags["wheelchair"] = "yes"
    place = try await waymark.update(place)
    // end

    #expect(place.version == 3)
    #expect(service.requests.last?.value(forHTTPHeaderField: "If-Match") == "\"3\"")
  }

  @Test(arguments: [
    MockResponse.problem(429, code: "rate-limited", fields: ["Retry-After": "99"]), .failure(.timedOut),
  ])
  func exampleOfErrorsHasAMessage(response: MockResponse) async throws {
    let service = try MockService(response)
    var waymark = Waymark(baseURL: service.baseURL, session: service.session)
    waymark.configuration.retries = .none
    var message = ""

    let places = try await places(of: waymark, message: &message)

    #expect(places.isEmpty)
    #expect(["Please wait 99.0 seconds.", Message.timedOut.text].contains(message))
  }

  private func places(of waymark: Waymark, message: inout String) async throws -> [PointOfInterest] {
    let here = try Coordinate(latitude: 1, longitude: 2)
    // snippet: errors
    do {
      return try await waymark.places(near: here).firstPage()
    } catch WaymarkError.problem(let problem) where problem.code == .rateLimited {
      message = "Please wait \(problem.retryAfter ?? .seconds(1))."
    } catch {
      message = error.localizedDescription
    }
    // end
    return []
  }

  // MARK: Credentials

  @Test func exampleOfAKeySendsIt() async throws {
    let service = try MockService(.ok("[]"))
    let (baseURL, session) = (service.baseURL, service.session)

    // snippet: key
    let waymark = Waymark(baseURL: baseURL, credentials: .apiKey("wm_key"), session: session)
    // end

    _ = try await waymark.categories()
    #expect(service.requests.first?.value(forHTTPHeaderField: "Authorization") == "Bearer wm_key")
  }

  private struct Account {
    func token(replacing rejected: String?) async throws -> String { rejected.map { $0 + "+" } ?? "token" }
  }

  @Test func exampleOfAProviderRefreshesTheToken() async throws {
    let service = try MockService(.problem(401, code: "unauthenticated"), .ok("[]"))
    let (baseURL, session, account) = (service.baseURL, service.session, Account())

    // snippet: token
    let credentials = Credentials(user: "user-7") { rejected in
      try await account.token(replacing: rejected)
    }
    let waymark = Waymark(baseURL: baseURL, credentials: credentials, session: session)
    // end

    _ = try await waymark.categories()
    #expect(
      service.requests.map { $0.value(forHTTPHeaderField: "Authorization") } == ["Bearer token", "Bearer token+"])
  }

  // MARK: Offline

  @Test func exampleOfACacheReturnsStalePlaces() async throws {
    let service = try MockService(.ok(#"[{"name":"A"}]"#), .failure(.notConnectedToInternet))
    let (baseURL, session) = (service.baseURL, service.session)
    let cacheFolder = CacheFolder()
    let folder = cacheFolder.url
    let here = try Coordinate(latitude: 37.3293, longitude: -121.8893)

    for isOffline in [false, true] {
      // snippet: offline
      let waymark = Waymark(baseURL: baseURL, session: session, cache: OnDiskCache(folder: folder))
      let response = try await waymark.responses.places(near: here)
      if response.isStale { print("These places are of \(response.receivedAt).") }
      // end

      #expect(response.isStale == isOffline)
    }
  }

  @Test func exampleOfStoredPlacesShowsThemBeforeTheCurrentOnes() async throws {
    let service = try MockService(.ok(#"[{"name":"A"}]"#), .ok(#"[{"name":"A"},{"name":"B"}]"#))
    let folder = CacheFolder()
    let here = try Coordinate(latitude: 37.3293, longitude: -121.8893)
    let waymark = Waymark(baseURL: service.baseURL, session: service.session, cache: OnDiskCache(folder: folder.url))
    _ = try await waymark.places(near: here).firstPage()
    var (places, caption): ([PointOfInterest], String) = ([], "")
    var counts: [Int] = []

    // snippet: stored-then-current
    for try await response in waymark.storedThenCurrent({ try await $0.places(near: here) }) {
      places = response.value
      caption = response.isStale ? "as of \(response.receivedAt)" : ""
    }
    // end
    for try await response in waymark.storedThenCurrent({ try await $0.places(near: here) }) {
      counts.append(response.value.count)
    }

    #expect(places.map(\.name) == ["A", "B"])
    #expect(caption.isEmpty)
    #expect(counts == [2, 2])
  }

  @Test func exampleOfAPolicyUsesTheCacheFirst() async throws {
    let folder = CacheFolder()
    let service = try MockService(.ok("[]"))
    var waymark = Waymark(baseURL: service.baseURL, session: service.session, cache: OnDiskCache(folder: folder.url))

    // snippet: policy-first
    waymark.configuration.offlinePolicy = .cacheFirst(maximumAge: .seconds(3600))
    // end

    _ = try await waymark.categories()
    _ = try await waymark.categories()
    #expect(service.requests.count == 1)
  }
}
