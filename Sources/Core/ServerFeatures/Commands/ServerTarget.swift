package import AsyncHTTPClient
package import Basics
package import Foundation
import HTTPServer
package import NIOCore
package import NIOHTTP1
import NIOSSL

/// A running server that a command sends requests to.
package struct ServerTarget: Sendable {
  /// The address of the server, without a slash at its end.
  package let base: String

  private let apiKey: String?
  private let authorities: [NIOSSLCertificate]?
  private let trace: TraceParent?

  /// Creates a target.
  ///
  /// - Parameters:
  ///   - url: the address of the server, without the path of a call.
  ///   - authorities: the authorities that may have signed its certificate; `nil` for those that the system trusts.
  ///   - trace: the trace that the requests are steps of.
  /// - Throws: ``ConfigurationError`` for an address, a key or a file that can't be used, without the key.
  package init(
    url: String, apiKey: String?, authorities: AuthorityFile? = nil, trace: TraceParent? = nil
  ) throws(ConfigurationError) {
    // Without @ no part of a password with an unencoded / is shown as a part of the address.
    guard let components = URLComponents(string: url), let scheme = components.scheme?.lowercased(),
      ["http", "https"].contains(scheme), components.host?.isEmpty == false, !url.contains("@"),
      components.query == nil, components.fragment == nil
    else {
      throw .init(
        variable: "--url", value: url,
        expectation: "must be an address such as http://127.0.0.1:8080, without user, query, fragment and @")
    }
    guard apiKey?.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) != false else {
      throw .conflict(Setting.client.apiKey, "must be printable ASCII without spaces")
    }
    var base = url
    while base.hasSuffix("/") { base.removeLast() }
    self.base = base
    self.apiKey = apiKey
    self.trace = trace
    self.authorities = scheme == "https" ? try authorities?.certificates() : nil
  }

  /// The longest time without a byte of a response: a server may copy a large file before it sends it.
  private static let readTimeout = TimeAmount.hours(1)

  /// Calls with a client, which is shut down afterwards.
  ///
  /// - Parameter readTimeout: the longest time without a byte of a response.
  package func withClient<Value, Failure>(
    readTimeout: TimeAmount = Self.readTimeout, _ body: (HTTPClient) async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    try await HTTPClient.withClient(trusting: authorities, readTimeout: readTimeout, body)
  }

  /// Returns a request.
  ///
  /// - Parameter target: the path of the call, with its query.
  package func request(_ method: HTTPMethod, _ target: String) -> HTTPClientRequest {
    var request = HTTPClientRequest(url: base + target)
    request.method = method
    if let apiKey { request.headers.add(name: "authorization", value: "Bearer \(apiKey)") }
    if let trace {
      var generator = SystemRandomNumberGenerator()
      request.headers.add(name: "traceparent", value: trace.child(using: &generator).description)
    }
    return request
  }

  // MARK: Errors

  /// Returns a Boolean value that indicates whether an established connection has ended.
  package static func isBreak(_ error: any Error) -> Bool {
    switch error {
    case let error as HTTPClientError: error == .remoteConnectionClosed
    case let error as IOError: [EPIPE, ECONNRESET, ECONNABORTED].contains(error.errnoCode)
    // A response had begun.
    case is HTTPParserError, is InvalidResponse: true
    default: false
    }
  }
}

/// The error of a call whose response is a file.
package struct ServerCallError: Error, CustomStringConvertible {
  package let description: String

  /// A Boolean value that indicates whether a later call may succeed.
  package let isUnavailable: Bool

  /// Creates the error of a connection.
  package init(_ error: any Error, target: ServerTarget) {
    isUnavailable = true
    description =
      switch error {
      case let error as InvalidResponse: "\(target.base): \(error)"
      case _ where ServerTarget.isBreak(error): "\(target.base): the connection broke"
      default: "\(target.base) can't be reached: \(HTTPClient.reason(of: error))"
      }
  }

  /// Creates the error of a response that is not the file.
  package init(_ status: HTTPResponseStatus, body: Data) {
    struct Problem: Decodable {
      let detail: String?
    }
    let detail = (try? JSONDecoder().decode(Problem.self, from: body))?.detail?.escapingControls()
    description = "the server responded with \(status.code)\(detail.map { ": \($0)" } ?? "")"
    isUnavailable = [.requestTimeout, .tooManyRequests, .badGateway, .serviceUnavailable, .gatewayTimeout]
      .contains(status)
  }

  /// Creates the error of a response of another program.
  package init(notWaymark target: ServerTarget) {
    isUnavailable = false
    description = "\(target.base) did not respond as Waymark does"
  }
}

extension ServerTarget {
  /// The limit of a response that is decoded.
  private static let maximumResponseBytes = 16 << 20

  /// The timeout of a request.
  private static let timeout = TimeAmount.seconds(30)

  /// Sends a request whose response is JSON, and decodes it.
  package func decode<Value: Decodable & Sendable>(
    _ type: Value.Type, _ request: HTTPClientRequest
  ) async throws(ServerCallError) -> Value {
    try await withClient { (client) async throws(ServerCallError) in
      let status: HTTPResponseStatus
      let body: Data
      do {
        let response = try await client.execute(request, timeout: Self.timeout)
        status = response.status
        body = Data(try await response.body.collect(upTo: Self.maximumResponseBytes).readableBytesView)
      } catch {
        throw ServerCallError(error, target: self)
      }
      guard status == .ok else { throw ServerCallError(status, body: body) }
      guard let value = try? JSONDecoder().decode(type, from: body) else { throw ServerCallError(notWaymark: self) }
      return value
    }
  }
}
