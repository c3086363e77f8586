import Foundation
import LocationsAPI

/// Whose tokens are believed.
struct TokenConfiguration: Hashable {
  /// Where the issuer's public keys are, a JSON Web Key Set.
  enum KeySet: Hashable {
    /// In a file.
    case file(String)
    /// At an address, with a file of the authorities that the server's certificate may be signed with.
    case address(URL, authorities: AuthorityFile?)
  }

  /// A file of certificates, and the variable that names it.
  struct AuthorityFile: Hashable {
    let variable: String
    let path: String
  }

  /// Where the issuer's public keys are.
  let keySet: KeySet

  /// Who issues them.
  let issuer: String

  /// Whom they are for.
  let audience: String

  /// Reads the settings; `nil` where there are no tokens.
  ///
  /// An issuer signs for many services with the same keys. A token for another one must not open this one, so that the
  /// audience is no choice, and neither is the issuer (RFC 9068, section 4).
  ///
  /// - Throws: ``ConfigurationError`` where one setting is there without the others, or two that exclude each other.
  init?(_ settings: Settings) throws(ConfigurationError) {
    let keySets = ["JWT_JWKS_FILE", "JWT_JWKS_URL"]
    if let authorities = settings["JWT_JWKS_CA_FILE"], settings["JWT_JWKS_URL"] == nil {
      throw .init(variable: "JWT_JWKS_CA_FILE", value: authorities, expectation: "needs JWT_JWKS_URL")
    }
    let names = keySets + ["JWT_ISSUER", "JWT_AUDIENCE"]
    guard let present = names.first(where: { settings[$0] != nil }) else { return nil }
    let hasKeySet = keySets.contains { settings[$0] != nil }
    guard hasKeySet, let issuer = settings["JWT_ISSUER"], let audience = settings["JWT_AUDIENCE"] else {
      let missing =
        (hasKeySet ? [] : ["JWT_JWKS_FILE or JWT_JWKS_URL"]) + names.dropFirst(2).filter { settings[$0] == nil }
      throw .init(
        variable: present, value: settings[present],
        expectation: "needs \(missing.joined(separator: hasKeySet ? " and " : ", and "))")
    }
    keySet = try Self.keySet(settings)
    self.issuer = issuer
    self.audience = audience
  }

  private static func keySet(_ settings: Settings) throws(ConfigurationError) -> KeySet {
    guard let address = settings["JWT_JWKS_URL"] else { return .file(settings["JWT_JWKS_FILE"] ?? "") }
    guard settings["JWT_JWKS_FILE"] == nil else {
      throw .init(variable: "JWT_JWKS_URL", value: address, expectation: "excludes JWT_JWKS_FILE; set one of them")
    }
    // Whoever can change the keys on their way can make tokens.
    guard let url = URL(string: address), let host = url.host(percentEncoded: false), !host.isEmpty,
      url.user == nil, url.fragment == nil, let scheme = url.scheme?.lowercased(),
      scheme == "https" || scheme == "http" && Loopback.contains(host: host)
    else {
      throw .init(
        variable: "JWT_JWKS_URL", value: address,
        expectation: "must be an address such as https://issuer.example/jwks.json; http is for loopback addresses alone"
      )
    }
    guard scheme == "https" else {
      if let file = settings["JWT_JWKS_CA_FILE"] {
        throw .init(variable: "JWT_JWKS_CA_FILE", value: file, expectation: "is for an address that begins with https")
      }
      return .address(url, authorities: nil)
    }
    let variable = ["JWT_JWKS_CA_FILE", "SSL_CERT_FILE"].first { settings[$0] != nil }
    return .address(
      url, authorities: variable.flatMap { name in settings[name].map { AuthorityFile(variable: name, path: $0) } })
  }
}
