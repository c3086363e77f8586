public import Foundation
import WaymarkClient

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// A scripted service without a network: a URL and a `URLSession` whose requests get the responses of a script.
///
/// ```swift
/// let service = try MockService(.problem(503, code: "store-unavailable"), .ok(#"[{"name":"A"}]"#))
/// let loader = APIRequestLoader(
///   apiRequest: PointsOfInterestRequest(baseURL: service.baseURL), urlSession: service.session)
/// ```
///
/// Each service has its own host, so that concurrent tests share nothing.
public final class MockService: Sendable {
  /// Returns the response to a request, given the number of earlier ones; `nil` for none before the request is
  /// cancelled.
  public typealias RequestHandler = @Sendable (URLRequest, Int) throws -> (HTTPURLResponse, Data)?

  /// The URL of the service.
  public let baseURL: URL

  /// A session that sends its requests to the scripted services only. It reaches no network.
  public let session: URLSession

  private let host = "\(UUID().uuidString.lowercased()).test"
  private let received = Locked<[URLRequest]>([])

  /// The requests, in order, with their bodies in `httpBody`.
  public var requests: [URLRequest] { received.withLock { $0 } }

  /// Creates a service whose responses a closure provides.
  ///
  /// ```swift
  /// let service = try MockService { request, index in
  ///   try MockResponse.ok("[]", ["X-Request-Id": "\(index)"]).response(to: request)
  /// }
  /// let waymark = Waymark(baseURL: service.baseURL, session: service.session)
  /// ```
  ///
  /// - Parameters:
  ///   - stopHandler: called when the loading of a request ends, also by cancellation.
  ///   - requestHandler: returns the response to a request.
  /// - Throws: `URLError` for an invalid URL, which does not occur.
  public init(
    stopHandler: @escaping @Sendable () -> Void = {}, requestHandler: @escaping RequestHandler
  ) throws {
    guard let url = URL(string: "https://\(host)") else { throw URLError(.badURL) }
    baseURL = url
    let configuration = URLSessionConfiguration.ephemeral
    configuration.protocolClasses = [MockURLProtocol.self]
    session = URLSession(configuration: configuration)
    let entry = MockURLProtocol.Host(
      requestHandler: { [weak self] request in
        let request = request.withBody
        let index = self?.received.withLock { received in
          received.append(request)
          return received.count - 1
        }
        return try requestHandler(request, index ?? 0)
      }, stopHandler: stopHandler)
    MockURLProtocol.hosts.withLock { $0[host] = entry }
  }

  deinit {
    MockURLProtocol.hosts.withLock { $0[host] = nil }
    session.invalidateAndCancel()
  }

  /// Creates a service that returns the given responses in order, and then repeats the last one.
  ///
  /// ```swift
  /// let service = try MockService(.failure(.timedOut), .ok("[]"))
  /// ```
  ///
  /// - Throws: `URLError` for an invalid URL, which does not occur.
  public convenience init(_ first: MockResponse, _ others: MockResponse...) throws {
    let responses = [first] + others
    try self.init { request, index in try responses[min(index, responses.count - 1)].response(to: request) }
  }
}

/// A response of a ``MockService``.
///
/// ```swift
/// let responses = [MockResponse.ok("[]"), .problem(404, code: "not-found"), .failure(.timedOut), .pending]
/// let service = try MockService(.json([place]))
/// let created = MockResponse.response(status: 201, fields: ["ETag": "\"1\""], body: #"{"name":"A"}"#)
/// ```
public enum MockResponse: Sendable {
  /// A response with a status, header fields and a body.
  case response(status: Int, fields: [String: String], body: String)

  /// No response: the session throws `URLError` with this code.
  case failure(URLError.Code)

  /// No response before the request is cancelled.
  case pending

  /// Returns a response with status 200.
  public static func ok(_ body: String, _ fields: [String: String] = [:]) -> MockResponse {
    .response(status: 200, fields: fields, body: body)
  }

  /// Returns a response with status 200 and a value as JSON.
  ///
  /// - Throws: `EncodingError`.
  public static func json(_ value: some Encodable, _ fields: [String: String] = [:]) throws -> MockResponse {
    let body = String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    return ok(body, fields.merging(["Content-Type": "application/json"]) { given, _ in given })
  }

  /// Returns a response with problem details, as the service sends them.
  public static func problem(
    _ status: Int, code: String, title: String = "T", detail: String = "D", fields: [String: String] = [:]
  ) -> MockResponse {
    let members: [String: Any] = [
      "type": "urn:waymark:problem:\(code)", "title": title, "status": status, "detail": detail, "code": code,
    ]
    let body = (try? JSONSerialization.data(withJSONObject: members, options: .sortedKeys)) ?? Data()
    return .response(
      status: status, fields: fields.merging(["Content-Type": "application/problem+json"]) { given, _ in given },
      body: String(decoding: body, as: UTF8.self))
  }

  /// Returns the response to a request, for the request handler of a ``MockService``.
  ///
  /// ```swift
  /// let service = try MockService { request, _ in try MockResponse.ok("[]").response(to: request) }
  /// ```
  ///
  /// - Throws: `URLError` for ``failure(_:)``.
  public func response(to request: URLRequest) throws -> (HTTPURLResponse, Data)? {
    switch self {
    case .failure(let code): throw URLError(code)
    case .pending: return nil
    case .response(let status, let fields, let body):
      guard let url = request.url,
        let response = HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
      else { throw URLError(.badURL) }
      return (response, Data(body.utf8))
    }
  }
}

extension URLRequest {
  /// The request with its body in `httpBody`. On Apple's platforms, a `URLProtocol` gets it as a stream.
  fileprivate var withBody: URLRequest {
    guard httpBody == nil, let stream = httpBodyStream else { return self }
    var body = Data()
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    stream.open()
    defer { stream.close() }
    while case let count = stream.read(&buffer, maxLength: buffer.count), count > 0 { body += buffer[..<count] }
    var request = self
    request.httpBody = body
    return request
  }
}
