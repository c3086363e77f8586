import LocationsAPI
import Logging
import ServiceLifecycle
import UnixSignals

/// Reads files again whenever the process gets SIGHUP. What can't be used changes nothing.
///
/// It runs without such files too, since the signal ends a process that does not handle it.
struct Reloading: Service {
  /// Something that was made from files.
  struct Part: Sendable {
    /// What it is called in the log, such as `the API keys`.
    let name: String

    /// Reads its files again. Answers what the log tells of them; throws where they can't be used, and everything is as
    /// it was.
    let reload: @Sendable () async throws -> Logger.Metadata
  }

  private let parts: [Part]
  private let logger: Logger
  private let signals: UnixSignalsSequence

  /// Catches the signal from now on; what comes before ``run()`` is kept.
  init(_ parts: [Part], logger: Logger) async {
    self.parts = parts
    self.logger = logger
    signals = await UnixSignalsSequence(trapping: .sighup)
  }

  func run() async throws {
    for await _ in signals.cancelOnGracefulShutdown() { await reload() }
  }

  /// Reads everything again; one part's failure is nothing to the others.
  private func reload() async {
    if parts.isEmpty { logger.notice("SIGHUP was received; no file is configured that could be read again") }
    for part in parts {
      do {
        let metadata = try await part.reload()
        logger.notice("\(part.name) was read again", metadata: metadata)
      } catch {
        logger.error("\(part.name) stays as it was", metadata: ["reason": "\(error)"])
      }
    }
  }
}

extension Reloading.Part {
  /// The file of the API keys.
  static func keys(path: String, access: AccessControl) -> Self {
    Self(name: "the file of API keys") {
      let keys = try KeyFile(path: path).keys
      access.replaceKeys(keys)
      return ["keys": "\(keys.count)"]
    }
  }
}
