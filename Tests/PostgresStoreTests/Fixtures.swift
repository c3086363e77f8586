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
    // On a machine that has other things to do, what needs its turn may wait for long.
    configuration.waitTimeoutMilliseconds = 120_000
    change(&configuration)
    let migrations = try Migration.all(inDirectory: migrationsDirectory)
    _ = try await Migrator(configuration: configuration, migrations: migrations).migrate()
    return try PostgresStore(configuration: configuration, migrations: migrations)
  }
}
