import ArgumentParser
import Logging
import Points
import ServerFeatures
import UnixSignals

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
    MemoryTrimming.prepare()
    let reloadSignals = await UnixSignalsSequence(trapping: .sighup)
    let settings = Settings(options: options.values)
    let configuration: ServeConfiguration
    let logger: Logger
    do {
      logger = try LogConfiguration(settings).logger
      configuration = try ServeConfiguration(settings)
    } catch {
      throw Exit.because(error, Exit.usage)
    }
    let application: Application
    do {
      application = try await Application(configuration, logger: logger)
    } catch let error as ConfigurationError {
      throw Exit.because(error, Exit.usage)
    } catch let error as PointStoreError {
      throw Self.exit(error)
    } catch let error as ListeningFailed {
      throw Exit.because(error, Exit.failed)
    } catch {
      throw Exit.because("\(error)", Exit.badData)
    }
    guard !configuration.isUnitTesting else {
      logger.info("IS_UNIT_TESTING is set; no socket, no database and no analytics were set up")
      return
    }
    do {
      try await application.run(reloadSignals: reloadSignals)
    } catch {
      throw Exit.because("\(error)", Exit.failed)
    }
  }

  /// Writes the error of opening the places to standard error and returns the exit code.
  private static func exit(_ error: PointStoreError) -> ExitCode {
    switch error {
    case .unavailable(let reason), .readOnly(let reason), .outcomeUnknown(let reason):
      Exit.because(reason, Exit.unavailable)
    case .schemaMismatch(let reason): Exit.because(reason, Exit.badData)
    case .overloaded, .uploadTooSlow, .keysExhausted, .timeout, .indexRequired, .indexNotReady, .filterTimeout,
      .stepLimit:
      Exit.because("the places could not be opened in time", Exit.unavailable)
    case .misconfigured(let reason), .unexpected(let reason): Exit.because(reason, Exit.badData)
    }
  }
}
