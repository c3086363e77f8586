import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A protocol that replaces the network by a handler for each host. Each ``MockService`` has its own host, so that
/// concurrent tests share nothing.
final class MockURLProtocol: URLProtocol {
  /// Returns the response to a request; `nil` leaves it open until it is cancelled.
  typealias RequestHandler = @Sendable (URLRequest) throws -> (HTTPURLResponse, Data)?

  /// The handlers of a host.
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
