import Foundation

/// A file that is written under another name and gets its own when it is whole; or the standard output.
final class ExportFile: Sendable {
  private let path: String?
  private let handle: FileHandle

  /// Makes the file; `-` is the standard output.
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

  /// Gives the file its name, once it is safely written.
  ///
  /// - Throws: when the file can't be written.
  func finish() throws {
    guard let path else { return }
    try handle.synchronize()
    try handle.close()
    guard rename(Self.partial(path), path) == 0 else { throw ExportFileError(path: path) }
  }

  private static func partial(_ path: String) -> String { path + ".partial" }
}

/// A file can't be written.
struct ExportFileError: Error, CustomStringConvertible {
  let path: String

  var description: String { "'\(path)' can't be written" }
}
