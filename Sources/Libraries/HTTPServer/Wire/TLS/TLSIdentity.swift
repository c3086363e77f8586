import NIOCore
import NIOSSL
import Synchronization

/// The identity of a server in TLS: a chain of certificates and its private key, from PEM files.
///
/// Clients may use TLS 1.2 with forward secrecy and authenticated encryption, and TLS 1.3; nothing older or weaker (RFC
/// 9325). The files can be reloaded while connections are open: those stay as they are, new ones use the reloaded
/// files.
package final class TLSIdentity: Sendable {
  private let certificateFile: String
  private let privateKeyFile: String
  private let current: Mutex<NIOSSLContext>

  /// The cipher suites of TLS 1.2; those of TLS 1.3 are all sound and not chosen here.
  private static let cipherSuites: [NIOTLSCipher] = [
    .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
  ]

  /// Creates an identity from files.
  ///
  /// - Parameters:
  ///   - certificateFile: a file of certificates: the server's own first, then those that lead to a root.
  ///   - privateKeyFile: a file with the key of the first certificate, without a passphrase.
  /// - Throws: ``TLSIdentityError``.
  package init(certificateFile: String, privateKeyFile: String) throws(TLSIdentityError) {
    self.certificateFile = certificateFile
    self.privateKeyFile = privateKeyFile
    current = Mutex(try Self.context(certificateFile: certificateFile, privateKeyFile: privateKeyFile))
  }

  /// Reloads the files for new connections. It blocks on the disk: do not call it on an event loop.
  ///
  /// - Throws: ``TLSIdentityError``; then nothing has changed.
  package func reload() throws(TLSIdentityError) {
    let context = try Self.context(certificateFile: certificateFile, privateKeyFile: privateKeyFile)
    current.withLock { $0 = context }
  }

  func makeHandler() -> NIOSSLServerHandler {
    NIOSSLServerHandler(context: current.withLock { $0 })
  }

  private static func context(
    certificateFile: String,
    privateKeyFile: String
  ) throws(TLSIdentityError) -> NIOSSLContext {
    guard let chain = try? NIOSSLCertificate.fromPEMFile(certificateFile), !chain.isEmpty else {
      throw .certificateUnusable(file: certificateFile)
    }
    guard let key = try? NIOSSLPrivateKey(file: privateKeyFile, format: .pem) else {
      throw .privateKeyUnusable(file: privateKeyFile)
    }
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: chain.map { .certificate($0) },
      privateKey: .privateKey(key)
    )
    configuration.minimumTLSVersion = .tlsv12
    configuration.cipherSuiteValues = cipherSuites
    configuration.applicationProtocols = ["h2", "http/1.1"]
    configuration.shutdownTimeout = .seconds(2)
    do {
      return try NIOSSLContext(configuration: configuration)
    } catch {
      throw .mismatch(certificateFile: certificateFile, privateKeyFile: privateKeyFile)
    }
  }
}

/// The reason why files are not a usable TLS identity.
package enum TLSIdentityError: Error, Hashable, Sendable {
  /// The file can't be read, or holds no certificate in PEM.
  case certificateUnusable(file: String)

  /// The file can't be read, or holds no private key in PEM that is not locked by a passphrase.
  case privateKeyUnusable(file: String)

  /// The key is not that of the first certificate.
  case mismatch(certificateFile: String, privateKeyFile: String)
}
