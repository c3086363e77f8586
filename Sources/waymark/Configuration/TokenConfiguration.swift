/// Whose tokens are believed.
struct TokenConfiguration: Hashable {
  /// The file of the issuer's public keys, a JSON Web Key Set.
  let keySetFile: String

  /// Who issues them.
  let issuer: String

  /// Whom they are for.
  let audience: String

  /// Reads the settings; `nil` where there are no tokens.
  ///
  /// An issuer signs for many services with the same keys. A token for another one must not open this one, so that the
  /// audience is no choice, and neither is the issuer (RFC 9068, section 4).
  ///
  /// - Throws: ``ConfigurationError`` where one setting is there without the others.
  init?(_ settings: Settings) throws(ConfigurationError) {
    let names = ["JWT_JWKS_FILE", "JWT_ISSUER", "JWT_AUDIENCE"]
    guard let present = names.first(where: { settings[$0] != nil }) else { return nil }
    guard let keySetFile = settings[names[0]], let issuer = settings[names[1]], let audience = settings[names[2]]
    else {
      let missing = names.filter { settings[$0] == nil }.joined(separator: " and ")
      throw .init(variable: present, value: settings[present], expectation: "needs \(missing)")
    }
    self.keySetFile = keySetFile
    self.issuer = issuer
    self.audience = audience
  }
}
