import Foundation
import LocationsAPI

/// The credentials that clients need.
struct AccessConfiguration: Hashable {
  /// The file of the API keys; `nil` where there are none.
  let keysFile: String?

  /// The tokens that are accepted; `nil` where there are none.
  let tokens: TokenConfiguration?

  /// A Boolean value that indicates whether reading needs a key or a token too.
  let readRequiresKey: Bool

  /// Creates the configuration of the settings.
  ///
  /// - Throws: ``ConfigurationError``, also where reading needs a key and there can be none.
  init(_ settings: Settings) throws(ConfigurationError) {
    keysFile = settings[\.access.apiKeysFile]
    tokens = try TokenConfiguration(settings)
    readRequiresKey = try settings.boolean(\.access.readRequiresKey)
    guard keysFile != nil || tokens != nil || !readRequiresKey else {
      throw .conflict(
        \.access.readRequiresKey, "needs API_KEYS_FILE, JWT_JWKS_FILE or JWT_JWKS_URL, without which nobody could read")
    }
  }
}

/// The tokens that are accepted.
struct TokenConfiguration: Hashable {
  /// The place of the issuer's public keys, a JSON Web Key Set.
  enum KeySet: Hashable {
    case file(String)
    /// An address, with a file of the authorities that may have signed the server's certificate.
    case address(URL, authorities: AuthorityFile?)
  }

  let keySet: KeySet
  let issuer: String
  let audience: String

  /// Creates the configuration of the settings; `nil` where there are no tokens.
  ///
  /// An issuer signs for many services with the same keys. A token for another service must not open this one, so the
  /// audience is required, and so is the issuer (RFC 9068, section 4).
  ///
  /// - Throws: ``ConfigurationError`` where one setting is there without the others, or two that exclude each other.
  init?(_ settings: Settings) throws(ConfigurationError) {
    if settings[\.access.jwtJWKSCAFile] != nil, settings[\.access.jwtJWKSURL] == nil {
      throw .conflict(\.access.jwtJWKSCAFile, "needs JWT_JWKS_URL")
    }
    let claims = [Setting.of(\.access.jwtIssuer), .of(\.access.jwtAudience)]
    let keySets = [Setting.of(\.access.jwtJWKSFile), .of(\.access.jwtJWKSURL)]
    guard let present = (keySets + claims).first(where: { settings[$0] != nil }) else { return nil }
    let hasKeySet = keySets.contains { settings[$0] != nil }
    guard hasKeySet, let issuer = settings[\.access.jwtIssuer], let audience = settings[\.access.jwtAudience] else {
      let missing =
        (hasKeySet ? [] : [keySets.map(\.name).joined(separator: " or ")])
        + claims.filter { settings[$0] == nil }.map(\.name)
      throw .conflict(present, "needs \(missing.joined(separator: hasKeySet ? " and " : ", and "))")
    }
    keySet = try Self.keySet(settings)
    self.issuer = issuer
    self.audience = audience
  }

  private static func keySet(_ settings: Settings) throws(ConfigurationError) -> KeySet {
    guard let address = settings[\.access.jwtJWKSURL] else { return .file(settings[\.access.jwtJWKSFile] ?? "") }
    guard settings[\.access.jwtJWKSFile] == nil else {
      throw .conflict(\.access.jwtJWKSURL, "excludes JWT_JWKS_FILE; set one of them")
    }
    // Over plain HTTP an attacker on the network could replace the keys and issue tokens.
    guard let url = URL(string: address), let host = url.host(percentEncoded: false), !host.isEmpty,
      url.user == nil, url.fragment == nil, let scheme = url.scheme?.lowercased(),
      scheme == "https" || scheme == "http" && Loopback.contains(host: host)
    else {
      throw settings.error(
        \.access.jwtJWKSURL,
        "must be an address such as https://issuer.example/jwks.json; http is for loopback addresses alone")
    }
    guard scheme == "https" else {
      if settings[\.access.jwtJWKSCAFile] != nil {
        throw .conflict(\.access.jwtJWKSCAFile, "is for an address that begins with https")
      }
      return .address(url, authorities: nil)
    }
    let authorities = [Setting.of(\.access.jwtJWKSCAFile), .of(\.client.sslCertFile)].first { settings[$0] != nil }
    return .address(
      url,
      authorities: authorities.flatMap { file in
        settings[file].map { AuthorityFile(variable: file.name, path: $0) }
      })
  }
}
