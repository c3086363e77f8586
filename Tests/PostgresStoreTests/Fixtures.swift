import Foundation
import Points
import PostgresTestSupport
import Testing

@testable import PostgresStore

/// The project's own migrations.
let migrationsDirectory = URL(fileURLWithPath: #filePath)
  .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  .appendingPathComponent("Migrations").path

extension TemporaryDatabase {
  /// Returns a store on a database, whose schema it migrates.
  ///
  /// - Parameter pooler: the pooler through which the store connects.
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
    // On a busy machine a call may wait a long time for its turn.
    configuration.waitTimeoutMilliseconds = 120_000
    change(&configuration)
    let migrations = try Migration.all(inDirectory: migrationsDirectory)
    _ = try await Migrator(configuration: configuration, migrations: migrations).migrate()
    return try PostgresStore(configuration: configuration, migrations: migrations)
  }
}

extension PostgresStore {
  /// Checks that of many calls, a third of them by cancelled tasks, only those fail.
  func expectCancellationsToAffectNoOtherCall() async throws {
    let brief = Statement("brief", "SELECT 1::int8 FROM pg_sleep(0.002)")
    let tasks = (0..<400).map { number in
      let task = Task { try await read(brief, Parameters()) }
      if number % 3 == 0 { task.cancel() }
      return (number, task)
    }
    var successes = 0
    for (number, task) in tasks {
      switch await task.result {
      case .success: successes += 1
      case .failure(let error): #expect(number % 3 == 0 && error as? PointStoreError == .timeout)
      }
    }

    #expect(successes >= 266)
  }
}
