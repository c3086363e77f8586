package import AccessControl
import Duplicates
package import Foundation
import Geo
package import HTTPServer
package import LocationsAPI
package import Logging
package import ManagementAPI
package import MemoryStore
package import NIOCore
package import NIOHTTP1
import Pages
package import Points
import TestSupport

extension MemoryStore {
  /// An empty store whose clock stands at 1970, so that the versions it gives are 1, 2, 3 and so on.
  package static func countingFromOne() -> MemoryStore {
    MemoryStore(clock: FixedClock(Timestamp(microsecondsSinceEpoch: 0)))
  }
}

extension LocationsAPI {
  /// Returns the responder for the calls of this interface, of management and of the features to its places.
  package func routerOfAllCalls(_ features: FeatureCalls = FeatureCalls()) -> Router {
    var configuration = configuration
    configuration.pageStyle = .translated
    configuration.pageStyle.imageOrigin = features.baseMap?.origin
    return LocationsAPI(configuration).router { features.endpoints($0) }
  }
}

/// A driver of the whole service in process, from a request to its response, without a socket.
package struct ServiceDriver {
  private let responder: any HTTPResponder

  /// Creates a driver of a responder.
  package init(_ responder: any HTTPResponder) { self.responder = responder }

  /// Creates a driver of an interface, and of the features to its places.
  package init(_ api: LocationsAPI, features: FeatureCalls = FeatureCalls()) {
    responder = api.routerOfAllCalls(features)
  }

  /// Creates a driver of a service over a store.
  package init(
    store: any PointStore, clock: any WallClock = SystemClock(), metrics: (any MetricsSource)? = nil,
    filtering: Filtering = Filtering(timeLimit: .seconds(600)),
    uptime: @escaping @Sendable () -> Duration = monotonicTime
  ) {
    var api = LocationsAPI.Configuration(service: PointsService(store: store, clock: clock), version: "1.2.3")
    api.areas = store as? any AreaStore ?? api.areas
    api.filtering = filtering
    api.uptime = uptime
    let decisions = (store as? any RecordStore).map { DuplicateDecisions($0) }
    self.init(LocationsAPI(api), features: FeatureCalls(metrics: metrics, decisions: decisions))
  }

  /// Creates a driver of a service with keys.
  package init(
    writing store: some PointStore,
    access: AccessPolicy = AccessPolicy(keys: nil, isLoopback: true),
    requiresIfMatch: Bool = false
  ) {
    self.init(writing: store, control: AccessControl(access), requiresIfMatch: requiresIfMatch)
  }

  /// Creates a driver of a service whose keys may change.
  package init(writing store: some PointStore, control: AccessControl, requiresIfMatch: Bool = false) {
    var api = LocationsAPI.Configuration(service: PointsService(store: store), version: "1.2.3")
    api.areas = store as? any AreaStore ?? api.areas
    api.access = control
    api.requiresIfMatch = requiresIfMatch
    self.init(LocationsAPI(api))
  }

  /// Creates a driver of a service over places in memory.
  package init(
    places: [PointDraft], clock: any WallClock = SystemClock(),
    filtering: Filtering = Filtering(timeLimit: .seconds(600))
  ) async throws {
    let store = MemoryStore.countingFromOne()
    let rows = places.enumerated().map { ImportRow(number: $0.offset + 1, id: nil, draft: $0.element) }
    _ = try await store.load(AsyncStream([rows]))
    self.init(store: store, clock: clock, filtering: filtering)
  }

  /// Sends a request with a body of JSON, or of the media type in the headers.
  package func send(
    _ method: HTTPMethod, _ target: String, headers: HTTPHeaders = [:], json: String
  ) async throws -> Response {
    var headers = headers
    if !headers.contains(name: "content-type") { headers.add(name: "content-type", value: "application/json") }
    return try await send(method, target, headers: headers, body: ByteBuffer(string: json))
  }

  /// Sends a request, and checks that the description of the call has the response.
  package func send(
    _ method: HTTPMethod = .GET, _ target: String, headers: HTTPHeaders = [:], body: ByteBuffer = ByteBuffer(),
    from address: String = "127.0.0.1", logger: Logger? = nil
  ) async throws -> Response {
    var request = Self.request(method, target, headers: headers, body: body, from: address, logger: logger)
    let response =
      if let known = responder.respondAtOnce(to: &request) { known } else { await responder.respond(to: request) }
    let collected = Response(
      target: target, status: Int(response.status.code), headers: response.headers,
      body: Data(try await response.body.collect().readableBytesView))
    DescribedService.check(method, target, collected)
    return collected
  }

  /// Returns the response that is there without waiting, and the one with; each to a request of its own.
  package func bothResponses(_ target: String, headers: HTTPHeaders = [:]) async -> (
    atOnce: HTTPResponse?, waiting: HTTPResponse
  ) {
    var request = Self.request(.GET, target, headers: headers)
    let atOnce = responder.respondAtOnce(to: &request)
    return (atOnce, await responder.respond(to: Self.request(.GET, target, headers: headers)))
  }

  /// Returns the response of a service over a store, with its body unread.
  package static func respond(
    _ method: HTTPMethod, _ target: String, store: some PointStore
  ) async throws -> HTTPResponse {
    await ServiceDriver(writing: store).responder.respond(to: request(method, target))
  }

  /// Returns a request from a program on the server's machine, to `localhost` unless the headers name another host.
  package static func request(
    _ method: HTTPMethod, _ target: String, headers: HTTPHeaders = [:], body: ByteBuffer = ByteBuffer(),
    from address: String = "127.0.0.1", logger: Logger? = nil
  ) -> HTTPRequest {
    var headers = headers
    if !headers.contains(name: "host") { headers.add(name: "host", value: "localhost:8080") }
    return HTTPRequest(
      method: method, target: target, headers: headers, body: .bytes(body),
      remoteAddress: try? SocketAddress(ipAddress: address, port: 1), logger: logger)
  }

  /// A response with its body.
  package struct Response {
    package let target: String
    package let status: Int
    package let headers: HTTPHeaders
    package let body: Data

    package init(target: String, status: Int, headers: HTTPHeaders, body: Data) {
      self.target = target
      self.status = status
      self.headers = headers
      self.body = body
    }

    package var text: String { String(decoding: body, as: UTF8.self) }

    /// The body as an array of objects.
    package var array: [[String: Any]] {
      get throws { try JSONSerialization.jsonObject(with: body) as? [[String: Any]] ?? [] }
    }

    /// The body as an object.
    package var object: [String: Any] {
      get throws { try JSONSerialization.jsonObject(with: body) as? [String: Any] ?? [:] }
    }

    /// The names in a JSON array of places, in their order.
    package var names: [String] {
      get throws { try array.compactMap { $0["name"] as? String } }
    }

    /// The slug of a problem.
    package var code: String? {
      get throws { try object["code"] as? String }
    }

    /// The parameters that a problem names.
    package var parameters: [String] {
      get throws { (try object["errors"] as? [[String: String]] ?? []).compactMap { $0["parameter"] } }
    }

    /// The JSON pointers that a problem names.
    package var pointers: [String] {
      get throws { (try object["errors"] as? [[String: String]] ?? []).compactMap { $0["pointer"] } }
    }

    /// The target of `Location`, resolved.
    package var location: String? { headers.first(name: "location").map { resolve($0) } }

    /// A reference resolved against the request's target.
    private func resolve(_ reference: String) -> String {
      URL(string: reference, relativeTo: URL(string: "http://localhost" + target))?.absoluteString
        .replacing("http://localhost", with: "") ?? reference
    }

    /// The target of the link to the next page.
    package var next: String? {
      guard let link = headers.first(name: "link")?.firstMatch(of: /<([^>]*)>; rel="next"/) else { return nil }
      return resolve(String(link.output.1))
    }
  }
}

extension AsyncStream where Element: Sendable {
  /// A stream of elements that are there already.
  package init(_ elements: [Element]) {
    self.init { continuation in
      for element in elements { continuation.yield(element) }
      continuation.finish()
    }
  }
}

extension PointDraft {
  /// A place for a test.
  package static func at(
    _ latitude: Double, _ longitude: Double, name: String, category: String? = nil,
    tags: KeyValuePairs<String, String> = [:], sourceID: String? = nil
  ) throws -> PointDraft {
    try PointDraft(
      name: name, category: category, coordinate: Coordinate(latitude: latitude, longitude: longitude),
      tags: Tags(tags), source: sourceID == nil ? nil : "test", sourceID: sourceID)
  }
}

extension String {
  /// The path and query of an absolute address.
  package var pathAndQuery: String { replacing("http://localhost:8080", with: "") }
}
