import Foundation
public import PostgresStore

/// The project's own migrations.
public let migrationsDirectory = URL(fileURLWithPath: #filePath)
  .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  .appendingPathComponent("Migrations").path

extension TemporaryDatabase {
  /// Returns a store on a database, whose schema it migrates.
  ///
  /// - Parameter pooler: the pooler through which the store connects.
  public func migratedStore(
    through pooler: TemporaryPooler? = nil,
    poolSize: Int = 4,
    _ change: (inout PostgresConfiguration) -> Void = { _ in }
  ) async throws -> PostgresStore {
    var configuration = try PostgresConfiguration.patient(url: pooler?.url(of: self) ?? url, poolSize: poolSize)
    change(&configuration)
    let migrations = try Migration.all(inDirectory: migrationsDirectory)
    _ = try await Migrator(configuration: configuration, migrations: migrations).migrate()
    return try PostgresStore(configuration: configuration, migrations: migrations)
  }
}
