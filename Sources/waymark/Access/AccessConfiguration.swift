import Foundation
import AccessControl

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
    // Over plain HTTP an attacker on the network could replace the keys and issue tokens.
    guard let url = URL(string: value), let host = url.host(percentEncoded: false), !host.isEmpty,
      url.user == nil, url.fragment == nil, let scheme = url.scheme?.lowercased(),
      scheme == "https" || scheme == "http" && Loopback.contains(host: host)
    else {
      throw settings.error(
        Setting.access.tokenKeys,
        "must be a file or an address such as https://issuer.example/jwks.json; http is for loopback addresses alone")
    }
    let authorities = Setting.client.authorities
    let path = scheme == "https" ? settings[authorities] : nil
    return .address(url, authorities: path.map { AuthorityFile(variable: authorities.setting.name, path: $0) })
  }
}
