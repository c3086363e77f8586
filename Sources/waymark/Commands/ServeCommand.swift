import ArgumentParser
import Hosting
import ServerFeatures

/// `waymark serve`: serves clients until shutdown.
struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Serves places over HTTP.",
    discussion: """
      Every option can also be set as an environment variable of the same name: --http-port is HTTP_PORT. The option \
      wins. SIGTERM and SIGINT stop the server after its current requests, and its start at once. SIGHUP reloads keys, \
      key sets and certificates, when the server has started.

      Examples:
        waymark serve
        waymark serve --http-port 0 --data-file airports.csv,places.geojson
        waymark serve --http-host 0.0.0.0 --database-url postgresql://waymark@db/places
      """
  )

  @OptionGroup var options: SettingOptions<ServerSettings>

  func run() async throws {
    do {
      try await Application.serve(Settings(options: options.values), features: Features.all)
    } catch {
      throw Exit.because(error.reason, ExitCode(error.code.rawValue))
    }
  }
}
