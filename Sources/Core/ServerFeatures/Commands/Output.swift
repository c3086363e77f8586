package import ArgumentParser
import Basics
import Glibc
import JSONText

/// The exit codes of failures (sysexits.h).
package enum Exit {
  /// A failure without a code of its own.
  package static let failed = ExitCode(1)
  /// An invalid option or setting.
  package static let usage = ExitCode(64)
  /// Invalid input.
  package static let badData = ExitCode(65)
  package static let unavailable = ExitCode(69)

  /// Writes the reason to standard error and returns the code.
  package static func because(_ reason: some CustomStringConvertible, _ code: ExitCode) -> ExitCode {
    // A reason has a line for each rejected row.
    StandardError.write(Array("waymark: \(reason.description.escapingControls(except: "\n"))\n".utf8))
    return code
  }
}

package enum StandardError {
  package static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

  /// Writes a warning as one line.
  package static func warn(_ text: String) { write(Array("waymark: warning: \(text.escapingControls())\n".utf8)) }

  /// Writes bytes, as one chunk where the system takes them at once. Bytes that can't be written are lost: no other
  /// output is left to report it.
  @Sendable
  package static func write(_ bytes: [UInt8]) {
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

package enum StandardOutput {
  /// Writes a line for people.
  package static func print(_ line: String) { Swift.print(line.escapingControls()) }

  /// Writes a line of texts with tabs between them.
  package static func print(columns: [String]) {
    Swift.print(columns.map { $0.escapingControls() }.joined(separator: "\t"))
  }
}

extension String {
  /// Returns the text with the escapes of JSON for characters that would split a line, steer a terminal or turn the text
  /// around (CVE-2021-42574): controls, line separators, and embeddings, overrides and isolates of text direction. The
  /// marks U+061C, U+200E and U+200F, which are ordinary in Arabic and Hebrew names, stay.
  ///
  /// Every text that a command writes for people is escaped so, as it may have come from a file or a server.
  ///
  /// - Parameter kept: the characters that stay, such as line ends of a text of several lines.
  package func escapingControls(except kept: String = "") -> String {
    guard unicodeScalars.contains(where: \.isControl) else { return self }
    var text = ""
    for scalar in unicodeScalars {
      if !scalar.isControl || kept.unicodeScalars.contains(scalar) {
        text.unicodeScalars.append(scalar)
      } else if scalar.value < 0x20 {
        text += String(decoding: JSONString.bytes(of: String(scalar)).dropFirst().dropLast(), as: UTF8.self)
      } else {
        text += "\\u" + Hexadecimal.text(UInt16(scalar.value))
      }
    }
    return text
  }
}

extension Unicode.Scalar {
  fileprivate var isControl: Bool {
    switch value {
    case 0...0x1F, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }
}
