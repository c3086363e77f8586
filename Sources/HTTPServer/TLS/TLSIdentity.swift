import NIOCore
import NIOSSL
import Synchronization

/// What a server proves itself with over TLS: a chain of certificates and its private key, read from files in PEM.
///
/// Clients may speak TLS 1.2 with forward secrecy and authenticated encryption, and TLS 1.3; nothing older or weaker
/// (RFC 9325). The files can be read again while connections are open: those stay as they are, new ones get what was
/// read last.
public final class TLSIdentity: Sendable {
  private let certificateFile: String
  private let privateKeyFile: String
  private let current: Mutex<NIOSSLContext>

  /// The cipher suites of TLS 1.2; those of TLS 1.3 are all sound and not chosen here.
  private static let cipherSuites: [NIOTLSCipher] = [
    .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
  ]

  /// Reads the files.
  ///
  /// - Parameters:
  ///   - certificateFile: a file of certificates: the server's own first, then those that lead to a root.
  ///   - privateKeyFile: a file with the key of the first certificate, without a passphrase.
  /// - Throws: ``TLSIdentityError``.
  public init(certificateFile: String, privateKeyFile: String) throws(TLSIdentityError) {
    self.certificateFile = certificateFile
    self.privateKeyFile = privateKeyFile
    current = Mutex(try Self.context(certificateFile: certificateFile, privateKeyFile: privateKeyFile))
  }

  /// Reads the files again, for the connections that are yet to come. It waits for the disk: not to be called on an
  /// event loop.
  ///
  /// - Throws: ``TLSIdentityError``; then everything stays as it was.
  public func reload() throws(TLSIdentityError) {
    let context = try Self.context(certificateFile: certificateFile, privateKeyFile: privateKeyFile)
    current.withLock { $0 = context }
  }

  /// What a new connection is secured with.
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
