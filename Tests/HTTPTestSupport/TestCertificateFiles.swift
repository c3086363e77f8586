import Foundation

/// Files of a certificate and its key, which are removed with this object.
public final class TestCertificateFiles: Sendable {
  private let folder: URL

  /// The path of the certificate.
  public var certificate: String { folder.appending(path: "certificate.pem").path }

  /// The path of the key.
  public var privateKey: String { folder.appending(path: "key.pem").path }

  /// Writes the files.
  public init(_ certificate: TestCertificate) throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "waymark-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try replace(with: certificate)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Replaces the files by another certificate and its key.
  public func replace(with certificate: TestCertificate) throws {
    try Data(certificate.certificatePEM.utf8).write(to: URL(filePath: self.certificate))
    try Data(certificate.privateKeyPEM.utf8).write(to: URL(filePath: privateKey))
  }

  /// Replaces the contents of the certificate's file by a text.
  public func spoil(with text: String) throws {
    try Data(text.utf8).write(to: URL(filePath: certificate))
  }
}
