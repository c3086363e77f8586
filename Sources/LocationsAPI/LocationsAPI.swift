public import HTTPServer
import JSONText
import NIOHTTP1
public import Points

/// The service's HTTP interface: which call does what. Each route has a file of its own with three parts to it: its
/// arguments, the operation, the response.
public struct LocationsAPI: Sendable {
  /// What the `type` of this service's problems begins with.
  public static let problemTypePrefix = "urn:waymark:problem:"

  private let service: PointsService
  private let editor: PlaceEditor?
  private let access: AccessControl
  private let requiresIfMatch: Bool
  private let caching: CachePolicy
  private let metrics: (any MetricsSource)?
  private let searches: (any SearchHistory)?
  private let backUp: BackUp?
  private let clock: any WallClock
  private let uptime: @Sendable () -> Duration
  private let isDraining: @Sendable () -> Bool
  private let address: PublicAddress
  private let version: String

  /// Creates the interface to a service.
  ///
  /// - Parameters:
  ///   - service: what reads places.
  ///   - editor: what changes them; without it there are no calls that do.
  ///   - access: who may do what.
  ///   - requiresIfMatch: whether a change is refused that does not say what it was made to.
  ///   - caching: what caches are told of answers.
  ///   - metrics: what `GET /metrics` tells; without it there is no such call.
  ///   - searches: what knows what was searched for; without it the call that tells is answered with 404.
  ///   - backUp: what copies the file in which places are kept; without it the call that does is answered with 501.
  ///   - clock: the time of day, up to which searches are told; one that never goes back, shared with a store that tells
  ///     when its places changed.
  ///   - uptime: a time that never jumps, by which readiness and metrics grow old.
  ///   - isDraining: whether the process has been told to stop, and is ready no longer.
  ///   - address: the address under which clients see the service.
  ///   - version: the version that `GET /` tells.
  public init(
    service: PointsService,
    editor: PlaceEditor? = nil,
    access: AccessControl = AccessControl(AccessPolicy(keys: nil, isLoopback: true)),
    requiresIfMatch: Bool = false,
    caching: CachePolicy = CachePolicy(),
    metrics: (any MetricsSource)? = nil,
    searches: (any SearchHistory)? = nil,
    backUp: BackUp? = nil,
    clock: any WallClock = SystemClock(),
    uptime: @escaping @Sendable () -> Duration = monotonicTime,
    isDraining: @escaping @Sendable () -> Bool = { false },
    address: PublicAddress = PublicAddress(),
    version: String
  ) {
    self.service = service
    self.editor = editor
    self.access = access
    self.requiresIfMatch = requiresIfMatch
    self.caching = caching
    self.metrics = metrics
    self.searches = searches
    self.backUp = backUp
    self.clock = clock
    self.uptime = uptime
    self.isDraining = isDraining
    self.address = address
    self.version = version
  }

  /// What answers every call.
  ///
  /// - Parameters:
  ///   - cors: which pages may read the answers; `nil` is none.
  ///   - gate: what requests pass first; `nil` is nothing.
  public func router(cors: CORSPolicy? = nil, gate: (any RequestGate)? = nil) -> Router {
    var router = Router(cors: cors, problemTypePrefix: Self.problemTypePrefix, gate: gate)
    addReading(to: &router)
    if let editor { addWriting(editor, to: &router) }
    let health = HealthRoute(service: service, uptime: uptime, isDraining: isDraining)
    router.on(.GET, "/health/live") { _, _ in health.live() }
    router.on(.GET, "/health/ready") { request, _ in try await health.ready(request) }
    let searches = SearchesRoute(history: searches, clock: clock)
    router.on(.GET, "/analytics/searches") { [access] request, _ in
      _ = try await access.principal(of: request, for: .admin)
      return try await searches.respond(to: request)
    }
    let backup = BackupRoute(backUp: backUp)
    router.on(.POST, "/backup") { [access] request, _ in
      _ = try await access.principal(of: request, for: .admin)
      return try await backup.respond(to: request)
    }
    if let metrics {
      let route = MetricsRoute(source: metrics, uptime: uptime)
      router.on(.GET, "/metrics") { [access] request, _ in
        _ = try await access.principal(of: request, for: .read)
        return await route.respond()
      }
    }
    router.on(.GET, "/") { request, _ in HTTPResponse(contentType: "application/json", bytes: index(for: request)) }
    return router
  }

  private func addReading(to router: inout Router) {
    func onGet(
      _ template: String, _ handler: @escaping @Sendable (HTTPRequest, PathParameters) async throws -> HTTPResponse
    ) {
      guard access.needsCredential(for: .read) else { return router.on(.GET, template, handler: handler) }
      router.on(.GET, template) { [access] request, path in
        _ = try await access.principal(of: request, for: .read)
        return try await handler(request, path)
      }
    }
    let revalidation = Revalidation(service: service, policy: caching, program: version, clock: clock)
    let list = ListRoute(service: service, revalidation: revalidation, address: address)
    onGet("/locations") { request, _ in try await list.respond(to: request) }
    let location = LocationRoute(service: service, policy: caching)
    onGet("/locations/{id}") { request, path in try await location.respond(to: request, id: path["id"]) }
    let check = CheckRoute(service: service, revalidation: revalidation)
    onGet("/locations/check") { request, _ in try await check.respond(to: request) }
    let featured = FeaturedRoute(service: service, policy: caching)
    onGet("/locations/featured") { request, _ in try await featured.respond(to: request) }
    let categories = CategoriesRoute(service: service, revalidation: revalidation)
    onGet("/categories") { request, _ in try await categories.respond(to: request) }
  }

  private func addWriting(_ editor: PlaceEditor, to router: inout Router) {
    func on(
      _ method: HTTPMethod, _ template: String, bodyLimit: Router.BodyLimit = .serverDefault,
      _ handler: @escaping @Sendable (HTTPRequest, PathParameters, Principal) async throws -> HTTPResponse
    ) {
      guard access.needsCredential(for: .write) else {
        return router.on(method, template, bodyLimit: bodyLimit) { [access] request, path in
          try await handler(request, path, access.keylessPrincipal(of: request, for: .write))
        }
      }
      router.on(method, template, bodyLimit: bodyLimit) { [access] request, path in
        try await handler(request, path, access.principal(of: request, for: .write))
      }
    }
    let create = CreateRoute(editor: editor, address: address)
    on(.POST, "/locations") { request, _, principal in try await create.respond(to: request, from: principal) }
    let replace = ReplaceRoute(editor: editor, address: address, requiresIfMatch: requiresIfMatch)
    on(.PUT, "/locations/{id}") { request, path, _ in try await replace.respond(to: request, id: path["id"]) }
    let change = ChangeRoute(editor: editor, requiresIfMatch: requiresIfMatch)
    on(.PATCH, "/locations/{id}") { request, path, _ in try await change.respond(to: request, id: path["id"]) }
    let delete = DeleteRoute(editor: editor, requiresIfMatch: requiresIfMatch)
    on(.DELETE, "/locations/{id}") { request, path, _ in try await delete.respond(to: request, id: path["id"]) }
    let deleteSource = DeleteSourceRoute(editor: editor)
    on(.DELETE, "/locations") { request, _, _ in try await deleteSource.respond(to: request) }
    let bulk = ImportRoute(editor: editor)
    on(.POST, "/locations/import", bodyLimit: .unlimited) { request, _, principal in
      try await bulk.respond(to: request, from: principal)
    }
    let export = ExportRoute(service: service, editor: editor)
    router.on(.GET, "/locations/export") { [access] request, _ in
      _ = try await access.principal(of: request, for: .read)
      return try await export.respond(to: request)
    }
  }

  /// The answer to `GET /`: what this is and where to go.
  private func index(for request: HTTPRequest) -> [UInt8] {
    var json = Array("{\"name\":\"waymark\",\"version\":".utf8)
    JSONString.append(version, to: &json)
    let links =
      [
        ("locations", "/locations{?lat,long,radius,bbox,category,source,sourceId,limit,cursor,fields,f}"),
        ("location", "/locations/{id}"),
        ("check", "/locations/check{?lat,long,radius,fields}"),
        ("featured", "/locations/featured"),
        ("import", "/locations/import{?mode,dryRun,source,idField,unknownFields}"),
        ("export", "/locations/export{?lat,long,radius,bbox,category,source,sourceId,f}"),
        ("categories", "/categories{?bbox}"),
        ("backup", "/backup"),
        ("searches", "/analytics/searches{?since,until,limit}"),
        ("live", "/health/live"),
        ("ready", "/health/ready"),
      ] + (metrics == nil ? [] : [("metrics", "/metrics")])
    json.append(contentsOf: ",\"links\":{".utf8)
    for (index, (name, target)) in links.enumerated() {
      let target = address.target(path: target, relative: String(target.dropFirst()), for: request)
      json.append(contentsOf: "\(index > 0 ? "," : "")\"\(name)\":".utf8)
      JSONString.append(target, to: &json)
    }
    json.append(contentsOf: "}}".utf8)
    return json
  }
}
