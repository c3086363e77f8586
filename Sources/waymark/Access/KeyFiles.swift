import Foundation
import AccessControl
import Logging

extension KeyFile {
  /// Creates the keys of a file.
  ///
  /// - Throws: ``ConfigurationError`` that names the file and the line, but nothing of the line's content; also for a
  ///   file without keys.
  init(path: String) throws(ConfigurationError) {
    let key = Setting.access.keysFile
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
      throw ConfigurationError(key, value: path, expectation: "must be a file that can be read")
    }
    do {
      try self.init(text)
    } catch {
      throw .conflict(key, "names '\(path)', whose \(error)")
    }
    // A file that is being written is empty for a moment, and one without keys would lock everyone out.
    guard !keys.isEmpty else { throw .conflict(key, "must hold one key per line, but '\(path)' has none") }
  }
}

extension TokenKeySet {
  /// Creates the key set of a file.
  ///
  /// - Throws: ``ConfigurationError`` that names the file, but nothing of a key.
  init(path: String) async throws(ConfigurationError) {
    let key = Setting.access.tokenKeys
    guard let bytes = try? Data(contentsOf: URL(filePath: path)) else {
      throw ConfigurationError(key, value: path, expectation: "must be a file that can be read")
    }
    do {
      try await self.init(json: Array(bytes))
    } catch {
      throw .conflict(key, "names '\(path)', which \(error)")
    }
  }
}

extension TokenVerifier {
  /// Creates a verifier. Keys of a file are read now; those of an address are fetched later.
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
  /// The file of the API keys.
  static func keys(path: String, access: AccessControl) -> Self {
    Self(name: "the file of API keys") {
      let keys = try KeyFile(path: path).keys
      access.replaceKeys(keys)
      return ["keys": "\(keys.count)"]
    }
  }

  /// The file of the keys that tokens are verified with.
  static func tokenKeys(path: String, access: AccessControl) -> Self {
    Self(name: "the file of token keys") {
      let keys = try await TokenKeySet(path: path)
      access.replaceTokenKeys(keys)
      return ["keys": "\(keys.count)"]
    }
  }

  /// The keys of an address that tokens are verified with.
  static func tokenKeys(_ keys: RemoteTokenKeys<ContinuousClock>) -> Self {
    Self(name: "the set of token keys") { ["keys": .stringConvertible(try await keys.reload())] }
  }
}
