/// Why a server can't prove itself with what its files hold.
public enum TLSIdentityError: Error, Hashable, Sendable {
  /// The file can't be read, or holds no certificate in PEM.
  case certificateUnusable(file: String)

  /// The file can't be read, or holds no private key in PEM that is not locked by a passphrase.
  case privateKeyUnusable(file: String)

  /// The key is not that of the first certificate.
  case mismatch(certificateFile: String, privateKeyFile: String)
}
