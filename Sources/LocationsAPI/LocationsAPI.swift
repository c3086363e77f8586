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
  private let version: String

  /// Makes the interface to a service.
  ///
  /// - Parameter version: the version that `GET /` tells.
  public init(service: PointsService, version: String) {
    self.service = service
    self.version = version
  }

  /// What answers every call.
  ///
  /// - Parameter cors: which pages may read the answers; `nil` is none.
  public func router(cors: CORSPolicy? = nil) -> Router {
    var router = Router(cors: cors, problemTypePrefix: Self.problemTypePrefix)
    let list = ListRoute(service: service)
    router.on(.GET, "/locations") { request, _ in try await list.respond(to: request) }
    let location = LocationRoute(service: service)
    router.on(.GET, "/locations/{id}") { request, path in try await location.respond(to: request, id: path["id"]) }
    let check = CheckRoute(service: service)
    router.on(.GET, "/locations/check") { request, _ in try await check.respond(to: request) }
    let featured = FeaturedRoute(service: service)
    router.on(.GET, "/locations/featured") { request, _ in try await featured.respond(to: request) }
    let categories = CategoriesRoute(service: service)
    router.on(.GET, "/categories") { request, _ in try await categories.respond(to: request) }
    let health = HealthRoute(service: service)
    router.on(.GET, "/health/live") { _, _ in health.live() }
    router.on(.GET, "/health/ready") { request, _ in try await health.ready(request) }
    let index = index
    router.on(.GET, "/") { _, _ in HTTPResponse(contentType: "application/json", bytes: index) }
    return router
  }

  /// The answer to `GET /`: what this is and where to go.
  private var index: [UInt8] {
    var json = Array("{\"name\":\"waymark\",\"version\":".utf8)
    JSONString.append(version, to: &json)
    let links = [
      ("locations", "/locations{?lat,long,radius,bbox,category,limit,cursor,fields,f}"),
      ("location", "/locations/{id}"),
      ("check", "/locations/check{?lat,long,radius,fields}"),
      ("featured", "/locations/featured"),
      ("categories", "/categories"),
      ("live", "/health/live"),
      ("ready", "/health/ready"),
    ]
    json.append(contentsOf: ",\"links\":{".utf8)
    for (index, (name, target)) in links.enumerated() {
      json.append(contentsOf: "\(index > 0 ? "," : "")\"\(name)\":\"\(target)\"".utf8)
    }
    json.append(contentsOf: "}}".utf8)
    return json
  }
}
