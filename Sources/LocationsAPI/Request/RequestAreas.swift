import AccessControl
import Basics
import Geo
import HTTPServer
import NIOHTTP1
import Points
import Synchronization

/// The areas as a request reads them: for the one that it names by `in`, and for the addresses in its response.
final class RequestAreas: Sendable {
  /// The areas of the present request; `nil` if it names none.
  @TaskLocal static var current: RequestAreas?

  let areas: Areas

  /// A Boolean value that indicates whether the response has addresses, which areas complete.
  private let completesAddresses: Bool
  private let found = Mutex<Area?>(nil)

  init(_ areas: Areas, completesAddresses: Bool = false) {
    self.areas = areas
    self.completesAddresses = completesAddresses
  }

  /// Returns the areas that complete the address of a place.
  static func areas(of point: PointOfInterest) -> [Area] {
    guard let current, current.completesAddresses, !current.areas.isEmpty else { return [] }
    return current.areas.containing(point.draft.coordinate)
  }

  /// The area that the request names, once it is found.
  var named: Area? { found.withLock { $0 } }

  /// Returns the area of an id or a name; `nil` if there is none.
  func area(named text: String, near coordinate: Coordinate?) -> Area? {
    let area = areas.area(named: text, near: coordinate)
    found.withLock { $0 = area }
    return area
  }

  /// The suffix of entity tags of responses that depend on areas: empty for others.
  static var tagSuffix: String {
    guard let current else { return "" }
    let all = current.areas
    let addresses = current.completesAddresses && !all.isEmpty ? "-ad" + String(all.version, radix: 36) : ""
    guard let area = current.named else { return addresses }
    return addresses + "-in" + String(area.id.low ^ area.id.high, radix: 36) + "v" + String(area.version, radix: 36)
  }
}

/// A middleware that reads the areas for a request that needs them: its query names one, whose id it states in
/// `Waymark-Area`, or its response has addresses.
struct AreaMiddleware: Middleware {
  let areas: any AreaStore

  func intercepts(_ request: HTTPRequest) -> Bool {
    guard request.route?.scope == .read, let query = request.query else { return false }
    return namesArea(query) || hasAddresses(request, query)
  }

  /// Returns a Boolean value that indicates whether a response has addresses.
  private func hasAddresses(_ request: HTTPRequest, _ query: Substring) -> Bool {
    switch request.route?.template {
    case "/locations/reverse", "/locations/suggest", "/api", "/reverse": true
    case "/locations": query.contains("label")
    default: false
    }
  }

  private func namesArea(_ query: Substring) -> Bool {
    // A name with an escape may be that of the parameter.
    return query.utf8.split(separator: UInt8(ascii: "&")).contains { pair in
      let name = pair.prefix { $0 != UInt8(ascii: "=") }
      return name.elementsEqual("in".utf8) || name.contains(UInt8(ascii: "%"))
    }
  }

  nonisolated(nonsending) func respond(to request: HTTPRequest, next: MiddlewareChain) async -> HTTPResponse {
    do throws(Problem) {
      let context = try await areas.forRequest(
        request, completesAddresses: hasAddresses(request, request.query ?? ""))
      let (text, coordinate) = try Self.areaName(in: request.query)
      if let text { try await context.prepare(areaNamed: text, near: coordinate, for: request) }
      return await context.respond { await next.respond(to: request) }
    } catch {
      var response = HTTPResponse(error, typePrefix: Problem.serviceTypePrefix)
      response.route = request.route?.template
      return response
    }
  }

  /// Returns the name of the area in a query, and the position.
  private static func areaName(
    in query: Substring?
  ) throws(Problem) -> (text: String?, coordinate: Coordinate?) {
    var text: String?
    var (latitude, longitude): (Double?, Double?)
    try QueryParameter.forEach(in: query) { pair throws(Problem) in
      switch Parameter(name: pair.name) {
      case .area?: text = text ?? pair.value
      case .latitude?: latitude = latitude ?? ParameterValues.number(pair.value)
      case .longitude?: longitude = longitude ?? ParameterValues.number(pair.value)
      default: break
      }
    }
    guard let latitude, let longitude else { return (text, nil) }
    return (text, try? Coordinate(latitude: latitude, longitude: longitude))
  }
}

extension RequestAreas {
  /// The number of positions up to which an area is prepared for searches on the event loop, in less than a millisecond.
  private static let shortOutline = 500

  /// Has the area of a name prepared for searches, beside the event loop if that takes long.
  func prepare(
    areaNamed text: String, near coordinate: Coordinate?, for request: HTTPRequest
  ) async throws(Problem) {
    guard let area = areas.area(named: text, near: coordinate),
      area.draft.outline.positionCount > Self.shortOutline, !areas.hasShape(of: area)
    else { return }
    _ = try await request.computing { try? self.areas.shape(of: area) }
  }

  /// Returns the response of a closure that has these areas, with the area that it named.
  nonisolated(nonsending) func respond(_ body: nonisolated(nonsending) () async -> HTTPResponse) async -> HTTPResponse {
    var response = await Self.$current.withValue(self) { await body() }
    if let area = named { response.headers.add(name: "waymark-area", value: area.id.description) }
    return response
  }
}

extension AreaStore {
  /// Returns the areas for a request.
  ///
  /// - Throws: `Problem` of the store's error.
  func forRequest(
    _ request: HTTPRequest, completesAddresses: Bool = false
  ) async throws(Problem) -> RequestAreas {
    let current = try await request.reportingStoreErrors { () throws(PointStoreError) in
      try await areas(isCurrent: false)
    }
    return RequestAreas(current, completesAddresses: completesAddresses)
  }
}

extension ParameterValues {
  /// Returns the area of `in`; `nil` if it is not given or there is none.
  mutating func namedArea(near coordinate: Coordinate?) -> GeodesicArea? {
    guard let text = self[.area] else { return nil }
    if has(.within) { note(.invalid, Parameter.area.name, "must not be given where within is") }
    guard let context = RequestAreas.current, let area = context.area(named: text, near: coordinate) else {
      note(.invalid, Parameter.area.name, "must be the id or a name of an area; there is none \(quoted(text))")
      return nil
    }
    do {
      return try context.areas.shape(of: area)
    } catch {
      note(.invalid, Parameter.area.name, "is an area that places cannot be searched in: \(error)")
      return nil
    }
  }
}

/// A store without areas.
struct NoAreas: AreaStore {
  func areas(isCurrent: Bool) async throws(PointStoreError) -> Areas { Areas() }

  func record(of key: String) async throws(PointStoreError) -> AreaRecord? { nil }

  func commit(_ change: AreaChange, onto version: Int64) async throws(PointStoreError) -> Areas? {
    throw .readOnly(reason: "it has no areas")
  }
}
