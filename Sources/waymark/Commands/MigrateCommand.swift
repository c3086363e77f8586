import ArgumentParser
import PostgresStore

/// `waymark migrate`: makes or upgrades the tables.
struct MigrateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "migrate",
    abstract: "Makes the database's tables, or brings them up to date.",
    discussion: """
      Each migration runs in a transaction of its own and is noted with its checksum; those that were run before are \
      left alone. Two migrations at the same time take turns. A schema that a newer program made is left alone where it \
      allows this one.

      Examples:
        DATABASE_URL=postgresql://localhost/places waymark migrate --dry-run
        waymark migrate --database-url 'host=db dbname=places user=owner'
      """
  )

  @OptionGroup var database: DatabaseOptions

  @Flag(help: "Only say what would be run, and what the role may not do that it needs.")
  var dryRun = false

  func run() async throws {
    let configuration = try database.configuration()
    do {
      let migrator = Migrator(
        configuration: try PostgresConfiguration(configuration),
        migrations: try Migration.all(inDirectory: configuration.migrationsPath))
      let names = dryRun ? try await migrator.plan() : try await migrator.migrate()
      if names.isEmpty {
        let newer = try await migrator.newer()
        print(
          newer.isEmpty
            ? "The schema is current."
            : "The schema is newer than this program, which works with it: \(newer.joined(separator: ", ")).")
      }
      for name in names { print(dryRun ? "would run \(name)" : "ran \(name)") }
      if dryRun, !names.isEmpty { try await checkPrivileges(configuration) }
    } catch let error as ExitCode {
      throw error
    } catch let error as ConfigurationError {
      throw Exit.because(error, Exit.usage)
    } catch MigrationError.unavailable(let reason) {
      throw Exit.because("the database can't be reached: \(reason)", Exit.unavailable)
    } catch {
      throw Exit.because("\(error)", Exit.failed)
    }
  }
  /// Reports what would make the migrations fail.
  ///
  /// - Throws: the exit code 1, having said why, where a privilege or PostGIS is missing.
  private func checkPrivileges(_ configuration: DatabaseConfiguration) async throws {
    let check = DatabaseCheck(configuration: try PostgresConfiguration(configuration), migrations: [])
    let problems = try await check.findings(for: [.migrating]).compactMap { finding in
      if case .problem(let text) = finding { text } else { nil }
    }
    guard !problems.isEmpty else { return }
    throw Exit.because("they would fail: \(problems.joined(separator: "; "))", Exit.failed)
  }
}
