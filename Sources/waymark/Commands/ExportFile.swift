import Foundation

/// A file that is written under a temporary name and renamed when it is complete; or the standard output.
final class ExportFile: Sendable {
  private let path: String?
  private let handle: FileHandle

  /// Creates the file; `-` is the standard output.
  ///
  /// - Throws: ``ExportFileError``.
  init(path: String) throws {
    guard path != "-" else {
      self.path = nil
      handle = .standardOutput
      return
    }
    guard FileManager.default.createFile(atPath: Self.partial(path), contents: nil),
      let handle = FileHandle(forWritingAtPath: Self.partial(path))
    else { throw ExportFileError(path: path) }
    self.path = path
    self.handle = handle
  }

  /// Appends bytes.
  ///
  /// - Throws: when the file can't be written.
  func write(_ bytes: [UInt8]) throws {
    try handle.write(contentsOf: bytes)
  }

  /// Renames the file once it is synchronised to disk.
  ///
  /// - Parameter verify: is called with the temporary path; the file is not renamed when this throws.
  /// - Throws: when the file can't be written.
  func finish(verifying verify: (String) async throws -> Void = { _ in }) async throws {
    guard let path else { return }
    try handle.synchronize()
    try handle.close()
    try await verify(Self.partial(path))
    guard rename(Self.partial(path), path) == 0 else { throw ExportFileError(path: path) }
  }

  /// Removes a file that is not finished.
  func discard() {
    guard let path else { return }
    try? handle.close()
    unlink(Self.partial(path))
  }

  private static func partial(_ path: String) -> String { path + ".partial" }
}

/// The error of a file that can't be written.
struct ExportFileError: Error, CustomStringConvertible {
  let path: String

  var description: String { "'\(path)' can't be written" }
}

extension ExportFile {
  /// Writes a file from a server, and removes it where that fails.
  ///
  /// - Throws: the exit code, after an error message.
  static func writing(
    _ path: String, didNothing outcome: String, _ body: (ExportFile) async throws -> Void
  ) async throws {
    var output: ExportFile?
    do {
      let file = try ExportFile(path: path)
      output = file
      try await body(file)
    } catch {
      output?.discard()
      let isUnavailable = (error as? ServerCallError)?.isUnavailable == true
      throw Exit.because("\(error); \(outcome)", isUnavailable ? Exit.unavailable : Exit.failed)
    }
  }
}
