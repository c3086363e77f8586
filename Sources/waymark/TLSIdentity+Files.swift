import HTTPServer

extension TLSIdentity {
  /// Reads the files that the configuration names.
  ///
  /// - Throws: ``ConfigurationError`` that names the variable and the file.
  convenience init(_ files: TLSFiles) throws(ConfigurationError) {
    do {
      try self.init(certificateFile: files.certificate, privateKeyFile: files.privateKey)
    } catch {
      throw ConfigurationError(error)
    }
  }
}

extension ConfigurationError {
  /// What of the files of TLS can't be used.
  init(_ error: TLSIdentityError) {
    switch error {
    case .certificateUnusable(let file):
      self.init(
        variable: "TLS_CERTIFICATE_FILE", value: file, expectation: "must be a file of certificates in PEM")
    case .privateKeyUnusable(let file):
      self.init(
        variable: "TLS_PRIVATE_KEY_FILE", value: file,
        expectation: "must be a file with a private key in PEM, without a passphrase")
    case .mismatch(let certificateFile, let privateKeyFile):
      self.init(
        variable: "TLS_PRIVATE_KEY_FILE", value: privateKeyFile,
        expectation: "must hold the key of the first certificate in '\(certificateFile)'")
    }
  }
}

extension Reloading.Part {
  /// The certificate and its key.
  static func certificate(_ identity: TLSIdentity) -> Self {
    Self(name: "the certificate") {
      do throws(TLSIdentityError) {
        try identity.reload()
      } catch {
        throw ConfigurationError(error)
      }
      return [:]
    }
  }
}
