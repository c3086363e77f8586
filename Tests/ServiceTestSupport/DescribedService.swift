import APIDescription
import AccessControl
import Duplicates
import Foundation
import HTTPServer
package import JSONText
package import LocationsAPI
import ManagementAPI
package import MemoryStore
package import NIOHTTP1
import Pages
import Points
import SuggestedEdits
import Testing

/// A service with every route.
package enum DescribedService {
  private struct Metrics: MetricsSource {
    let contentType = "text/plain; version=0.0.4; charset=utf-8"

    func text() async -> String { "waymark_places 1\n" }
  }

  package static func api(over store: MemoryStore = MemoryStore(), address: PublicAddress = PublicAddress())
    -> LocationsAPI
  {
    var api = LocationsAPI.Configuration(
      service: PointsService(store: store), version: "1.2.3")
    api.changes = store.changes
    api.areas = store
    api.access = AccessControl(AccessPolicy(keys: nil, isLoopback: true, scopes: AccessScope.all))
    api.address = address
    return LocationsAPI(api)
  }

  /// The features with every call.
  package static func features(over store: MemoryStore = MemoryStore()) -> FeatureCalls {
    let suggestions = Suggestions(store)
    return FeatureCalls(
      metrics: Metrics(), history: StatusHistory(), decisions: DuplicateDecisions(store), suggestions: suggestions,
      messageSources: [suggestions.messages])
  }

  /// Every call.
  package static let calls: [Call] = {
    let api = Self.api()
    return api.endpoints(joining: features().endpoints(api)).map(\.call)
  }()

  /// Returns the call of a request.
  package static func call(_ method: HTTPMethod, _ target: String) -> Call? {
    let path = target.prefix { $0 != "?" }
    let method = method == .HEAD ? .GET : method
    let candidates = calls.filter { call in
      let (names, segments) = (call.path.split(separator: "/"), path.split(separator: "/"))
      return call.method == method && names.count == segments.count
        && zip(names, segments).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
    }
    return candidates.first { !$0.path.contains("{") } ?? candidates.first
  }

  /// Records an issue where a response is not among those that the description of its call has.
  package static func check(_ method: HTTPMethod, _ target: String, _ response: ServiceDriver.Response) {
    guard method != .OPTIONS, let call = call(method, target), !isWithoutRoute(response) else { return }
    let name = "\(method.rawValue) \(target.prefix(80)) \(response.status)"
    let mediaType = response.headers.first(name: "content-type")
    // An error of another interface is described as a response of its own.
    let isDescribed = call.responses.contains { described in
      described.status == response.status && described.media.contains { $0.type == mediaType }
    }
    if response.status >= 400, !isDescribed {
      let code = (try? response.code).flatMap { $0 }
      // Only the stubs of tests report it for a read.
      if call.method == .GET, code == "outcome-unknown" { return }
      let codes = call.problems.filter { $0.status == response.status }.map(\.code.rawValue)
      if method != .HEAD, !codes.contains(code ?? "") {
        Issue.record("\(name): the code \(code ?? "none") is not described")
      }
      if mediaType != Problem.mediaType { Issue.record("\(name): \(mediaType ?? "none") is no problem") }
      check(response, .problem, method, name)
      return
    }
    guard let described = call.responses.first(where: { $0.status == response.status }) else {
      Issue.record("\(name): the status is not described")
      return
    }
    for header in described.headers where header.isRequired && !response.headers.contains(name: header.name) {
      Issue.record("\(name): the field \(header.name) is missing")
    }
    let essence = mediaType?.prefix { $0 != ";" }
    let medium = described.media.first { $0.type.prefix { $0 != ";" } == essence }
    guard mediaType == nil ? described.media.isEmpty || response.body.isEmpty : medium != nil else {
      Issue.record("\(name): the media type \(mediaType ?? "none") is not described")
      return
    }
    if let medium, medium.type == "application/json" || medium.type.hasSuffix("+json") {
      check(response, medium.schema, method, name)
    }
  }

  private static func check(
    _ response: ServiceDriver.Response, _ schema: Schema, _ method: HTTPMethod, _ name: String
  ) {
    guard method != .HEAD, response.headers["content-encoding"].isEmpty else { return }
    guard let value = try? JSONReader.value(of: response.body) else {
      Issue.record("\(name): the body is not JSON")
      return
    }
    for violation in schema.violations(in: value).prefix(3) { Issue.record("\(name): \(violation)") }
  }

  /// Returns a Boolean value that indicates whether the service of a test lacks the route.
  private static func isWithoutRoute(_ response: ServiceDriver.Response) -> Bool {
    response.status == 405 || (response.status == 404 && response.text.contains("nothing is at this path"))
  }
}

extension Schema {
  /// Returns the ways in which a value breaks the schema.
  package func violations(in value: JSONValue, at path: String = "") -> [String] {
    if isNullable, value == .null { return [] }
    var found: [String] = []
    func require(_ condition: Bool, _ rule: String) {
      if !condition { found.append("\(path.isEmpty ? "/" : path) \(rule)") }
    }
    let keywords = JSONValue.object(keywords)
    func bound(_ name: String) -> Double? {
      guard case .number(let text)? = keywords[name] else { return nil }
      return Double(text)
    }
    func requireCount(_ count: Int, _ least: String, _ most: String) {
      if let bound = bound(least) { require(Double(count) >= bound, "is too short") }
      if let bound = bound(most) { require(Double(count) <= bound, "is too long") }
    }
    if case .array(let values)? = keywords["enum"] { require(values.contains(value), "is not one of the values") }
    switch (kind, value) {
    case (.any, _): break
    case (.string, .string(let text)):
      requireCount(text.unicodeScalars.count, "minLength", "maxLength")
      if case .string(let pattern)? = keywords["pattern"] {
        require(text.range(of: pattern, options: .regularExpression) != nil, "does not match the pattern")
      }
      if keywords["format"] == "uuid" { require(UUID(uuidString: text) != nil, "is no UUID") }
      if keywords["format"] == "date-time" { require(Timestamp(rfc3339: text) != nil, "is no time") }
    case (.integer, .number(let text)), (.number, .number(let text)):
      let number = Double(text) ?? .nan
      if case .integer = kind { require(number == number.rounded(), "is no integer") }
      if let bound = bound("minimum") { require(number >= bound, "is too small") }
      if let bound = bound("maximum") { require(number <= bound, "is too large") }
    case (.boolean, .bool): break
    case (.array(let element), .array(let elements)):
      requireCount(elements.count, "minItems", "maxItems")
      for (index, value) in elements.enumerated() { found += element.violations(in: value, at: "\(path)/\(index)") }
    case (.tuple(let elements), .array(let values)):
      require(values.count >= elements.count, "is too short")
      for (element, value) in zip(elements, values) { found += element.violations(in: value, at: path) }
    case (.object(let properties, let others), .object(let members)):
      requireCount(members.count, "minProperties", "maxProperties")
      for property in properties where property.isRequired {
        require(value[property.name] != nil, "lacks \(property.name)")
      }
      for member in members {
        if let property = properties.first(where: { $0.name == member.name }) {
          found += property.schema.violations(in: member.value, at: "\(path)/\(member.name)")
        } else if let others {
          found += others.violations(in: member.value, at: "\(path)/\(member.name)")
        } else {
          require(false, "has the member \(member.name)")
        }
      }
    case (.component(let component), _): return component.schema.violations(in: value, at: path)
    case (.anyOf(let schemas), _): require(schemas.contains { $0.violations(in: value).isEmpty }, "fits no schema")
    case (.allOf(let schemas), _): for schema in schemas { found += schema.violations(in: value, at: path) }
    default: require(false, "is \(value.kind)")
    }
    return found
  }
}
