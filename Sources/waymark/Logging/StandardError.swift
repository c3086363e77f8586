import Glibc

/// The process's standard error, as a place for whole lines.
enum StandardError {
  /// Whether a person reads it.
  static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

  /// Writes a line that warns of something.
  static func warn(_ text: String) { write(Array("waymark: warning: \(text)\n".utf8)) }

  /// Writes bytes, as one piece where the system takes them at once. What can't be written is lost: there is nowhere
  /// left to say so.
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
