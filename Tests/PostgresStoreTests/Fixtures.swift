import Foundation
import PostgresStore
import TestSupport

/// The project's own migrations.
let migrationsDirectory = URL(fileURLWithPath: #filePath)
  .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  .appendingPathComponent("Migrations").path

extension TemporaryDatabase {
  /// A store on this database, whose schema is brought up to date.
  ///
  /// - Parameter pooler: the pooler by whose way the database is reached.
  func migratedStore(
    through pooler: TemporaryPooler? = nil,
    poolSize: Int = 4,
    statementTimeoutMilliseconds: Int = 30_000,
    _ change: (inout PostgresConfiguration) -> Void = { _ in }
  ) async throws -> PostgresStore {
    var configuration = try PostgresConfiguration(
      url: pooler?.url(of: self) ?? url,
      poolSize: poolSize,
      statementTimeoutMilliseconds: statementTimeoutMilliseconds
    )
    change(&configuration)
    let migrations = try Migration.all(inDirectory: migrationsDirectory)
    _ = try await Migrator(configuration: configuration, migrations: migrations).migrate()
    return try PostgresStore(configuration: configuration, migrations: migrations)
  }
}
