import Foundation

/// A folder of a test's own for a journal's files, removed with the value.
final class JournalFolder: Sendable {
  private let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appending(path: "waymark-journal-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(at: url)
  }

  /// The path of the journal.
  var path: String { url.appending(path: "places.db").path }

  /// The files as they are at this moment, in a folder of their own: what a process that is killed now leaves behind.
  func copy() throws -> JournalFolder {
    let copy = try JournalFolder()
    // The tests write too little for SQLite to move it from the log into the file meanwhile.
    for name in ["places.db-wal", "places.db"] {
      try FileManager.default.copyItem(at: url.appending(path: name), to: copy.url.appending(path: name))
    }
    return copy
  }
}
