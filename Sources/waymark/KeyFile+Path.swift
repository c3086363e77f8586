import FoundationEssentials
import LocationsAPI

extension KeyFile {
  /// Reads a file.
  ///
  /// - Throws: ``ConfigurationError`` that names the file and the line, and nothing of what the line holds; also for a file
  ///   without keys.
  init(path: String) throws(ConfigurationError) {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
      throw .init(variable: "API_KEYS_FILE", value: path, expectation: "must be a file that can be read")
    }
    do {
      try self.init(text)
    } catch {
      throw .init(variable: "API_KEYS_FILE", value: path, expectation: "must hold a key a line, but \(error)")
    }
    // A file that is being written is empty for a moment, and one without keys would lock everyone out.
    guard !keys.isEmpty else {
      throw .init(variable: "API_KEYS_FILE", value: path, expectation: "must hold a key a line, but has none")
    }
  }
}
