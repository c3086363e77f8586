import ArgumentParser
import Hosting
import PostgresClient
import PostgresStore
import ServerFeatures

/// `waymark migrate`: creates or upgrades the tables.
struct MigrateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "migrate",
    abstract: "Creates the tables of the database, or upgrades them.",
    discussion: """
      The migrations are part of the program. Each runs in a transaction of its own and is recorded with its checksum; those that ran before are \
      skipped. Concurrent migrations run one after the other. The schema of a newer program is not changed where it is \
      compatible with this one.

      Examples:
        DATABASE_URL=postgresql://localhost/places waymark migrate --dry-run
        waymark migrate --database-url 'host=db dbname=places user=owner'
      """
  )

  @OptionGroup var database: SettingOptions<DatabaseSettings>

  @Flag(help: "Report the migrations that would run and the privileges that the role lacks, and change nothing.")
  var dryRun = false

  func run() async throws {
    let configuration = try database.configuration()
    do {
      let migrator = Migrator(
        configuration: try PostgresConfiguration(configuration),
        migrations: try configuration.migrations())
      let names = dryRun ? try await migrator.plan() : try await migrator.migrate()
      if names.isEmpty {
        let newer = try await migrator.newer()
        StandardOutput.print(
          newer.isEmpty
            ? "The schema is current."
            : "The schema is newer than this program, which works with it: \(newer.joined(separator: ", ")).")
      }
      for name in names { StandardOutput.print(dryRun ? "would run \(name)" : "ran \(name)") }
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

  /// Reports the problems with which the migrations would fail.
  ///
  /// - Throws: the exit code 1, after an error message, where a privilege or PostGIS is missing.
  private func checkPrivileges(_ configuration: DatabaseConfiguration) async throws {
    let check = DatabaseCheck(configuration: try PostgresConfiguration(configuration), migrations: [])
    let problems = try await check.findings(for: [.migrating]).compactMap { finding in
      if case .problem(let text) = finding { text } else { nil }
    }
    guard !problems.isEmpty else { return }
    throw Exit.because("the migrations would fail: \(problems.joined(separator: "; "))", Exit.failed)
  }
}
