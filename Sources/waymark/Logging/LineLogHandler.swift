import JSONText
import Logging
import Points

/// Writes each log event as one line to standard error: as text for people, or as a JSON object for machines.
///
/// Nothing in an event can split a line, steer a terminal or turn its text around: control characters, line separators
/// and marks of direction are written as JSON escapes them.
struct LineLogHandler: LogHandler {
  /// How a line is written.
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

  /// The line with `\uXXXX` for what JSON leaves as it is: DEL, the C1 controls, line and paragraph separators, and what
  /// sets the direction of a text (CVE-2021-42574).
  private static func harmless(_ line: [UInt8]) -> [UInt8] {
    // The first bytes of their UTF-8; most lines have none of them.
    guard line.contains(where: { $0 == 0x7F || $0 == 0xC2 || $0 == 0xE2 || $0 == 0xD8 }) else { return line }
    var harmless = ""
    for scalar in String(decoding: line, as: UTF8.self).unicodeScalars {
      switch scalar.value {
      case 0x7F...0x9F, 0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069:
        let digits = String(scalar.value, radix: 16)
        harmless += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: harmless.unicodeScalars.append(scalar)
      }
    }
    return Array(harmless.utf8)
  }

  private func jsonLine(_ event: LogEvent, _ fields: [(key: String, value: Logger.MetadataValue)]) -> [UInt8] {
    var line: [UInt8] = []
    func append(_ key: String, _ value: Logger.MetadataValue) {
      line.append(UInt8(ascii: line.isEmpty ? "{" : ","))
      JSONString.append(key, to: &line)
      line.append(UInt8(ascii: ":"))
      Self.append(value, to: &line)
    }
    append("time", .string(clock.now().description))
    append("level", .string(event.level.rawValue))
    append("message", .string(event.message.description))
    for (key, value) in fields where !["time", "level", "message"].contains(key) { append(key, value) }
    line.append(contentsOf: "}\n".utf8)
    return line
  }

  /// Appends a value as JSON: numbers and booleans as such, so that they can be summed up and compared. A string is a
  /// string whatever it holds, so that a field's type does not change from line to line.
  private static func append(_ value: Logger.MetadataValue, to line: inout [UInt8]) {
    switch value {
    case .string(let text): JSONString.append(text, to: &line)
    case .stringConvertible(let number as any BinaryInteger): line.append(contentsOf: number.description.utf8)
    case .stringConvertible(let number as Double) where number.isFinite: DecimalText.append(number, to: &line)
    case .stringConvertible(let flag as Bool): line.append(contentsOf: flag.description.utf8)
    case .stringConvertible(let other): JSONString.append(other.description, to: &line)
    case .array(let values):
      line.append(UInt8(ascii: "["))
      for (index, value) in values.enumerated() {
        if index > 0 { line.append(UInt8(ascii: ",")) }
        append(value, to: &line)
      }
      line.append(UInt8(ascii: "]"))
    case .dictionary(let members):
      line.append(UInt8(ascii: "{"))
      for (index, (key, value)) in members.sorted(by: { $0.key < $1.key }).enumerated() {
        if index > 0 { line.append(UInt8(ascii: ",")) }
        JSONString.append(key, to: &line)
        line.append(UInt8(ascii: ":"))
        append(value, to: &line)
      }
      line.append(UInt8(ascii: "}"))
    }
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
    var bytes: [UInt8] = []
    JSONString.append(text, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }
}
