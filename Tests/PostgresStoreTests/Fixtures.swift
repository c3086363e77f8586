import Foundation
import PostgresStore
import TestSupport

/// The project's own migrations.
let migrationsDirectory = URL(fileURLWithPath: #filePath)
  .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  .appendingPathComponent("Migrations").path

extension TemporaryDatabase {
  /// A store on this database, whose schema is brought up to date.
  func migratedStore(poolSize: Int = 4, statementTimeoutMilliseconds: Int = 30_000) async throws -> PostgresStore {
    let configuration = try PostgresConfiguration(
      url: url,
      poolSize: poolSize,
      statementTimeoutMilliseconds: statementTimeoutMilliseconds
    )
    let migrations = try Migration.all(inDirectory: migrationsDirectory)
    _ = try await Migrator(configuration: configuration, migrations: migrations).migrate()
    return try PostgresStore(configuration: configuration, migrations: migrations)
  }
}
