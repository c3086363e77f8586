import ArgumentParser

/// The options of the commands that work on the database alone.
struct DatabaseOptions: ParsableArguments {
  @Option(help: "libpq URI or conninfo. (default: DATABASE_URL)")
  var databaseUrl: String?

  @Option(help: "Folder of the migrations. (default: the one that came with this program)")
  var migrationsPath: String?

  /// The database that is meant.
  ///
  /// - Throws: the exit code 64, having said why, where a value can't be used.
  func configuration() throws -> DatabaseConfiguration {
    let flags = ["DATABASE_URL": databaseUrl, "MIGRATIONS_PATH": migrationsPath].compactMapValues { $0 }
    do {
      return try DatabaseConfiguration(Settings(flags: flags))
    } catch {
      throw Exit.because(error, Exit.usage)
    }
  }
}
