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
    keysFile = settings["API_KEYS_FILE"]
    tokens = try TokenConfiguration(settings)
    readRequiresKey = try settings.boolean("READ_REQUIRES_KEY")
    guard keysFile != nil || tokens != nil || !readRequiresKey else {
      throw .conflict(
        "READ_REQUIRES_KEY", "needs API_KEYS_FILE, JWT_JWKS_FILE or JWT_JWKS_URL, without which nobody could read")
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
    if settings["JWT_JWKS_CA_FILE"] != nil, settings["JWT_JWKS_URL"] == nil {
      throw .conflict("JWT_JWKS_CA_FILE", "needs JWT_JWKS_URL")
    }
    let names = ["JWT_JWKS_FILE", "JWT_JWKS_URL", "JWT_ISSUER", "JWT_AUDIENCE"]
    guard let present = names.first(where: { settings[$0] != nil }) else { return nil }
    let hasKeySet = names.prefix(2).contains { settings[$0] != nil }
    guard hasKeySet, let issuer = settings["JWT_ISSUER"], let audience = settings["JWT_AUDIENCE"] else {
      let missing =
        (hasKeySet ? [] : ["JWT_JWKS_FILE or JWT_JWKS_URL"]) + names.dropFirst(2).filter { settings[$0] == nil }
      throw .conflict(present, "needs \(missing.joined(separator: hasKeySet ? " and " : ", and "))")
    }
    keySet = try Self.keySet(settings)
    self.issuer = issuer
    self.audience = audience
  }

  private static func keySet(_ settings: Settings) throws(ConfigurationError) -> KeySet {
    guard let address = settings["JWT_JWKS_URL"] else { return .file(settings["JWT_JWKS_FILE"] ?? "") }
    guard settings["JWT_JWKS_FILE"] == nil else {
      throw .conflict("JWT_JWKS_URL", "excludes JWT_JWKS_FILE; set one of them")
    }
    // Over plain HTTP an attacker on the network could replace the keys and issue tokens.
    guard let url = URL(string: address), let host = url.host(percentEncoded: false), !host.isEmpty,
      url.user == nil, url.fragment == nil, let scheme = url.scheme?.lowercased(),
      scheme == "https" || scheme == "http" && Loopback.contains(host: host)
    else {
      throw settings.error(
        "JWT_JWKS_URL",
        "must be an address such as https://issuer.example/jwks.json; http is for loopback addresses alone")
    }
    guard scheme == "https" else {
      if settings["JWT_JWKS_CA_FILE"] != nil {
        throw .conflict("JWT_JWKS_CA_FILE", "is for an address that begins with https")
      }
      return .address(url, authorities: nil)
    }
    let variable = ["JWT_JWKS_CA_FILE", "SSL_CERT_FILE"].first { settings[$0] != nil }
    return .address(
      url, authorities: variable.flatMap { name in settings[name].map { AuthorityFile(variable: name, path: $0) } })
  }
}
