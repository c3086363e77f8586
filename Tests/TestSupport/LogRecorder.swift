package import Logging
import Synchronization

/// A recorder of log entries.
package final class LogRecorder: Sendable {
  private let recorded = Mutex<[String]>([])

  /// Creates a recorder without entries.
  package init() {}

  /// The entries so far, each with level, message and metadata on one line.
  package var lines: [String] { recorded.withLock { $0 } }

  /// A logger that records entries of every level here.
  package var logger: Logger {
    Logger(label: "test") { _ in Handler(recorder: self) }
  }

  private struct Handler: LogHandler {
    let recorder: LogRecorder
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let all = metadata.merging(event.metadata ?? [:]) { $1 }
      recorder.recorded.withLock { $0.append("\(event.level) \(event.message) \(all)") }
    }
  }
}
