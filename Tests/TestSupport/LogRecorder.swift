import Logging
import Synchronization

/// Keeps what is logged.
public final class LogRecorder: Sendable {
  private let recorded = Mutex<[String]>([])

  /// Creates an empty record.
  public init() {}

  /// What was logged so far: level, message and metadata of each entry in one line.
  public var lines: [String] { recorded.withLock { $0 } }

  /// A logger whose entries are kept here, of every level.
  public var logger: Logger {
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
