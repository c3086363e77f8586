import Logging
import ServiceLifecycle
import UnixSignals

/// Reads files again whenever the process receives SIGHUP. A file that is invalid then changes nothing.
///
/// It runs without such files too, since the signal ends a process that does not handle it.
struct Reloading: Service {
  /// A part that was made from files.
  struct Part: Sendable {
    /// The name in the log, such as `the file of API keys`.
    let name: String

    /// Reads the files again and returns the fields of the log line. Where it throws, nothing has changed.
    let reload: @Sendable () async throws -> Logger.Metadata
  }

  private let parts: [Part]
  private let logger: Logger
  private let signals: UnixSignalsSequence

  /// Catches the signal from now on; one that comes before ``run()`` is kept.
  init(_ parts: [Part], logger: Logger) async {
    self.parts = parts
    self.logger = logger
    signals = await UnixSignalsSequence(trapping: .sighup)
  }

  func run() async throws {
    for await _ in signals.cancelOnGracefulShutdown() { await reload() }
  }

  /// Reloads all parts; the failure of one does not affect the others.
  private func reload() async {
    if parts.isEmpty { logger.notice("SIGHUP was received, but no reloadable file is configured") }
    for part in parts {
      do {
        let metadata = try await part.reload()
        logger.notice("\(part.name) was reloaded", metadata: metadata)
      } catch {
        logger.error("\(part.name) was not reloaded", metadata: ["reason": "\(error)"])
      }
    }
  }
}
