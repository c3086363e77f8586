import AsyncHTTPClient
package import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
package import ServerFeatures

/// The request by which an issuer's keys are fetched.
///
/// Each has a client of its own: the next one comes minutes later, and the file of authorities may have changed.
package struct TokenKeyRequest: TokenKeyFetcher {
  /// The timeout of the whole fetch.
  static let timeLimit = Duration.seconds(5)

  /// The limit of the response's body.
  static let maximumBytes = 1 << 20

  let url: URL
  let authorities: AuthorityFile?

  /// Creates a request.
  ///
  /// - Throws: ``ConfigurationError`` where the file of authorities can't be used.
  package init(_ url: URL, authorities: AuthorityFile?) throws(ConfigurationError) {
    self.url = url
    self.authorities = authorities
    _ = try authorities?.certificates()
  }

  /// The address without its query, which may hold a secret.
  package var address: String { url.absoluteString.split(separator: "?", maxSplits: 1).first.map(String.init) ?? "" }

  package func fetch() async throws(TokenKeyFetchError) -> TokenKeyDocument {
    let roots: [NIOSSLCertificate]?
    do {
      roots = try authorities?.certificates()
    } catch {
      throw TokenKeyFetchError("\(error)")
    }
    let result: Result<TokenKeyDocument, TokenKeyFetchError> = await HTTPClient.withClient(trusting: roots) { client in
      await withTaskGroup { group in
        group.addTask { await response(from: client) }
        group.addTask {
          try? await Task.sleep(for: Self.timeLimit)
          return .failure(TokenKeyFetchError("the response took longer than \(Self.timeLimit.components.seconds) s"))
        }
        defer { group.cancelAll() }
        return await group.next() ?? .failure(TokenKeyFetchError("cancelled"))
      }
    }
    return try result.get()
  }

  private func response(from client: HTTPClient) async -> Result<TokenKeyDocument, TokenKeyFetchError> {
    var request = HTTPClientRequest(url: url.absoluteString)
    request.headers.add(name: "accept", value: "application/jwk-set+json, application/json")
    request.headers.add(name: "user-agent", value: "waymark/\(waymarkVersion)")
    do {
      let response = try await client.execute(request, deadline: .distantFuture)
      guard response.status == .ok else {
        let hint = (300..<400).contains(response.status.code) ? "; redirects are not followed" : ""
        return .failure(TokenKeyFetchError("the response has the status \(response.status.code)\(hint)"))
      }
      let body = try await response.body.collect(upTo: Self.maximumBytes)
      return .success(
        TokenKeyDocument(json: Array(body.readableBytesView), maximumAge: response.headers.maximumAge))
    } catch is NIOTooManyBytesError {
      return .failure(TokenKeyFetchError("the response is longer than \(Self.maximumBytes) bytes"))
    } catch {
      return .failure(
        TokenKeyFetchError(HTTPClient.reason(of: error, authorityFileNames: "SSL_CERT_FILE")))
    }
  }
}

extension HTTPHeaders {
  /// The remaining freshness lifetime of a response (RFC 9111, section 4.2), by `Cache-Control` and `Age`; `nil` where
  /// it has none. A response that may not be stored has a lifetime of zero.
  var maximumAge: Duration? {
    var seconds: Int64?
    for directive in self[canonicalForm: "cache-control"] {
      let parts = directive.lowercased().split(separator: "=", maxSplits: 1)
      switch parts.first {
      case "no-store", "no-cache": return .zero
      case "max-age" where parts.count == 2:
        // A number that is too large means a very long time.
        let digits = parts[1].filter { $0 != "\"" }
        guard !digits.isEmpty, digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { continue }
        seconds = Int64(digits) ?? 1 << 31
      default: continue
      }
    }
    guard let seconds else { return nil }
    let age = first(name: "age").flatMap { UInt32($0) } ?? 0
    return .seconds(Swift.max(0, Swift.min(seconds, 1 << 31) - Int64(age)))
  }
}
