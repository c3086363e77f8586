import Glibc
import Logging

/// The level and the format of the log.
struct LogConfiguration {
  /// The lowest level that is logged.
  let level: Logger.Level

  let format: LineLogHandler.Format

  init(_ settings: Settings, isTerminal: Bool = StandardError.isTerminal) throws(ConfigurationError) {
    level = try settings.choice(Setting.observability.level)
    format = try settings.choice(Setting.observability.format, default: isTerminal ? .text : .json)
  }

  var logger: Logger {
    Logger(label: "waymark") { [level, format] _ in LineLogHandler(format: format, level: level) }
  }
}

enum StandardError {
  static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

  /// Writes a warning as one line.
  static func warn(_ text: String) { write(Array("waymark: warning: \(text)\n".utf8)) }

  /// Writes bytes, as one chunk where the system takes them at once. Bytes that can't be written are lost: no other
  /// output is left to report it.
  @Sendable
  static func write(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let written = rest.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
      if written > 0 {
        rest = rest.dropFirst(written)
      } else if errno != EINTR {
        return
      }
    }
  }
}
