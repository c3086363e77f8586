package import AccessControl
import Foundation
package import HTTPServer
import Logging
package import Points
package import PrometheusMetrics
package import ServerFeatures

/// JSON Web Tokens: their verification, and the keys of their issuer.
package struct TokensFeature: ServerFeature {
  /// The tokens that are accepted.
  struct Configuration: Hashable {
    /// The place of the issuer's public keys, a JSON Web Key Set.
    enum KeySet: Hashable {
      case file(String)
      /// An address, with a file of the authorities that may have signed the server's certificate.
      case address(URL, authorities: AuthorityFile?)
    }

    let keySet: KeySet
    let issuer: String
    let audience: String
  }

  static let keySet = Setting.Key(
    "JWT_JWKS", .text("file|address"), affects: .operation,
    "File or address of the public keys that tokens are verified with, a JSON Web Key Set; read again at SIGHUP.",
    details: "An address is `https`, except for loopback addresses, and is fetched at the start, from time to time, "
      + "and when a token names a new key. Its certificate must be signed by an authority of the file that "
      + "`SSL_CERT_FILE` names, else by one that the system trusts. See "
      + "[Authentication](security.md#keys-of-an-address).")
  private static let issuer = Setting.Key(
    "JWT_ISSUER", .text("issuer"), affects: .operation,
    "Issuer of the tokens: the value that their claim `iss` must have.",
    details: "Needed with `JWT_JWKS`.")
  private static let audience = Setting.Key(
    "JWT_AUDIENCE", .text("audience"), affects: .operation,
    "Audience of the tokens: the value that their claim `aud` must be or hold.",
    details: "Needed with `JWT_JWKS`.")

  package static let settings = [keySet.setting, issuer.setting, audience.setting]
  package static let settingsTitle = "Access"
  package static let tokenSetting: Setting? = keySet.setting
  package static let metrics = collected.map(\.description)

  private static let collected: [CollectedMetric<RemoteTokenKeys<ContinuousClock>.Counts>] = [
    .gauge("token_keys", "Keys of the address JWT_JWKS that tokens are verified with.") { Double($0.keys) },
    .total(
      "token_key_fetches_total", "Fetches of the address JWT_JWKS, by outcome.", by: "outcome",
      ["ok": { Double($0.successes) }, "failed": { Double($0.failures) }]),
  ]

  /// The tokens that are accepted; `nil` for none.
  let configuration: Configuration?

  /// Creates the feature of the settings.
  ///
  /// An issuer signs for many services with the same keys. A token for another service must not open this one, so the
  /// audience is required, and so is the issuer (RFC 9068, section 4).
  ///
  /// - Throws: ``ConfigurationError`` if one setting is there without the others.
  package init(_ settings: Settings) throws(ConfigurationError) {
    let keys = [Self.keySet, Self.issuer, Self.audience]
    guard let present = keys.first(where: { settings[$0] != nil }) else {
      configuration = nil
      return
    }
    guard let keySet = settings[Self.keySet], let issuer = settings[Self.issuer],
      let audience = settings[Self.audience]
    else {
      let missing = keys.filter { settings[$0] == nil }.map(\.setting.name)
      throw .conflict(present, "needs \(missing.joined(separator: " and "))")
    }
    configuration = Configuration(keySet: try Self.keySet(keySet, settings), issuer: issuer, audience: audience)
  }

  private static func keySet(
    _ value: String, _ settings: Settings
  ) throws(ConfigurationError) -> Configuration.KeySet {
    guard value.contains("://") else { return .file(value) }
    // Over plain HTTP an attacker on the network could replace the keys and issue tokens. Without @ no part of a password
    // with an unencoded / or ? is shown as a part of the address.
    guard let url = URL(string: value), let host = url.host(percentEncoded: false), !host.isEmpty,
      !value.contains("@"), url.fragment == nil, let scheme = url.scheme?.lowercased(),
      scheme == "https" || scheme == "http" && Loopback.contains(host: host)
    else {
      throw settings.error(
        keySet,
        "must be a file or an address such as https://issuer.example/jwks.json, without user and fragment; "
          + "http is for loopback addresses alone")
    }
    let authorities = Setting.client.authorities
    let path = scheme == "https" ? settings[authorities] : nil
    return .address(url, authorities: path.map { AuthorityFile(variable: authorities.setting.name, path: $0) })
  }

  package var checks: [@Sendable () async throws -> String] {
    switch configuration?.keySet {
    case nil: []
    case .file(let path): [{ "the token keys of \(path): \(try await TokenKeySet(path: path).count)" }]
    case .address(let url, let authorities):
      [
        {
          let request = try TokenKeyRequest(url, authorities: authorities)
          do {
            let keys = try await TokenKeySet(json: try await request.fetch().json)
            return "the token keys of \(request.address): \(keys.count)"
          } catch {
            throw TokenKeyFetchError("the token keys of \(request.address): \(error)")
          }
        }
      ]
    }
  }

  /// Returns a verification. Keys of a file are read now; those of an address are fetched later.
  package func tokens(
    scopes: [AccessScope], _ queryables: Queryables
  ) async throws(ConfigurationError) -> (any TokenVerification)? {
    guard let configuration else { return nil }
    let keys =
      switch configuration.keySet {
      case .file(let path): try await TokenKeySet(path: path)
      case .address: TokenKeySet.none
      }
    return TokenVerifier(
      keys: keys, issuer: configuration.issuer, audience: configuration.audience, scopes: scopes,
      queryables: queryables)
  }

  package func parts(of core: Core) throws(ConfigurationError) -> FeatureParts {
    switch configuration?.keySet {
    case nil: return FeatureParts()
    case .file(let path):
      return FeatureParts(reloadable: [
        ReloadablePart(name: "the file of token keys") { [access = core.access] in
          let keys = try await TokenKeySet(path: path)
          access.replaceTokenKeys(keys)
          return ["keys": "\(keys.count)"]
        }
      ])
    case .address(let url, let authorities):
      let request = try TokenKeyRequest(url, authorities: authorities)
      let keys = RemoteTokenKeys(request, logger: core.logger) { [access = core.access] in access.replaceTokenKeys($0) }
      core.access.useTokenKeys(of: keys)
      return FeatureParts(
        collectors: [ValueCollector(Self.collected, factory: core.metrics) { await keys.counts }],
        services: [BackgroundService { await keys.run() }],
        reloadable: [
          ReloadablePart(name: "the set of token keys") { ["keys": .stringConvertible(try await keys.reload())] }
        ],
        // The first tokens need keys. Without any the server starts all the same.
        preparation: { await keys.fetch() })
    }
  }
}

extension TokenKeySet {
  /// Creates the key set of a file.
  ///
  /// - Throws: ``ConfigurationError`` that names the file, but nothing of a key.
  package init(path: String) async throws(ConfigurationError) {
    let key = TokensFeature.keySet
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
