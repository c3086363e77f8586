/// The files that a server proves itself with over TLS.
struct TLSFiles: Hashable {
  /// The server's own certificate, and those that lead from it to a root.
  let certificate: String

  /// The key of the first of them.
  let privateKey: String

  /// Reads the settings; `nil` where there is no TLS.
  ///
  /// - Throws: ``ConfigurationError`` where one file is named without the other.
  init?(_ settings: Settings) throws(ConfigurationError) {
    switch (settings["TLS_CERTIFICATE_FILE"], settings["TLS_PRIVATE_KEY_FILE"]) {
    case (nil, nil): return nil
    case (let certificate?, let privateKey?):
      self.certificate = certificate
      self.privateKey = privateKey
    case (let certificate?, nil):
      throw .init(variable: "TLS_CERTIFICATE_FILE", value: certificate, expectation: "needs TLS_PRIVATE_KEY_FILE")
    case (nil, let privateKey?):
      throw .init(variable: "TLS_PRIVATE_KEY_FILE", value: privateKey, expectation: "needs TLS_CERTIFICATE_FILE")
    }
  }
}
