import TestSupport
import Testing

@testable import PostgresStore

@Suite struct MigratorTests {
  @Test func aFreshDatabaseIsMigratedOnce() async throws {
    let database = try await TemporaryDatabase.make()
    let migrations = try Migration.all(inDirectory: migrationsDirectory)
    let migrator = Migrator(configuration: try PostgresConfiguration(url: database.url), migrations: migrations)

    let first = try await migrator.migrate()
    let second = try await migrator.migrate()

    #expect(first == migrations.map(\.name))
    #expect(second == [])
  }
}
