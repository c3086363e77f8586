import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A service whose responses a closure provides, with a URL and a session.
final class MockService: Sendable {
  let baseURL: URL
  let session: URLSession

  private let host = "\(UUID().uuidString.lowercased()).test"
  private let received = Mutex<[URLRequest]>([])

  /// The requests, in order.
  var requests: [URLRequest] { received.withLock { $0 } }

  /// Creates a service.
  ///
  /// - Parameters:
  ///   - stopHandler: called when a request ends before its response.
  ///   - requestHandler: returns the response to a request, given the number of earlier ones.
  init(
    stopHandler: @escaping @Sendable () -> Void = {},
    requestHandler: @escaping @Sendable (URLRequest, Int) throws -> (HTTPURLResponse, Data)?
  ) throws {
    baseURL = try URL(text: "https://\(host)")
    let configuration = URLSessionConfiguration.ephemeral
    configuration.protocolClasses = [MockURLProtocol.self]
    session = URLSession(configuration: configuration)
    let entry = MockURLProtocol.Host(
      requestHandler: { [weak self] request in
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
  convenience init(_ responses: MockResponse...) throws {
    try self.init { request, index in try responses[min(index, responses.count - 1)].response(to: request) }
  }
}

/// A response of a ``MockService``.
enum MockResponse: Sendable {
  case response(status: Int, fields: [String: String], body: String)
  case failure(URLError.Code)

  static func ok(_ body: String, _ fields: [String: String] = [:]) -> MockResponse {
    .response(status: 200, fields: fields, body: body)
  }

  static func problem(_ status: Int, code: String, fields: [String: String] = [:]) -> MockResponse {
    .response(
      status: status, fields: fields.merging(["Content-Type": "application/problem+json"]) { given, _ in given },
      body: #"{"type":"urn:waymark:problem:\#(code)","title":"T","status":\#(status),"detail":"D","code":"\#(code)"}"#)
  }

  func response(to request: URLRequest) throws -> (HTTPURLResponse, Data) {
    switch self {
    case .failure(let code): throw URLError(code)
    case .response(let status, let fields, let body):
      guard let url = request.url,
        let response = HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
      else { throw URLError(.badURL) }
      return (response, Data(body.utf8))
    }
  }
}
