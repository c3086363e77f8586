import APIDescription
import AccessControl
import Basics
import CQL2
import Crypto
import Geo
package import HTTPServer
import NIOHTTP1
package import Points
import Synchronization

/// The restriction of a key or a token with the outlines of its areas, as they are at the moment.
package struct Restriction: Sendable {
  /// A value that is the same as long as the restriction means the same.
  struct Key: Hashable, Sendable {
    let stated: AccessRestriction
    fileprivate let areas: [ExactText]
  }

  let key: Key
  package let points: PointRestriction

  /// The prefix of the marks of restrictions. No mark of an area begins with it.
  package static let markPrefix = "R"

  /// A text of letters and digits that no other restriction has, nor this one with other outlines.
  @ComparedByBytes private(set) var mark: String

  fileprivate init(_ key: Key, _ areas: [GeodesicArea], _ filtering: Filtering) throws(Problem) {
    self.key = key
    var hash = SHA256()
    let texts = [key.stated.filter?.text ?? ""] + key.stated.areas.map(\.text) + [""] + key.areas.map(\.text)
    for text in texts { hash.update(data: Array("\(text.utf8.count):\(text)".utf8)) }
    mark = Self.markPrefix + Hexadecimal.encode(Array(hash.finalize().prefix(10)))
    do {
      // An area that does not exist has no places.
      let isEmpty = areas.isEmpty && !key.stated.areas.isEmpty
      // The edges of each area have a maximum already.
      let area =
        areas.count > 1
        ? try GeodesicArea(polygons: areas.flatMap(\.polygons), maximumMetres: .infinity) : areas.first
      points = PointRestriction(
        filter: isEmpty
          ? try PropertyFilter(.boolean(false), queryables: filtering.queryables)
          : try key.stated.propertyFilter(by: filtering.queryables),
        area: area, timeLimit: filtering.timeLimit, queryables: filtering.queryables)
    } catch {
      throw Problem(
        .forbidden, code: ProblemCode.forbidden.rawValue,
        detail: "the filter or the areas of the key or token can't be evaluated")
    }
  }

  /// Returns the mark of positions of a restriction and an area; `nil` if there are neither.
  package static func mark(_ restriction: Restriction?, _ area: Area?) -> String? {
    guard let restriction else { return area?.tag }
    return restriction.mark + (area?.tag ?? "")
  }

  /// Returns the areas that a restriction names, by id.
  fileprivate static func areas(_ stated: AccessRestriction, in areas: Areas) -> [Area] {
    let found = stated.areas.compactMap { areas.area(named: $0.text) }
    return Dictionary(found.map { ($0.id, $0) }) { first, _ in first }.values.sorted { $0.id < $1.id }
  }

  /// Returns a Boolean value that indicates whether the restriction means the same now. While the areas can't be read,
  /// it is not known to have changed.
  package func isCurrent(as stated: AccessRestriction?, in store: any AreaStore) async -> Bool {
    guard let stated, stated == key.stated else { return false }
    guard !stated.areas.isEmpty, let areas = try? await store.areas(isCurrent: false) else { return true }
    return key == Key(stated: stated, areas: Self.areas(stated, in: areas).map { ExactText($0.tag) })
  }
}

/// A middleware that passes the requests of senders with a restriction to calls of their own, which see no other places.
///
/// The calls of each restriction share nothing with others: neither caches nor entity tags.
final class RestrictionMiddleware: Middleware {
  /// The maximum number of restrictions whose calls are kept.
  private static let maximumCount = 64

  private let areas: any AreaStore
  private let filtering: Filtering
  private let makeRouter: @Sendable (Restriction) -> Router?

  /// The calls of restrictions, each with the number of its last use.
  private let routers = Mutex((all: [Restriction.Key: (router: Router, use: Int)](), uses: 0))

  /// Creates a middleware.
  ///
  /// - Parameter makeRouter: returns the calls of a restriction; `nil` if the store can't have any.
  init(areas: any AreaStore, filtering: Filtering, makeRouter: @escaping @Sendable (Restriction) -> Router?) {
    self.areas = areas
    self.filtering = filtering
    self.makeRouter = makeRouter
  }

  func intercepts(_ request: HTTPRequest) -> Bool { request.restriction != nil }

  nonisolated(nonsending) func respond(to request: HTTPRequest, next: MiddlewareChain) async -> HTTPResponse {
    do throws(Problem) {
      guard let stated = request.restriction else { return await next.respond(to: request) }
      let router = try await router(for: stated, request)
      return await router.respond(to: request)
    } catch {
      return HTTPResponse(error, rejecting: request)
    }
  }

  private func router(for stated: AccessRestriction, _ request: HTTPRequest) async throws(Problem) -> Router {
    var present = Areas()
    if !stated.areas.isEmpty {
      present = try await request.result(of: await areas.areas(isCurrent: false))
    }
    let found = Restriction.areas(stated, in: present)
    let key = Restriction.Key(stated: stated, areas: found.map { ExactText($0.tag) })
    if let router = used(key, as: nil) { return router }
    let router = try await request.computing { [present, filtering, makeRouter] () throws(Problem) -> Router? in
      makeRouter(try Restriction(key, found.compactMap { try? present.shape(of: $0) }, filtering))
    }
    guard let router else { throw Problem(.indexRequired) }
    return used(key, as: router) ?? router
  }

  /// Returns the calls of a restriction that are kept, and notes their use; keeps new ones where there are none, instead
  /// of those whose last use was the earliest.
  private func used(_ key: Restriction.Key, as router: Router?) -> Router? {
    routers.withLock { state in
      guard let router = state.all[key]?.router ?? router else { return nil }
      state.uses += 1
      state.all[key] = (router, state.uses)
      if state.all.count > Self.maximumCount, let oldest = state.all.min(by: { $0.value.use < $1.value.use }) {
        state.all[oldest.key] = nil
      }
      return router
    }
  }
}

extension LocationsAPI.Configuration {
  /// Returns the configuration of the calls of a restriction; `nil` if the store has no changes, by which places are
  /// judged.
  func restricted(to restriction: Restriction) -> Self? {
    guard let changes else { return nil }
    let judge = RestrictionJudge(restriction: restriction.points, feed: changes)
    var configuration = self
    configuration.service = service.restricted { [clock] store in judge.restricted(store, clock: clock) }
    configuration.changes = judge.restrictedChanges
    configuration.restriction = restriction
    configuration.caching = caching.madePrivate
    configuration.tileCacheBytes = 0
    var hash = FNV1a()
    hash.combine(settingsDigest)
    hash.combine(bytes: restriction.mark.utf8)
    configuration.settingsDigest = hash.value
    return configuration
  }
}

extension Endpoint {
  /// Returns the routes for senders with a restriction: those that refuse them, unless the call joins it.
  func restrictedRoutes(among calls: [Call]) -> [Route] {
    guard call.scope != nil, !call.joinsRestriction else { return routes(among: calls) }
    return routes(to: RefusedRoute())
  }
}

/// The handler of calls that reveal or change places outside of a restriction.
private struct RefusedRoute: RouteHandler {
  func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    throw Problem(
      .forbidden, code: ProblemCode.forbidden.rawValue,
      detail: "this call is not for keys and tokens with a filter or areas")
  }
}
