import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Answers requests in place of the network, by the handler that the request's host has. Each ``MockService`` has a host
/// of its own, so that tests that run at the same time share nothing.
final class MockURLProtocol: URLProtocol {
  /// Answers a request; `nil` leaves it unanswered until it is cancelled.
  typealias RequestHandler = @Sendable (URLRequest) throws -> (HTTPURLResponse, Data)?

  /// What a host does.
  struct Host: Sendable {
    let requestHandler: RequestHandler
    let stopHandler: @Sendable () -> Void
  }

  static let hosts = Mutex<[String: Host]>([:])

  private var host: Host? { request.url?.host().flatMap { name in Self.hosts.withLock { $0[name] } } }

  override class func canInit(with request: URLRequest) -> Bool { true }

  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  override func startLoading() {
    do {
      guard let host else { throw URLError(.cannotFindHost) }
      guard let (response, data) = try host.requestHandler(request) else { return }
      client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
      client?.urlProtocol(self, didLoad: data)
      client?.urlProtocolDidFinishLoading(self)
    } catch {
      client?.urlProtocol(self, didFailWithError: error)
    }
  }

  override func stopLoading() {
    host?.stopHandler()
  }
}
