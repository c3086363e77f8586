import FoundationEssentials
import LocationsAPI
import Logging

extension TokenKeySet {
  /// Reads a file.
  ///
  /// - Throws: ``ConfigurationError`` that names the file, and nothing of a key.
  init(path: String) async throws(ConfigurationError) {
    guard let bytes = try? Data(contentsOf: URL(filePath: path)) else {
      throw .init(variable: "JWT_JWKS_FILE", value: path, expectation: "must be a file that can be read")
    }
    do {
      try await self.init(json: Array(bytes))
    } catch {
      throw .init(variable: "JWT_JWKS_FILE", value: path, expectation: "\(error)")
    }
  }
}

extension TokenVerifier {
  /// Reads the keys that the configuration names.
  ///
  /// - Throws: ``ConfigurationError``.
  init(_ configuration: TokenConfiguration) async throws(ConfigurationError) {
    self.init(
      keys: try await TokenKeySet(path: configuration.keySetFile), issuer: configuration.issuer,
      audience: configuration.audience)
  }
}

extension Reloading.Part {
  /// The file of the keys that tokens are verified with.
  static func tokenKeys(path: String, access: AccessControl) -> Self {
    Self(name: "the file of token keys") {
      let keys = try await TokenKeySet(path: path)
      access.replaceTokenKeys(keys)
      return ["keys": "\(keys.count)"]
    }
  }
}
