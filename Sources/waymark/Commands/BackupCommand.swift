import ArgumentParser
import Foundation
import NIOHTTP1
import Points
import SQLiteJournal
import ServerFeatures

/// `waymark backup`: copies the file of a running server's memory store.
struct BackupCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Copies the file of a running server's MEMORY_STORE_PATH.",
    discussion: """
      The server makes the copy, as it has the file to itself, and accepts writes meanwhile. The copy is a snapshot with \
      all versions, times, changes and idempotency keys. Its integrity is checked before it gets its name. To restore it, \
      stop the server and replace the file by the copy.

      If the server has keys, one of scope admin is needed. Back up a server with PostgreSQL with pg_dump.

      Examples:
        waymark backup places-monday.db
        waymark backup --url https://places.example.org --api-key wm_… places.db
      """
  )

  @OptionGroup var server: ClientOptions

  @Argument(help: "File to write.")
  var file: String

  func run() async throws {
    guard file != "-" else { throw Exit.because("the backup needs a file, as it is checked there", Exit.usage) }
    let target = try server.target(url: server.url ?? LocalServer(Settings()).url)
    try await ExportFile.writing(file, isPrivate: true, didNothing: "no backup was made") { output in
      try await target.download(target.request(.POST, "/backup"), "application/vnd.sqlite3", to: output)
      if let path = output.temporaryPath { try await SQLiteJournal.verify(path: path) }
      try output.finish()
    }
  }
}
