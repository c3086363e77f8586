import WaymarkClient

#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// A protocol that replaces the network of a `URLSession` by the scripts of ``MockService``.
///
/// ``MockService/session`` has it. An app that creates its session itself adds it to the configuration:
///
/// ```swift
/// let configuration = URLSessionConfiguration.ephemeral
/// configuration.protocolClasses = [MockURLProtocol.self]
/// ```
public final class MockURLProtocol: URLProtocol {
  /// The handlers of a host.
  struct Host: Sendable {
    let requestHandler: @Sendable (URLRequest) throws -> (HTTPURLResponse, Data)?
    let stopHandler: @Sendable () -> Void
  }

  static let hosts = Locked<[String: Host]>([:])

  private var host: Host? { request.url?.host().flatMap { name in Self.hosts.withLock { $0[name] } } }

  /// Returns `true`: no request reaches the network.
  public override class func canInit(with request: URLRequest) -> Bool { true }

  /// Returns the request unchanged.
  public override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  /// Sends the script's response.
  public override func startLoading() {
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

  /// Tells the script that the loading has ended.
  public override func stopLoading() {
    host?.stopHandler()
  }
}
