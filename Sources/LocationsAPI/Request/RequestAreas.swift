import AccessControl
import Basics
import Geo
import HTTPServer
import NIOHTTP1
import Points
import Synchronization

/// The areas as a request reads them: for the one that it names by `in`, for those that the words of its text name, and
/// for the addresses in its response.
final class RequestAreas: Sendable {
  /// The areas of the present request; `nil` if it names none.
  @TaskLocal static var current: RequestAreas?

  let areas: Areas

  /// A Boolean value that indicates whether the response has addresses, which areas complete.
  private let completesAddresses: Bool
  private let found = Mutex<Area?>(nil)

  /// The areas of places that were looked up before they are needed.
  private let known = Mutex<[Coordinate: [Area]]>([:])

  /// The readings of the request's text; `nil` until they are needed.
  private let readings = Mutex<(areas: [Area], readings: [TextQuery.AreaReading])?>(nil)

  init(_ areas: Areas, completesAddresses: Bool = false) {
    self.areas = areas
    self.completesAddresses = completesAddresses
  }

  /// Returns the areas that complete the address of a place.
  ///
  /// - Throws: `Problem` 503 `filter-timeout` at the deadline of the present computation.
  static func areas(of point: PointOfInterest) throws(Problem) -> [Area] {
    var steps = AreaSteps()
    do throws(PointStoreError) {
      return try areas(at: point.draft.coordinate, within: &steps)
    } catch {
      throw Problem(error)
    }
  }

  /// Returns the areas that complete the address of a place.
  ///
  /// - Throws: ``PointStoreError`` at the limit of the steps.
  static func areas(
    at coordinate: Coordinate, within steps: inout AreaSteps
  ) throws(PointStoreError) -> [Area] {
    guard let current, current.completesAddresses, !current.areas.isEmpty else { return [] }
    if let known = current.known.withLock({ $0[coordinate] }) { return known }
    return try current.areas.completingAddress(at: coordinate, within: &steps)
  }

  /// A Boolean value that indicates whether the present response has addresses that areas complete.
  static var completeAddresses: Bool {
    guard let current else { return false }
    return current.completesAddresses && !current.areas.isEmpty
  }

  /// The number of steps of the look-ups of a request on the event loop, less than a millisecond.
  private static let stepsOnEventLoop = 30_000

  /// Looks up the areas that complete the addresses of places, on the event loop.
  ///
  /// - Returns: `false` if that takes long, so that the addresses are to be written beside the event loop.
  static func lookUp(_ coordinates: some Sequence<Coordinate>) -> Bool {
    guard let current, completeAddresses else { return true }
    var steps = AreaSteps(atMost: stepsOnEventLoop)
    for coordinate in coordinates where current.known.withLock({ $0[coordinate] }) == nil {
      guard let areas = try? current.areas.completingAddress(at: coordinate, within: &steps) else { return false }
      current.known.withLock { $0[coordinate] = areas }
    }
    return true
  }

  /// Returns the areas that a place is in, the smallest first; those of a place in many of them, or in some of many
  /// edges, are looked up beside the event loop.
  func containing(_ coordinate: Coordinate, for request: HTTPRequest) async throws(Problem) -> [Area] {
    var steps = AreaSteps(atMost: Self.stepsOnEventLoop)
    if let areas = try? areas.containing(coordinate, within: &steps) { return areas }
    return try await request.computing { () throws(Problem) in
      try request.reportingSearchErrors { () throws(PointStoreError) in try areas.containing(coordinate) }
    }
  }

  /// The area that the request names, once it is found.
  var named: Area? { found.withLock { $0 } }

  /// Returns the area of an id or a name; `nil` if there is none.
  func area(named text: String, near coordinate: Coordinate?) -> Area? {
    let area = areas.area(named: text, near: coordinate)
    found.withLock { $0 = area }
    return area
  }

  /// Returns the area of a name and a kind, prepared for searches, beside the event loop if that takes long; `nil` if there
  /// is none.
  func area(
    named text: String, of kind: AreaKind, near coordinate: Coordinate?, for request: HTTPRequest
  ) async throws(Problem) -> GeodesicArea? {
    guard let area = areas.area(named: text, near: coordinate, of: kind) else { return nil }
    try await prepare(area, for: request)
    return try? areas.shape(of: area)
  }

  /// Returns the readings of the request's text by which some of its words name an area, with the areas prepared for
  /// searches.
  func readings(of text: String, isIncomplete: Bool, near coordinate: Coordinate?) -> [TextQuery.AreaReading] {
    if let known = readings.withLock({ $0 }) { return known.readings }
    var (found, readings): ([Area], [TextQuery.AreaReading]) = ([], [])
    for reading in areas.readings(of: text, isIncomplete: isIncomplete, near: coordinate) {
      guard let shape = try? areas.shape(of: reading.area) else { continue }
      found.append(reading.area)
      readings.append(.init(text: reading.rest, area: shape, isAtEnd: reading.isAtEnd))
    }
    self.readings.withLock { [found, readings] in $0 = (found, readings) }
    return readings
  }

  /// The suffix of entity tags of responses that depend on areas: empty for others.
  static var tagSuffix: String {
    guard let current else { return "" }
    let all = current.areas
    let addresses = current.completesAddresses && !all.isEmpty ? "-ad" + String(all.version, radix: 36) : ""
    let areas = [current.named].compactMap(\.self) + (current.readings.withLock { $0?.areas } ?? [])
    return areas.reduce(addresses) { $0 + "-in" + $1.tag }
  }
}

extension Area {
  /// A text that no other area, and no other version of this one, has.
  var tag: String { String(id.low ^ id.high, radix: 36) + "v" + String(version, radix: 36) }
}

/// A middleware that reads the areas for a request that needs them: its query names one, whose id it states in
/// `Waymark-Area`, the words of its text name one, or its response has addresses.
struct AreaMiddleware: Middleware {
  let areas: any AreaStore

  func intercepts(_ request: HTTPRequest) -> Bool {
    guard request.route?.scope == .read, let query = request.query else { return false }
    let hints = AreaHints(query)
    return hints.namesArea || hasAddresses(request, hints) || hasText(request, hints)
  }

  /// Returns a Boolean value that indicates whether a response has addresses.
  private func hasAddresses(_ request: HTTPRequest, _ hints: AreaHints) -> Bool {
    switch request.route?.template {
    case "/locations": hints.hasLabel
    case "/locations/reverse", "/locations/suggest", "/api", "/reverse", "/structured", "/nominatim/search",
      "/nominatim/reverse":
      true
    default: false
    }
  }

  /// Returns a Boolean value that indicates whether there are areas that the words of a text may name.
  private func hasText(_ request: HTTPRequest, _ hints: AreaHints) -> Bool {
    hints.hasText && request.route?.template == "/locations" && areas.recentAreas()?.isEmpty != true
  }

  nonisolated(nonsending) func respond(to request: HTTPRequest, next: MiddlewareChain) async -> HTTPResponse {
    do throws(Problem) {
      let hasAddresses = hasAddresses(request, AreaHints(request.query ?? ""))
      let names = try AreaNamesOfRequest(request)
      if names.area == nil, !hasAddresses, !mayName(names) { return await next.respond(to: request) }
      let context: RequestAreas
      do throws(Problem) {
        context = try await areas.forRequest(request, completesAddresses: hasAddresses)
      } catch {
        guard names.area == nil else { throw error }
        // Texts and addresses do without areas, as where the index answers while the database is away.
        return await next.respond(to: request)
      }
      if let text = names.area { try await context.prepare(areaNamed: text, near: names.position, for: request) }
      if let text = names.text { try await context.prepare(text, names, for: request) }
      return await context.respond { await next.respond(to: request) }
    } catch {
      var response = HTTPResponse(error, typePrefix: Problem.serviceTypePrefix)
      response.route = request.route?.template
      return response
    }
  }

  /// Returns a Boolean value that indicates whether the text of a request may name an area. As most do not, the areas of
  /// a moment ago decide, so that no search waits for the areas to be read.
  private func mayName(_ names: AreaNamesOfRequest) -> Bool {
    guard let text = names.text else { return false }
    guard let recent = areas.recentAreas() else { return true }
    return !recent.readings(of: text, isIncomplete: names.isIncomplete, near: names.position).isEmpty
  }
}

/// The parameters of a query that areas may matter for, found in one pass without allocation, which every read takes.
private struct AreaHints {
  private(set) var namesArea = false
  private(set) var hasText = false
  private(set) var hasLabel = false

  init(_ query: Substring) {
    var query = query
    query.withUTF8 { query in
      var start = 0
      while start < query.count {
        let end = query.firstIndex(of: UInt8(ascii: "&"), from: start) ?? query.count
        note(UnsafeBufferPointer(rebasing: query[start..<end]))
        start = end + 1
      }
    }
  }

  private mutating func note(_ pair: UnsafeBufferPointer<UInt8>) {
    let nameEnd = pair.firstIndex(of: UInt8(ascii: "="), from: 0) ?? pair.count
    let name = UnsafeBufferPointer(rebasing: pair[..<nameEnd])
    if name.isEqual(toLowercase: "in") {
      namesArea = true
    } else if name.isEqual(toLowercase: "q") {
      hasText = true
    } else if name.isEqual(toLowercase: "fields") {
      hasLabel = hasLabel || pair[nameEnd...].containsLabel
    } else if name.firstIndex(of: UInt8(ascii: "%"), from: 0) != nil {
      // A name with an escape may be that of any.
      (namesArea, hasText, hasLabel) = (true, true, true)
    }
  }
}

extension Slice<UnsafeBufferPointer<UInt8>> {
  /// A Boolean value that indicates whether the bytes have the name of the field `label`, or an escape that may stand
  /// for a part of it.
  fileprivate var containsLabel: Bool {
    var rest = self
    while let index = rest.firstIndex(where: { $0 == UInt8(ascii: "l") || $0 == UInt8(ascii: "%") }) {
      rest = rest[index...]
      if rest.starts(with: "label".utf8) { return true }
      // `%2C` is a comma.
      if rest.first == UInt8(ascii: "%"), !rest.starts(with: "%2C".utf8), !rest.starts(with: "%2c".utf8) { return true }
      rest = rest.dropFirst()
    }
    return false
  }
}

/// The parts of a query that may name an area.
private struct AreaNamesOfRequest {
  private(set) var area: String?
  private(set) var text: String?
  private(set) var isIncomplete = false
  private(set) var position: Coordinate?

  init(_ request: HTTPRequest) throws(Problem) {
    var (latitude, longitude): (Double?, Double?)
    try QueryParameter.forEach(in: request.query) { pair throws(Problem) in
      switch Parameter(name: pair.name) {
      case .area?: area = area ?? pair.value
      case .text?: text = text ?? pair.value
      case .autocomplete?: isIncomplete = pair.value == "true"
      case .latitude?: latitude = latitude ?? ParameterValues.number(pair.value)
      case .longitude?: longitude = longitude ?? ParameterValues.number(pair.value)
      default: break
      }
    }
    if request.route?.template != "/locations" { isIncomplete = true }
    if let latitude, let longitude { position = try? Coordinate(latitude: latitude, longitude: longitude) }
  }
}

extension RequestAreas {
  /// The number of positions up to which an area is prepared for searches on the event loop, in less than a millisecond.
  private static let shortOutline = 500

  /// Has the area of a name prepared for searches, beside the event loop if that takes long.
  func prepare(
    areaNamed text: String, near coordinate: Coordinate?, for request: HTTPRequest
  ) async throws(Problem) {
    if let area = areas.area(named: text, near: coordinate) { try await prepare(area, for: request) }
  }

  /// Has the areas that a text names prepared for searches, beside the event loop if that takes long.
  fileprivate func prepare(
    _ text: String, _ names: AreaNamesOfRequest, for request: HTTPRequest
  ) async throws(Problem) {
    try await prepare(text, isIncomplete: names.isIncomplete, near: names.position, for: request)
  }

  /// Has the areas that a text names prepared for searches, beside the event loop if that takes long.
  func prepare(
    _ text: String, isIncomplete: Bool, near coordinate: Coordinate?, for request: HTTPRequest
  ) async throws(Problem) {
    for reading in areas.readings(of: text, isIncomplete: isIncomplete, near: coordinate) {
      try await prepare(reading.area, for: request)
    }
  }

  private func prepare(_ area: Area, for request: HTTPRequest) async throws(Problem) {
    guard area.draft.outline.positionCount > Self.shortOutline, !areas.hasShape(of: area) else { return }
    _ = try await request.computing { try? self.areas.shape(of: area) }
  }

  /// Returns the result of a closure that has these areas.
  func parsing<Value>(_ body: () throws(Problem) -> Value) throws(Problem) -> Value {
    let result = Self.$current.withValue(self) { () -> Result<Value, Problem> in
      do throws(Problem) {
        return .success(try body())
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Returns the response of a closure that has these areas, with the area that it named.
  nonisolated(nonsending) func respond(_ body: nonisolated(nonsending) () async -> HTTPResponse) async -> HTTPResponse {
    var response = await Self.$current.withValue(self) { await body() }
    if let area = named { response.headers.add(name: "waymark-area", value: area.id.description) }
    return response
  }
}

extension HTTPRequest {
  /// Returns the result of a closure that writes the addresses of places: on the event loop, or beside it where looking
  /// up their areas takes long.
  func writingAddresses<Value>(
    of coordinates: some Sequence<Coordinate>, _ body: () throws(Problem) -> Value
  ) async throws(Problem) -> Value {
    RequestAreas.lookUp(coordinates) ? try body() : try await computing(body)
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
      try await areas(isCurrent: false, notBefore: request.minimumPosition)
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
  func areas(isCurrent: Bool, notBefore position: String?) async throws(PointStoreError) -> Areas { Areas() }

  func recentAreas() -> Areas? { Areas() }

  func record(of key: IdempotencyKey) async throws(PointWriteError) -> IdempotencyRecord? { nil }

  func commit(
    _ change: AreaChange, onto version: Int64, for client: String?
  ) async throws(PointStoreError) -> Areas? {
    throw .readOnly(reason: "it has no areas")
  }
}
