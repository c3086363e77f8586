import ArgumentParser
import Hosting
import ServerFeatures

/// The program and its commands.
@main
struct Waymark: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "waymark",
    abstract: "Serves the places around a coordinate, nearest first.",
    discussion: """
      Examples:
        waymark serve                                   a sample of landmarks on 127.0.0.1:8080
        waymark serve --data-file places.csv            places of your own, in memory
        export DATABASE_URL=postgresql://localhost/places
        waymark migrate                                 create or upgrade the tables
        waymark import places.geojson more.csv          fill them
        waymark serve                                   serve them
        waymark export places.csv                       export them
        waymark follow --url https://places.example.org --to copy.db     keep a copy of another server's
        waymark search museum --near 37.33,-121.89      find them by name

      Every option of serve and of its database can also be set as an environment variable: --http-port is HTTP_PORT. \
      The option wins.

      Exit codes: 0 done, 1 failed, 64 bad usage, 65 bad data, 69 store unavailable.
      """,
    version: waymarkVersion,
    subcommands: [
      ServeCommand.self, MigrateCommand.self, ImportCommand.self, ExportCommand.self, FollowCommand.self,
      SearchCommand.self, SourcesCommand.self, DuplicatesCommand.self,
    ] + Features.all.compactMap { $0.command } + [
      BackupCommand.self, KeysCommand.self, HealthCommand.self, CheckCommand.self, SettingsCommand.self,
    ]
  )

  static func main() async {
    // Before the options are parsed, which takes some tenths of a second.
    if CommandLine.arguments.dropFirst().first == "serve" { StartSignals.handle() }
    await main(nil)
  }
}
