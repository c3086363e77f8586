import Foundation

/// A certificate and its key in files, removed with the value.
public final class TestCertificateFiles: Sendable {
  private let folder: URL

  /// The path of the certificate.
  public var certificate: String { folder.appending(path: "certificate.pem").path }

  /// The path of its key.
  public var privateKey: String { folder.appending(path: "key.pem").path }

  /// Writes the files.
  public init(_ certificate: TestCertificate) throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "waymark-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try replace(with: certificate)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Writes another certificate and its key over them.
  public func replace(with certificate: TestCertificate) throws {
    try Data(certificate.certificatePEM.utf8).write(to: URL(filePath: self.certificate))
    try Data(certificate.privateKeyPEM.utf8).write(to: URL(filePath: privateKey))
  }

  /// Writes something else into the file of the certificate.
  public func spoil(with text: String) throws {
    try Data(text.utf8).write(to: URL(filePath: certificate))
  }
}
