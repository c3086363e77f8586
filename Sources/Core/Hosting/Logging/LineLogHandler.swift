import Basics
import Glibc
import JSONText
package import Logging
import Points
package import ServerFeatures

/// The level and the format of the log.
package struct LogConfiguration {
  /// The lowest level that is logged.
  let level: Logger.Level

  let format: LineLogHandler.Format

  package init(_ settings: Settings, isTerminal: Bool = StandardError.isTerminal) throws(ConfigurationError) {
    level = try settings.choice(Setting.observability.level)
    format = try settings.choice(Setting.observability.format, default: isTerminal ? .text : .json)
  }

  package var logger: Logger {
    Logger(label: "waymark") { [level, format] _ in LineLogHandler(format: format, level: level) }
  }
}

/// Writes each log event as one line to standard error: as text for people, or as a JSON object for machines.
///
/// Nothing in an event can split a line, steer a terminal or turn its text around: control characters, line separators
/// and embeddings, overrides and isolates of direction are written as JSON escapes them.
struct LineLogHandler: LogHandler {
  enum Format: String, CaseIterable {
    /// `2026-11-20T10:15:00.123456Z info message key=value`
    case text
    /// `{"time":"…","level":"info","message":"…","key":"value"}`
    case json
  }

  var logLevel: Logger.Level
  var metadata: Logger.Metadata = [:]
  var metadataProvider: Logger.MetadataProvider?

  private let format: Format
  private let clock: any WallClock
  private let write: @Sendable ([UInt8]) -> Void

  /// Creates a handler.
  ///
  /// - Parameter write: takes each line, its end included.
  init(
    format: Format, level: Logger.Level, clock: any WallClock = SystemClock(),
    write: @escaping @Sendable ([UInt8]) -> Void = StandardError.write
  ) {
    self.format = format
    self.clock = clock
    self.write = write
    logLevel = level
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    var fields = metadataProvider?.get() ?? [:]
    fields.merge(metadata) { _, new in new }
    if let more = event.metadata { fields.merge(more) { _, new in new } }
    if let error = event.error { fields["error"] = "\(error)" }
    let sorted = fields.sorted { $0.key < $1.key }
    write(Self.harmless(format == .json ? jsonLine(event, sorted) : textLine(event, sorted)))
  }

  /// Returns the line with escapes for characters that JSON does not escape: DEL, the C1 controls, line and paragraph
  /// separators, and embeddings, overrides and isolates of text direction.
  private static func harmless(_ line: [UInt8]) -> [UInt8] {
    // The first bytes of their UTF-8; most lines have none of them.
    guard line.contains(where: { $0 == 0x7F || $0 == 0xC2 || $0 == 0xE2 }) else { return line }
    return Array(String(decoding: line, as: UTF8.self).escapingControls(except: "\n").utf8)
  }

  private func jsonLine(_ event: LogEvent, _ fields: [(key: String, value: Logger.MetadataValue)]) -> [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    json.write(member: "time", clock.now().description)
    json.write(member: "level", event.level.rawValue)
    json.write(member: "message", event.message.description)
    for (key, value) in fields where !["time", "level", "message"].contains(key) {
      json.write(escapedName: key)
      json.write(value)
    }
    json.endObject()
    return json.sink + [UInt8(ascii: "\n")]
  }

  private func textLine(_ event: LogEvent, _ fields: [(key: String, value: Logger.MetadataValue)]) -> [UInt8] {
    var line = "\(clock.now()) \(event.level.rawValue) \(event.message)"
    for (key, value) in fields {
      let text = value.description
      let isPlain = !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 != UInt8(ascii: "\"") }
      line += " \(key)=\(isPlain ? text : Self.quoted(text))"
    }
    let safe =
      line.unicodeScalars.contains { $0.value < 0x20 } ? String(Self.quoted(line).dropFirst().dropLast()) : line
    return Array(safe.utf8) + [UInt8(ascii: "\n")]
  }

  private static func quoted(_ text: String) -> String {
    String(decoding: JSONString.bytes(of: text), as: UTF8.self)
  }
}

extension JSONWriter {
  /// Writes a value of metadata: numbers and booleans as such, so that they can be summed up and compared. A string is
  /// a string whatever it holds, so that a field's type does not change from line to line.
  fileprivate mutating func write(_ value: Logger.MetadataValue) {
    switch value {
    case .string(let text): write(string: text)
    case .stringConvertible(let number as any BinaryInteger): write(json: number.description)
    case .stringConvertible(let number as Double) where number.isFinite: write(number: number)
    case .stringConvertible(let flag as Bool): write(boolean: flag)
    case .stringConvertible(let other): write(string: other.description)
    case .array(let values):
      beginArray()
      for value in values { write(value) }
      endArray()
    case .dictionary(let members):
      beginObject()
      for (key, value) in members.sorted(by: { $0.key < $1.key }) {
        write(escapedName: key)
        write(value)
      }
      endObject()
    }
  }
}
