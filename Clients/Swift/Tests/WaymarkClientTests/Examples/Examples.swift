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

  // SearchArea.swift: SearchArea
  func example1() async throws {
    let triangle = try SearchArea([
      Coordinate(latitude: 48.19, longitude: 16.35), Coordinate(latitude: 48.19, longitude: 16.39),
      Coordinate(latitude: 48.22, longitude: 16.37),
    ])
    let places = try await waymark.places(in: triangle)
    _ = triangle
    _ = places
  }

  // SearchArea.swift: SearchArea.Polygon
  func example2() async throws {
    let corners = [(37.2, -122.5), (37.2, -121.5), (37.9, -122.0)]
    let ring = try corners.map { try Coordinate(latitude: $0.0, longitude: $0.1) }
    let polygon = try SearchArea.Polygon(ring, holes: [])
    let area = try SearchArea(polygons: [polygon])
    _ = corners
    _ = ring
    _ = polygon
    _ = area
  }

  // SearchArea.swift: SearchArea.init(polygons:)
  func example3() async throws {
    let everything = try SearchArea(polygons: area.polygons + [SearchArea.Polygon(route.line)])
    _ = everything
  }

  // SearchArea.swift: SearchArea.init(wkt:)
  func example4() async throws {
    let area = try SearchArea(wkt: "POLYGON((16.35 48.19, 16.39 48.19, 16.37 48.22, 16.35 48.19))")
    _ = area
  }

  // SearchArea.swift: SearchArea.init(geoJSON:)
  func example5() async throws {
    let area = try SearchArea(geoJSON: String(decoding: file, as: UTF8.self))
    _ = area
  }

  // SearchArea.swift: GeometryError
  func example6() async throws {
    do {
      _ = try SearchArea(wkt: "POLYGON((0 0, 1 1))")
    } catch GeometryError.malformedText(let reason) {
      print(reason)
    }
  }

  // SearchRoute.swift: SearchRoute
  func example7() async throws {
    let vienna = try Coordinate(latitude: 48.21, longitude: 16.37)
    let linz = try Coordinate(latitude: 48.31, longitude: 14.29)
    let route = try SearchRoute([vienna, linz], radiusMetres: 500)
    for place in try await waymark.places(along: route, category: "charging_station") {
      print(place.name, place.alongMetres ?? 0)
    }
    _ = vienna
    _ = linz
    _ = route
  }

  // SearchRoute.swift: SearchRoute.init(polyline:precision:radiusMetres:)
  func example8() async throws {
    let route = try SearchRoute(polyline: "_p~iF~ps|U_ulLnnqC_mqNvxq`@", radiusMetres: 500)
    let precise = try SearchRoute(polyline: "_izlhA~rlgdF_{geC~ywl@", precision: 6, radiusMetres: 500)
    _ = route
    _ = precise
  }

  // CleanupPolicy.swift: CleanupPolicy
  func example9() async throws {
    struct CountCleanupPolicy: CleanupPolicy {
      func itemsToRemove(from items: Set<OnDiskCache.Item>) -> Set<OnDiskCache.Item> {
        Set(items.sorted { $0.age < $1.age }.dropFirst(100))
      }
    }
  }

  // CleanupPolicy.swift: MaxAgeCleanupPolicy
  func example10() async throws {
    let cache = OnDiskCache(folder: folder, policies: [MaxAgeCleanupPolicy(maxAge: 24 * 60 * 60)])
    _ = cache
  }

  // CleanupPolicy.swift: MaxSizeCleanupPolicy
  func example11() async throws {
    let cache = OnDiskCache(folder: folder, policies: [MaxSizeCleanupPolicy(maxSize: 1_000_000)])
    _ = cache
  }

  // OfflinePolicy.swift: OfflinePolicy
  func example12() async throws {
    var waymark = Waymark(baseURL: baseURL, cache: OnDiskCache(named: "Waymark"))
    waymark.configuration.offlinePolicy = .staleIfError
    _ = waymark
  }

  // OfflinePolicy.swift: OfflinePolicy.Strategy
  func example13() async throws {
    let policy = OfflinePolicy(.cacheFirst(maximumAge: .seconds(3600)), maximumDistanceMetres: 200)
    _ = policy
  }

  // OfflinePolicy.swift: OfflinePolicy.init(_:maximumAge:maximumDistanceMetres:deadline:)
  func example14() async throws {
    let policy = OfflinePolicy(.networkFirst, maximumAge: .seconds(24 * 60 * 60), deadline: .seconds(2))
    _ = policy
  }

  // OfflinePolicy.swift: OfflinePolicy.cacheFirst(maximumAge:)
  func example15() async throws {
    var waymark = Waymark(baseURL: baseURL, cache: OnDiskCache(named: "Waymark"))
    waymark.configuration.offlinePolicy = .cacheFirst(maximumAge: .seconds(3600))
    _ = waymark
  }

  // OnDiskCache.swift: OnDiskCache
  func example16() async throws {
    let waymark = Waymark(baseURL: baseURL, cache: OnDiskCache(named: "Waymark"))
    _ = waymark
  }

  // OnDiskCache.swift: OnDiskCache.Item
  func example17() async throws {
    let size = OnDiskCache(folder: folder).currentItems.reduce(0) { $0 + $1.size }
    let item = OnDiskCache.Item(path: "/item1", age: 5, size: 7)
    let itemsToRemove = MaxSizeCleanupPolicy(maxSize: 5).itemsToRemove(from: [item])
    _ = size
    _ = item
    _ = itemsToRemove
  }

  // OnDiskCache.swift: OnDiskCache.init(folder:policies:maximumEntrySize:cleanupInterval:now:)
  func example18() async throws {
    let cache = OnDiskCache(folder: folder, policies: [MaxSizeCleanupPolicy(maxSize: 100_000_000)])
    _ = cache
  }

  // OnDiskCache.swift: OnDiskCache.init(named:)
  func example19() async throws {
    let waymark = Waymark(baseURL: baseURL, cache: OnDiskCache(named: "Waymark"))
    _ = waymark
  }

  // OnDiskCache.swift: OnDiskCache.cleanCache(policy:)
  func example20() async throws {
    try OnDiskCache(folder: folder).cleanCache(policy: MaxAgeCleanupPolicy(maxAge: 60 * 60))
  }

  // OnDiskCache.swift: OnDiskCache.removeAll()
  func example21() async throws {
    try OnDiskCache(folder: folder).removeAll()
  }

  // OnDiskCache.swift: OnDiskCacheError
  func example22() async throws {
    do {
      try OnDiskCache(folder: folder).store(storedResponse, for: "key")
    } catch OnDiskCacheError.entryTooLarge(let size, let maximumSize) {
      print("\(size) bytes exceed \(maximumSize).")
    }
  }

  // ResponseCache.swift: ResponseCache
  func example23() async throws {
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
  func example24() async throws {
    let response = StoredResponse(body: Data("[]".utf8), receivedAt: Date(timeIntervalSince1970: 0))
    try OnDiskCache(folder: folder).store(response, for: "key")
    _ = response
  }

  // PointQuery.swift: PointQuery
  func example25() async throws {
    for try await place in waymark.places(near: here, category: "cafe").all {
      print(place.name)
    }
  }

  // PointQuery.swift: PointQuery.pages(from:)
  func example26() async throws {
    let query = waymark.query(filter, limit: 100)
    for try await page in query.pages(from: link) {
      print(page.value.count)
    }
    _ = query
  }

  // PointQuery.swift: PointQuery.firstPage()
  func example27() async throws {
    let page = try await waymark.query(filter).firstPage()
    print(page.value.count, page.nextPage == nil ? "in all" : "and more")
    _ = page
  }

  // PointQuery.swift: PointSequence
  func example28() async throws {
    var places = waymark.places(in: box).all.makeAsyncIterator()
    let first = try await places.next()
    _ = places
    _ = first
  }

  // PointQuery.swift: PointSequence.Iterator
  func example29() async throws {
    var places = waymark.places(near: here).all.makeAsyncIterator()
    while let place = try await places.next() { print(place.name) }
    _ = places
  }

  // Waymark+Maps.swift: Waymark.places(in:category:limit:)
  func example30() async throws {
    let area = try SearchArea(geoJSON: String(decoding: file, as: UTF8.self))
    let museums = try await waymark.places(in: area, category: "museum")
    _ = area
    _ = museums
  }

  // Waymark+Maps.swift: Waymark.places(in:category:limit:)
  func example31() async throws {
    for try await place in waymark.places(in: area).all {
      print(place.name)
    }
  }

  // Waymark+Maps.swift: Waymark.places(along:category:limit:)
  func example32() async throws {
    let route = try SearchRoute(polyline: "_p~iF~ps|U_ulLnnqC_mqNvxq`@", radiusMetres: 500)
    for place in try await waymark.places(along: route, category: "fuel", limit: 3) {
      print(place.name, place.alongMetres ?? 0, place.distanceMetres ?? 0)
    }
    _ = route
  }

  // Waymark+Maps.swift: Waymark.places(along:category:limit:)
  func example33() async throws {
    for try await place in waymark.places(along: route).all {
      print(place.name, place.alongMetres ?? 0)
    }
  }

  // Waymark+Maps.swift: Waymark.clusters(zoom:matching:filter:)
  func example34() async throws {
    for cluster in try await waymark.clusters(zoom: 5, filter: PointFilter(box: box)) {
      print(cluster.coordinate, cluster.count)
    }
  }

  // Waymark+Maps.swift: Waymark.facets(by:matching:filter:limit:)
  func example35() async throws {
    let facets = try await waymark.facets(by: [.category, .tag("cuisine")], filter: PointFilter(box: box))
    print(facets.count, facets[.category]?.values.first?.value ?? "")
    _ = facets
  }

  // Waymark+Maps.swift: Waymark.tiles(of:matching:tags:)
  func example36() async throws {
    let tiles = try waymark.tiles(of: PointFilter(categories: ["museum"]), tags: ["website"])
    _ = tiles
  }

  // Waymark+Maps.swift: WaymarkResponses.places(in:category:limit:)
  func example37() async throws {
    let next = try await waymark.responses.places(in: area, limit: 100).nextPage
    _ = next
  }

  // Waymark+Maps.swift: WaymarkResponses.places(along:category:limit:)
  func example38() async throws {
    let requestID = try await waymark.responses.places(along: route).requestID
    _ = requestID
  }

  // Waymark+Maps.swift: WaymarkResponses.clusters(zoom:matching:filter:)
  func example39() async throws {
    let isStale = try await waymark.responses.clusters(zoom: 5, filter: PointFilter(box: box)).isStale
    _ = isStale
  }

  // Waymark+Maps.swift: WaymarkResponses.facets(by:matching:filter:limit:)
  func example40() async throws {
    let age = try await waymark.responses.facets(by: [.category]).age
    _ = age
  }

  // Waymark.swift: Waymark
  func example41() async throws {
    let waymark = Waymark(baseURL: baseURL, credentials: .apiKey(key))
    let cafes = try await waymark.places(near: here, radius: 1500, category: "cafe")
    _ = waymark
    _ = cafes
  }

  // Waymark.swift: Waymark.init(baseURL:credentials:session:cache:configuration:)
  func example42() async throws {
    let waymark = Waymark(baseURL: baseURL, session: session, cache: OnDiskCache(named: "Waymark"))
    _ = waymark
  }

  // Waymark.swift: Waymark.reading(after:)
  func example43() async throws {
    let created = try await waymark.responses.create(draft)
    let places = try await waymark.reading(after: created.position).places(near: draft.coordinate)
    _ = created
    _ = places
  }

  // Waymark.swift: Waymark.loader(_:)
  func example44() async throws {
    let loader = waymark.loader(CategoriesRequest(baseURL: waymark.baseURL))
    _ = loader
  }

  // Waymark.swift: Waymark.places(near:radius:category:limit:)
  func example45() async throws {
    let cafes = try await waymark.places(near: here, radius: 1500, category: "cafe", limit: 10)
    _ = cafes
  }

  // Waymark.swift: Waymark.places(near:radius:category:limit:)
  func example46() async throws {
    for try await page in waymark.places(near: here, limit: 100).pages {
      print(page.value.count, page.isStale)
    }
  }

  // Waymark.swift: Waymark.places(in:category:limit:)
  func example47() async throws {
    let museums = try await waymark.places(in: box, category: "museum")
    _ = museums
  }

  // Waymark.swift: Waymark.places(in:category:limit:)
  func example48() async throws {
    for try await place in waymark.places(in: box).all {
      print(place.name)
    }
  }

  // Waymark.swift: Waymark.query(_:limit:fields:)
  func example49() async throws {
    let query = waymark.query(PointFilter(box: box, categories: ["cafe", "bar"]), limit: 100)
    _ = query
  }

  // Waymark.swift: Waymark.place(_:)
  func example50() async throws {
    let place = try await waymark.place(id)
    _ = place
  }

  // Waymark.swift: Waymark.isPointOfInterest(at:radius:)
  func example51() async throws {
    if try await waymark.isPointOfInterest(at: here) { print("You have arrived.") }
  }

  // Waymark.swift: Waymark.place(at:radius:)
  func example52() async throws {
    let place = try await waymark.place(at: here, radius: 20)
    print(place?.name ?? "There is no place here.")
    _ = place
  }

  // Waymark.swift: Waymark.search(_:near:limit:languages:)
  func example53() async throws {
    let matches = try await waymark.search("winchster mystery", near: here)
    _ = matches
  }

  // Waymark.swift: Waymark.pages(of:limit:)
  func example54() async throws {
    let search = PointSearch("museum", filter: PointFilter(center: here), order: .distance)
    for try await page in waymark.pages(of: search, limit: 50) {
      print(page.value.map(\.place.name))
    }
    _ = search
  }

  // Waymark.swift: Waymark.suggestions(for:near:limit:languages:)
  func example55() async throws {
    for suggestion in try await waymark.suggestions(for: "winch", near: here) {
      print(suggestion.title)
    }
  }

  // Waymark.swift: Waymark.nearestPlace(to:radius:languages:)
  func example56() async throws {
    let address = try await waymark.nearestPlace(to: here, languages: ["en"])?.label
    _ = address
  }

  // Waymark.swift: Waymark.featuredPlace()
  func example57() async throws {
    let name = try await waymark.featuredPlace()?.name
    _ = name
  }

  // Waymark.swift: Waymark.categories(in:)
  func example58() async throws {
    let categories = try await waymark.categories().map(\.category)
    _ = categories
  }

  // Waymark.swift: Waymark.create(_:idempotencyKey:)
  func example59() async throws {
    let place = try await waymark.create(PointDraft(name: "Café Zentral", coordinate: here))
    _ = place
  }

  // Waymark.swift: Waymark.update(_:)
  func example60() async throws {
    var place = try await waymark.place(id)
    place.tags["wheelchair"] = "yes"
    place = try await waymark.update(place)
    _ = place
  }

  // Waymark.swift: Waymark.update(_:with:)
  func example61() async throws {
    let opened = PointPatch(tags: ["opening_hours": .set("24/7"), "fixme": .remove])
    let place = try await waymark.update(place, with: opened)
    _ = opened
    _ = place
  }

  // Waymark.swift: Waymark.delete(_:)
  func example62() async throws {
    try await waymark.delete(place)
  }

  // Waymark.swift: Waymark.importPlaces(_:)
  func example63() async throws {
    let report = try await waymark.importPlaces([draft])
    print(report.created, report.errors.map(\.detail))
    _ = report
  }

  // Waymark.swift: Waymark.importPlaces(_:idempotencyKey:timeout:)
  func example64() async throws {
    let places = PointImport(data: file, format: .csv, mode: .atomic)
    let report = try await waymark.importPlaces(places, timeout: .seconds(3600))
    _ = places
    _ = report
  }

  // Waymark.swift: Waymark.exportPlaces(_:as:)
  func example65() async throws {
    let file = try await waymark.exportPlaces(PointFilter(box: box), as: .geoJSON)
    try file.write(to: fileURL)
    _ = file
  }

  // WaymarkResponses.swift: WaymarkResponses
  func example66() async throws {
    let response = try await waymark.responses.places(near: here)
    if response.isStale { print("These places are of \(response.receivedAt).") }
    _ = response
  }

  // WaymarkResponses.swift: WaymarkResponses.places(near:radius:category:limit:)
  func example67() async throws {
    let next = try await waymark.responses.places(near: here, limit: 100).nextPage
    _ = next
  }

  // WaymarkResponses.swift: WaymarkResponses.places(in:category:limit:)
  func example68() async throws {
    let invalidRows = try await waymark.responses.places(in: box).invalidRows
    _ = invalidRows
  }

  // WaymarkResponses.swift: WaymarkResponses.place(_:)
  func example69() async throws {
    let entityTag = try await waymark.responses.place(id).entityTag
    _ = entityTag
  }

  // WaymarkResponses.swift: WaymarkResponses.check(_:radius:)
  func example70() async throws {
    let check = try await waymark.responses.check(here)
    if check.value.isPointOfInterest, !check.isStale { print("You have arrived.") }
    _ = check
  }

  // WaymarkResponses.swift: WaymarkResponses.search(_:limit:)
  func example71() async throws {
    let requestID = try await waymark.responses.search(PointSearch("museum")).requestID
    _ = requestID
  }

  // WaymarkResponses.swift: WaymarkResponses.suggestions(for:limit:)
  func example72() async throws {
    let suggestions = try await waymark.responses.suggestions(for: PointSearch("mus"), limit: 5).value
    _ = suggestions
  }

  // WaymarkResponses.swift: WaymarkResponses.nearestPlace(to:radius:languages:)
  func example73() async throws {
    let age = try await waymark.responses.nearestPlace(to: here).age
    _ = age
  }

  // WaymarkResponses.swift: WaymarkResponses.featuredPlace()
  func example74() async throws {
    let response = try await waymark.responses.featuredPlace()
    let reloadTime = response.receivedAt.addingTimeInterval(response.maxAge ?? 10)
    _ = response
    _ = reloadTime
  }

  // WaymarkResponses.swift: WaymarkResponses.categories(in:)
  func example75() async throws {
    let isStale = try await waymark.responses.categories().isStale
    _ = isStale
  }

  // WaymarkResponses.swift: WaymarkResponses.create(_:idempotencyKey:)
  func example76() async throws {
    let created = try await waymark.responses.create(draft)
    let places = try await waymark.reading(after: created.position).places(near: draft.coordinate, limit: 1)
    _ = created
    _ = places
  }

  // WaymarkResponses.swift: WaymarkResponses.update(_:)
  func example77() async throws {
    let position = try await waymark.responses.update(place).position
    _ = position
  }

  // WaymarkResponses.swift: WaymarkResponses.update(_:with:)
  func example78() async throws {
    let position = try await waymark.responses.update(place, with: PointPatch(name: "Museum")).position
    _ = position
  }

  // WaymarkResponses.swift: WaymarkResponses.delete(_:)
  func example79() async throws {
    let position = try await waymark.responses.delete(place).position
    _ = position
  }

  // WaymarkResponses.swift: WaymarkResponses.importPlaces(_:idempotencyKey:timeout:)
  func example80() async throws {
    let places = try PointImport(rows: [PointImport.Row(draft: draft)], isDryRun: true)
    let response = try await waymark.responses.importPlaces(places)
    print(response.value.rejected, response.requestID ?? "")
    _ = places
    _ = response
  }

  // FeaturedPlaceManager.swift: FeaturedPlaceManager
  func example81() async throws {
    let manager = FeaturedPlaceManager(waymark: waymark)
    await manager.showFeaturedPlace()
    print(manager.currentPlace?.name ?? "")
    manager.stop()
    _ = manager
  }

  // FeaturedPlaceManager.swift: FeaturedPlaceManager.init(loader:PointOfInterest>:timerScheduler:now:)
  func example82() async throws {
    let loader = MockLoader { (_: Void) in APIResponse(PointOfInterest(name: "A"), maxAge: 5) }
    let manager = FeaturedPlaceManager(loader: loader, timerScheduler: MockTimerScheduler())
    _ = loader
    _ = manager
  }

  // FeaturedPlaceManager.swift: TimerScheduler
  func example83() async throws {
    let scheduler: any TimerScheduler = RunLoop.main
    scheduler.add(Timer(timeInterval: 1, repeats: false) { _ in }, forMode: .common)
    _ = scheduler
  }

  // APIInterceptor.swift: APIInterceptor
  func example84() async throws {
    struct RequestIDs: APIInterceptor {
      func prepare(_ request: URLRequest) async throws -> URLRequest {
        var request = request
        request.setValue(UUID().uuidString, forHTTPHeaderField: "X-Request-Id")
        return request
      }
    }
  }

  // APIInterceptor.swift: APIInterceptor.didComplete(_:)
  func example85() async throws {
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
  func example86() async throws {
    struct FailureCount: APIInterceptor {
      let increment: @Sendable () -> Void

      func didComplete(_ exchange: APIExchange) async {
        if exchange.error != nil { increment() }
      }
    }
  }

  // APIPages.swift: APIPages
  func example87() async throws {
    for try await page in waymark.query(filter).pages {
      print(page.value.count)
    }
  }

  // APIPages.swift: APIPages.Iterator
  func example88() async throws {
    var pages = waymark.query(filter).pages.makeAsyncIterator()
    let first = try await pages.next()
    _ = pages
    _ = first
  }

  // APIPages.swift: APIRequestLoader.pages(requestData:from:)
  func example89() async throws {
    let loader = waymark.loader(PointsRequest(baseURL: baseURL, limit: 100))
    for try await page in loader.pages(requestData: PointFilter(box: box)) {
      print(page.value.count)
    }
    _ = loader
  }

  // APIRequestLoader.swift: APIRequestLoader
  func example90() async throws {
    let loader = APIRequestLoader(apiRequest: PointsOfInterestRequest(baseURL: baseURL), urlSession: session)
    let places = try await loader.loadAPIRequest(requestData: here)
    _ = loader
    _ = places
  }

  // APIRequestLoader.swift: APIRequestLoader.loadAPIRequest(requestData:completionHandler:)
  func example91() async throws {
    let loader = APIRequestLoader(apiRequest: PointsOfInterestRequest(baseURL: baseURL))
    let task = loader.loadAPIRequest(requestData: here) { places, error in
      print(places?.count ?? 0, error?.localizedDescription ?? "")
    }
    task.cancel()
    _ = loader
    _ = task
  }

  // APIRequestLoader.swift: APIRequestLoader.loadAPIRequest()
  func example92() async throws {
    let categories = try await waymark.loader(CategoriesRequest(baseURL: baseURL)).loadAPIRequest()
    _ = categories
  }

  // APIRequestLoader.swift: APILoading
  func example93() async throws {
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
  func example94() async throws {
    let response = APIResponse(value: 3, receivedAt: Date(timeIntervalSince1970: 0), isStale: true)
    let text = response.map { "\($0) places" }
    _ = response
    _ = text
  }

  // APIRetryPolicy.swift: APIRetryPolicy
  func example95() async throws {
    var waymark = Waymark(baseURL: baseURL)
    waymark.configuration.retries = APIRetryPolicy(maximumAttempts: 2, maximumDelay: .seconds(1))
    _ = waymark
  }

  // APIRetryPolicy.swift: APIRetryPolicy.Failure
  func example96() async throws {
    let failure = APIRetryPolicy.Failure.status(503, retryAfter: .seconds(2))
    _ = failure
  }

  // APIRetryPolicy.swift: APIRetryPolicy.delay(afterAttempt:_:random:)
  func example97() async throws {
    let delay = APIRetryPolicy.standard.delay(afterAttempt: 1, .noResponse(.timedOut), random: 0.5)
    _ = delay
  }

  // Credentials.swift: Credentials
  func example98() async throws {
    let waymark = Waymark(baseURL: baseURL, credentials: .apiKey("wm_…"))
    _ = waymark
  }

  // Credentials.swift: Credentials
  func example99() async throws {
    let credentials = Credentials(user: account.id) { rejected in
      try await account.accessToken(replacing: rejected)
    }
    _ = credentials
  }

  // Credentials.swift: Credentials.init(user:provider:)
  func example100() async throws {
    let credentials = Credentials(user: account.id) { rejected in
      try await account.accessToken(replacing: rejected)
    }
    _ = credentials
  }

  // Credentials.swift: Credentials.apiKey(_:)
  func example101() async throws {
    let waymark = Waymark(baseURL: baseURL, credentials: .apiKey(key))
    _ = waymark
  }

  // Credentials.swift: Credentials.token(_:)
  func example102() async throws {
    let waymark = Waymark(baseURL: baseURL, credentials: .token(token))
    _ = waymark
  }

  // LoaderConfiguration.swift: LoaderConfiguration
  func example103() async throws {
    var configuration = LoaderConfiguration(credentials: .apiKey(key), retries: .none)
    configuration.totalTimeout = .seconds(5)
    let waymark = Waymark(baseURL: baseURL, configuration: configuration)
    _ = configuration
    _ = waymark
  }

  // ProblemDetails.swift: ProblemDetails
  func example104() async throws {
    do {
      _ = try await waymark.update(place)
    } catch WaymarkError.problem(let problem) where problem.code == .versionMismatch {
      print(problem.detail ?? "Another client was faster.")
    }
    let problem = ProblemDetails(status: 404, code: .notFound)
    _ = problem
  }

  // ProblemDetails.swift: ProblemDetails.Code
  func example105() async throws {
    let code = ProblemDetails.Code(rawValue: "quota-exceeded")
    _ = code
  }

  // ProblemDetails.swift: ProblemDetails.InputError
  func example106() async throws {
    let error = ProblemDetails.InputError(location: .parameter("limit"), detail: "must be an integer from 1 to 1000")
    let problem = ProblemDetails(status: 400, code: .invalidParameter, errors: [error])
    _ = error
    _ = problem
  }

  // ProblemDetails.swift: ProblemDetails.InputError.Location
  func example107() async throws {
    let location = ProblemDetails.InputError.Location.pointer("/lat")
    _ = location
  }

  // WaymarkError.swift: WaymarkError
  func example108() async throws {
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
  func example109() async throws {
    let checker = waymark.loader(PointCheckRequest(baseURL: baseURL))
    let provider = CurrentLocationProvider(checker: checker)
    _ = checker
    _ = provider
  }
#endif

#if canImport(CoreLocation)
  // CLLocationManager+LocationFetcher.swift: CurrentLocationProvider.init(waymark:)
  func example110() async throws {
    let provider = CurrentLocationProvider(waymark: waymark)
    _ = provider
  }
#endif

  // CurrentLocationProvider.swift: CurrentLocationProvider
  func example111() async throws {
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
  func example112() async throws {
    if try await provider.checkCurrentLocation().isPointOfInterest { print("You have arrived.") }
  }

  // CurrentLocationProvider.swift: CurrentLocationProvider.checkCurrentLocation(completion:)
  func example113() async throws {
    let task = provider.checkCurrentLocation { result in
      if case .success(let check) = result { print(check.location?.name ?? "") }
    }
    task.cancel()
    _ = task
  }

  // CurrentLocationProvider.swift: LocationError
  func example114() async throws {
    do {
      _ = try await provider.currentLocation()
    } catch LocationError.servicesDisabled {
      print("Turn location services on in the settings.")
    }
  }

  // LocationFetcher.swift: LocationFetcher
  func example115() async throws {
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
  func example116() async throws {
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
  func example117() async throws {
    enum NoLocations: LocationServices {
      static func locationServicesEnabled() -> Bool { false }
    }
  }

  // AutocompleteModel.swift: AutocompleteModel
  func example118() async throws {
    let model = AutocompleteModel(waymark: waymark, near: { try? await provider.currentLocation() })
    model.text = "mus"
    await model.search()
    print(model.suggestions.map(\.title))
    _ = model
  }

  // AutocompleteModel.swift: AutocompleteModel.init(minimumLength:pause:clock:search:)
  func example119() async throws {
    let model = AutocompleteModel<String>(minimumLength: 1) { text in
      ["Museum", "Theatre"].filter { $0.hasPrefix(text) }
    }
    _ = model
  }

  // AutocompleteModel.swift: AutocompleteModel.init(waymark:limit:languages:clock:near:)
  func example120() async throws {
    let model = AutocompleteModel(waymark: waymark, limit: 5, languages: ["en"])
    _ = model
  }

  // PointListModel.swift: PointListModel
  func example121() async throws {
    let model = PointListModel(waymark: waymark, filter: PointFilter(categories: ["cafe"]))
    await model.reload()
    if model.hasMore { await model.loadMore() }
    print(model.places.count)
    _ = model
  }

  // PointListModel.swift: PointListModel.init(filter:locationProvider:notificationCenter:clock:refresh:load:)
  func example122() async throws {
    let model = PointListModel { filter in
      PointPage(response: APIResponse([PointOfInterest(name: "A", category: filter.categories.first)]))
    }
    _ = model
  }

  // PointListModel.swift: PointListModel.reload(after:)
  func example123() async throws {
    model.filter.box = box
    await model.reload(after: .milliseconds(200))
  }

  // PointListModel.swift: PointListModel.refresh()
  func example124() async throws {
    await model.refresh()
    if let error = model.error { print(error.localizedDescription) }
  }

  // PointListModel.swift: PointListModel.init(locationProvider:loader:[PointOfInterest]>:notificationCenter:)
  func example125() async throws {
    let loader = waymark.loader(PointsOfInterestRequest(baseURL: baseURL, radiusMetres: 500))
    let model = PointListModel(locationProvider: provider, loader: loader)
    _ = loader
    _ = model
  }

  // PointListModel.swift: PointListModel.init(waymark:filter:limit:locationProvider:)
  func example126() async throws {
    let model = PointListModel(waymark: waymark, limit: 50, locationProvider: provider)
    _ = model
  }

  // PointListModel.swift: PointPage
  func example127() async throws {
    let last = PointPage(response: APIResponse([PointOfInterest(name: "B")]))
    let first = PointPage(response: APIResponse([PointOfInterest(name: "A")]), next: { last })
    _ = last
    _ = first
  }

  // PointLink.swift: PointLink
  func example128() async throws {
    let link = try PointLink(scheme: "placesapp")
    print(link.url(id: place.id.uuidString, mode: .view)?.absoluteString ?? "")
    print(link.candidates(for: place, mode: .edit))
    _ = link
  }

  // PointLink.swift: OpenMode
  func example129() async throws {
    let modes = OpenMode.allCases.map(\.rawValue)
    _ = modes
  }

  // PointOpener.swift: PointOpener
  func example130() async throws {
    let opener = try PointOpener(scheme: "placesapp", urlOpener: MockURLOpener())
    try opener.open(place, mode: .view)
    _ = opener
  }

  // PointOpener.swift: URLOpening
  func example131() async throws {
    final class NoURLs: URLOpening {
      func canOpenURL(_ url: URL) -> Bool { false }
      func open(_ url: URL, completion: (@MainActor @Sendable (Bool) -> Void)?) { completion?(false) }
    }
  }

  // PointOpener.swift: PointOpenerError
  func example132() async throws {
    do {
      try PointOpener(scheme: "placesapp", urlOpener: MockURLOpener { _ in false }).open(place, mode: .view)
    } catch PointOpenerError.nothingOpens {
      print("Install the app to open this place.")
    }
  }

#if canImport(UIKit) && !os(watchOS)
  // UIApplication+URLOpening.swift: PointOpener.init(scheme:)
  func example133() async throws {
    try PointOpener(scheme: "placesapp").open(place, mode: .view)
  }
#endif

#if canImport(AppKit)
  // UIApplication+URLOpening.swift: PointOpener.init(scheme:)
  func example134() async throws {
    try PointOpener(scheme: "placesapp").open(place, mode: .view)
  }
#endif

#if canImport(MapKit)
  // BoundingBox+MapKit.swift: BoundingBox.init(_:)
  func example135() async throws {
    let region = MKCoordinateRegion(
      center: CLLocationCoordinate2D(here), span: MKCoordinateSpan(latitudeDelta: 0.1, longitudeDelta: 0.1))
    let places = try await waymark.places(in: BoundingBox(region))
    _ = region
    _ = places
  }
#endif

#if canImport(MapKit)
  // BoundingBox+MapKit.swift: MKCoordinateRegion.init(_:)
  func example136() async throws {
    let region = MKCoordinateRegion(box)
    _ = region
  }
#endif

  // BoundingBox.swift: BoundingBox
  func example137() async throws {
    let fiji = try BoundingBox(west: 177, south: -19, east: -178, north: -16)
    print(fiji.contains(here))
    _ = fiji
  }

  // BoundingBox.swift: BoundingBoxError
  func example138() async throws {
    do {
      _ = try BoundingBox(west: 0, south: 2, east: 1, north: 1)
    } catch BoundingBoxError.upsideDown(let south, let north) {
      print(south, north)
    }
  }

#if canImport(CoreLocation)
  // Coordinate+CoreLocation.swift: Coordinate.init(_:)
  func example139() async throws {
    let coordinate = try Coordinate(CLLocationCoordinate2D(latitude: 37.3293, longitude: -121.8893))
    _ = coordinate
  }
#endif

#if canImport(CoreLocation)
  // Coordinate+CoreLocation.swift: CLLocationCoordinate2D.init(_:)
  func example140() async throws {
    let coordinate = CLLocationCoordinate2D(here)
    _ = coordinate
  }
#endif

  // Coordinate+Distance.swift: Coordinate.distanceMetres(to:)
  func example141() async throws {
    let station = try Coordinate(latitude: 37.3299, longitude: -121.9025)
    let metres = here.distanceMetres(to: station)
    _ = station
    _ = metres
  }

  // Coordinate.swift: Coordinate
  func example142() async throws {
    let here = try Coordinate(latitude: 37.3293, longitude: -121.8893)
    _ = here
  }

  // Coordinate.swift: CoordinateError
  func example143() async throws {
    do {
      _ = try Coordinate(latitude: 91, longitude: 0)
    } catch CoordinateError.latitude(let degrees) {
      print(degrees)
    }
  }

  // PointCondition.swift: PointCondition
  func example144() async throws {
    let name = "O'Brien"
    let isPub: PointCondition = "category IN \(["pub", "bar"]) AND CASEI(name) = CASEI(\(name))"
    let filter = PointFilter(box: box, condition: "\(isPub) AND \(tag: "wheelchair") IS NOT NULL")
    _ = name
    _ = isPub
    _ = filter
  }

  // PointCondition.swift: PointCondition.init(cql2:)
  func example145() async throws {
    let condition = PointCondition(cql2: "website IS NOT NULL")
    _ = condition
  }

  // PointCondition.swift: PointCondition.StringInterpolation
  func example146() async throws {
    let since = Date(timeIntervalSince1970: 0)
    let condition: PointCondition = "updatedAt > \(since) AND \(tag: "seats") > \(12) AND \(tag: "indoor") = \(true)"
    let both: PointCondition = "\(condition) AND lat > \(47.5) AND name <> \("A") AND category IN \(["cafe"])"
    _ = since
    _ = condition
    _ = both
  }

  // PointCondition.swift: PointCondition.StringInterpolation.appendInterpolation(_:)
  func example147() async throws {
    let isZentral: PointCondition = "name = \("Café 'Zentral'")"
    _ = isZentral
  }

  // PointCondition.swift: PointCondition.StringInterpolation.appendInterpolation(_:)
  func example148() async throws {
    let isOpen: PointCondition = "category IN \(["cafe", "bar"])"
    _ = isOpen
  }

  // PointCondition.swift: PointCondition.StringInterpolation.appendInterpolation(_:)
  func example149() async throws {
    let isLarge: PointCondition = "\(tag: "seats") >= \(50)"
    _ = isLarge
  }

  // PointCondition.swift: PointCondition.StringInterpolation.appendInterpolation(_:)
  func example150() async throws {
    let isNorth: PointCondition = "lat > \(66.56)"
    _ = isNorth
  }

  // PointCondition.swift: PointCondition.StringInterpolation.appendInterpolation(_:)
  func example151() async throws {
    let isIndoor: PointCondition = "\(tag: "indoor") = \(true)"
    _ = isIndoor
  }

  // PointCondition.swift: PointCondition.StringInterpolation.appendInterpolation(_:)
  func example152() async throws {
    let isNew: PointCondition = "createdAt > \(Date(timeIntervalSinceNow: -86400))"
    _ = isNew
  }

  // PointCondition.swift: PointCondition.StringInterpolation.appendInterpolation(tag:)
  func example153() async throws {
    let hasHours: PointCondition = "\(tag: "opening_hours") IS NOT NULL"
    _ = hasHours
  }

  // PointCondition.swift: PointCondition.StringInterpolation.appendInterpolation(_:)
  func example154() async throws {
    let isCafe: PointCondition = "category = 'cafe'"
    let isOther: PointCondition = "NOT \(isCafe)"
    _ = isCafe
    _ = isOther
  }

  // PointDraft.swift: PointDraft
  func example155() async throws {
    let draft = PointDraft(name: "Café Zentral", coordinate: here, category: "cafe", tags: ["wheelchair": "yes"])
    _ = draft
  }

  // PointDraft.swift: PointDraft.init(_:)
  func example156() async throws {
    if var draft = PointDraft(place) {
      draft.name += " II"
      _ = try await waymark.create(draft)
    }
  }

  // PointDraft.swift: SourceReference
  func example157() async throws {
    let origin = SourceReference(source: "osm", id: "node/358829")
    let draft = PointDraft(name: "Café Zentral", coordinate: here, origin: origin)
    _ = origin
    _ = draft
  }

  // PointFields.swift: PointFields
  func example158() async throws {
    let query = waymark.query(filter, fields: .only([.id, .latitude, .longitude]))
    _ = query
  }

  // PointFields.swift: PointField
  func example159() async throws {
    let fields = PointFields.only(Set(PointField.allCases).subtracting([.tags]))
    _ = fields
  }

  // PointFilter.swift: PointFilter
  func example160() async throws {
    let filter = PointFilter(center: here, radiusMetres: 2000, categories: ["cafe", "bar"])
    let stations = PointFilter(categories: ["station"], source: "osm")
    let accessible = PointFilter(area: area, tags: ["wheelchair": ["yes", "limited"]], condition: "website IS NOT NULL")
    _ = filter
    _ = stations
    _ = accessible
  }

  // PointOfInterest.swift: PointOfInterest
  func example161() async throws {
    let place = try await waymark.place(id)
    print(place.name, place.website ?? "")
    _ = place
  }

  // PointOfInterest.swift: PointOfInterest.init(id:name:category:coordinate:distanceMetres:alongMetres:tags:source:sourceID:version:createdAt:updatedAt:)
  func example162() async throws {
    let place = PointOfInterest(name: "My Location", category: "cafe", coordinate: here)
    print(place.hasFallbackID)
    _ = place
  }

  // PointPatch.swift: PointPatch
  func example163() async throws {
    let patch = PointPatch(name: "Café Central", category: .remove, tags: ["wheelchair": .set("yes")])
    let place = try await waymark.update(place, with: patch)
    _ = patch
    _ = place
  }

  // PointPatch.swift: PointPatch.Change
  func example164() async throws {
    let category: PointPatch.Change<String> = .set("cafe")
    _ = category
  }

  // APIRequest.swift: APIRequest
  func example165() async throws {
    struct HealthRequest: APIRequest {
      let baseURL: URL

      func makeRequest(from data: Void) throws -> URLRequest { URLRequest(url: baseURL.appending(path: "health")) }
      func parseResponse(data: Data) throws -> String { String(decoding: data, as: UTF8.self) }
    }
    let health = try await waymark.loader(HealthRequest(baseURL: baseURL)).loadAPIRequest()
    _ = health
  }

  // APIRequest.swift: APIRequest.parse(data:)
  func example166() async throws {
    let parsed = try PointsRequest(baseURL: baseURL).parse(data: data)
    print(parsed.value.count, parsed.invalidRows.count)
    _ = parsed
  }

  // APIRequest.swift: APIRequest.center(of:)
  func example167() async throws {
    let center = PointsRequest(baseURL: baseURL).center(of: PointFilter(center: here))
    _ = center
  }

  // APIRequest.swift: APIRequest.value(_:movedTo:)
  func example168() async throws {
    let places = PointsOfInterestRequest(baseURL: baseURL).value([place], movedTo: here)
    _ = places
  }

  // APIRequest.swift: APIRequest.makeRequest()
  func example169() async throws {
    let urlRequest = try CategoriesRequest(baseURL: baseURL).makeRequest()
    _ = urlRequest
  }

  // CategoriesRequest.swift: CategoriesRequest
  func example170() async throws {
    let categories = try await waymark.loader(CategoriesRequest(baseURL: baseURL)).loadAPIRequest()
    _ = categories
  }

  // CategoriesRequest.swift: CategoryCount
  func example171() async throws {
    let cafes = CategoryCount(category: "cafe", count: 12)
    _ = cafes
  }

  // ClustersRequest.swift: ClustersRequest
  func example172() async throws {
    let loader = waymark.loader(ClustersRequest(baseURL: baseURL, zoom: 5))
    let clusters = try await loader.loadAPIRequest(requestData: PointFilter(box: box, categories: ["museum"]))
    _ = loader
    _ = clusters
  }

  // ClustersRequest.swift: PointCluster
  func example173() async throws {
    let cluster = PointCluster(id: "6/33/17", coordinate: here, count: 3, name: "Museum", category: "museum")
    print(cluster.placeID == nil ? "\(cluster.count) places" : cluster.name)
    _ = cluster
  }

  // CreatePointRequest.swift: CreatePointRequest
  func example174() async throws {
    let request = CreatePointRequest(baseURL: baseURL, idempotencyKey: { "draft-17" })
    let place = try await waymark.loader(request).loadAPIRequest(requestData: draft)
    _ = request
    _ = place
  }

  // DeletePointRequest.swift: DeletePointRequest
  func example175() async throws {
    let loader = waymark.loader(DeletePointRequest(baseURL: baseURL))
    try await loader.loadAPIRequest(requestData: DeletePointRequest.RequestData(id: id, condition: .version(3)))
    _ = loader
  }

  // ExportPointsRequest.swift: ExportPointsRequest
  func example176() async throws {
    let loader = waymark.loader(ExportPointsRequest(baseURL: baseURL, format: .csv))
    let file = try await loader.loadAPIRequest(requestData: PointFilter(categories: ["museum"]))
    _ = loader
    _ = file
  }

  // ExportPointsRequest.swift: PointFormat
  func example177() async throws {
    let mediaTypes = PointFormat.allCases.map(\.mediaType)
    _ = mediaTypes
  }

  // FacetsRequest.swift: FacetsRequest
  func example178() async throws {
    let request = FacetsRequest(baseURL: baseURL, by: [.category, .tag("cuisine")], limit: 10)
    let facets = try await waymark.loader(request).loadAPIRequest(requestData: PointFilter(box: box))
    _ = request
    _ = facets
  }

  // FacetsRequest.swift: PointProperty
  func example179() async throws {
    let properties: [PointProperty] = [.category, .tag("wheelchair")]
    _ = properties
  }

  // FacetsRequest.swift: PointFacets
  func example180() async throws {
    let facets = try await waymark.facets(by: [.category])
    for value in facets[.category]?.values ?? [] { print(value.value, value.count) }
    _ = facets
  }

  // FacetsRequest.swift: PointFacets.init(count:facets:)
  func example181() async throws {
    let none = PointFacets(count: 0, facets: [PointFacet(property: .category, values: [], missingCount: 0)])
    _ = none
  }

  // FacetsRequest.swift: PointFacet
  func example182() async throws {
    let cafes = PointFacet.Value("cafe", count: 12)
    let facet = PointFacet(property: .category, values: [cafes], missingCount: 3)
    _ = cafes
    _ = facet
  }

  // ImportPointsRequest.swift: ImportPointsRequest
  func example183() async throws {
    let loader = waymark.loader(ImportPointsRequest(baseURL: baseURL, idempotencyKey: { "import-17" }))
    let report = try await loader.loadAPIRequest(requestData: PointImport(data: file, format: .csv))
    _ = loader
    _ = report
  }

  // ImportPointsRequest.swift: PointImport
  func example184() async throws {
    let ofFile = PointImport(data: file, format: .geoJSON, isDryRun: true)
    let ofRows = try PointImport(rows: [PointImport.Row(id: id, draft: draft)], mode: .atomic)
    _ = ofFile
    _ = ofRows
  }

  // ImportPointsRequest.swift: PointImport.Mode
  func example185() async throws {
    let mode = PointImport.Mode.atomic
    _ = mode
  }

  // ImportPointsRequest.swift: ImportReport
  func example186() async throws {
    let rejected = ImportReport.RejectedRow(row: 2, detail: "name is missing")
    let report = ImportReport(created: 1, rejected: 1, errors: [rejected])
    _ = rejected
    _ = report
  }

  // ParsedResponse.swift: ParsedResponse
  func example187() async throws {
    let parsed = ParsedResponse(value: ["A"], invalidRows: [InvalidRow(row: 2, detail: "name is missing")])
    _ = parsed
  }

  // ParsedResponse.swift: InvalidRow
  func example188() async throws {
    let invalidRow = InvalidRow(row: 2, detail: "name is missing")
    _ = invalidRow
  }

  // PatchPointRequest.swift: PatchPointRequest
  func example189() async throws {
    let data = PatchPointRequest.RequestData(id: id, patch: PointPatch(name: "Museum"), condition: .exists)
    let place = try await waymark.loader(PatchPointRequest(baseURL: baseURL)).loadAPIRequest(requestData: data)
    _ = data
    _ = place
  }

  // PointCheckRequest.swift: PointCheckRequest
  func example190() async throws {
    let loader = waymark.loader(PointCheckRequest(baseURL: baseURL, radiusMetres: 20))
    let check = try await loader.loadAPIRequest(requestData: here)
    _ = loader
    _ = check
  }

  // PointCheckRequest.swift: PointCheck
  func example191() async throws {
    let check = PointCheck(isPointOfInterest: true, location: place)
    _ = check
  }

  // PointRequest.swift: PointRequest
  func example192() async throws {
    let place = try await waymark.loader(PointRequest(baseURL: baseURL)).loadAPIRequest(requestData: id)
    _ = place
  }

  // PointRequest.swift: FeaturedPlaceRequest
  func example193() async throws {
    let place = try await waymark.loader(FeaturedPlaceRequest(baseURL: baseURL)).loadAPIRequest()
    _ = place
  }

  // PointSearchRequest.swift: PointSearch
  func example194() async throws {
    let search = PointSearch("museum", filter: PointFilter(center: here, radiusMetres: 5000), languages: ["ko", "en"])
    let pages = waymark.pages(of: search)
    _ = search
    _ = pages
  }

  // PointSearchRequest.swift: PointSearch.Order
  func example195() async throws {
    let search = PointSearch("museum", filter: PointFilter(center: here), order: .distance)
    _ = search
  }

  // PointSearchRequest.swift: PointMatch
  func example196() async throws {
    let match = PointMatch(place: place, score: 1.5)
    _ = match
  }

  // PointSearchRequest.swift: PointMatch.Name
  func example197() async throws {
    let name = PointMatch.Name(key: "name:en", text: "Winchester Mystery House", ranges: [0..<10])
    print(name.highlights.map { name.text[$0] })
    _ = name
  }

  // PointSearchRequest.swift: PointSearchRequest
  func example198() async throws {
    let request = try PointSearchRequest(baseURL: baseURL, limit: 5).makeRequest(from: PointSearch("museum"))
    _ = request
  }

  // PointsOfInterestRequest.swift: PointsOfInterestRequest
  func example199() async throws {
    let request = PointsOfInterestRequest(baseURL: baseURL, radiusMetres: 500, categories: ["cafe"])
    let urlRequest = try request.makeRequest(from: here)
    let places = try request.parseResponse(data: data)
    _ = request
    _ = urlRequest
    _ = places
  }

  // PointsOfInterestRequest.swift: PointsOfInterestRequest.makeRequest(latitude:longitude:)
  func example200() async throws {
    let urlRequest = try PointsOfInterestRequest(baseURL: baseURL).makeRequest(latitude: 37.3293, longitude: -121.8893)
    _ = urlRequest
  }

  // PointsRequest.swift: PointsRequest
  func example201() async throws {
    let loader = waymark.loader(PointsRequest(baseURL: baseURL, limit: 100, fields: .all))
    let places = try await loader.loadAPIRequest(requestData: PointFilter(box: box))
    _ = loader
    _ = places
  }

  // ReplacePointRequest.swift: ReplacePointRequest
  func example202() async throws {
    let data = ReplacePointRequest.RequestData(id: id, draft: draft, condition: .absent)
    let place = try await waymark.loader(ReplacePointRequest(baseURL: baseURL)).loadAPIRequest(requestData: data)
    _ = data
    _ = place
  }

  // RequestError.swift: RequestError
  func example203() async throws {
    do {
      _ = try await waymark.places(near: here, limit: 5000)
    } catch RequestError.invalidLimit {
      print(RequestError.invalidLimit.localizedDescription)
    }
  }

  // ReversePointRequest.swift: LabeledPoint
  func example204() async throws {
    let point = LabeledPoint(place: place, label: "Café Zentral, Herrengasse 14, 1010 Wien")
    _ = point
  }

  // ReversePointRequest.swift: ReversePointRequest
  func example205() async throws {
    let loader = waymark.loader(ReversePointRequest(baseURL: baseURL, languages: ["en"]))
    let label = try await loader.loadAPIRequest(requestData: here).label
    _ = loader
    _ = label
  }

  // SuggestionsRequest.swift: SearchSuggestion
  func example206() async throws {
    for suggestion in try await waymark.suggestions(for: "mus") {
      switch suggestion {
      case .category(let category): print(category.category, category.count)
      case .place(let place): print(place.name)
      }
    }
  }

  // SuggestionsRequest.swift: SuggestionsRequest
  func example207() async throws {
    let loader = waymark.loader(SuggestionsRequest(baseURL: baseURL, limit: 5))
    let titles = try await loader.loadAPIRequest(requestData: PointSearch("mus")).map(\.title)
    _ = loader
    _ = titles
  }

  // VectorTiles.swift: VectorTiles
  func example208() async throws {
    let tiles = try waymark.tiles(of: PointFilter(categories: ["museum"]), tags: ["website"])
    print(tiles.template, tiles.descriptionURL)
    _ = tiles
  }

  // VectorTiles.swift: VectorTiles.init(baseURL:matching:filter:tags:)
  func example209() async throws {
    let tiles = try VectorTiles(baseURL: baseURL, filter: PointFilter(tags: ["wheelchair": ["yes"]]))
    _ = tiles
  }

  // WriteCondition.swift: WriteCondition
  func example210() async throws {
    let data = ReplacePointRequest.RequestData(id: id, draft: draft, condition: .version(3))
    _ = data
  }

  // WriteCondition.swift: EntityTag
  func example211() async throws {
    let tag = EntityTag(version: 3)
    print(tag == EntityTag(rawValue: "\"3\""))
    _ = tag
  }

#if canImport(Testing)
  // Clocks.swift: RecordingClock
  func example212() async throws {
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
  func example213() async throws {
    let instant = RecordingClock.Instant(offset: .seconds(4))
    _ = instant
  }

  // Clocks.swift: StoppedClock
  func example214() async throws {
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
  func example215() async throws {
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
  func example216() async throws {
    let service = try MockService(.problem(503, code: "store-unavailable"), .ok(#"[{"name":"A"}]"#))
    let loader = APIRequestLoader(
      apiRequest: PointsOfInterestRequest(baseURL: service.baseURL), urlSession: service.session)
    _ = service
    _ = loader
  }

  // MockService.swift: MockService.init(stopHandler:requestHandler:)
  func example217() async throws {
    let service = try MockService { request, index in
      try MockResponse.ok("[]", ["X-Request-Id": "\(index)"]).response(to: request)
    }
    let waymark = Waymark(baseURL: service.baseURL, session: service.session)
    _ = service
    _ = waymark
  }

  // MockService.swift: MockService.init(_:_:)
  func example218() async throws {
    let service = try MockService(.failure(.timedOut), .ok("[]"))
    _ = service
  }

  // MockService.swift: MockResponse
  func example219() async throws {
    let responses = [MockResponse.ok("[]"), .problem(404, code: "not-found"), .failure(.timedOut), .pending]
    let service = try MockService(.json([place]))
    let created = MockResponse.response(status: 201, fields: ["ETag": "\"1\""], body: #"{"name":"A"}"#)
    _ = responses
    _ = service
    _ = created
  }

  // MockService.swift: MockResponse.response(to:)
  func example220() async throws {
    let service = try MockService { request, _ in try MockResponse.ok("[]").response(to: request) }
    _ = service
  }

  // MockURLProtocol.swift: MockURLProtocol
  func example221() async throws {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.protocolClasses = [MockURLProtocol.self]
    _ = configuration
  }

  // Mocks.swift: MockLoader
  func example222() async throws {
    let loader = MockLoader { (_: Coordinate) in APIResponse([PointOfInterest(name: "A")]) }
    _ = loader
  }

  // Mocks.swift: APIResponse.init(_:maxAge:isStale:)
  func example223() async throws {
    let response = APIResponse([PointOfInterest(name: "A")], maxAge: 5, isStale: true)
    _ = response
  }

  // Mocks.swift: MockLocationFetcher
  func example224() async throws {
    let fetcher = MockLocationFetcher()
    fetcher.handleRequestLocation = { try Coordinate(latitude: 37.3293, longitude: -121.8893) }
    _ = fetcher
  }

  // Mocks.swift: LocationsOn
  func example225() async throws {
    let services: any LocationServices.Type = LocationsOn.self
    _ = services
  }

  // Mocks.swift: LocationsOff
  func example226() async throws {
    let services: any LocationServices.Type = LocationsOff.self
    _ = services
  }

#if canImport(Testing)
  // Mocks.swift: MockURLOpener
  func example227() async throws {
    let urlOpener = MockURLOpener { $0.scheme == "https" }
    try PointOpener(scheme: "placesapp", urlOpener: urlOpener).open(place, mode: .view)
    #expect(urlOpener.openedURLs.count == 1)
    _ = urlOpener
  }
#endif

  // Mocks.swift: MockTimerScheduler
  func example228() async throws {
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
