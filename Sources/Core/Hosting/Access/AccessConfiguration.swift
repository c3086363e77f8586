package import AccessControl
import AsyncHTTPClient
package import Foundation
package import HTTPServer
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
package import Points
package import ServerFeatures
package import Tokens

/// The credentials that clients need.
package struct AccessConfiguration: Hashable {
  /// The file of the API keys; `nil` where there are none.
  package let keysFile: String?

  /// The tokens that are accepted; `nil` where there are none.
  package let tokens: TokenConfiguration?

  /// A Boolean value that indicates whether reading needs a key or a token too.
  let readRequiresKey: Bool

  /// The scopes that keys and tokens may have.
  package let scopes: [AccessScope]

  /// Creates the configuration of the settings.
  ///
  /// - Throws: ``ConfigurationError``, also where reading needs a key and there can be none.
  init(_ settings: Settings, scopes: [AccessScope]) throws(ConfigurationError) {
    self.scopes = scopes
    keysFile = settings[Setting.access.keysFile]
    tokens = try TokenConfiguration(settings)
    readRequiresKey = try settings.boolean(Setting.access.readRequiresKey)
    guard keysFile != nil || tokens != nil || !readRequiresKey else {
      throw .conflict(
        Setting.access.readRequiresKey, "needs API_KEYS_FILE or JWT_JWKS, without which nobody could read")
    }
  }
}

/// The tokens that are accepted.
package struct TokenConfiguration: Hashable {
  /// The place of the issuer's public keys, a JSON Web Key Set.
  package enum KeySet: Hashable {
    case file(String)
    /// An address, with a file of the authorities that may have signed the server's certificate.
    case address(URL, authorities: AuthorityFile?)
  }

  package let keySet: KeySet
  let issuer: String
  let audience: String

  /// Creates the configuration of the settings; `nil` where there are no tokens.
  ///
  /// An issuer signs for many services with the same keys. A token for another service must not open this one, so the
  /// audience is required, and so is the issuer (RFC 9068, section 4).
  ///
  /// - Throws: ``ConfigurationError`` if one setting is there without the others.
  init?(_ settings: Settings) throws(ConfigurationError) {
    let keys = [Setting.access.tokenKeys, Setting.access.issuer, Setting.access.audience]
    guard let present = keys.first(where: { settings[$0] != nil }) else { return nil }
    guard let keySet = settings[Setting.access.tokenKeys], let issuer = settings[Setting.access.issuer],
      let audience = settings[Setting.access.audience]
    else {
      let missing = keys.filter { settings[$0] == nil }.map(\.setting.name)
      throw .conflict(present, "needs \(missing.joined(separator: " and "))")
    }
    self.keySet = try Self.keySet(keySet, settings)
    self.issuer = issuer
    self.audience = audience
  }

  private static func keySet(_ value: String, _ settings: Settings) throws(ConfigurationError) -> KeySet {
    guard value.contains("://") else { return .file(value) }
    // Over plain HTTP an attacker on the network could replace the keys and issue tokens. Without @ no part of a password
    // with an unencoded / or ? is shown as a part of the address.
    guard let url = URL(string: value), let host = url.host(percentEncoded: false), !host.isEmpty,
      !value.contains("@"), url.fragment == nil, let scheme = url.scheme?.lowercased(),
      scheme == "https" || scheme == "http" && Loopback.contains(host: host)
    else {
      throw settings.error(
        Setting.access.tokenKeys,
        "must be a file or an address such as https://issuer.example/jwks.json, without user and fragment; "
          + "http is for loopback addresses alone")
    }
    let authorities = Setting.client.authorities
    let path = scheme == "https" ? settings[authorities] : nil
    return .address(url, authorities: path.map { AuthorityFile(variable: authorities.setting.name, path: $0) })
  }
}

extension KeyFile {
  /// Creates the keys of a file.
  ///
  /// - Parameters:
  ///   - scopes: the scopes that a key may have.
  ///   - queryables: the types of the tags in filters.
  /// - Throws: ``ConfigurationError`` that names the file and the line, but nothing of the line's content beside its
  ///   filter; also for a file without keys.
  package init(
    path: String, scopes: [AccessScope] = AccessScope.common, queryables: Queryables = Queryables()
  ) throws(ConfigurationError) {
    let key = Setting.access.keysFile
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
      throw ConfigurationError(key, value: path, expectation: "must be a file that can be read")
    }
    do {
      try self.init(text, scopes: scopes, queryables: queryables)
    } catch {
      throw .conflict(key, "names '\(path)', whose \(error)")
    }
    // A file that is being written is empty for a moment, and one without keys would lock everyone out.
    guard !keys.isEmpty else { throw .conflict(key, "must hold one key per line, but '\(path)' has none") }
  }
}

extension TokenKeySet {
  /// Creates the key set of a file.
  ///
  /// - Throws: ``ConfigurationError`` that names the file, but nothing of a key.
  package init(path: String) async throws(ConfigurationError) {
    let key = Setting.access.tokenKeys
    guard let bytes = try? Data(contentsOf: URL(filePath: path)) else {
      throw ConfigurationError(key, value: path, expectation: "must be a file that can be read")
    }
    do {
      try await self.init(json: Array(bytes))
    } catch {
      throw .conflict(key, "names '\(path)', which \(error)")
    }
  }
}

extension TokenVerifier {
  /// Creates a verifier. Keys of a file are read now; those of an address are fetched later.
  ///
  /// - Parameters:
  ///   - scopes: the scopes that a token may have.
  ///   - queryables: the types of the tags in filters.
  init(
    _ configuration: TokenConfiguration, scopes: [AccessScope], queryables: Queryables
  ) async throws(ConfigurationError) {
    let keys =
      switch configuration.keySet {
      case .file(let path): try await TokenKeySet(path: path)
      case .address: TokenKeySet.none
      }
    self.init(
      keys: keys, issuer: configuration.issuer, audience: configuration.audience, scopes: scopes,
      queryables: queryables)
  }
}

extension Reloading.Part {
  /// The file of the API keys.
  static func keys(path: String, queryables: Queryables, access: AccessControl) -> Self {
    Self(name: "the file of API keys") {
      let keys = try KeyFile(path: path, scopes: access.scopes, queryables: queryables).keys
      access.replaceKeys(keys)
      return ["keys": "\(keys.count)"]
    }
  }

  /// The file of the keys that tokens are verified with.
  static func tokenKeys(path: String, access: AccessControl) -> Self {
    Self(name: "the file of token keys") {
      let keys = try await TokenKeySet(path: path)
      access.replaceTokenKeys(keys)
      return ["keys": "\(keys.count)"]
    }
  }

  /// The keys of an address that tokens are verified with.
  static func tokenKeys(_ keys: RemoteTokenKeys<ContinuousClock>) -> Self {
    Self(name: "the set of token keys") { ["keys": .stringConvertible(try await keys.reload())] }
  }
}

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
