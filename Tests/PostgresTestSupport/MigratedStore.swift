import Foundation
package import PostgresClient
package import PostgresStore

/// The project's own migrations.
package let migrationsDirectory = URL(fileURLWithPath: #filePath)
  .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  .appendingPathComponent("Migrations").path

extension TemporaryDatabase {
  /// Returns a store on a database, whose schema it migrates.
  ///
  /// - Parameter pooler: the pooler through which the store connects.
  package func migratedStore(
    through pooler: TemporaryPooler? = nil,
    poolSize: Int = 4,
    _ change: (inout PostgresConfiguration) -> Void = { _ in }
  ) async throws -> PostgresStore {
    var configuration = try PostgresConfiguration.withLongTimeouts(
      url: pooler?.url(of: self) ?? url, poolSize: poolSize)
    change(&configuration)
    let migrations = try Migration.all(inDirectory: migrationsDirectory)
    _ = try await Migrator(configuration: configuration, migrations: migrations).migrate()
    return try PostgresStore(configuration: configuration, migrations: migrations)
  }
}

extension PostgresConfiguration {
  /// Returns a configuration whose timeouts are so long that no call exceeds them because the machine is busy.
  package static func withLongTimeouts(url: String, poolSize: Int = 4) throws -> PostgresConfiguration {
    var configuration = try PostgresConfiguration(
      url: "\(url)\(url.contains("?") ? "&" : "?")connect_timeout=120", poolSize: poolSize,
      statementTimeoutMilliseconds: 600_000)
    configuration.waitTimeoutMilliseconds = 600_000
    configuration.commitTimeoutMilliseconds = 600_000
    return configuration
  }
}
