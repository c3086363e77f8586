// swift-format-ignore-file
// The examples of the documentation comments. ExampleTests writes this file.
import Foundation
import WaymarkClient
import WaymarkTesting

#if canImport(AppKit)
  import AppKit
#endif
#if canImport(CoreLocation)
  import CoreLocation
#endif
#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif
#if canImport(MapKit)
  import MapKit
#endif
#if canImport(Testing)
  import Testing
#endif
#if canImport(UIKit)
  import UIKit
#endif

extension ExampleContext {

  // CleanupPolicy.swift: CleanupPolicy
  func example1() async throws {
    struct CountCleanupPolicy: CleanupPolicy {
      func itemsToRemove(from items: Set<OnDiskCache.Item>) -> Set<OnDiskCache.Item> {
        Set(items.sorted { $0.age < $1.age }.dropFirst(100))
      }
    }
  }

  // CleanupPolicy.swift: MaxAgeCleanupPolicy
  func example2() async throws {
    let cache = OnDiskCache(folder: folder, policies: [MaxAgeCleanupPolicy(maxAge: 24 * 60 * 60)])
    _ = cache
  }

  // CleanupPolicy.swift: MaxSizeCleanupPolicy
  func example3() async throws {
    let cache = OnDiskCache(folder: folder, policies: [MaxSizeCleanupPolicy(maxSize: 1_000_000)])
    _ = cache
  }

  // OfflinePolicy.swift: OfflinePolicy
  func example4() async throws {
    var waymark = Waymark(baseURL: baseURL, cache: OnDiskCache(named: "Waymark"))
    waymark.configuration.offlinePolicy = .staleIfError
    _ = waymark
  }

  // OfflinePolicy.swift: OfflinePolicy.Strategy
  func example5() async throws {
    let policy = OfflinePolicy(.cacheFirst(maximumAge: .seconds(3600)), maximumDistanceMetres: 200)
    _ = policy
  }

  // OfflinePolicy.swift: OfflinePolicy.init(_:maximumAge:maximumDistanceMetres:deadline:)
  func example6() async throws {
    let policy = OfflinePolicy(.networkFirst, maximumAge: .seconds(24 * 60 * 60), deadline: .seconds(2))
    _ = policy
  }

  // OfflinePolicy.swift: OfflinePolicy.cacheFirst(maximumAge:)
  func example7() async throws {
    var waymark = Waymark(baseURL: baseURL, cache: OnDiskCache(named: "Waymark"))
    waymark.configuration.offlinePolicy = .cacheFirst(maximumAge: .seconds(3600))
    _ = waymark
  }

  // OnDiskCache.swift: OnDiskCache
  func example8() async throws {
    let waymark = Waymark(baseURL: baseURL, cache: OnDiskCache(named: "Waymark"))
    _ = waymark
  }

  // OnDiskCache.swift: OnDiskCache.Item
  func example9() async throws {
    let size = OnDiskCache(folder: folder).currentItems.reduce(0) { $0 + $1.size }
    let item = OnDiskCache.Item(path: "/item1", age: 5, size: 7)
    let itemsToRemove = MaxSizeCleanupPolicy(maxSize: 5).itemsToRemove(from: [item])
    _ = size
    _ = item
    _ = itemsToRemove
  }

  // OnDiskCache.swift: OnDiskCache.init(folder:policies:maximumEntrySize:cleanupInterval:now:)
  func example10() async throws {
    let cache = OnDiskCache(folder: folder, policies: [MaxSizeCleanupPolicy(maxSize: 100_000_000)])
    _ = cache
  }

  // OnDiskCache.swift: OnDiskCache.init(named:)
  func example11() async throws {
    let waymark = Waymark(baseURL: baseURL, cache: OnDiskCache(named: "Waymark"))
    _ = waymark
  }

  // OnDiskCache.swift: OnDiskCache.cleanCache(policy:)
  func example12() async throws {
    try OnDiskCache(folder: folder).cleanCache(policy: MaxAgeCleanupPolicy(maxAge: 60 * 60))
  }

  // OnDiskCache.swift: OnDiskCache.removeAll()
  func example13() async throws {
    try OnDiskCache(folder: folder).removeAll()
  }

  // OnDiskCache.swift: OnDiskCacheError
  func example14() async throws {
    do {
      try OnDiskCache(folder: folder).store(storedResponse, for: "key")
    } catch OnDiskCacheError.entryTooLarge(let size, let maximumSize) {
      print("\(size) bytes exceed \(maximumSize).")
    }
  }

  // ResponseCache.swift: ResponseCache
  func example15() async throws {
    actor MemoryCache: ResponseCache {
      private var responses: [String: StoredResponse] = [:]

      func response(for key: String) -> StoredResponse? { responses[key] }
      func store(_ response: StoredResponse, for key: String) { responses[key] = response }
      func removeResponse(for key: String) { responses[key] = nil }
    }
    let waymark = Waymark(baseURL: baseURL, cache: MemoryCache())
    _ = waymark
  }

  // ResponseCache.swift: StoredResponse
  func example16() async throws {
    let response = StoredResponse(body: Data("[]".utf8), receivedAt: Date(timeIntervalSince1970: 0))
    try OnDiskCache(folder: folder).store(response, for: "key")
    _ = response
  }

  // PointQuery.swift: PointQuery
  func example17() async throws {
    for try await place in waymark.places(near: here, category: "cafe").all {
      print(place.name)
    }
  }

  // PointQuery.swift: PointQuery.pages(from:)
  func example18() async throws {
    let query = waymark.query(filter, limit: 100)
    for try await page in query.pages(from: link) {
      print(page.value.count)
    }
    _ = query
  }

  // PointQuery.swift: PointQuery.firstPage()
  func example19() async throws {
    let page = try await waymark.query(filter).firstPage()
    print(page.value.count, page.nextPage == nil ? "in all" : "and more")
    _ = page
  }

  // PointQuery.swift: PointSequence
  func example20() async throws {
    var places = waymark.places(in: box).all.makeAsyncIterator()
    let first = try await places.next()
    _ = places
    _ = first
  }

  // PointQuery.swift: PointSequence.Iterator
  func example21() async throws {
    var places = waymark.places(near: here).all.makeAsyncIterator()
    while let place = try await places.next() { print(place.name) }
    _ = places
  }

  // Waymark.swift: Waymark
  func example22() async throws {
    let waymark = Waymark(baseURL: baseURL, credentials: .apiKey(key))
    let cafes = try await waymark.places(near: here, radius: 1500, category: "cafe")
    _ = waymark
    _ = cafes
  }

  // Waymark.swift: Waymark.init(baseURL:credentials:session:cache:configuration:)
  func example23() async throws {
    let waymark = Waymark(baseURL: baseURL, session: session, cache: OnDiskCache(named: "Waymark"))
    _ = waymark
  }

  // Waymark.swift: Waymark.reading(after:)
  func example24() async throws {
    let created = try await waymark.responses.create(draft)
    let places = try await waymark.reading(after: created.position).places(near: draft.coordinate)
    _ = created
    _ = places
  }

  // Waymark.swift: Waymark.loader(_:)
  func example25() async throws {
    let loader = waymark.loader(CategoriesRequest(baseURL: waymark.baseURL))
    _ = loader
  }

  // Waymark.swift: Waymark.places(near:radius:category:limit:)
  func example26() async throws {
    let cafes = try await waymark.places(near: here, radius: 1500, category: "cafe", limit: 10)
    _ = cafes
  }

  // Waymark.swift: Waymark.places(near:radius:category:limit:)
  func example27() async throws {
    for try await page in waymark.places(near: here, limit: 100).pages {
      print(page.value.count, page.isStale)
    }
  }

  // Waymark.swift: Waymark.places(in:category:limit:)
  func example28() async throws {
    let museums = try await waymark.places(in: box, category: "museum")
    _ = museums
  }

  // Waymark.swift: Waymark.places(in:category:limit:)
  func example29() async throws {
    for try await place in waymark.places(in: box).all {
      print(place.name)
    }
  }

  // Waymark.swift: Waymark.query(_:limit:fields:)
  func example30() async throws {
    let query = waymark.query(PointFilter(box: box, categories: ["cafe", "bar"]), limit: 100)
    _ = query
  }

  // Waymark.swift: Waymark.place(_:)
  func example31() async throws {
    let place = try await waymark.place(id)
    _ = place
  }

  // Waymark.swift: Waymark.isPointOfInterest(at:radius:)
  func example32() async throws {
    if try await waymark.isPointOfInterest(at: here) { print("You have arrived.") }
  }

  // Waymark.swift: Waymark.place(at:radius:)
  func example33() async throws {
    let place = try await waymark.place(at: here, radius: 20)
    print(place?.name ?? "There is no place here.")
    _ = place
  }

  // Waymark.swift: Waymark.search(_:near:limit:languages:)
  func example34() async throws {
    let matches = try await waymark.search("winchster mystery", near: here)
    _ = matches
  }

  // Waymark.swift: Waymark.pages(of:limit:)
  func example35() async throws {
    let search = PointSearch("museum", filter: PointFilter(center: here), order: .distance)
    for try await page in waymark.pages(of: search, limit: 50) {
      print(page.value.map(\.place.name))
    }
    _ = search
  }

  // Waymark.swift: Waymark.suggestions(for:near:limit:languages:)
  func example36() async throws {
    for suggestion in try await waymark.suggestions(for: "winch", near: here) {
      print(suggestion.title)
    }
  }

  // Waymark.swift: Waymark.nearestPlace(to:radius:languages:)
  func example37() async throws {
    let address = try await waymark.nearestPlace(to: here, languages: ["en"])?.label
    _ = address
  }

  // Waymark.swift: Waymark.featuredPlace()
  func example38() async throws {
    let name = try await waymark.featuredPlace()?.name
    _ = name
  }

  // Waymark.swift: Waymark.categories()
  func example39() async throws {
    let categories = try await waymark.categories().map(\.category)
    _ = categories
  }

  // Waymark.swift: Waymark.create(_:idempotencyKey:)
  func example40() async throws {
    let place = try await waymark.create(PointDraft(name: "Café Zentral", coordinate: here))
    _ = place
  }

  // Waymark.swift: Waymark.update(_:)
  func example41() async throws {
    var place = try await waymark.place(id)
    place.tags["wheelchair"] = "yes"
    place = try await waymark.update(place)
    _ = place
  }

  // Waymark.swift: Waymark.update(_:with:)
  func example42() async throws {
    let opened = PointPatch(tags: ["opening_hours": .set("24/7"), "fixme": .remove])
    let place = try await waymark.update(place, with: opened)
    _ = opened
    _ = place
  }

  // Waymark.swift: Waymark.delete(_:)
  func example43() async throws {
    try await waymark.delete(place)
  }

  // Waymark.swift: Waymark.importPlaces(_:)
  func example44() async throws {
    let report = try await waymark.importPlaces([draft])
    print(report.created, report.errors.map(\.detail))
    _ = report
  }

  // Waymark.swift: Waymark.importPlaces(_:idempotencyKey:timeout:)
  func example45() async throws {
    let places = PointImport(data: file, format: .csv, mode: .atomic)
    let report = try await waymark.importPlaces(places, timeout: .seconds(3600))
    _ = places
    _ = report
  }

  // Waymark.swift: Waymark.exportPlaces(_:as:)
  func example46() async throws {
    let file = try await waymark.exportPlaces(PointFilter(box: box), as: .geoJSON)
    try file.write(to: fileURL)
    _ = file
  }

  // WaymarkResponses.swift: WaymarkResponses
  func example47() async throws {
    let response = try await waymark.responses.places(near: here)
    if response.isStale { print("These places are of \(response.receivedAt).") }
    _ = response
  }

  // WaymarkResponses.swift: WaymarkResponses.places(near:radius:category:limit:)
  func example48() async throws {
    let next = try await waymark.responses.places(near: here, limit: 100).nextPage
    _ = next
  }

  // WaymarkResponses.swift: WaymarkResponses.places(in:category:limit:)
  func example49() async throws {
    let invalidRows = try await waymark.responses.places(in: box).invalidRows
    _ = invalidRows
  }

  // WaymarkResponses.swift: WaymarkResponses.place(_:)
  func example50() async throws {
    let entityTag = try await waymark.responses.place(id).entityTag
    _ = entityTag
  }

  // WaymarkResponses.swift: WaymarkResponses.check(_:radius:)
  func example51() async throws {
    let check = try await waymark.responses.check(here)
    if check.value.isPointOfInterest, !check.isStale { print("You have arrived.") }
    _ = check
  }

  // WaymarkResponses.swift: WaymarkResponses.search(_:limit:)
  func example52() async throws {
    let requestID = try await waymark.responses.search(PointSearch("museum")).requestID
    _ = requestID
  }

  // WaymarkResponses.swift: WaymarkResponses.suggestions(for:limit:)
  func example53() async throws {
    let suggestions = try await waymark.responses.suggestions(for: PointSearch("mus"), limit: 5).value
    _ = suggestions
  }

  // WaymarkResponses.swift: WaymarkResponses.nearestPlace(to:radius:languages:)
  func example54() async throws {
    let age = try await waymark.responses.nearestPlace(to: here).age
    _ = age
  }

  // WaymarkResponses.swift: WaymarkResponses.featuredPlace()
  func example55() async throws {
    let response = try await waymark.responses.featuredPlace()
    let reloadTime = response.receivedAt.addingTimeInterval(response.maxAge ?? 10)
    _ = response
    _ = reloadTime
  }

  // WaymarkResponses.swift: WaymarkResponses.categories()
  func example56() async throws {
    let isStale = try await waymark.responses.categories().isStale
    _ = isStale
  }

  // WaymarkResponses.swift: WaymarkResponses.create(_:idempotencyKey:)
  func example57() async throws {
    let created = try await waymark.responses.create(draft)
    let places = try await waymark.reading(after: created.position).places(near: draft.coordinate, limit: 1)
    _ = created
    _ = places
  }

  // WaymarkResponses.swift: WaymarkResponses.update(_:)
  func example58() async throws {
    let position = try await waymark.responses.update(place).position
    _ = position
  }

  // WaymarkResponses.swift: WaymarkResponses.update(_:with:)
  func example59() async throws {
    let position = try await waymark.responses.update(place, with: PointPatch(name: "Museum")).position
    _ = position
  }

  // WaymarkResponses.swift: WaymarkResponses.delete(_:)
  func example60() async throws {
    let position = try await waymark.responses.delete(place).position
    _ = position
  }

  // WaymarkResponses.swift: WaymarkResponses.importPlaces(_:idempotencyKey:timeout:)
  func example61() async throws {
    let places = try PointImport(rows: [PointImport.Row(draft: draft)], isDryRun: true)
    let response = try await waymark.responses.importPlaces(places)
    print(response.value.rejected, response.requestID ?? "")
    _ = places
    _ = response
  }

  // FeaturedPlaceManager.swift: FeaturedPlaceManager
  func example62() async throws {
    let manager = FeaturedPlaceManager(waymark: waymark)
    await manager.showFeaturedPlace()
    print(manager.currentPlace?.name ?? "")
    manager.stop()
    _ = manager
  }

  // FeaturedPlaceManager.swift: FeaturedPlaceManager.init(loader:PointOfInterest>:timerScheduler:now:)
  func example63() async throws {
    let loader = MockLoader { (_: Void) in APIResponse(PointOfInterest(name: "A"), maxAge: 5) }
    let manager = FeaturedPlaceManager(loader: loader, timerScheduler: MockTimerScheduler())
    _ = loader
    _ = manager
  }

  // FeaturedPlaceManager.swift: TimerScheduler
  func example64() async throws {
    let scheduler: any TimerScheduler = RunLoop.main
    scheduler.add(Timer(timeInterval: 1, repeats: false) { _ in }, forMode: .common)
    _ = scheduler
  }

  // APIInterceptor.swift: APIInterceptor
  func example65() async throws {
    struct RequestIDs: APIInterceptor {
      func prepare(_ request: URLRequest) async throws -> URLRequest {
        var request = request
        request.setValue(UUID().uuidString, forHTTPHeaderField: "X-Request-Id")
        return request
      }
    }
  }

  // APIInterceptor.swift: APIInterceptor.didComplete(_:)
  func example66() async throws {
    struct RequestLog: APIInterceptor {
      func didComplete(_ exchange: APIExchange) async {
        print(exchange.request.url?.path() ?? "", exchange.attempt, exchange.status ?? 0)
      }
    }
    var waymark = Waymark(baseURL: baseURL)
    waymark.configuration.interceptors = [RequestLog()]
    _ = waymark
  }

  // APIInterceptor.swift: APIExchange
  func example67() async throws {
    struct FailureCount: APIInterceptor {
      let increment: @Sendable () -> Void

      func didComplete(_ exchange: APIExchange) async {
        if exchange.error != nil { increment() }
      }
    }
  }

  // APIPages.swift: APIPages
  func example68() async throws {
    for try await page in waymark.query(filter).pages {
      print(page.value.count)
    }
  }

  // APIPages.swift: APIPages.Iterator
  func example69() async throws {
    var pages = waymark.query(filter).pages.makeAsyncIterator()
    let first = try await pages.next()
    _ = pages
    _ = first
  }

  // APIPages.swift: APIRequestLoader.pages(requestData:from:)
  func example70() async throws {
    let loader = waymark.loader(PointsRequest(baseURL: baseURL, limit: 100))
    for try await page in loader.pages(requestData: PointFilter(box: box)) {
      print(page.value.count)
    }
    _ = loader
  }

  // APIRequestLoader.swift: APIRequestLoader
  func example71() async throws {
    let loader = APIRequestLoader(apiRequest: PointsOfInterestRequest(baseURL: baseURL), urlSession: session)
    let places = try await loader.loadAPIRequest(requestData: here)
    _ = loader
    _ = places
  }

  // APIRequestLoader.swift: APIRequestLoader.loadAPIRequest(requestData:completionHandler:)
  func example72() async throws {
    let loader = APIRequestLoader(apiRequest: PointsOfInterestRequest(baseURL: baseURL))
    let task = loader.loadAPIRequest(requestData: here) { places, error in
      print(places?.count ?? 0, error?.localizedDescription ?? "")
    }
    task.cancel()
    _ = loader
    _ = task
  }

  // APIRequestLoader.swift: APIRequestLoader.loadAPIRequest()
  func example73() async throws {
    let categories = try await waymark.loader(CategoriesRequest(baseURL: baseURL)).loadAPIRequest()
    _ = categories
  }

  // APIRequestLoader.swift: APILoading
  func example74() async throws {
    struct RecentPlaces {
      let loader: any APILoading<Coordinate, [PointOfInterest]>

      func names(around coordinate: Coordinate) async throws -> [String] {
        try await loader.load(requestData: coordinate).value.map(\.name)
      }
    }
    let production = RecentPlaces(loader: waymark.loader(PointsOfInterestRequest(baseURL: baseURL)))
    let test = RecentPlaces(loader: MockLoader { _ in APIResponse([PointOfInterest(name: "A")]) })
    _ = production
    _ = test
  }

  // APIResponse.swift: APIResponse
  func example75() async throws {
    let response = APIResponse(value: 3, receivedAt: Date(timeIntervalSince1970: 0), isStale: true)
    let text = response.map { "\($0) places" }
    _ = response
    _ = text
  }

  // APIRetryPolicy.swift: APIRetryPolicy
  func example76() async throws {
    var waymark = Waymark(baseURL: baseURL)
    waymark.configuration.retries = APIRetryPolicy(maximumAttempts: 2, maximumDelay: .seconds(1))
    _ = waymark
  }

  // APIRetryPolicy.swift: APIRetryPolicy.Failure
  func example77() async throws {
    let failure = APIRetryPolicy.Failure.status(503, retryAfter: .seconds(2))
    _ = failure
  }

  // APIRetryPolicy.swift: APIRetryPolicy.delay(afterAttempt:_:random:)
  func example78() async throws {
    let delay = APIRetryPolicy.standard.delay(afterAttempt: 1, .noResponse(.timedOut), random: 0.5)
    _ = delay
  }

  // Credentials.swift: Credentials
  func example79() async throws {
    let waymark = Waymark(baseURL: baseURL, credentials: .apiKey("wm_…"))
    _ = waymark
  }

  // Credentials.swift: Credentials
  func example80() async throws {
    let credentials = Credentials(user: account.id) { rejected in
      try await account.accessToken(replacing: rejected)
    }
    _ = credentials
  }

  // Credentials.swift: Credentials.init(user:provider:)
  func example81() async throws {
    let credentials = Credentials(user: account.id) { rejected in
      try await account.accessToken(replacing: rejected)
    }
    _ = credentials
  }

  // Credentials.swift: Credentials.apiKey(_:)
  func example82() async throws {
    let waymark = Waymark(baseURL: baseURL, credentials: .apiKey(key))
    _ = waymark
  }

  // Credentials.swift: Credentials.token(_:)
  func example83() async throws {
    let waymark = Waymark(baseURL: baseURL, credentials: .token(token))
    _ = waymark
  }

  // LoaderConfiguration.swift: LoaderConfiguration
  func example84() async throws {
    var configuration = LoaderConfiguration(credentials: .apiKey(key), retries: .none)
    configuration.totalTimeout = .seconds(5)
    let waymark = Waymark(baseURL: baseURL, configuration: configuration)
    _ = configuration
    _ = waymark
  }

  // ProblemDetails.swift: ProblemDetails
  func example85() async throws {
    do {
      _ = try await waymark.update(place)
    } catch WaymarkError.problem(let problem) where problem.code == .versionMismatch {
      print(problem.detail ?? "Another client was faster.")
    }
    let problem = ProblemDetails(status: 404, code: .notFound)
    _ = problem
  }

  // ProblemDetails.swift: ProblemDetails.Code
  func example86() async throws {
    let code = ProblemDetails.Code(rawValue: "quota-exceeded")
    _ = code
  }

  // ProblemDetails.swift: ProblemDetails.InputError
  func example87() async throws {
    let error = ProblemDetails.InputError(location: .parameter("limit"), detail: "must be an integer from 1 to 1000")
    let problem = ProblemDetails(status: 400, code: .invalidParameter, errors: [error])
    _ = error
    _ = problem
  }

  // ProblemDetails.swift: ProblemDetails.InputError.Location
  func example88() async throws {
    let location = ProblemDetails.InputError.Location.pointer("/lat")
    _ = location
  }

  // WaymarkError.swift: WaymarkError
  func example89() async throws {
    do {
      _ = try await waymark.place(id)
    } catch WaymarkError.problem(let problem) where problem.code == .notFound {
      print("The place was deleted.")
    } catch let error as WaymarkError {
      print(error.localizedDescription, error.requestID ?? "")
    }
  }

#if canImport(CoreLocation)
  // CLLocationManager+LocationFetcher.swift: CurrentLocationProvider.init(checker:PointCheck>:notificationCenter:)
  func example90() async throws {
    let checker = waymark.loader(PointCheckRequest(baseURL: baseURL))
    let provider = CurrentLocationProvider(checker: checker)
    _ = checker
    _ = provider
  }
#endif

#if canImport(CoreLocation)
  // CLLocationManager+LocationFetcher.swift: CurrentLocationProvider.init(waymark:)
  func example91() async throws {
    let provider = CurrentLocationProvider(waymark: waymark)
    _ = provider
  }
#endif

  // CurrentLocationProvider.swift: CurrentLocationProvider
  func example92() async throws {
    let fetcher = MockLocationFetcher()
    fetcher.handleRequestLocation = { try Coordinate(latitude: 37.3293, longitude: -121.8893) }
    let provider = CurrentLocationProvider(
      locationFetcher: fetcher, services: LocationsOn.self,
      checker: waymark.loader(PointCheckRequest(baseURL: baseURL)))
    let places = try await waymark.places(near: provider.currentLocation())
    _ = fetcher
    _ = provider
    _ = places
  }

  // CurrentLocationProvider.swift: CurrentLocationProvider.checkCurrentLocation()
  func example93() async throws {
    if try await provider.checkCurrentLocation().isPointOfInterest { print("You have arrived.") }
  }

  // CurrentLocationProvider.swift: CurrentLocationProvider.checkCurrentLocation(completion:)
  func example94() async throws {
    let task = provider.checkCurrentLocation { result in
      if case .success(let check) = result { print(check.location?.name ?? "") }
    }
    task.cancel()
    _ = task
  }

  // CurrentLocationProvider.swift: LocationError
  func example95() async throws {
    do {
      _ = try await provider.currentLocation()
    } catch LocationError.servicesDisabled {
      print("Turn location services on in the settings.")
    }
  }

  // LocationFetcher.swift: LocationFetcher
  func example96() async throws {
    final class FixedLocation: LocationFetcher {
      weak var locationFetcherDelegate: (any LocationFetcherDelegate)?
      var desiredAccuracy = 0.0

      func requestLocation() {
        guard let coordinate = try? Coordinate(latitude: 37.3293, longitude: -121.8893) else { return }
        locationFetcherDelegate?.locationFetcher(self, didUpdateLocations: [coordinate])
      }
    }
  }

  // LocationFetcher.swift: LocationFetcherDelegate
  func example97() async throws {
    final class LastLocation: LocationFetcherDelegate {
      var coordinate: Coordinate?

      func locationFetcher(_ fetcher: any LocationFetcher, didUpdateLocations locations: [Coordinate]) {
        coordinate = locations.last
      }
      func locationFetcher(_ fetcher: any LocationFetcher, didFailWithError error: any Error) { coordinate = nil }
      func locationFetcherDidChangeAuthorization(_ fetcher: any LocationFetcher) { fetcher.requestLocation() }
    }
  }

  // LocationFetcher.swift: LocationServices
  func example98() async throws {
    enum NoLocations: LocationServices {
      static func locationServicesEnabled() -> Bool { false }
    }
  }

  // AutocompleteModel.swift: AutocompleteModel
  func example99() async throws {
    let model = AutocompleteModel(waymark: waymark, near: { try? await provider.currentLocation() })
    model.text = "mus"
    await model.search()
    print(model.suggestions.map(\.title))
    _ = model
  }

  // AutocompleteModel.swift: AutocompleteModel.init(minimumLength:pause:clock:search:)
  func example100() async throws {
    let model = AutocompleteModel<String>(minimumLength: 1) { text in
      ["Museum", "Theatre"].filter { $0.hasPrefix(text) }
    }
    _ = model
  }

  // AutocompleteModel.swift: AutocompleteModel.init(waymark:limit:languages:clock:near:)
  func example101() async throws {
    let model = AutocompleteModel(waymark: waymark, limit: 5, languages: ["en"])
    _ = model
  }

  // PointListModel.swift: PointListModel
  func example102() async throws {
    let model = PointListModel(waymark: waymark, filter: PointFilter(categories: ["cafe"]))
    await model.reload()
    if model.hasMore { await model.loadMore() }
    print(model.places.count)
    _ = model
  }

  // PointListModel.swift: PointListModel.init(filter:locationProvider:notificationCenter:clock:refresh:load:)
  func example103() async throws {
    let model = PointListModel { filter in
      PointPage(response: APIResponse([PointOfInterest(name: "A", category: filter.categories.first)]))
    }
    _ = model
  }

  // PointListModel.swift: PointListModel.reload(after:)
  func example104() async throws {
    model.filter.box = box
    await model.reload(after: .milliseconds(200))
  }

  // PointListModel.swift: PointListModel.refresh()
  func example105() async throws {
    await model.refresh()
    if let error = model.error { print(error.localizedDescription) }
  }

  // PointListModel.swift: PointListModel.init(locationProvider:loader:[PointOfInterest]>:notificationCenter:)
  func example106() async throws {
    let loader = waymark.loader(PointsOfInterestRequest(baseURL: baseURL, radiusMetres: 500))
    let model = PointListModel(locationProvider: provider, loader: loader)
    _ = loader
    _ = model
  }

  // PointListModel.swift: PointListModel.init(waymark:filter:limit:locationProvider:)
  func example107() async throws {
    let model = PointListModel(waymark: waymark, limit: 50, locationProvider: provider)
    _ = model
  }

  // PointListModel.swift: PointPage
  func example108() async throws {
    let last = PointPage(response: APIResponse([PointOfInterest(name: "B")]))
    let first = PointPage(response: APIResponse([PointOfInterest(name: "A")]), next: { last })
    _ = last
    _ = first
  }

  // PointLink.swift: PointLink
  func example109() async throws {
    let link = try PointLink(scheme: "placesapp")
    print(link.url(id: place.id.uuidString, mode: .view)?.absoluteString ?? "")
    print(link.candidates(for: place, mode: .edit))
    _ = link
  }

  // PointLink.swift: OpenMode
  func example110() async throws {
    let modes = OpenMode.allCases.map(\.rawValue)
    _ = modes
  }

  // PointOpener.swift: PointOpener
  func example111() async throws {
    let opener = try PointOpener(scheme: "placesapp", urlOpener: MockURLOpener())
    try opener.open(place, mode: .view)
    _ = opener
  }

  // PointOpener.swift: URLOpening
  func example112() async throws {
    final class NoURLs: URLOpening {
      func canOpenURL(_ url: URL) -> Bool { false }
      func open(_ url: URL, completion: (@MainActor @Sendable (Bool) -> Void)?) { completion?(false) }
    }
  }

  // PointOpener.swift: PointOpenerError
  func example113() async throws {
    do {
      try PointOpener(scheme: "placesapp", urlOpener: MockURLOpener { _ in false }).open(place, mode: .view)
    } catch PointOpenerError.nothingOpens {
      print("Install the app to open this place.")
    }
  }

#if canImport(UIKit) && !os(watchOS)
  // UIApplication+URLOpening.swift: PointOpener.init(scheme:)
  func example114() async throws {
    try PointOpener(scheme: "placesapp").open(place, mode: .view)
  }
#endif

#if canImport(AppKit)
  // UIApplication+URLOpening.swift: PointOpener.init(scheme:)
  func example115() async throws {
    try PointOpener(scheme: "placesapp").open(place, mode: .view)
  }
#endif

#if canImport(MapKit)
  // BoundingBox+MapKit.swift: BoundingBox.init(_:)
  func example116() async throws {
    let region = MKCoordinateRegion(
      center: CLLocationCoordinate2D(here), span: MKCoordinateSpan(latitudeDelta: 0.1, longitudeDelta: 0.1))
    let places = try await waymark.places(in: BoundingBox(region))
    _ = region
    _ = places
  }
#endif

#if canImport(MapKit)
  // BoundingBox+MapKit.swift: MKCoordinateRegion.init(_:)
  func example117() async throws {
    let region = MKCoordinateRegion(box)
    _ = region
  }
#endif

  // BoundingBox.swift: BoundingBox
  func example118() async throws {
    let fiji = try BoundingBox(west: 177, south: -19, east: -178, north: -16)
    print(fiji.contains(here))
    _ = fiji
  }

  // BoundingBox.swift: BoundingBoxError
  func example119() async throws {
    do {
      _ = try BoundingBox(west: 0, south: 2, east: 1, north: 1)
    } catch BoundingBoxError.upsideDown(let south, let north) {
      print(south, north)
    }
  }

#if canImport(CoreLocation)
  // Coordinate+CoreLocation.swift: Coordinate.init(_:)
  func example120() async throws {
    let coordinate = try Coordinate(CLLocationCoordinate2D(latitude: 37.3293, longitude: -121.8893))
    _ = coordinate
  }
#endif

#if canImport(CoreLocation)
  // Coordinate+CoreLocation.swift: CLLocationCoordinate2D.init(_:)
  func example121() async throws {
    let coordinate = CLLocationCoordinate2D(here)
    _ = coordinate
  }
#endif

  // Coordinate+Distance.swift: Coordinate.distanceMetres(to:)
  func example122() async throws {
    let station = try Coordinate(latitude: 37.3299, longitude: -121.9025)
    let metres = here.distanceMetres(to: station)
    _ = station
    _ = metres
  }

  // Coordinate.swift: Coordinate
  func example123() async throws {
    let here = try Coordinate(latitude: 37.3293, longitude: -121.8893)
    _ = here
  }

  // Coordinate.swift: CoordinateError
  func example124() async throws {
    do {
      _ = try Coordinate(latitude: 91, longitude: 0)
    } catch CoordinateError.latitude(let degrees) {
      print(degrees)
    }
  }

  // PointDraft.swift: PointDraft
  func example125() async throws {
    let draft = PointDraft(name: "Café Zentral", coordinate: here, category: "cafe", tags: ["wheelchair": "yes"])
    _ = draft
  }

  // PointDraft.swift: PointDraft.init(_:)
  func example126() async throws {
    if var draft = PointDraft(place) {
      draft.name += " II"
      _ = try await waymark.create(draft)
    }
  }

  // PointDraft.swift: SourceReference
  func example127() async throws {
    let origin = SourceReference(source: "osm", id: "node/358829")
    let draft = PointDraft(name: "Café Zentral", coordinate: here, origin: origin)
    _ = origin
    _ = draft
  }

  // PointFields.swift: PointFields
  func example128() async throws {
    let query = waymark.query(filter, fields: .only([.id, .latitude, .longitude]))
    _ = query
  }

  // PointFields.swift: PointField
  func example129() async throws {
    let fields = PointFields.only(Set(PointField.allCases).subtracting([.tags]))
    _ = fields
  }

  // PointFilter.swift: PointFilter
  func example130() async throws {
    let filter = PointFilter(center: here, radiusMetres: 2000, categories: ["cafe", "bar"])
    _ = filter
  }

  // PointOfInterest.swift: PointOfInterest
  func example131() async throws {
    let place = try await waymark.place(id)
    print(place.name, place.website ?? "")
    _ = place
  }

  // PointOfInterest.swift: PointOfInterest.init(id:name:category:coordinate:distanceMetres:tags:source:sourceID:version:createdAt:updatedAt:)
  func example132() async throws {
    let place = PointOfInterest(name: "My Location", category: "cafe", coordinate: here)
    print(place.hasFallbackID)
    _ = place
  }

  // PointPatch.swift: PointPatch
  func example133() async throws {
    let patch = PointPatch(name: "Café Central", category: .remove, tags: ["wheelchair": .set("yes")])
    let place = try await waymark.update(place, with: patch)
    _ = patch
    _ = place
  }

  // PointPatch.swift: PointPatch.Change
  func example134() async throws {
    let category: PointPatch.Change<String> = .set("cafe")
    _ = category
  }

  // APIRequest.swift: APIRequest
  func example135() async throws {
    struct HealthRequest: APIRequest {
      let baseURL: URL

      func makeRequest(from data: Void) throws -> URLRequest { URLRequest(url: baseURL.appending(path: "health")) }
      func parseResponse(data: Data) throws -> String { String(decoding: data, as: UTF8.self) }
    }
    let health = try await waymark.loader(HealthRequest(baseURL: baseURL)).loadAPIRequest()
    _ = health
  }

  // APIRequest.swift: APIRequest.parse(data:)
  func example136() async throws {
    let parsed = try PointsRequest(baseURL: baseURL).parse(data: data)
    print(parsed.value.count, parsed.invalidRows.count)
    _ = parsed
  }

  // APIRequest.swift: APIRequest.center(of:)
  func example137() async throws {
    let center = PointsRequest(baseURL: baseURL).center(of: PointFilter(center: here))
    _ = center
  }

  // APIRequest.swift: APIRequest.value(_:movedTo:)
  func example138() async throws {
    let places = PointsOfInterestRequest(baseURL: baseURL).value([place], movedTo: here)
    _ = places
  }

  // APIRequest.swift: APIRequest.makeRequest()
  func example139() async throws {
    let urlRequest = try CategoriesRequest(baseURL: baseURL).makeRequest()
    _ = urlRequest
  }

  // CategoriesRequest.swift: CategoriesRequest
  func example140() async throws {
    let categories = try await waymark.loader(CategoriesRequest(baseURL: baseURL)).loadAPIRequest()
    _ = categories
  }

  // CategoriesRequest.swift: CategoryCount
  func example141() async throws {
    let cafes = CategoryCount(category: "cafe", count: 12)
    _ = cafes
  }

  // CreatePointRequest.swift: CreatePointRequest
  func example142() async throws {
    let request = CreatePointRequest(baseURL: baseURL, idempotencyKey: { "draft-17" })
    let place = try await waymark.loader(request).loadAPIRequest(requestData: draft)
    _ = request
    _ = place
  }

  // DeletePointRequest.swift: DeletePointRequest
  func example143() async throws {
    let loader = waymark.loader(DeletePointRequest(baseURL: baseURL))
    try await loader.loadAPIRequest(requestData: DeletePointRequest.RequestData(id: id, condition: .version(3)))
    _ = loader
  }

  // ExportPointsRequest.swift: ExportPointsRequest
  func example144() async throws {
    let loader = waymark.loader(ExportPointsRequest(baseURL: baseURL, format: .csv))
    let file = try await loader.loadAPIRequest(requestData: PointFilter(categories: ["museum"]))
    _ = loader
    _ = file
  }

  // ExportPointsRequest.swift: PointFormat
  func example145() async throws {
    let mediaTypes = PointFormat.allCases.map(\.mediaType)
    _ = mediaTypes
  }

  // ImportPointsRequest.swift: ImportPointsRequest
  func example146() async throws {
    let loader = waymark.loader(ImportPointsRequest(baseURL: baseURL, idempotencyKey: { "import-17" }))
    let report = try await loader.loadAPIRequest(requestData: PointImport(data: file, format: .csv))
    _ = loader
    _ = report
  }

  // ImportPointsRequest.swift: PointImport
  func example147() async throws {
    let ofFile = PointImport(data: file, format: .geoJSON, isDryRun: true)
    let ofRows = try PointImport(rows: [PointImport.Row(id: id, draft: draft)], mode: .atomic)
    _ = ofFile
    _ = ofRows
  }

  // ImportPointsRequest.swift: PointImport.Mode
  func example148() async throws {
    let mode = PointImport.Mode.atomic
    _ = mode
  }

  // ImportPointsRequest.swift: ImportReport
  func example149() async throws {
    let rejected = ImportReport.RejectedRow(row: 2, detail: "name is missing")
    let report = ImportReport(created: 1, rejected: 1, errors: [rejected])
    _ = rejected
    _ = report
  }

  // ParsedResponse.swift: ParsedResponse
  func example150() async throws {
    let parsed = ParsedResponse(value: ["A"], invalidRows: [InvalidRow(row: 2, detail: "name is missing")])
    _ = parsed
  }

  // ParsedResponse.swift: InvalidRow
  func example151() async throws {
    let invalidRow = InvalidRow(row: 2, detail: "name is missing")
    _ = invalidRow
  }

  // PatchPointRequest.swift: PatchPointRequest
  func example152() async throws {
    let data = PatchPointRequest.RequestData(id: id, patch: PointPatch(name: "Museum"), condition: .exists)
    let place = try await waymark.loader(PatchPointRequest(baseURL: baseURL)).loadAPIRequest(requestData: data)
    _ = data
    _ = place
  }

  // PointCheckRequest.swift: PointCheckRequest
  func example153() async throws {
    let loader = waymark.loader(PointCheckRequest(baseURL: baseURL, radiusMetres: 20))
    let check = try await loader.loadAPIRequest(requestData: here)
    _ = loader
    _ = check
  }

  // PointCheckRequest.swift: PointCheck
  func example154() async throws {
    let check = PointCheck(isPointOfInterest: true, location: place)
    _ = check
  }

  // PointRequest.swift: PointRequest
  func example155() async throws {
    let place = try await waymark.loader(PointRequest(baseURL: baseURL)).loadAPIRequest(requestData: id)
    _ = place
  }

  // PointRequest.swift: FeaturedPlaceRequest
  func example156() async throws {
    let place = try await waymark.loader(FeaturedPlaceRequest(baseURL: baseURL)).loadAPIRequest()
    _ = place
  }

  // PointSearchRequest.swift: PointSearch
  func example157() async throws {
    let search = PointSearch("museum", filter: PointFilter(center: here, radiusMetres: 5000), languages: ["ko", "en"])
    let pages = waymark.pages(of: search)
    _ = search
    _ = pages
  }

  // PointSearchRequest.swift: PointSearch.Order
  func example158() async throws {
    let search = PointSearch("museum", filter: PointFilter(center: here), order: .distance)
    _ = search
  }

  // PointSearchRequest.swift: PointMatch
  func example159() async throws {
    let match = PointMatch(place: place, score: 1.5)
    _ = match
  }

  // PointSearchRequest.swift: PointMatch.Name
  func example160() async throws {
    let name = PointMatch.Name(key: "name:en", text: "Winchester Mystery House", ranges: [0..<10])
    print(name.highlights.map { name.text[$0] })
    _ = name
  }

  // PointSearchRequest.swift: PointSearchRequest
  func example161() async throws {
    let request = try PointSearchRequest(baseURL: baseURL, limit: 5).makeRequest(from: PointSearch("museum"))
    _ = request
  }

  // PointsOfInterestRequest.swift: PointsOfInterestRequest
  func example162() async throws {
    let request = PointsOfInterestRequest(baseURL: baseURL, radiusMetres: 500, categories: ["cafe"])
    let urlRequest = try request.makeRequest(from: here)
    let places = try request.parseResponse(data: data)
    _ = request
    _ = urlRequest
    _ = places
  }

  // PointsOfInterestRequest.swift: PointsOfInterestRequest.makeRequest(latitude:longitude:)
  func example163() async throws {
    let urlRequest = try PointsOfInterestRequest(baseURL: baseURL).makeRequest(latitude: 37.3293, longitude: -121.8893)
    _ = urlRequest
  }

  // PointsRequest.swift: PointsRequest
  func example164() async throws {
    let loader = waymark.loader(PointsRequest(baseURL: baseURL, limit: 100, fields: .all))
    let places = try await loader.loadAPIRequest(requestData: PointFilter(box: box))
    _ = loader
    _ = places
  }

  // ReplacePointRequest.swift: ReplacePointRequest
  func example165() async throws {
    let data = ReplacePointRequest.RequestData(id: id, draft: draft, condition: .absent)
    let place = try await waymark.loader(ReplacePointRequest(baseURL: baseURL)).loadAPIRequest(requestData: data)
    _ = data
    _ = place
  }

  // RequestError.swift: RequestError
  func example166() async throws {
    do {
      _ = try await waymark.places(near: here, limit: 5000)
    } catch RequestError.invalidLimit {
      print(RequestError.invalidLimit.localizedDescription)
    }
  }

  // ReversePointRequest.swift: LabeledPoint
  func example167() async throws {
    let point = LabeledPoint(place: place, label: "Café Zentral, Herrengasse 14, 1010 Wien")
    _ = point
  }

  // ReversePointRequest.swift: ReversePointRequest
  func example168() async throws {
    let loader = waymark.loader(ReversePointRequest(baseURL: baseURL, languages: ["en"]))
    let label = try await loader.loadAPIRequest(requestData: here).label
    _ = loader
    _ = label
  }

  // SuggestionsRequest.swift: SearchSuggestion
  func example169() async throws {
    for suggestion in try await waymark.suggestions(for: "mus") {
      switch suggestion {
      case .category(let category): print(category.category, category.count)
      case .place(let place): print(place.name)
      }
    }
  }

  // SuggestionsRequest.swift: SuggestionsRequest
  func example170() async throws {
    let loader = waymark.loader(SuggestionsRequest(baseURL: baseURL, limit: 5))
    let titles = try await loader.loadAPIRequest(requestData: PointSearch("mus")).map(\.title)
    _ = loader
    _ = titles
  }

  // WriteCondition.swift: WriteCondition
  func example171() async throws {
    let data = ReplacePointRequest.RequestData(id: id, draft: draft, condition: .version(3))
    _ = data
  }

  // WriteCondition.swift: EntityTag
  func example172() async throws {
    let tag = EntityTag(version: 3)
    print(tag == EntityTag(rawValue: "\"3\""))
    _ = tag
  }

#if canImport(Testing)
  // Clocks.swift: RecordingClock
  func example173() async throws {
    let clock = RecordingClock()
    let service = try MockService(.problem(429, code: "rate-limited", fields: ["Retry-After": "4"]), .ok("[]"))
    let loader = APIRequestLoader(
      apiRequest: CategoriesRequest(baseURL: service.baseURL), urlSession: service.session,
      configuration: LoaderConfiguration(clock: clock, random: { 0 }))
    _ = try await loader.loadAPIRequest()
    #expect(clock.sleeps == [.seconds(4)])
    _ = clock
    _ = service
    _ = loader
  }
#endif

  // Clocks.swift: RecordingClock.Instant
  func example174() async throws {
    let instant = RecordingClock.Instant(offset: .seconds(4))
    _ = instant
  }

  // Clocks.swift: StoppedClock
  func example175() async throws {
    let clock = StoppedClock()
    let model = AutocompleteModel<String>(clock: clock) { _ in [] }
    model.text = "mus"
    let search = Task { await model.search() }
    await clock.isWaitedFor.pass()
    search.cancel()
    _ = clock
    _ = model
    _ = search
  }

  // Gate.swift: Gate
  func example176() async throws {
    let (isLoading, mayEnd) = (Gate(), Gate())
    let loader = MockLoader { (_: Coordinate) in
      isLoading.open()
      await mayEnd.pass()
      return APIResponse([PointOfInterest(name: "A")])
    }
    _ = isLoading
    _ = mayEnd
    _ = loader
  }

  // MockService.swift: MockService
  func example177() async throws {
    let service = try MockService(.problem(503, code: "store-unavailable"), .ok(#"[{"name":"A"}]"#))
    let loader = APIRequestLoader(
      apiRequest: PointsOfInterestRequest(baseURL: service.baseURL), urlSession: service.session)
    _ = service
    _ = loader
  }

  // MockService.swift: MockService.init(stopHandler:requestHandler:)
  func example178() async throws {
    let service = try MockService { request, index in
      try MockResponse.ok("[]", ["X-Request-Id": "\(index)"]).response(to: request)
    }
    let waymark = Waymark(baseURL: service.baseURL, session: service.session)
    _ = service
    _ = waymark
  }

  // MockService.swift: MockService.init(_:_:)
  func example179() async throws {
    let service = try MockService(.failure(.timedOut), .ok("[]"))
    _ = service
  }

  // MockService.swift: MockResponse
  func example180() async throws {
    let responses = [MockResponse.ok("[]"), .problem(404, code: "not-found"), .failure(.timedOut), .pending]
    let service = try MockService(.json([place]))
    let created = MockResponse.response(status: 201, fields: ["ETag": "\"1\""], body: #"{"name":"A"}"#)
    _ = responses
    _ = service
    _ = created
  }

  // MockService.swift: MockResponse.response(to:)
  func example181() async throws {
    let service = try MockService { request, _ in try MockResponse.ok("[]").response(to: request) }
    _ = service
  }

  // MockURLProtocol.swift: MockURLProtocol
  func example182() async throws {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.protocolClasses = [MockURLProtocol.self]
    _ = configuration
  }

  // Mocks.swift: MockLoader
  func example183() async throws {
    let loader = MockLoader { (_: Coordinate) in APIResponse([PointOfInterest(name: "A")]) }
    _ = loader
  }

  // Mocks.swift: APIResponse.init(_:maxAge:isStale:)
  func example184() async throws {
    let response = APIResponse([PointOfInterest(name: "A")], maxAge: 5, isStale: true)
    _ = response
  }

  // Mocks.swift: MockLocationFetcher
  func example185() async throws {
    let fetcher = MockLocationFetcher()
    fetcher.handleRequestLocation = { try Coordinate(latitude: 37.3293, longitude: -121.8893) }
    _ = fetcher
  }

  // Mocks.swift: LocationsOn
  func example186() async throws {
    let services: any LocationServices.Type = LocationsOn.self
    _ = services
  }

  // Mocks.swift: LocationsOff
  func example187() async throws {
    let services: any LocationServices.Type = LocationsOff.self
    _ = services
  }

#if canImport(Testing)
  // Mocks.swift: MockURLOpener
  func example188() async throws {
    let urlOpener = MockURLOpener { $0.scheme == "https" }
    try PointOpener(scheme: "placesapp", urlOpener: urlOpener).open(place, mode: .view)
    #expect(urlOpener.openedURLs.count == 1)
    _ = urlOpener
  }
#endif

  // Mocks.swift: MockTimerScheduler
  func example189() async throws {
    let timerScheduler = MockTimerScheduler()
    let loader = MockLoader { (_: Void) in APIResponse(PointOfInterest(name: "A")) }
    let manager = FeaturedPlaceManager(loader: loader, timerScheduler: timerScheduler)
    await manager.showFeaturedPlace()
    timerScheduler.timers.last?.fire()
    _ = timerScheduler
    _ = loader
    _ = manager
  }
}
