import Basics
import Foundation
import Geo
import HTTPServer
import IndexedStore
import Logging
import MemoryStore
import NIOHTTP1
import PointIndex
import Points
import PostgresStore
import PostgresTestSupport
import ServiceTestSupport
import TestSupport
import Testing

@testable import AccessControl
@testable import Changes
@testable import LocationsAPI

/// The calls as the holder of a key with a filter and an area sees them.
///
/// A world has places that the key may know of; another one has others too: outside of the area, and in it with a
/// category that the filter excludes.
@Suite struct RestrictionTests {
  /// A service over places, with a key `all` and a key `part` with the restriction.
  private struct World {
    let store: any PointStore
    let access: AccessControl
    let driver: ServiceDriver

    static let part = AccessRestriction(filter: "category IS NULL OR category <> 'internal'", areas: ["Zone"])

    static func keys(_ restriction: AccessRestriction? = part) -> [APIKey] {
      var key = APIKey(name: "part", scope: .admin, secret: "wm_part")
      key.restriction = restriction
      return [key, APIKey(name: "all", scope: .admin, secret: "wm_all")]
    }

    init(hasHidden: Bool) async throws {
      let store = MemoryStore.countingFromOne()
      try await self.init(store, areas: store, changes: store.changes, hasHidden: hasHidden)
    }

    private init(
      _ store: any PointStore, areas: any AreaStore, changes: ChangeHub, hasHidden: Bool
    ) async throws {
      self.store = store
      access = AccessControl(AccessPolicy(keys: Self.keys(), isLoopback: false, readRequiresKey: true))
      var api = LocationsAPI.Configuration(
        service: PointsService(store: store, clock: FixedClock(Timestamp(microsecondsSinceEpoch: 1_000_000))),
        version: "1")
      api.changes = changes
      api.areas = areas
      api.access = access
      api.filtering = Filtering(timeLimit: .seconds(600))
      api.clock = FixedClock(Timestamp(microsecondsSinceEpoch: 1_000_000))
      driver = ServiceDriver(
        LocationsAPI(api), features: FeatureCalls(streams: ChangeStreams(interval: .milliseconds(1))))
      let area = try await send(.PUT, "/areas/\(RestrictionTests.zone)", as: "all", json: RestrictionTests.outline(2))
      #expect(area.status == 201, "\(area.text)")
      try await store.importRows(try RestrictionTests.visible)
      if hasHidden { try await store.importRows(try RestrictionTests.hidden) }
    }

    /// Calls a body with a world in a database, which has hidden places and an index in memory.
    static func overPostgreSQL(_ body: (World) async throws -> Void) async throws {
      let database = try await TemporaryDatabase.make().migratedStore()
      let feed = try ChangeFeed(database)
      let changes = ChangeHub(feed)
      let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
      let index = IndexFollower(feed, waitLimit: .seconds(600), changes: changes, logger: logger)
      try await withThrowingTaskGroup { group in
        group.addTask { await index.run() }
        let store = IndexedStore(database, index: index)
        try await body(World(store, areas: PostgresAreas(database), changes: changes, hasHidden: true))
        group.cancelAll()
      }
    }

    func send(
      _ method: HTTPMethod = .GET, _ target: String, as key: String = "part", headers: HTTPHeaders = [:],
      json: String? = nil
    ) async throws -> ServiceDriver.Response {
      var headers = headers
      headers.add(name: "authorization", value: "Bearer wm_\(key)")
      guard let json else { return try await driver.send(method, target, headers: headers) }
      return try await driver.send(method, target, headers: headers, json: json)
    }
  }

  private static let zone = PointID.sample(900)

  /// An area from the equator and the meridian of Greenwich to the north-east.
  private static func outline(_ side: Int) -> String {
    let ring = "[[0,0],[\(side),0],[\(side),\(side)],[0,\(side)],[0,0]]"
    return #"{"name":"Zone","kind":"city","geometry":{"type":"Polygon","coordinates":[\#(ring)]}}"#
  }

  private static var visible: [ImportRow] {
    get throws {
      try (1...12).map { number in
        try .sample(
          ["Corner Cafe", "Cafe Mozart", "Old Museum", "River Bakery"][number % 4], 0.1 * Double(number), 1,
          category: [nil, "cafe", "museum"][number % 3], tags: ["wheelchair": "yes", "addr:city": "Zone"],
          source: "open", sourceID: "\(number)", id: .sample(UInt64(number)), number: number)
      }
    }
  }

  private static let hiddenIDs = (101...112).map { PointID.sample(UInt64($0)) }

  private static var hidden: [ImportRow] {
    get throws {
      try (101...112).map { number in
        // Every other one is in the area.
        let isInside = number % 2 == 0
        return try .sample(
          ["Cafe Secret", "Vault Mozart", "Corner Cafe"][number % 3], 0.1 * Double(number - 100),
          isInside ? 1.0001 : 50, category: isInside ? "internal" : ["cafe", "bunker"][number % 4 / 2],
          tags: ["wheelchair": "no", "code": "s\(number)"], source: "vault", sourceID: "\(number)",
          id: .sample(UInt64(number)), number: number)
      }
    }
  }

  @Test func aPlaceWithTheOriginOfADeletedHiddenPlaceHasANewID() async throws {
    let world = try await World(hasHidden: true)
    let before = Set(Self.hiddenIDs.map(\.description))
    for id in Self.hiddenIDs { try await world.store.delete(id: id, if: .none) }
    // Else the import would leave the place deleted.
    _ = try await world.store.forgetEdits(of: .sample(105))
    func place(_ number: Int) -> String {
      #"{"name":"new","lat":1,"long":1,"source":"vault","sourceId":"\#(number)"}"#
    }

    let created = try await world.send(.POST, "/locations", json: place(102))
    let keyed = try await world.send(.POST, "/locations", headers: ["idempotency-key": "k"], json: place(103))
    let batch = try await world.send(
      .POST, "/locations/batch", json: #"{"operations":[{"op":"create","place":\#(place(104))}]}"#)
    let imported = try await world.send(
      .POST, "/locations/import", headers: ["content-type": "application/x-ndjson"], json: place(105))
    let own = try await world.send(.POST, "/locations", as: "all", json: place(106))

    #expect([created, keyed, batch, imported, own].map(\.status) == [201, 201, 200, 200, 201])
    let ids = try await world.store.allPoints().filter { $0.draft.name == "new" }.map(\.id.description)
    #expect(ids.count == 5)
    #expect(before.intersection(ids) == [PointID.sample(106).description])
  }

  // MARK: Reading

  private static let (shown, concealed) = (PointID.sample(1), PointID.sample(102))

  /// The targets of each call that joins a restriction and only reads, by the names of the calls.
  private static let reads: [String: [String]] = [
    "listLocations": [
      "/locations", "/locations?limit=5", "/locations?lat=0.5&long=1&limit=7&fields=*", "/locations?lat=0.5&long=50",
      "/locations?bbox=-10,-10,60,10&limit=100", "/locations?q=cafe", "/locations?q=secret", "/locations?q=scret",
      "/locations?q=mozrat", "/locations?q=corner%20cafe&limit=3", "/locations?q=cafe%20zone",
      "/locations?category=internal", "/locations?category=cafe,bunker", "/locations?source=vault",
      "/locations?source=vault&sourceId=101", "/locations?filter=TRUE%20OR%20category='internal'",
      "/locations?filter=category='internal'", "/locations?filter=NOT(category<>'internal')",
      "/locations?ids=\(shown),\(concealed)", "/locations?in=Zone&limit=100", "/locations?tag.wheelchair=no",
      "/locations?within=POLYGON((-5%20-5,60%20-5,60%205,-5%205,-5%20-5))&limit=100",
      "/locations?fields=name,attribution&limit=3",
    ],
    "listSources": ["/sources"], "listEdits": ["/edits", "/edits?source=vault"],
    "getLocation": ["/locations/\(shown)", "/locations/\(concealed)", "/locations/\(concealed)?view=details"],
    "getHours": ["/locations/\(shown)/hours", "/locations/\(concealed)/hours"],
    "listAreasOfLocation": ["/locations/\(shown)/areas", "/locations/\(concealed)/areas"],
    "checkLocation": ["/locations/check?lat=0.2&long=1", "/locations/check?lat=0.1&long=50"],
    "getFeaturedLocation": ["/locations/featured"],
    "listCategories": ["/categories", "/categories?tree=true", "/categories?bbox=-10,-10,60,10"],
    "suggest": ["/locations/suggest?q=c", "/locations/suggest?q=sec", "/locations/suggest?q=inter"],
    "reverse": ["/locations/reverse?lat=0.1&long=50", "/locations/reverse?lat=0.2&long=1"],
    "getTile": [
      "/tiles/0/0/0.mvt", "/tiles/14/8237/8182.mvt", "/tiles/0/0/0.mvt?q=secret", "/tiles/0/0/0.mvt?tags=code",
    ],
    "getTileSet": ["/tiles.json"],
    "getClusters": ["/locations/clusters?zoom=3&bbox=-10,-10,60,10", "/locations/clusters?zoom=16&bbox=0,0,2,2"],
    "getFacets": [
      "/locations/facets?by=category,group,tag.wheelchair,tag.code,area:city",
      "/locations/facets?by=category&q=cafe",
    ],
    "exportLocations": ["/locations/export?f=ndjson", "/locations/export?f=csv&category=internal"],
    "photonSearch": ["/api?q=cafe", "/api?q=secret", "/api?q=cafe%20zo"],
    "photonStructuredSearch": ["/structured?city=Zone"],
    "nominatimSearch": ["/nominatim/search?q=cafe", "/nominatim/search?q=secret"],
    "nominatimLookup": ["/nominatim/lookup?osm_ids=N1,N101,W1"],
    "nominatimReverse": ["/nominatim/reverse?lat=0.1&lon=50", "/nominatim/reverse?lat=0.2&lon=1"],
    "photonReverse": ["/reverse?lat=0.1&lon=50", "/reverse?lat=0.2&lon=1"],
    "listAreas": ["/areas?q=zone"], "getArea": ["/areas/\(zone)"], "exportAreas": ["/areas/export"],
    "getCollections": ["/ogc/collections"], "getCollection": ["/ogc/collections/places"],
    "getQueryables": ["/ogc/collections/places/queryables"], "getSchema": ["/ogc/collections/places/schema"],
    "getItems": [
      "/ogc/collections/places/items", "/ogc/collections/places/items?limit=5",
      "/ogc/collections/places/items?filter=category='internal'",
    ],
    "getItem": ["/ogc/collections/places/items/\(shown)", "/ogc/collections/places/items/\(concealed)"],
    "getTilesets": ["/ogc/collections/places/tiles"],
    "getTileset": ["/ogc/collections/places/tiles/WebMercatorQuad"],
    "getCollectionTile": ["/ogc/collections/places/tiles/WebMercatorQuad/0/0/0"],
    // The tests below have these.
    "listChanges": [], "searchLocations": [], "callTool": [],
  ]

  private static let writes = [
    "createLocation", "replaceLocation", "changeLocation", "deleteLocation", "changeLocations", "deleteSource",
    "importLocations", "forgetEdits", "createItem", "replaceItem", "changeItem", "deleteItem",
  ]

  /// The calls whose responses have boxes or choices of places, which are others for a key with a restriction.
  private static let differing = ["getFeaturedLocation", "getTileSet", "getCollections", "getCollection", "getTileset"]

  @Test func everyCallThatJoinsARestrictionIsCompared() {
    let joining = DescribedService.calls.filter { $0.scope != nil && $0.joinsRestriction }.map(\.id)
    #expect(Set(joining) == Set(Self.reads.keys).union(Self.writes))
  }

  private func expectSame(
    _ own: ServiceDriver.Response, _ other: ServiceDriver.Response, _ comment: Comment, tags: Bool = false
  ) {
    #expect(own.status == other.status, comment)
    let time = /"timeStamp":"[^"]*"/
    #expect(own.text.replacing(time, with: "") == other.text.replacing(time, with: ""), comment)
    #expect(own.body.count == other.body.count || own.text.contains("timeStamp"), comment)
    var names = ["content-type", "link", "waymark-area", "content-language", "expires"]
    if tags { names.append("etag") }
    for name in names { #expect(own.headers.first(name: name) == other.headers.first(name: name), comment) }
  }

  @Test(arguments: reads.keys.sorted())
  func readsTellNothingOfPlacesOutside(of call: String) async throws {
    let (world, part) = (try await World(hasHidden: true), try await World(hasHidden: false))
    let open = DataSource(name: "open", attribution: "© Open")
    try await part.store.register([open])
    try await world.store.register([open, DataSource(name: "vault", attribution: "© The vault")])
    for target in Self.reads[call] ?? [] {
      let own = try await world.send(.GET, target)
      let tagged = call == "getTile" || call == "getCollectionTile" || call == "getLocation"
      expectSame(own, try await part.send(.GET, target), "\(target) with other places", tags: tagged)
      if !Self.differing.contains(call) {
        expectSame(own, try await part.send(.GET, target, as: "all"), "\(target) without a restriction")
      }
      checkContents(of: own)
    }
  }

  private func checkContents(of response: ServiceDriver.Response) {
    let target = response.target
    #expect(response.status == 200 || target.contains("\(Self.concealed)"), "\(target): \(response.text)")
    let caching = response.headers.first(name: "cache-control") ?? ""
    #expect(response.status != 200 || caching.contains("private") || caching.contains("no-store"), "\(target)")
    for text in ["Secret", "vault", "bunker", "\"internal\""] { #expect(!response.text.contains(text), "\(target)") }
  }

  @Test(arguments: reads.keys.sorted())
  func readsAreThoseWithTheFilterAsAParameter(of call: String) async throws {
    try await compareReads(of: call, in: try await World(hasHidden: true))
  }

  private func compareReads(of call: String, in world: World) async throws {
    let description = try #require(DescribedService.calls.first { $0.id == call })
    guard Set(description.parameters).isSuperset(of: [.filter, .area]), !(Self.differing + ["suggest"]).contains(call)
    else { return }
    let filter = "category%20IS%20NULL%20OR%20category%20%3C%3E%20'internal'"
    for target in Self.reads[call] ?? [] where !target.contains("filter=") && !target.contains("in=") {
      // Words do not name an area beside `in`.
      if ["within=", "ids=", "zone"].contains(where: { target.contains($0) }) { continue }
      let own = try await world.send(.GET, target)
      let other = try await world.send(
        .GET, target + (target.contains("?") ? "&" : "?") + "in=Zone&filter=" + filter, as: "all")
      #expect(own.status == other.status && own.body == other.body, "\(target)")
    }
  }

  @Test func everyOtherCallIsRefused() async throws {
    let world = try await World(hasHidden: true)
    for call in DescribedService.calls where call.scope != nil && !call.joinsRestriction {
      let target = call.path.replacing(/\{[A-Za-z]+\}/, with: Self.shown.description)
      let response = try await world.send(call.method, target, json: "{}")
      #expect([403, 404].contains(response.status), "\(call.method) \(target): \(response.text)")
      #expect(response.status == 404 || response.text.contains("not for keys and tokens"), "\(target)")
    }
    let names = Set(try await world.store.names(PointQuery(limit: 100)))
    #expect(names.contains("Cafe Secret") && names.contains("Corner Cafe"))
  }

  @Test func searchesWithABodyAndToolsTellNothingOfPlacesOutside() async throws {
    let (world, part) = (try await World(hasHidden: true), try await World(hasHidden: false))
    let calls = [
      ("/locations/search", #"{"limit":100}"#), ("/locations/search", #"{"q":"secret"}"#),
      ("/locations/search", #"{"filter":{"op":"=","args":[{"property":"category"},"internal"]}}"#),
      ("/mcp", Self.tool("search_places", #"{"query":"cafe"}"#)), ("/mcp", Self.tool("list_categories", "{}")),
      ("/mcp", Self.tool("place_details", #"{"id":"\#(Self.concealed)"}"#)),
    ]
    let headers: HTTPHeaders = [
      "accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25",
    ]
    for (target, body) in calls {
      let own = try await world.send(.POST, target, headers: headers, json: body)
      let other = try await part.send(.POST, target, as: "all", headers: headers, json: body)
      expectSame(own, other, "\(target) \(body)")
      #expect(own.status == 200, "\(own.text)")
    }
  }

  private static func tool(_ name: String, _ arguments: String) -> String {
    #"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\#(name)","arguments":\#(arguments)}}"#
  }

  @Test func entityTagsOfTilesStayWhileOnlyPlacesOutsideChange() async throws {
    let world = try await World(hasHidden: true)
    for target in ["/tiles/0/0/0.mvt", "/tiles/0/0/0.mvt?q=cafe"] {
      let tag = try #require(try await world.send(.GET, target).headers.first(name: "etag"))
      _ = try await world.store.create(.sample("Cafe Secret", 1, 1, category: "internal"), once: nil)
      let same = try await world.send(.GET, target, headers: ["if-none-match": tag])
      #expect(same.status == 304 && same.headers.first(name: "etag") == tag, "\(target)")
      _ = try await world.store.create(.sample("Cafe", 1, 1.5), once: nil)
      #expect(try await world.send(.GET, target, headers: ["if-none-match": tag]).status == 200, "\(target)")
    }
  }

  @Test func entityTagsAreThoseOfOneRestriction() async throws {
    let world = try await World(hasHidden: true)
    for target in ["/locations", "/locations/facets?by=category", "/tiles.json"] {
      guard let tag = try await world.send(.GET, target, as: "all").headers.first(name: "etag") else { continue }
      #expect(try await world.send(.GET, target, headers: ["if-none-match": tag]).status == 200, "\(target)")
    }
    let tag = try #require(try await world.send(.GET, "/locations").headers.first(name: "etag"))
    #expect(try await world.send(.GET, "/locations", headers: ["if-none-match": tag]).status == 304)
    world.access.replaceKeys(World.keys(AccessRestriction(filter: "category = 'cafe'")))
    #expect(try await world.send(.GET, "/locations", headers: ["if-none-match": tag]).status == 200)
  }

  @Test func areaThatDoesNotExistHasNoPlaces() async throws {
    let world = try await World(hasHidden: true)
    world.access.replaceKeys(World.keys(AccessRestriction(filter: nil, areas: ["Nowhere"])))
    #expect(try await world.send(.GET, "/locations").text == "[]")
    #expect(try await world.send(.GET, "/locations/\(Self.shown)").status == 404)
    #expect(try await world.send(.GET, "/categories").text == "[]")
    world.access.replaceKeys(World.keys(AccessRestriction(filter: nil, areas: ["Nowhere", "\(Self.zone)"])))
    #expect(try await world.send(.GET, "/locations/\(Self.shown)").status == 200)
  }

  @Test func openServerJoinsTheRestrictionOfAKeyThatIsSent() async throws {
    let store = MemoryStore()
    _ = try await store.create(.sample("a", category: "internal"), once: nil)
    let keys = World.keys(AccessRestriction(filter: "category <> 'internal'"))
    var api = LocationsAPI.Configuration(service: PointsService(store: store), version: "1")
    api.changes = store.changes
    api.access = AccessControl(AccessPolicy(keys: keys, isLoopback: false))
    let driver = ServiceDriver(LocationsAPI(api))

    func names(_ authorization: String?) async throws -> [String] {
      let headers = HTTPHeaders(authorization.map { [("authorization", $0)] } ?? [])
      return try await driver.send(.GET, "/locations", headers: headers).names
    }
    #expect(try await names("Bearer wm_part").isEmpty)
    #expect(try await names("Bearer wm_all") == ["a"])
    #expect(try await names("Bearer none") == ["a"])
    #expect(try await names(nil) == ["a"])
  }

  // MARK: Writing

  private static func place(
    _ name: String, long: Double = 1, category: String = "cafe", origin: String? = nil, id: PointID? = nil
  ) -> String {
    let parts = origin?.split(separator: "/").map { String($0) }
    let origin = parts.map { #","source":"\#($0[0])","sourceId":"\#($0[1])""# }
    let keys = (origin ?? "") + (id.map { #","id":"\#($0)""# } ?? "")
    return #"{"name":"\#(name)","lat":0.5,"long":\#(long),"category":"\#(category)"\#(keys)}"#
  }

  @Test func writesReachNoPlaceOutside() async throws {
    try await checkWritesOutside(in: try await World(hasHidden: true))
  }

  private func checkWritesOutside(in world: World) async throws {
    let (shown, concealed) = ("/locations/\(Self.shown)", "/locations/\(Self.concealed)")
    let (item, hiddenItem) = (
      "/ogc/collections/places/items/\(Self.shown)", "/ogc/collections/places/items/\(Self.concealed)"
    )
    let point = #"{"type":"Point","coordinates":[50,0.5]}"#
    let feature = #"{"type":"Feature","geometry":\#(point),"properties":{"name":"x","category":"cafe"}}"#
    let before = try await world.send(.GET, "/locations/export?f=ndjson", as: "all").text
    let cases: [(HTTPMethod, String, HTTPHeaders, String, Int)] = [
      (.POST, "/locations", [:], Self.place("x", category: "internal"), 403),
      (.POST, "/locations", [:], Self.place("x", long: 50), 403),
      (.POST, "/locations", [:], Self.place("x", origin: "vault/101"), 403),
      (.POST, "/locations", [:], Self.place("x", origin: "open/1"), 409),
      (.PUT, concealed, [:], Self.place("x"), 403),
      (.PUT, concealed, ["if-none-match": "*"], Self.place("x"), 403),
      (.PUT, concealed, ["if-match": "*"], Self.place("x"), 412),
      (.PUT, shown, [:], Self.place("x", long: 50), 403),
      (.PUT, shown, [:], Self.place("x", origin: "vault/101"), 403),
      (.PUT, shown, ["if-match": "\"99999\""], Self.place("x"), 412),
      (.PUT, "/locations/\(PointID.sample(500))", [:], Self.place("x", category: "internal"), 403),
      (.PATCH, concealed, [:], #"{"name":"x"}"#, 404),
      (.PATCH, shown, [:], #"{"category":"internal"}"#, 403),
      (.PATCH, shown, [:], #"{"lat":-1}"#, 403),
      (.DELETE, concealed, [:], "", 404),
      (.DELETE, concealed, ["if-match": "*"], "", 404),
      (.POST, "/ogc/collections/places/items", ["content-type": "application/geo+json"], feature, 403),
      (.PUT, item, ["content-type": "application/geo+json"], feature, 403),
      (.PATCH, hiddenItem, ["content-type": "application/merge-patch+json"], #"{"properties":{"name":"x"}}"#, 404),
      (.DELETE, hiddenItem, [:], "", 404),
    ]
    for (method, target, fields, body, status) in cases {
      var headers = fields
      if method == .PATCH, !headers.contains(name: "content-type") {
        headers.add(name: "content-type", value: "application/merge-patch+json")
      }
      let response =
        body.isEmpty
        ? try await world.send(method, target, headers: headers)
        : try await world.send(method, target, headers: headers, json: body)
      #expect(response.status == status, "\(method) \(target) \(body): \(response.text)")
      #expect(status != 412 || !target.contains("\(Self.concealed)") || !response.headers.contains(name: "etag"))
      guard let operation = Self.operation(method, target, fields, body) else { continue }
      for isAtomic in [false, true] {
        let batch = try await world.send(
          .POST, "/locations/batch\(isAtomic ? "?atomic=true" : "")", json: #"{"operations":[\#(operation)]}"#)
        let results = try batch.object["results"] as? [[String: Any]]
        let problem = isAtomic ? try batch.object : results?.first?["problem"] as? [String: Any]
        #expect(problem?["status"] as? Int == status, "\(operation): \(batch.text)")
        // The detail of an atomic batch names the operation too.
        let detail = try? response.object["detail"] as? String
        #expect((problem?["detail"] as? String)?.contains(detail ?? "") == true, "\(operation): \(batch.text)")
      }
    }
    let deletion = try await world.send(.DELETE, "/locations?source=vault&confirm=true")
    #expect(deletion.text == #"{"deleted":0}"#)
    #expect(try await world.send(.GET, "/locations/export?f=ndjson", as: "all").text == before)
  }

  /// Returns the operation of a batch that does what a request does; `nil` where there is none.
  private static func operation(_ method: HTTPMethod, _ target: String, _ headers: HTTPHeaders, _ body: String)
    -> String?
  {
    guard target.hasPrefix("/locations") else { return nil }
    let id = #""id":"\#(target.split(separator: "/").last ?? "")""#
    var conditions = ""
    for (name, field) in [("ifMatch", "if-match"), ("ifNoneMatch", "if-none-match")] {
      guard let value = headers.first(name: field) else { continue }
      conditions += #","\#(name)":"\#(value.replacing("\"", with: "\\\""))""#
    }
    return switch method {
    case .POST: #"{"op":"create","place":\#(body)}"#
    case .PUT: #"{"op":"replace",\#(id),"place":\#(body)\#(conditions)}"#
    case .PATCH: #"{"op":"patch",\#(id),"patch":\#(body)\#(conditions)}"#
    default: #"{"op":"delete",\#(id)\#(conditions)}"#
    }
  }

  @Test func operationsOfABatchSeeThePlacesInsideAndTheirChanges() async throws {
    let world = try await World(hasHidden: true)
    let (new, other) = (PointID.sample(500), PointID.sample(501))
    let operations = [
      #"{"op":"replace","id":"\#(new)","place":\#(Self.place("new", origin: "open/new"))}"#,
      #"{"op":"patch","id":"\#(new)","patch":{"category":"internal"}}"#,
      #"{"op":"patch","id":"\#(new)","patch":{"name":"newer"}}"#,
      #"{"op":"create","place":\#(Self.place("x", origin: "open/new"))}"#,
      #"{"op":"delete","id":"\#(new)"}"#,
      #"{"op":"create","place":\#(Self.place("again", origin: "open/new"))}"#,
      #"{"op":"replace","id":"\#(other)","place":\#(Self.place("x", category: "internal"))}"#,
      #"{"op":"delete","id":"\#(other)"}"#,
    ]
    let response = try await world.send(
      .POST, "/locations/batch", json: #"{"operations":[\#(operations.joined(separator: ","))]}"#)
    let results = try #require(try response.object["results"] as? [[String: Any]], "\(response.text)")
    #expect(results.map { $0["status"] as? Int } == [201, 403, 200, 409, 204, 201, 403, 404], "\(response.text)")
    // A key with a filter gets no id of a deleted place.
    let again = try #require(results[5]["id"] as? String, "\(response.text)")
    #expect(again != "\(new)")
    #expect(try await world.send(.GET, "/locations/\(again)").object["name"] as? String == "again")
  }

  @Test func dataSetIsDeletedAsFarAsItIsInside() async throws {
    let world = try await World(hasHidden: true)
    for number in 1...600 {
      let id = PointID.sample(UInt64(1_000 + number))
      let place = Self.place("place", long: number % 2 == 0 ? 1 : 50, origin: "mixed/\(number)")
      _ = try await world.send(.PUT, "/locations/\(id)", as: "all", json: place)
    }
    let response = try await world.send(.DELETE, "/locations?source=mixed&confirm=true")
    #expect(response.text == #"{"deleted":300}"#)
    #expect(try await world.send(.GET, "/locations?source=mixed").text == "[]")
    let count = try await world.store.count(matching: PointQuery(source: .init(name: "mixed")))
    #expect(count == 300)
  }

  @Test func writesInsideAreMade() async throws {
    try await checkWritesInside(in: try await World(hasHidden: true))
  }

  private func checkWritesInside(in world: World) async throws {
    let created = try await world.send(.POST, "/locations", json: Self.place("new"))
    #expect(created.status == 201, "\(created.text)")
    let target = try #require(created.location)
    #expect(try await world.send(.PUT, target, json: Self.place("newer", origin: "open/new")).status == 200)
    let patch: HTTPHeaders = ["content-type": "application/merge-patch+json"]
    #expect(try await world.send(.PATCH, target, headers: patch, json: #"{"name":"newest"}"#).status == 200)
    #expect(try await world.send(.DELETE, target).status == 204)
    #expect(try await world.send(.PUT, target, json: Self.place("again")).status == 201)
  }

  @Test func repeatOfACallWithAnotherRestrictionHasNoPlaceOutside() async throws {
    try await checkRepeat(in: try await World(hasHidden: true))
  }

  private func checkRepeat(in world: World) async throws {
    let headers: HTTPHeaders = ["idempotency-key": "once"]
    let body = Self.place("museum", category: "museum")
    let first = try await world.send(.POST, "/locations", headers: headers, json: body)
    world.access.replaceKeys(World.keys(AccessRestriction(filter: "category = 'cafe'")))
    let again = try await world.send(.POST, "/locations", headers: headers, json: body)
    #expect(first.status == 201 && again.status == 403, "\(again.text)")
  }

  private func send(
    import query: String, _ rows: [String], to world: World, as key: String = "part"
  ) async throws -> ServiceDriver.Response {
    try await world.send(
      .POST, "/locations/import" + query, as: key, headers: ["content-type": "application/x-ndjson"],
      json: rows.joined(separator: "\n"))
  }

  @Test func importsReachNoPlaceOutside() async throws {
    try await checkImportsOutside(in: try await World(hasHidden: true))
  }

  private func checkImportsOutside(in world: World) async throws {
    let before = try await world.send(.GET, "/locations/export?f=ndjson", as: "all").text
    let rows = [
      Self.place("x", id: Self.concealed), Self.place("x", origin: "vault/101"),
      Self.place("x", origin: "vault/103", id: Self.shown), Self.place("x", long: 50, origin: "open/2"),
      Self.place("x", category: "internal"),
    ]
    let reasons = [
      ForbiddenChange.takenID, ForbiddenChange.hiddenOwner, ForbiddenChange.hiddenOwner, ForbiddenChange.outside,
      ForbiddenChange.outside,
    ]
    let more = Self.place("new", origin: "open/new")

    let report = try await send(import: "", rows, to: world)
    #expect(try (report.object["errors"] as? [[String: Any]])?.map { $0["detail"] as? String } == reasons)
    let dry = try await send(import: "?dryRun=true", rows + [more], to: world)
    #expect(try dry.object["created"] as? Int == 1 && dry.object["rejected"] as? Int == 5, "\(dry.text)")
    let atomic = try await send(import: "?mode=atomic", rows + [more], to: world)
    #expect(atomic.status == 422 && reasons.allSatisfy { atomic.text.contains($0) }, "\(atomic.text)")
    let empty = try await send(import: "?replaceSource=vault", [rows[1]], to: world)
    #expect(empty.status == 422, "\(empty.text)")
    let cut = try await send(import: "?replaceSource=open&maxDeletions=5", [more], to: world)
    #expect(try cut.code == "too-many-deletions" && cut.text.contains("12 of the 12 places"), "\(cut.text)")
    #expect(try await world.send(.GET, "/locations/export?f=ndjson", as: "all").text == before)
  }

  @Test func importsInsideAreThoseOfAStoreWithoutOtherPlaces() async throws {
    let (world, part) = (try await World(hasHidden: true), try await World(hasHidden: false))
    let sets: [(query: String, rows: [String])] = [
      (
        "",
        [
          Self.place("changed", origin: "open/1"), Self.place("changed", id: .sample(2)),
          Self.place("new", origin: "vault/new"), Self.place("new", id: .sample(300)), Self.place("new"),
          Self.place("twice", origin: "open/1"),
        ]
      ),
      ("?replaceSource=vault&maxDeletions=0", [Self.place("newer", origin: "vault/newer")]),
      ("?replaceSource=vault&maxDeletions=1", [Self.place("newer", origin: "vault/newer")]),
      ("?replaceSource=open&maxDeletions=100%25", [Self.place("last", origin: "open/3")]),
    ]
    for (query, rows) in sets {
      let own = try await send(import: query, rows, to: world)
      expectSame(own, try await send(import: query, rows, to: part, as: "all"), "\(query)")
    }
    let names = try await world.send(.GET, "/locations?limit=100").names
    #expect(names.sorted() == (try await part.send(.GET, "/locations?limit=100", as: "all").names).sorted())
    #expect(names.contains("last") && names.contains("newer"))
    #expect(try await world.store.count(matching: PointQuery(source: .init(name: "vault"))) == 13)
  }

  @Test func editsOfPlacesInsideAreSeenAndForgottenAlone() async throws {
    let world = try await World(hasHidden: true)
    for id in [Self.shown, Self.concealed, .sample(2), .sample(4)] {
      let place = try #require(try await world.store.point(id: id))
      let draft = place.draft
      _ = try await world.store.put(
        PointDraft(
          name: "edited", category: draft.category, coordinate: draft.coordinate, tags: draft.tags,
          source: draft.origin?.source, sourceID: draft.origin?.sourceID), id: id, if: .none)
    }
    try await world.store.delete(id: .sample(4), if: .none)
    let outside = try await world.store.importRows([
      .sample("moved", 0.2, 50, source: "open", sourceID: "2", id: .sample(2))
    ])
    #expect(outside.updated == 1)
    _ = try await world.store.put(
      PointDraft(
        name: "edited", coordinate: Coordinate(latitude: 0.2, longitude: 1), source: "open", sourceID: "2"),
      id: .sample(2), if: .none)

    let listed = try await world.send(.GET, "/edits")
    let moved = try await world.send(.GET, "/locations/\(PointID.sample(2))?view=details")
    let hidden = try await world.send(.DELETE, "/edits/\(Self.concealed)")
    let deleted = try await world.send(.DELETE, "/edits/\(PointID.sample(4))")
    let leaving = try await world.send(.DELETE, "/edits/\(PointID.sample(2))")
    let forgotten = try await world.send(.DELETE, "/edits/\(Self.shown)")

    // The data set has the second place outside.
    #expect(try listed.array.compactMap { $0["id"] as? String } == ["\(Self.shown)"])
    #expect(try moved.status == 200 && moved.object["edits"] == nil)
    #expect([hidden, deleted, leaving, forgotten].map(\.status) == [404, 404, 403, 200])
    #expect(try forgotten.object["name"] as? String == "Cafe Mozart", "\(forgotten.text)")
    #expect(try await world.store.edits(of: Self.shown) == nil)
    let others = try await world.store.edits(matching: EditQuery(limit: 10)).places.map(\.id)
    #expect(others == [.sample(2), .sample(4), Self.concealed])
  }

  @Test func pageOfEditsThatTakesTooLongEndsWhereTheNextBegins() async throws {
    let store = MemoryStore.countingFromOne()
    try await store.importRows(try Self.visible)
    for id in (1...12).map({ PointID.sample($0) }) {
      let draft = try #require(try await store.point(id: id)).draft
      _ = try await store.put(draft.setting([.name: .text("edited")]) ?? draft, id: id, if: .none)
      if id != .sample(5), id != .sample(12) { try await store.delete(id: id, if: .none) }
    }
    let restriction = PointRestriction(filter: nil, area: nil, timeLimit: .zero, queryables: Queryables())
    let restricted = RestrictionJudge(restriction: restriction, feed: store.changes)
      .restricted(store, clock: SystemClock())

    var (query, pages) = (EditQuery(limit: 2), [EditPage]())
    repeat {
      pages.append(try await restricted.edits(matching: query))
      query.after = pages.last?.next
    } while query.after != nil

    #expect(pages.count == 6 && pages.flatMap(\.places).map(\.id) == [.sample(5), .sample(12)])
  }

  @Test func importsLeaveTheLicencesOfSources() async throws {
    let world = try await World(hasHidden: true)
    let query = "?source=vault&licence=A&attribution=B"
    let rows = [Self.place("x", origin: "vault/new")]
    _ = try await send(import: query, rows, to: world, as: "all")

    let report = try await send(import: "?source=vault&licence=C&attribution=D", rows, to: world)

    #expect(report.status == 200 && report.text.contains("registers no licence"), "\(report.text)")
    #expect(try await world.store.sources() == [DataSource(name: "vault", licence: "A", attribution: "B")])
  }

  // MARK: Changes

  @Test func pagesHaveChangesOfPlacesInsideAndExpireWithOthers() async throws {
    try await checkPages(in: try await World(hasHidden: true))
  }

  private func checkPages(in world: World) async throws {
    let export = try await world.send(.GET, "/locations/export?f=ndjson")
    let start = try #require(export.headers.first(name: "waymark-position"))
    _ = try await world.store.create(.sample("Cafe", 1, 1, category: "cafe"), once: nil)

    let page = try await world.send(.GET, "/changes?since=\(start)")
    #expect(try (page.object["changes"] as? [Any])?.count == 1, "\(page.text)")
    let next = try #require(try page.object["position"] as? String)
    #expect(try await world.send(.GET, "/changes?since=\(next)&wait=1").status == 200)

    world.access.replaceKeys(World.keys(AccessRestriction(filter: "category = 'cafe'")))
    #expect(try await world.send(.GET, "/changes?since=\(next)").status == 410)
    world.access.replaceKeys(World.keys(nil))
    #expect(try await world.send(.GET, "/changes?since=\(next)").status == 410)
    world.access.replaceKeys(World.keys())
    #expect(try await world.send(.GET, "/changes?since=\(next)").status == 200)
    let all = try #require(
      try await world.send(.GET, "/changes", as: "all").object["position"] as? String)
    #expect(try await world.send(.GET, "/changes?since=\(all)").status == 410)

    _ = try await world.store.create(.sample("Vault", 1, 50), once: nil)
    let expired = try await world.send(.GET, "/changes?since=\(next)")
    #expect(expired.status == 410 && !expired.text.contains("Vault"), "\(expired.text)")
  }

  @Test func pageIsJudgedInTheComputingTimeOfItsReader() async throws {
    let store = MemoryStore.countingFromOne()
    let start = try await store.changes.presentPosition()
    _ = try await store.create(.sample("Cafe", 1, 1, category: "cafe"), once: nil)
    let restriction = PointRestriction(
      filter: try PropertyFilter("category = 'cafe'"), area: nil, timeLimit: .seconds(600), queryables: Queryables())
    let feed = RestrictedFeed(RestrictionJudge(restriction: restriction, feed: store.changes))
    let computations = Counter()
    let reader = ChangeReader(client: .init("reader")) { work in
      computations.add()
      work()
      return true
    }
    let refused = ChangeReader(client: .init("refused")) { _ in false }

    let page = try await feed.page(after: start, limit: 10, for: reader)

    #expect(page.changes.count == 1)
    #expect(computations.value == 1)
    await #expect(throws: ChangeReadError.store(.overloaded)) {
      try await feed.page(after: start, limit: 10, for: refused)
    }
  }

  @Test func pagesExpireWithTheOutlineOfAnArea() async throws {
    let world = try await World(hasHidden: true)
    let start = try #require(try await world.send(.GET, "/changes").object["position"] as? String)
    _ = try await world.send(.PUT, "/areas/\(Self.zone)", as: "all", json: Self.outline(3))
    #expect(try await world.send(.GET, "/changes?since=\(start)").status == 410)
  }

  // MARK: PostgreSQL

  @Test func restrictionIsJoinedOverPostgreSQL() async throws {
    try await World.overPostgreSQL { world in
      for call in Self.reads.keys.sorted() {
        for target in Self.reads[call] ?? [] { checkContents(of: try await world.send(.GET, target)) }
        try await compareReads(of: call, in: world)
      }
      try await checkWritesOutside(in: world)
      try await checkImportsOutside(in: world)
      try await checkWritesInside(in: world)
      let rows = [Self.place("changed", origin: "open/1"), Self.place("imported", origin: "vault/new")]
      let report = try await send(import: "", rows, to: world)
      #expect(try report.object["updated"] as? Int == 1 && report.object["created"] as? Int == 1, "\(report.text)")
      #expect(try await world.send(.GET, "/locations?q=imported").names == ["imported"])
      try await checkPages(in: world)
      try await checkRepeat(in: world)
    }
  }
}
