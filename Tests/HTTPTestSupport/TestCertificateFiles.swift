import Foundation

/// Files of a certificate and its key, which are removed with this object.
package final class TestCertificateFiles: Sendable {
  private let folder: URL

  /// The path of the certificate.
  package var certificate: String { folder.appending(path: "certificate.pem").path }

  /// The path of the key.
  package var privateKey: String { folder.appending(path: "key.pem").path }

  /// Writes the files.
  package init(_ certificate: TestCertificate) throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "waymark-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try replace(with: certificate)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Replaces the files by another certificate and its key.
  package func replace(with certificate: TestCertificate) throws {
    try Data(certificate.certificatePEM.utf8).write(to: URL(filePath: self.certificate))
    try Data(certificate.privateKeyPEM.utf8).write(to: URL(filePath: privateKey))
  }

  /// Replaces the contents of the certificate's file by a text.
  package func spoil(with text: String) throws {
    try Data(text.utf8).write(to: URL(filePath: certificate))
  }
}
