import ServiceLifecycle
import UnixSignals

/// Ends the group that it runs in when the process gets SIGTERM or SIGINT.
///
/// Unlike the signals that a group handles itself, these are caught before the group runs: the server listens by then, and a
/// process that does not handle the signal is ended by it, with the requests in progress.
struct StopSignals: Service {
  private let signals: UnixSignalsSequence

  /// Catches the signals from now on; one that comes before ``run()`` is kept.
  init() async {
    signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
  }

  /// Returns with the first signal.
  func run() async throws {
    for await _ in signals.cancelOnGracefulShutdown() { return }
  }
}
