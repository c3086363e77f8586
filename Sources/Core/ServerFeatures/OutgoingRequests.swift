package import AsyncHTTPClient
import Foundation
package import NIOCore
import NIOPosix
package import NIOSSL

/// A file of the authorities that may have signed a server's certificate, in PEM, and the option or variable that names
/// it.
package struct AuthorityFile: Hashable, Sendable {
  package let variable: String
  package let path: String

  package init(variable: String, path: String) {
    (self.variable, self.path) = (variable, path)
  }

  /// Returns the certificates of the file.
  package func certificates() throws(ConfigurationError) -> [NIOSSLCertificate] {
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
  package static func withClient<Value, Failure>(
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

  /// Returns the reason of a connection's error, for a user.
  ///
  /// - Parameter authorityFileNames: the options and variables that name a file of authorities.
  package static func reason(
    of error: any Error, authorityFileNames: String = "--ca-file or SSL_CERT_FILE"
  ) -> String {
    switch error {
    case let error as HTTPClientError: return error.shortDescription
    case let error as NIOConnectionError:
      return error.connectionErrors.first.map { reason(of: $0.error, authorityFileNames: authorityFileNames) }
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
