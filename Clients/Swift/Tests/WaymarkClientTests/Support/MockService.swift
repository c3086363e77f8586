import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A service that is a closure: an address and a session whose requests the closure answers.
final class MockService: Sendable {
  let baseURL: URL
  let session: URLSession

  private let host = "\(UUID().uuidString.lowercased()).test"
  private let received = Mutex<[URLRequest]>([])

  /// What was asked, in its order.
  var requests: [URLRequest] { received.withLock { $0 } }

  /// Creates a service.
  ///
  /// - Parameters:
  ///   - stopHandler: is called when a request ends before its answer.
  ///   - requestHandler: answers the requests, of which it is told how many came before.
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

  /// A service that answers the n-th request by the n-th of these, and all after the last one by that.
  convenience init(_ answers: MockAnswer...) throws {
    try self.init { request, index in try answers[min(index, answers.count - 1)].answer(to: request) }
  }
}

/// What a ``MockService`` answers.
enum MockAnswer: Sendable {
  case answer(status: Int, fields: [String: String], body: String)
  case failure(URLError.Code)

  static func ok(_ body: String, _ fields: [String: String] = [:]) -> MockAnswer {
    .answer(status: 200, fields: fields, body: body)
  }

  static func problem(_ status: Int, code: String, fields: [String: String] = [:]) -> MockAnswer {
    .answer(
      status: status, fields: fields.merging(["Content-Type": "application/problem+json"]) { given, _ in given },
      body: #"{"type":"urn:waymark:problem:\#(code)","title":"T","status":\#(status),"detail":"D","code":"\#(code)"}"#)
  }

  func answer(to request: URLRequest) throws -> (HTTPURLResponse, Data) {
    switch self {
    case .failure(let code): throw URLError(code)
    case .answer(let status, let fields, let body):
      guard let url = request.url,
        let response = HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
      else { throw URLError(.badURL) }
      return (response, Data(body.utf8))
    }
  }
}
