import APIDescription
package import AccessControl
package import HTTPServer
package import Points

/// The service's HTTP interface, as one table of calls. The handler of each stands with the call's declaration, its
/// arguments, the operation and the response.
package struct LocationsAPI: Sendable {
  /// The parts of the service that the interface makes available, and the operator's settings of it.
  package struct Configuration: Sendable {
    /// The places.
    package var service: PointsService

    /// The changes of the places; `nil` if the store has none.
    package var changes: (any PointFeed)?

    /// The named areas.
    package var areas: any AreaStore = NoAreas()

    package var access = AccessControl(AccessPolicy(keys: nil, isLoopback: true))

    /// A Boolean value that indicates whether changes without `If-Match` are rejected.
    package var requiresIfMatch = false
    package var caching = CachePolicy()

    package var filtering = Filtering()

    /// The time of day. It is monotonic, and shared with a store that has the times of its changes.
    package var clock: any WallClock = SystemClock()

    /// A monotonic time, by which readiness and metrics age.
    package var uptime: @Sendable () -> Duration = monotonicTime

    /// The address under which clients see the service.
    package var address = PublicAddress()

    /// The maximum number of bytes of drawn tiles that are kept; 0 for none.
    package var tileCacheBytes = 32 << 20

    /// The texts of pages in HTML, and where they may load images from.
    package var pageStyle = PageStyle()

    /// The version in the response of `GET /`.
    package var version: String

    /// A digest of the settings that affect responses, which is a part of entity tags.
    package var settingsDigest: UInt64 = 0

    /// The restriction of the senders of all requests; `nil` for none.
    package var restriction: Restriction?
  }

  package let configuration: Configuration
  package let program: ProgramTag
  package let revalidation: Revalidation
  package let tiles: TileResponder

  package init(_ configuration: Configuration) {
    var configuration = configuration
    configuration.filtering.clock = configuration.clock
    self.configuration = configuration
    program = ProgramTag(version: configuration.version, settingsDigest: configuration.settingsDigest)
    revalidation = Revalidation(
      service: configuration.service, policy: configuration.caching, program: program, clock: configuration.clock)
    tiles = TileResponder(
      service: configuration.service, policy: configuration.caching, filtering: configuration.filtering,
      cache: TileCache(byteLimit: configuration.tileCacheBytes), program: program)
  }

  /// The time for which the response to a text that is being typed may be used again, in seconds.
  private static let suggestionSeconds: Int64 = 5

  /// Returns the responder for every call.
  ///
  /// - Parameters:
  ///   - others: the calls of other interfaces to the same places.
  ///   - middlewares: the middlewares in the order in which a request passes them. Authentication comes after them, and
  ///     then what is about the places alone. A `CORSPolicy` allows the header fields that the calls describe too.
  package func router(
    joining others: @escaping @Sendable (LocationsAPI) -> [Endpoint] = { _ in [] },
    middlewares: [any Middleware] = []
  ) -> Router {
    let endpoints = endpoints(joining: others(self))
    let calls = endpoints.map(\.call)
    let restrictions = RestrictionMiddleware(areas: configuration.areas, filtering: configuration.filtering) {
      [configuration] restriction in
      guard let configuration = configuration.restricted(to: restriction) else { return nil }
      let api = LocationsAPI(configuration)
      return Router(
        (api.endpoints + others(api)).joined.flatMap { $0.restrictedRoutes(among: calls) },
        middlewares: api.middlewaresOfPlaces, problemTypePrefix: Problem.serviceTypePrefix)
    }
    let headers = calls.flatMap(\.requestHeaders).map(\.name)
    let middlewares = middlewares.map { ($0 as? CORSPolicy)?.allowing(headers) ?? $0 }
    return Router(
      endpoints.flatMap { $0.routes(among: calls) },
      middlewares: middlewares + [AuthenticationMiddleware(access: configuration.access), restrictions]
        + middlewaresOfPlaces,
      problemTypePrefix: Problem.serviceTypePrefix)
  }

  private var middlewaresOfPlaces: [any Middleware] {
    let freshness = configuration.service.followingIndex.map { FreshnessMiddleware(index: $0) }
    return (freshness.map { [$0] } ?? [])
      + [ReadConditionMiddleware()]
  }

  /// Returns all calls, those that describe the others included.
  package func endpoints(joining others: [Endpoint] = []) -> [Endpoint] {
    let (version, address, access) = (configuration.version, configuration.address, configuration.access)
    let index = IndexRoute.call.handled { IndexRoute(linking: $0, version: version, address: address) }
    let documents = OpenAPIRoute.calls.map { openAPI, call in
      call.handled { calls in
        let documented = calls.map(\.documented)
        let document = OpenAPIDocument(
          openAPI: openAPI, calls: documented, serviceCalls: documented, version: version, access: access)
        return OpenAPIRoute(document) { address.target(path: "", relative: ".", for: $0) }
      }
    }
    return (endpoints + others).joined + [index] + documents
  }

  /// The calls that find and read places, for other interfaces whose calls are implemented by these. They are not in
  /// the description, run without middlewares, and show no edits.
  package var searchRouter: Router {
    let search = searchHandlers
    let handlers: [any CallHandler] = [SearchRoute(search.list), search.location, search.categories]
    return Router(handlers.flatMap { $0.endpoint.routes(among: []) }, problemTypePrefix: Problem.serviceTypePrefix)
  }

  private var searchHandlers: (list: ListRoute, location: LocationRoute, categories: CategoriesRoute) {
    let (service, policy, filtering) = (configuration.service, configuration.caching, configuration.filtering)
    let shortLived = Revalidation(
      service: service, policy: policy.allowing(maximumAgeSeconds: Self.suggestionSeconds), program: program,
      clock: configuration.clock)
    let list = ListRoute(
      service: service, revalidation: revalidation, shortLived: shortLived, address: configuration.address,
      filtering: filtering, areas: configuration.areas)
    return (
      list, LocationRoute(service: service, policy: policy, program: program, clock: configuration.clock),
      CategoriesRoute(service: service, revalidation: revalidation, tree: filtering.categories)
    )
  }

  private var endpoints: [Endpoint] {
    let configuration = configuration
    let (service, policy, filtering) = (configuration.service, configuration.caching, configuration.filtering)
    let search = searchHandlers
    var location = search.location
    location.access = configuration.access
    let handlers: [any CallHandler] = [
      search.list, SearchRoute(search.list), location, search.categories,
      HoursRoute(service: service, policy: policy, clock: configuration.clock),
      CheckRoute(service: service, revalidation: revalidation),
      FeaturedRoute(service: service, policy: policy, clock: configuration.clock),
      SourcesRoute(service: service, policy: policy),
      SuggestRoute(
        service: service, revalidation: search.list.shortLived,
        categories: CategoryWords(filtering.categories, uptime: configuration.uptime),
        filtering: filtering, areas: configuration.areas),
      ReverseRoute(
        service: service, revalidation: revalidation, categories: filtering.categories, clock: configuration.clock,
        areas: configuration.areas),
    ]
    return handlers.map(\.endpoint)
  }
}

extension LocationsAPI.Configuration {
  package init(service: PointsService, version: String) {
    self.init(service: service, requiresIfMatch: false, version: version)
  }
}
