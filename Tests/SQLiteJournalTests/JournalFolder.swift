import Foundation

/// A temporary folder for the files of a journal, removed on deinitialization.
final class JournalFolder: Sendable {
  private let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appending(path: "waymark-journal-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(at: url)
  }

  var path: String { url.appending(path: "places.db").path }

  /// The folder of the files of an index.
  var indexPath: String { url.appending(path: "places.db.index").path }

  /// Returns a copy of the files as a process killed at this moment would leave them.
  func copy() throws -> JournalFolder {
    let copy = try JournalFolder()
    // The tests write too little for SQLite to checkpoint the log meanwhile.
    for name in ["places.db-wal", "places.db"]
    where FileManager.default.fileExists(atPath: url.appending(path: name).path) {
      try FileManager.default.copyItem(at: url.appending(path: name), to: copy.url.appending(path: name))
    }
    if FileManager.default.fileExists(atPath: indexPath) {
      try FileManager.default.copyItem(atPath: indexPath, toPath: copy.indexPath)
    }
    return copy
  }
}
