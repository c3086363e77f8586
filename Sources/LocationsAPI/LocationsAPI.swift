package import HTTPServer
import JSONText
import NIOHTTP1
package import Points

/// A function that copies the file in which places are kept.
package typealias BackupAction = @Sendable () async throws(PointStoreError) -> BackupFile

/// The service's HTTP interface, as one table of routes. The handler of each has a file of its own with three parts to
/// it: its arguments, the operation, the response.
package struct LocationsAPI: Sendable {
  /// The beginning of the `type` of this service's problems.
  package static let problemTypePrefix = "urn:waymark:problem:"

  private let service: PointsService
  private let editor: PointEditor?
  let access: AccessControl
  private let requiresIfMatch: Bool
  let caching: CachePolicy
  private let metrics: (any MetricsSource)?
  private let searches: (any SearchHistory)?
  private let backup: BackupAction?
  private let filtering: Filtering
  private let positions: (any PositionedStore)?
  private let clock: any WallClock
  private let uptime: @Sendable () -> Duration
  private let isDraining: @Sendable () -> Bool
  let address: PublicAddress
  private let hasPhoton: Bool
  private let collections: PointCollections
  private let clusterMaximumZoom: Int
  private let tileCache: TileCache
  let baseMap: BaseMap?
  let version: String
  private let program: ProgramTag
  private let revalidation: Revalidation
  private let shortLivedRevalidation: Revalidation

  /// Creates the interface to a service.
  ///
  /// - Parameters:
  ///   - service: the service that reads places.
  ///   - editor: the service that changes them; without it there are no calls that do.
  ///   - access: the access control.
  ///   - requiresIfMatch: a Boolean value that indicates whether changes without `If-Match` are rejected.
  ///   - caching: the directives for caches.
  ///   - metrics: the source of `GET /metrics`; without it there is no such call.
  ///   - searches: the history of searches; without it the call that reports them is 404.
  ///   - backup: the function that copies the store's file; without it the call that does is 501.
  ///   - filtering: the operator's decisions about filters.
  ///   - positions: the store, where its reads may be older than its writes.
  ///   - clock: the time of day. It is monotonic, and shared with a store that has the times of its changes.
  ///   - uptime: a monotonic time, by which readiness and metrics age.
  ///   - isDraining: returns a Boolean value that indicates whether the server is shutting down, and is no longer
  ///     ready.
  ///   - address: the address under which clients see the service.
  ///   - hasPhoton: a Boolean value that indicates whether there are the calls of Photon's API.
  ///   - collections: the collections of OGC API Features.
  ///   - clusterMaximumZoom: the highest zoom level of which all tiles are clustered.
  ///   - tileCacheBytes: the maximum number of bytes of drawn tiles that are kept; 0 for none.
  ///   - baseMap: the base map of the map page; without it the page draws a graticule.
  ///   - version: the version in the response of `GET /`.
  ///   - settingsDigest: a digest of the settings that affect responses, which is a part of entity tags.
  package init(
    service: PointsService,
    editor: PointEditor? = nil,
    access: AccessControl = AccessControl(AccessPolicy(keys: nil, isLoopback: true)),
    requiresIfMatch: Bool = false,
    caching: CachePolicy = CachePolicy(),
    metrics: (any MetricsSource)? = nil,
    searches: (any SearchHistory)? = nil,
    backup: BackupAction? = nil,
    filtering: Filtering = Filtering(),
    positions: (any PositionedStore)? = nil,
    clock: any WallClock = SystemClock(),
    uptime: @escaping @Sendable () -> Duration = monotonicTime,
    isDraining: @escaping @Sendable () -> Bool = { false },
    address: PublicAddress = PublicAddress(),
    hasPhoton: Bool = true,
    collections: PointCollections = PointCollections(),
    clusterMaximumZoom: Int = TileQuery.defaultClusterMaximumZoom,
    tileCacheBytes: Int = 32 << 20,
    baseMap: BaseMap? = nil,
    version: String,
    settingsDigest: UInt64 = 0
  ) {
    self.service = service
    self.editor = editor
    self.access = access
    self.requiresIfMatch = requiresIfMatch
    self.caching = caching
    self.metrics = metrics
    self.searches = searches
    self.backup = backup
    self.filtering = filtering
    self.positions = positions
    self.clock = clock
    self.uptime = uptime
    self.isDraining = isDraining
    self.address = address
    self.hasPhoton = hasPhoton
    self.collections = collections
    self.clusterMaximumZoom = clusterMaximumZoom
    tileCache = TileCache(byteLimit: tileCacheBytes)
    self.baseMap = baseMap
    self.version = version
    let program = ProgramTag(version: version, settingsDigest: settingsDigest)
    self.program = program
    revalidation = Revalidation(service: service, policy: caching, program: program, clock: clock)
    shortLivedRevalidation = Revalidation(
      service: service, policy: caching.allowing(maximumAgeSeconds: Self.suggestionSeconds), program: program,
      clock: clock)
  }

  /// The time for which the response to a text that is being typed may be used again, in seconds.
  private static let suggestionSeconds: Int64 = 5

  /// Returns the responder for every call.
  ///
  /// - Parameter middlewares: the middlewares in the order in which a request passes them. Authentication comes after
  ///   them, as the last before the route's handler.
  package func router(middlewares: [any Middleware] = []) -> Router {
    Router(
      routes,
      middlewares: middlewares + [AuthenticationMiddleware(access: access)]
        + (positions.map { [FreshnessMiddleware(store: $0)] } ?? []) + [ReadConditionMiddleware()],
      problemTypePrefix: Self.problemTypePrefix)
  }

  // MARK: The table of routes

  /// The routes of all calls, those that describe them included.
  var routes: [Route] {
    let routes = readingRoutes + searchRoutes + mapRoutes + featureRoutes + writingRoutes + operationRoutes
    return routes + OpenAPIRoute.routes(describing: routes, api: self) + pageRoutes
  }

  /// The routes of the pages.
  var pageRoutes: [Route] { PageRoute.routes(baseMap: baseMap, openScopes: access.openScopes) }

  private var readingRoutes: [Route] {
    let list = ListRoute(
      service: service, revalidation: revalidation, shortLived: shortLivedRevalidation, address: address,
      filtering: filtering)
    return [
      Route(
        .GET, "/locations", scope: .read, parameters: ListRoute.parameters, handler: list),
      Route(
        .POST, "/locations/search", scope: .read, parameters: SearchRoute.parameters, handler: SearchRoute(list)),
      Route(
        .GET, "/locations/{id}", scope: .read, parameters: .translation,
        handler: LocationRoute(service: service, policy: caching, program: program)),
      Route(
        .GET, "/locations/check", scope: .read, parameters: CheckRoute.parameters,
        handler: CheckRoute(service: service, revalidation: revalidation)),
      Route(
        .GET, "/locations/featured", scope: .read, parameters: .translation,
        handler: FeaturedRoute(service: service, policy: caching)),
      Route(
        .GET, "/categories", scope: .read, parameters: CategoriesRoute.parameters,
        handler: CategoriesRoute(service: service, revalidation: revalidation)),
      Route(
        .GET, "/sources", scope: .read, parameters: SourcesRoute.parameters,
        handler: SourcesRoute(service: service, policy: caching)),
    ]
  }

  private var searchRoutes: [Route] {
    var routes = [
      Route(
        .GET, "/locations/suggest", scope: .read, parameters: SuggestRoute.parameters,
        handler: SuggestRoute(
          service: service, revalidation: shortLivedRevalidation, categories: CategoryWords(uptime: uptime),
          filtering: filtering)),
      Route(
        .GET, "/locations/reverse", scope: .read, parameters: ReverseRoute.parameters,
        handler: ReverseRoute(service: service, revalidation: revalidation)),
    ]
    if hasPhoton {
      routes += [
        Route(
          .GET, "/api", scope: .read, parameters: PhotonArguments.searchParameters,
          handler: PhotonSearchRoute(service: service, revalidation: revalidation, timeLimit: filtering.timeLimit)),
        Route(
          .GET, "/reverse", scope: .read, parameters: PhotonArguments.reverseParameters,
          handler: PhotonReverseRoute(service: service, revalidation: revalidation)),
      ]
    }
    return routes
  }

  private var mapRoutes: [Route] {
    [
      Route(
        .GET, "/tiles/{z}/{x}/{y}.mvt", scope: .read, parameters: TileResponder.parameters,
        handler: TileRoute(responder: tileResponder)),
      Route(
        .GET, "/tiles.json", scope: .read, parameters: TileJSONRoute.parameters,
        handler: TileJSONRoute(service: service, policy: caching, filtering: filtering, address: address)),
      Route(
        .GET, "/locations/clusters", scope: .read, parameters: ClustersRoute.parameters,
        handler: ClustersRoute(
          service: service, revalidation: revalidation, filtering: filtering, clusterMaximumZoom: clusterMaximumZoom)),
      Route(
        .GET, "/locations/facets", scope: .read, parameters: FacetsRoute.parameters,
        handler: FacetsRoute(service: service, revalidation: revalidation, filtering: filtering)),
    ]
  }

  private var tileResponder: TileResponder {
    TileResponder(
      service: service, policy: caching, filtering: filtering, clusterMaximumZoom: clusterMaximumZoom,
      cache: tileCache, program: program)
  }

  /// The calls of OGC API Features and Tiles.
  private var featureRoutes: [Route] {
    let context = FeaturesContext(
      service: service, editor: editor, revalidation: revalidation, program: program, address: address,
      filtering: filtering, collections: collections, properties: FeatureProperties(filtering.queryables))
    let routes =
      FeaturesRoute.routes(context, caching) + ItemsRoute.routes(context, caching, requiresIfMatch)
      + TilesetRoute.routes(context, tileResponder)
    let description = FeaturesAPIRoute(
      describing: routes, context, version: version, openScopes: access.openScopes)
    return routes + [Route(.GET, FeatureLinks.root + "/api", handler: description)]
  }

  private var writingRoutes: [Route] {
    guard let editor else { return [] }
    return [
      Route(
        .POST, "/locations", scope: .write, parameters: .presentation,
        handler: CreateRoute(editor: editor, address: address)),
      Route(
        .PUT, "/locations/{id}", scope: .write, parameters: .presentation,
        handler: ReplaceRoute(editor: editor, address: address, requiresIfMatch: requiresIfMatch)),
      Route(
        .PATCH, "/locations/{id}", scope: .write, parameters: .presentation,
        handler: ChangeRoute(editor: editor, requiresIfMatch: requiresIfMatch)),
      Route(
        .DELETE, "/locations/{id}", scope: .write,
        handler: DeleteRoute(editor: editor, requiresIfMatch: requiresIfMatch)),
      Route(
        .DELETE, "/locations", scope: .write, parameters: DeleteSourceRoute.parameters,
        handler: DeleteSourceRoute(editor: editor)),
      Route(
        .POST, "/locations/import", scope: .write, parameters: ImportRoute.parameters, bodyLimit: .unlimited,
        handler: ImportRoute(editor: editor)),
      Route(
        .GET, "/locations/export", scope: .read, parameters: ExportRoute.parameters,
        handler: ExportRoute(service: service, editor: editor, filtering: filtering)),
    ]
  }

  private var operationRoutes: [Route] {
    var routes = [
      Route(.GET, "/", handler: IndexRoute(version: version, address: address, hasMetrics: metrics != nil)),
      Route(.GET, "/health/live", handler: LiveRoute()),
      Route(
        .GET, "/health/ready",
        handler: ReadyRoute(service: service, positions: positions, uptime: uptime, isDraining: isDraining)),
      Route(
        .GET, "/analytics/searches", scope: .admin, parameters: SearchesRoute.parameters,
        handler: SearchesRoute(history: searches, clock: clock)),
      Route(.POST, "/backup", scope: .admin, handler: BackupRoute(backup: backup)),
    ]
    if let metrics {
      routes.append(Route(.GET, "/metrics", scope: .read, handler: MetricsRoute(source: metrics, uptime: uptime)))
    }
    return routes
  }
}

extension Route {
  /// Creates a route that has these query parameters.
  convenience init(
    _ method: HTTPMethod, _ template: String, scope: AccessScope?, parameters: Set<Parameter>,
    bodyLimit: BodyLimit = .serverDefault, handler: any RouteHandler
  ) {
    self.init(
      method, template, scope: scope, parameters: Parameter.allCases.filter(parameters.contains).map(\.name),
      bodyLimit: bodyLimit, handler: handler)
  }
}
