import HTTPServer
import Basics

/// The API keys in a file, one a line: `name:scope:sha256`, the hash in hexadecimal. Blank lines, and those that begin
/// with `#`, are ignored.
package struct KeyFile: Hashable, Sendable {
  /// The keys in the order of the lines.
  package let keys: [APIKey]

  /// An error in a file. It contains nothing of the line's text, which may be a key by mistake.
  package struct Invalid: Error, Hashable, Sendable, CustomStringConvertible {
    /// The line's number, counted from 1.
    package let line: Int
    /// The error in the line.
    package let reason: String

    /// The message for operators.
    package var description: String { "line \(line) \(reason)" }
  }

  /// Creates the keys from a file's text.
  ///
  /// - Throws: ``Invalid`` for the first invalid line.
  package init(_ text: String) throws(Invalid) {
    var keys: [APIKey] = []
    var names: Set<ExactText> = []
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
      let line = line.trimmingBlanks
      guard !line.isEmpty, line.first != "#" else { continue }
      let number = index + 1
      let parts = line.split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count == 3 else { throw Invalid(line: number, reason: "must be name:scope:sha256") }
      guard APIKey.isAcceptable(name: String(parts[0])) else {
        throw Invalid(line: number, reason: "has a name that is not 1 to 100 characters out of A-Z a-z 0-9 . _ -")
      }
      guard names.insert(ExactText(String(parts[0]))).inserted else {
        throw Invalid(line: number, reason: "repeats a name")
      }
      guard let scope = AccessScope(rawValue: String(parts[1])) else {
        throw Invalid(line: number, reason: "has a scope that is not one of read, write, admin")
      }
      guard let digest = Hexadecimal.decode(parts[2], count: 32) else {
        throw Invalid(line: number, reason: "has a hash that is not 64 digits of base 16")
      }
      keys.append(APIKey(name: String(parts[0]), scope: scope, digest: digest))
    }
    self.keys = keys
  }
}
