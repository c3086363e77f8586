import Logging

/// How the log is written.
struct LogConfiguration {
  /// The least important level that is written.
  let level: Logger.Level

  /// How a line is written: as text on a terminal, else as JSON, where nothing is said.
  let format: LineLogHandler.Format

  /// Reads the settings.
  init(_ settings: Settings, isTerminal: Bool = StandardError.isTerminal) throws(ConfigurationError) {
    level = try settings.choice("LOG_LEVEL", default: Logger.Level.info)
    format = try settings.choice("LOG_FORMAT", default: isTerminal ? .text : .json)
  }

  /// A logger that writes so.
  var logger: Logger {
    Logger(label: "waymark") { [level, format] _ in LineLogHandler(format: format, level: level) }
  }
}
