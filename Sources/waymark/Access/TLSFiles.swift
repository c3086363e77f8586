import HTTPServer

/// The files of the server's TLS identity.
struct TLSFiles: Hashable {
  /// The server's certificate and its chain up to a root.
  let certificate: String

  let privateKey: String

  /// Creates the files of the settings; `nil` where there is no TLS.
  ///
  /// - Throws: ``ConfigurationError`` where one file is named without the other.
  init?(_ settings: Settings) throws(ConfigurationError) {
    switch (settings[Setting.listening.certificateFile], settings[Setting.listening.privateKeyFile]) {
    case (nil, nil): return nil
    case (let certificate?, let privateKey?):
      self.certificate = certificate
      self.privateKey = privateKey
    case (_?, nil): throw .conflict(Setting.listening.certificateFile, "needs TLS_PRIVATE_KEY_FILE")
    case (nil, _?): throw .conflict(Setting.listening.privateKeyFile, "needs TLS_CERTIFICATE_FILE")
    }
  }
}

extension TLSIdentity {
  /// Creates the identity from the configured files.
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
  /// Creates the error of unusable TLS files.
  init(_ error: TLSIdentityError) {
    switch error {
    case .certificateUnusable(let file):
      self.init(Setting.listening.certificateFile, value: file, expectation: "must be a file of certificates in PEM")
    case .privateKeyUnusable(let file):
      self.init(
        Setting.listening.privateKeyFile, value: file,
        expectation: "must be a file with a private key in PEM, without a passphrase")
    case .mismatch(let certificateFile, let privateKeyFile):
      self.init(
        Setting.listening.privateKeyFile, value: privateKeyFile,
        expectation: "must hold the key of the first certificate in '\(certificateFile)'")
    }
  }
}

extension Reloading.Part {
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
