package import AccessControl
import Foundation
package import HTTPServer
import Logging
package import Points
package import ServerFeatures

/// The credentials that clients need.
package struct AccessConfiguration {
  /// The file of the API keys; `nil` where there are none.
  package let keysFile: String?

  /// A Boolean value that indicates whether tokens are accepted.
  package let acceptsTokens: Bool

  /// A Boolean value that indicates whether reading needs a key or a token too.
  let readRequiresKey: Bool

  /// The names of the settings by which credentials are accepted, for messages: `API_KEYS_FILE or JWT_JWKS`.
  package let credentialNames: String

  /// The scopes that keys and tokens may have.
  package let scopes: [AccessScope]

  /// Creates the configuration of the settings.
  ///
  /// - Parameter features: the features of the server, which may accept tokens.
  /// - Throws: ``ConfigurationError``, also where reading needs a key and there can be none.
  init(_ settings: Settings, features: [any ServerFeature.Type]) throws(ConfigurationError) {
    scopes = AccessScope.ofServer(with: features)
    let tokenSettings = features.compactMap { $0.tokenSetting }
    credentialNames = ([Setting.access.keysFile.setting] + tokenSettings).map(\.name).joined(separator: " or ")
    keysFile = settings[Setting.access.keysFile]
    acceptsTokens = tokenSettings.contains { settings[$0] != nil }
    readRequiresKey = try settings.boolean(Setting.access.readRequiresKey)
    guard keysFile != nil || acceptsTokens || !readRequiresKey else {
      throw .conflict(
        Setting.access.readRequiresKey, "needs \(credentialNames), without which nobody could read")
    }
  }
}

extension KeyFile {
  /// Creates the keys of a file.
  ///
  /// - Parameters:
  ///   - scopes: the scopes that a key may have.
  ///   - queryables: the types of the tags in filters.
  /// - Throws: ``ConfigurationError`` that names the file and the line, but nothing of the line's content beside its
  ///   filter; also for a file without keys.
  package init(
    path: String, scopes: [AccessScope] = AccessScope.common, queryables: Queryables = Queryables()
  ) throws(ConfigurationError) {
    let key = Setting.access.keysFile
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
      throw ConfigurationError(key, value: path, expectation: "must be a file that can be read")
    }
    do {
      try self.init(text, scopes: scopes, queryables: queryables)
    } catch {
      throw .conflict(key, "names '\(path)', whose \(error)")
    }
    // A file that is being written is empty for a moment, and one without keys would lock everyone out.
    guard !keys.isEmpty else { throw .conflict(key, "must hold one key per line, but '\(path)' has none") }
  }
}

extension ReloadablePart {
  /// The file of the API keys.
  static func keys(path: String, queryables: Queryables, access: AccessControl) -> Self {
    Self(name: "the file of API keys") {
      let keys = try KeyFile(path: path, scopes: access.scopes, queryables: queryables).keys
      access.replaceKeys(keys)
      return ["keys": "\(keys.count)"]
    }
  }
}
