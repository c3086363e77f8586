import Crypto
import Foundation
package import NIOSSL
import SwiftASN1
import X509

/// A self-signed certificate for `localhost` with its key, created for each test.
package struct TestCertificate: Sendable {
  /// The certificate in PEM.
  package let certificatePEM: String

  /// The private key in PEM.
  package let privateKeyPEM: String

  /// Creates a certificate that is valid from an hour ago for a day and a half.
  package init() throws {
    let key = P256.Signing.PrivateKey()
    let name = try DistinguishedName { CommonName("localhost") }
    let certificate = try Certificate(
      version: .v3,
      serialNumber: Certificate.SerialNumber(),
      publicKey: Certificate.PublicKey(key.publicKey),
      notValidBefore: Date.now.addingTimeInterval(-3600),
      notValidAfter: Date.now.addingTimeInterval(1.5 * 86_400),
      issuer: name,
      subject: name,
      signatureAlgorithm: .ecdsaWithSHA256,
      extensions: Certificate.Extensions {
        Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
        SubjectAlternativeNames([.dnsName("localhost")])
      },
      issuerPrivateKey: Certificate.PrivateKey(key)
    )
    certificatePEM = try certificate.serializeAsPEM().pemString
    privateKeyPEM = key.pemRepresentation
  }

  /// Returns the TLS context of a client that trusts only this certificate.
  package func clientContext(
    protocols: [String] = [],
    maximumVersion: TLSVersion? = nil
  ) throws -> NIOSSLContext {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.trustRoots = .certificates([try NIOSSLCertificate(bytes: Array(certificatePEM.utf8), format: .pem)])
    configuration.applicationProtocols = protocols
    configuration.maximumTLSVersion = maximumVersion
    configuration.minimumTLSVersion = .tlsv1
    return try NIOSSLContext(configuration: configuration)
  }
}
