import AsyncHTTPClient
import Foundation
import HTTPServer
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import ServerFeatures

/// A running server that a command sends requests to.
struct ServerTarget: Sendable {
  /// The address of the server, without a slash at its end.
  let base: String

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
  init(
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
      throw .conflict(Setting.client.apiKey, "must be printable ASCII without blanks")
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
  func withClient<Value, Failure>(
    readTimeout: TimeAmount = Self.readTimeout, _ body: (HTTPClient) async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    try await HTTPClient.withClient(trusting: authorities, readTimeout: readTimeout, body)
  }

  /// Returns a request.
  ///
  /// - Parameter target: the path of the call, with its query.
  func request(_ method: HTTPMethod, _ target: String) -> HTTPClientRequest {
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
  static func isBreak(_ error: any Error) -> Bool {
    switch error {
    case let error as HTTPClientError: error == .remoteConnectionClosed
    case let error as IOError: [EPIPE, ECONNRESET, ECONNABORTED].contains(error.errnoCode)
    // A response had begun.
    case is HTTPParserError, is InvalidResponse: true
    default: false
    }
  }

  /// Returns the reason of a connection's error, for a user.
  ///
  /// - Parameter authorityFileNames: the options and variables that name a file of authorities.
  static func reason(
    _ error: any Error, authorityFileNames: String = "--ca-file or SSL_CERT_FILE"
  ) -> String {
    switch error {
    case let error as HTTPClientError: return error.shortDescription
    case let error as NIOConnectionError:
      return error.connectionErrors.first.map { reason($0.error, authorityFileNames: authorityFileNames) }
        ?? "the name '\(error.host)' is not known"
    case let error as IOError: return String(cString: strerror(error.errnoCode))
    case let error as NIOSSLExtraError where error == .failedToValidateHostname:
      return "its certificate is for another name"
    case let error as NIOSSLError: return tlsReason("\(error)", authorityFileNames)
    default: return "\(error)"
    }
  }

  /// Returns the reason that a description of a TLS error names.
  private static func tlsReason(_ text: String, _ authorityFileNames: String) -> String {
    if text.contains("CERTIFICATE_VERIFY_FAILED") {
      return """
        its certificate is not signed by an authority that is trusted here, or is not valid now; \
        \(authorityFileNames) names a file of the authority's certificate
        """
    }
    if text.contains("WRONG_VERSION_NUMBER") || text.contains("HTTP_REQUEST") {
      return "it does not speak TLS on this port; without TLS the address begins with http://"
    }
    return "the TLS handshake failed: \(text)"
  }
}

/// A file of the authorities that may have signed a server's certificate, in PEM, and the option or variable that names
/// it.
struct AuthorityFile: Hashable {
  let variable: String
  let path: String

  /// Returns the certificates of the file.
  func certificates() throws(ConfigurationError) -> [NIOSSLCertificate] {
    guard let certificates = try? NIOSSLCertificate.fromPEMFile(path), !certificates.isEmpty else {
      throw .init(variable: variable, value: path, expectation: "must be a file of certificates in PEM")
    }
    return certificates
  }
}

extension HTTPClient {
  /// The timeout of connecting. The server limits the duration of a call.
  private static let connectTimeout = TimeAmount.seconds(10)

  /// Calls with a client that follows no redirects and repeats nothing, and shuts it down. Whatever a peer responds is at
  /// most an error; see ``ResponseCheck``.
  ///
  /// - Parameters:
  ///   - authorities: the certificates that a server's may be signed with; `nil` for those that the system trusts.
  ///   - addresses: the addresses that connections are made to, by host, instead of those that a look-up has.
  ///   - readTimeout: the longest time without a byte of a response; `nil` for any time.
  static func withClient<Value, Failure>(
    trusting authorities: [NIOSSLCertificate]?, connecting addresses: [String: String] = [:],
    readTimeout: TimeAmount? = nil,
    _ body: (HTTPClient) async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    var configuration = Configuration()
    configuration.dnsOverride = addresses
    configuration.timeout.connect = connectTimeout
    configuration.timeout.read = readTimeout
    // A client has few requests, and HTTP/1.1 alone is checked.
    configuration.httpVersion = .http1Only
    configuration.http1_1ConnectionDebugInitializer = ResponseCheck.add
    // A request whose body is a stream can't be sent again to elsewhere.
    configuration.redirectConfiguration = .disallow
    configuration.connectionPool.retryConnectionEstablishment = false
    if let authorities {
      var tls = TLSConfiguration.makeClientConfiguration()
      tls.trustRoots = .certificates(authorities)
      configuration.tlsConfiguration = tls
    }
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    let result: Result<Value, Failure>
    do {
      result = .success(try await body(client))
    } catch {
      result = .failure(error)
    }
    try? await client.shutdown()
    return try result.get()
  }
}

/// The error of a call whose response is a file.
struct ServerCallError: Error, CustomStringConvertible {
  let description: String

  /// A Boolean value that indicates whether a later call may succeed.
  let isUnavailable: Bool

  /// Creates the error of a connection.
  init(_ error: any Error, target: ServerTarget) {
    isUnavailable = true
    description =
      switch error {
      case let error as InvalidResponse: "\(target.base): \(error)"
      case _ where ServerTarget.isBreak(error): "\(target.base): the connection broke"
      default: "\(target.base) can't be reached: \(ServerTarget.reason(error))"
      }
  }

  /// Creates the error of a response that is not the file.
  init(_ status: HTTPResponseStatus, body: Data) {
    struct Problem: Decodable {
      let detail: String?
    }
    let detail = (try? JSONDecoder().decode(Problem.self, from: body))?.detail?.escapingControls()
    description = "the server responded with \(status.code)\(detail.map { ": \($0)" } ?? "")"
    isUnavailable = [.requestTimeout, .tooManyRequests, .badGateway, .serviceUnavailable, .gatewayTimeout]
      .contains(status)
  }

  /// Creates the error of a response of another program.
  init(notWaymark target: ServerTarget) {
    isUnavailable = false
    description = "\(target.base) did not respond as Waymark does"
  }
}

extension ServerTarget {
  /// The limit of the body of a response that is a problem.
  static let maximumProblemBytes = 1 << 20

  /// Sends a request whose response is a file, and writes it as it comes.
  ///
  /// - Parameter mediaType: the media type that the response must have.
  /// - Returns: the header fields of the response.
  /// - Throws: ``ServerCallError``, or the error of writing.
  @discardableResult
  func download(_ request: HTTPClientRequest, _ mediaType: String, to file: ExportFile) async throws -> HTTPHeaders {
    try await withClient { (client) async throws -> HTTPHeaders in
      let response: HTTPClientResponse
      do {
        response = try await client.execute(request, deadline: .distantFuture)
      } catch {
        throw ServerCallError(error, target: self)
      }
      guard response.status == .ok else {
        let body = try? await response.body.collect(upTo: Self.maximumProblemBytes)
        throw ServerCallError(response.status, body: Data(body?.readableBytesView ?? ByteBufferView()))
      }
      guard response.headers.first(name: "content-type")?.hasPrefix(mediaType) == true else {
        throw ServerCallError(notWaymark: self)
      }
      var body = response.body.makeAsyncIterator()
      while let buffer = try await next(of: &body) { try file.write(Array(buffer.readableBytesView)) }
      return response.headers
    }
  }

  private func next(of body: inout HTTPClientResponse.Body.AsyncIterator) async throws -> ByteBuffer? {
    do {
      return try await body.next()
    } catch {
      throw ServerCallError(error, target: self)
    }
  }
}
