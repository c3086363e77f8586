import Basics
package import Geo
package import HTTPServer
import NIOHTTP1
package import Points
import SearchWords
import Synchronization

/// The areas as a request reads them: for the one that it names by `in`, for those that the words of its text name, and
/// for the addresses in its response.
///
/// Functions take an optional value, which is `nil` for a request that needs no areas.
package final class RequestAreas: Sendable {
  package let areas: Areas

  /// A Boolean value that indicates whether the response has addresses, which areas complete.
  private let completesAddresses: Bool
  private let found = Mutex<Area?>(nil)

  /// The areas of places that were looked up before they are needed.
  private let known = Mutex<[Coordinate: [Area]]>([:])

  /// The readings of the request's text; `nil` until they are needed.
  private let readings = Mutex<(areas: [Area], readings: [TextQuery.AreaReading])?>(nil)

  /// A Boolean value that indicates whether the request's text has a part that any area may be named by.
  private let namesAny: Bool

  package init(_ areas: Areas, completesAddresses: Bool = false, namesAny: Bool = false) {
    self.areas = areas
    self.completesAddresses = completesAddresses
    self.namesAny = namesAny
  }

  /// The number of steps of the look-ups of a request on the event loop, less than a millisecond.
  private static let stepsOnEventLoop = 30_000

  /// A Boolean value that indicates whether the response has addresses that areas complete.
  fileprivate var completeAddresses: Bool { completesAddresses && !areas.isEmpty }

  /// Returns the areas that complete the address of a place.
  ///
  /// - Throws: ``PointStoreError`` at the limit of the steps.
  fileprivate func completingAddress(
    at coordinate: Coordinate, within steps: inout AreaSteps
  ) throws(PointStoreError) -> [Area] {
    if let known = known.withLock({ $0[coordinate] }) { return known }
    return try areas.completingAddress(at: coordinate, within: &steps)
  }

  /// Looks up the areas that complete the addresses of places, on the event loop.
  ///
  /// - Returns: `false` if that takes long.
  fileprivate func lookUp(_ coordinates: some Sequence<Coordinate>) -> Bool {
    var steps = AreaSteps(atMost: Self.stepsOnEventLoop)
    for coordinate in coordinates where known.withLock({ $0[coordinate] }) == nil {
      guard let areas = try? areas.completingAddress(at: coordinate, within: &steps) else { return false }
      known.withLock { $0[coordinate] = areas }
    }
    return true
  }

  /// Returns the areas that a place is in, the smallest first; those of a place in many of them, or in some of many
  /// edges, are looked up beside the event loop.
  package func containing(_ coordinate: Coordinate, for request: HTTPRequest) async throws(Problem) -> [Area] {
    var steps = AreaSteps(atMost: Self.stepsOnEventLoop)
    if let areas = try? areas.containing(coordinate, within: &steps) { return areas }
    return try await request.computing { () throws(Problem) in
      try request.searchResult(of: areas.containing(coordinate))
    }
  }

  /// The area that the request names, once it is found.
  package var named: Area? { found.withLock { $0 } }

  /// Returns the area of an id or a name; `nil` if there is none.
  func area(named text: String, near coordinate: Coordinate?) -> Area? {
    let area = areas.area(named: text, near: coordinate)
    found.withLock { $0 = area }
    return area
  }

  /// Returns the area of a name and a kind, prepared for searches, beside the event loop if that takes long; `nil` if there
  /// is none.
  package func area(
    named text: String, of kind: AreaKind, near coordinate: Coordinate?, for request: HTTPRequest
  ) async throws(Problem) -> GeodesicArea? {
    guard let area = areas.area(named: text, near: coordinate, of: kind) else { return nil }
    try await prepare(area, for: request)
    return try? areas.shape(of: area)
  }

  /// Returns the readings of the request's text by which some of its words name an area, with the areas prepared for
  /// searches.
  package func readings(of text: String, isIncomplete: Bool, near coordinate: Coordinate?) -> [TextQuery.AreaReading] {
    if let known = readings.withLock({ $0 }) { return known.readings }
    let (found, readings) = preparedReadings(of: text, isIncomplete: isIncomplete, near: coordinate)
    self.readings.withLock { $0 = (found, readings) }
    return readings
  }

  /// Returns the readings of another text than the request's, with the areas prepared for searches, beside the event
  /// loop if that takes long.
  func otherReadings(
    of text: String, isIncomplete: Bool, near coordinate: Coordinate?, for request: HTTPRequest
  ) async throws(Problem) -> [TextQuery.AreaReading] {
    try await prepare(text, isIncomplete: isIncomplete, near: coordinate, for: request)
    return preparedReadings(of: text, isIncomplete: isIncomplete, near: coordinate).readings
  }

  private func preparedReadings(
    of text: String, isIncomplete: Bool, near coordinate: Coordinate?
  ) -> (areas: [Area], readings: [TextQuery.AreaReading]) {
    var (found, readings): ([Area], [TextQuery.AreaReading]) = ([], [])
    for reading in areas.readings(of: text, isIncomplete: isIncomplete, near: coordinate) {
      guard let shape = try? areas.shape(of: reading.area) else { continue }
      found.append(reading.area)
      readings.append(.init(text: reading.rest, area: shape, isAtEnd: reading.isAtEnd))
    }
    return (found, readings)
  }

  fileprivate var tagSuffix: String {
    let addresses = completeAddresses || namesAny ? "-ad" + String(areas.version, radix: 36) : ""
    let areas = [named].compactMap(\.self) + (readings.withLock { $0?.areas } ?? [])
    return areas.reduce(addresses) { $0 + "-in" + $1.tag }
  }
}

extension RequestAreas? {
  /// Returns the areas that complete the address of a place.
  ///
  /// - Throws: `Problem` 503 `filter-timeout` at the deadline of the present computation.
  package func completingAddress(of point: PointOfInterest) throws(Problem) -> [Area] {
    var steps = AreaSteps()
    do throws(PointStoreError) {
      return try completingAddress(at: point.draft.coordinate, within: &steps)
    } catch {
      throw Problem(error)
    }
  }

  /// Returns the areas that complete the address of a place.
  ///
  /// - Throws: ``PointStoreError`` at the limit of the steps.
  package func completingAddress(
    at coordinate: Coordinate, within steps: inout AreaSteps
  ) throws(PointStoreError) -> [Area] {
    guard let self, self.completeAddresses else { return [] }
    return try self.completingAddress(at: coordinate, within: &steps)
  }

  /// A Boolean value that indicates whether the response has addresses that areas complete.
  var completeAddresses: Bool { self?.completeAddresses ?? false }

  /// Looks up the areas that complete the addresses of places, on the event loop.
  ///
  /// - Returns: `false` if that takes long, so that the addresses are to be written beside the event loop.
  func lookUp(_ coordinates: some Sequence<Coordinate>) -> Bool {
    guard let self, self.completeAddresses else { return true }
    return self.lookUp(coordinates)
  }

  /// The suffix of entity tags of responses that depend on areas: empty for others.
  var tagSuffix: String { self?.tagSuffix ?? "" }
}

extension Area {
  /// A text that no other area, and no other version of this one, has.
  package var tag: String { String(id.low ^ id.high, radix: 36) + "v" + String(version, radix: 36) }
}

/// The uses of areas by a call, which are read before its other parameters.
package enum AreaUse: Sendable {
  /// The area that `in` names.
  case named
  /// Also the areas that the words of `q` name, and those that complete the addresses of labels, where `fields` has them.
  case searched
  /// The same for a text that is still being typed, and responses that always have addresses.
  case addressed
}

/// The handler of a call that reads areas before its other parameters, as ``Call/areas`` declares. The area that `in`
/// names is stated in `Waymark-Area`.
package protocol AreaCallHandler: CallHandler {
  var areas: any AreaStore { get }

  /// Responds to a request.
  ///
  /// - Parameter values: the parameters, with the areas.
  func respond(to request: HTTPRequest, with values: ParameterValues) async throws(Problem) -> HTTPResponse
}

extension AreaCallHandler {
  // Without areas there is no further asynchronous call, which takes memory.
  @inline(__always)
  package func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let values = try ParameterValues(request, allowing: Self.call.parameters)
    guard let use = Self.call.areas, areas.areNeeded(for: values, use) else {
      return try await respond(to: request, with: values)
    }
    return try await areas.resolving(values, use, for: request) { values throws(Problem) in
      try await respond(to: request, with: values)
    }
  }
}

extension AreaStore {
  /// Returns a Boolean value that indicates whether a request may need areas.
  func areNeeded(for values: ParameterValues, _ use: AreaUse) -> Bool {
    if values.has(.area) || values.haveAddresses(use) { return true }
    return use != .named && values.has(.text) && recentAreas()?.isEmpty != true
  }

  /// Returns the response to a request with the areas that it needs, and with the id of the one that it names.
  func resolving(
    _ values: ParameterValues, _ use: AreaUse, for request: HTTPRequest,
    _ respond: (ParameterValues) async throws(Problem) -> HTTPResponse
  ) async throws(Problem) -> HTTPResponse {
    var values = values
    values.areas = try await areas(for: values, use, request)
    do throws(Problem) {
      var response = try await respond(values)
      if let area = values.areas?.named { response.headers.add(name: "waymark-area", value: area.id.description) }
      return response
    } catch {
      var problem = error
      if let area = values.areas?.named { problem.headers.add(name: "waymark-area", value: area.id.description) }
      throw problem
    }
  }

  /// Returns the areas that a request needs, prepared for searches, beside the event loop if that takes long.
  ///
  /// - Throws: `Problem` of the store's error, if `in` names an area. Texts and addresses do without areas, as where the
  ///   index answers while the database is away.
  private func areas(
    for values: ParameterValues, _ use: AreaUse, _ request: HTTPRequest
  ) async throws(Problem) -> RequestAreas? {
    let (name, position) = (values[.area], values.givenCoordinate)
    let text = use == .named ? nil : values[.text]
    let isIncomplete = use == .addressed || values[.autocomplete]?.hasSameBytes(as: "true") == true
    let hasAddresses = values.haveAddresses(use)
    let namesAny = text.map { !NearWords.readings(of: $0).isEmpty } ?? false
    guard name != nil || hasAddresses || namesAny || mayName(text, isIncomplete, near: position) else { return nil }
    let areas: RequestAreas
    do throws(Problem) {
      areas = try await forRequest(request, completesAddresses: hasAddresses, namesAny: namesAny)
    } catch {
      if name != nil { throw error }
      return nil
    }
    if let name { try await areas.prepare(areaNamed: name, near: position, for: request) }
    if let text { try await areas.prepare(text, isIncomplete: isIncomplete, near: position, for: request) }
    return areas
  }

  /// Returns a Boolean value that indicates whether a text may name an area. As most do not, the areas of a moment ago
  /// decide, so that no search waits for the areas to be read.
  private func mayName(_ text: String?, _ isIncomplete: Bool, near position: Coordinate?) -> Bool {
    guard let text else { return false }
    guard let recent = recentAreas() else { return true }
    return !recent.readings(of: text, isIncomplete: isIncomplete, near: position).isEmpty
  }
}

extension ParameterValues {
  /// Returns a Boolean value that indicates whether the response has addresses.
  fileprivate func haveAddresses(_ use: AreaUse) -> Bool {
    switch use {
    case .named: false
    case .searched: self[.fields]?.contains("label") == true
    case .addressed: true
    }
  }

  /// The coordinate of `lat` and `long`; `nil` if one is not given or invalid.
  fileprivate var givenCoordinate: Coordinate? {
    guard let latitude = self[.latitude].flatMap({ Self.number($0) }),
      let longitude = self[.longitude].flatMap({ Self.number($0) })
    else { return nil }
    return try? Coordinate(latitude: latitude, longitude: longitude)
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
  package func prepare(
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
}

extension HTTPRequest {
  /// Returns the result of a closure that writes the addresses of places: on the event loop, or beside it where looking
  /// up their areas takes long.
  package func writingAddresses<Value>(
    of coordinates: some Sequence<Coordinate>, in areas: RequestAreas?, _ body: () throws(Problem) -> Value
  ) async throws(Problem) -> Value {
    areas.lookUp(coordinates) ? try body() : try await computing(body)
  }
}

extension AreaStore {
  /// Returns the areas for a request whose response has addresses; `nil` if they can't be read, as addresses do without.
  package func completingAddresses(for request: HTTPRequest) async -> RequestAreas? {
    try? await forRequest(request, completesAddresses: true)
  }

  /// Returns the areas for a request.
  ///
  /// - Throws: `Problem` of the store's error.
  package func forRequest(
    _ request: HTTPRequest, completesAddresses: Bool = false, namesAny: Bool = false
  ) async throws(Problem) -> RequestAreas {
    let current = try await request.result(of: await areas(isCurrent: false, notBefore: request.minimumPosition))
    return RequestAreas(current, completesAddresses: completesAddresses, namesAny: namesAny)
  }
}

extension ParameterValues {
  /// Returns the area of `in`; `nil` if it is not given or there is none.
  mutating func namedArea(near coordinate: Coordinate?) -> GeodesicArea? {
    guard let text = self[.area] else { return nil }
    if has(.within) { note(.invalid, Parameter.area.name, "must not be given if within is given") }
    guard let areas, let area = areas.area(named: text, near: coordinate) else {
      note(.invalid, Parameter.area.name, "must be the id or a name of an area, got \(quoted(text))")
      return nil
    }
    do {
      return try areas.areas.shape(of: area)
    } catch {
      note(.invalid, Parameter.area.name, "is an area in which places cannot be searched: \(error)")
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
