import Foundation
import MemoryStore
package import Points
import PostgresStore
import PostgresTestSupport
import SQLiteJournal
import TestSupport

/// The stores that keep the records of features.
package enum KeptRecords: CaseIterable {
  case memory
  case journal
  case postgres

  package typealias Store = RecordStore & PointStore

  /// Calls the closure with an empty store.
  package func with(_ damagedRows: DamagedRows? = nil, _ body: (any Store) async throws -> Void) async throws {
    switch self {
    case .memory: try await body(MemoryStore())
    case .journal:
      let folder = FileManager.default.temporaryDirectory.appending(path: "waymark-records-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let path = folder.appending(path: "places.db").path
      let journal = try await SQLiteJournal.open(path: path, damagedRows: damagedRows)
      try await body(try await MemoryStore(journal: journal))
      await journal.close()
    case .postgres:
      let database = try await TemporaryDatabase.make()
      await (try await database.migratedStore()).shutDown()
      let store = try PostgresStore(
        configuration: try .withLongTimeouts(url: database.url), migrations: [], damagedRows: damagedRows)
      try await body(store)
      await store.shutDown()
    }
  }
}
