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
  /// Creates a verifier. Keys of a file are read now; those of an address are fetched later.
  ///
  /// - Throws: ``ConfigurationError``.
  init(_ configuration: TokenConfiguration) async throws(ConfigurationError) {
    let keys =
      switch configuration.keySet {
      case .file(let path): try await TokenKeySet(path: path)
      case .address: TokenKeySet.none
      }
    self.init(keys: keys, issuer: configuration.issuer, audience: configuration.audience)
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
