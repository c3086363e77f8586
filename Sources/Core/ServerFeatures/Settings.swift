import Basics
import Foundation
package import HTTPServer

/// The values of settings: those of command-line options first, then those of the environment.
///
/// Every accessor throws ``ConfigurationError`` with the setting, its value and the accepted values. An empty value
/// counts as not set.
package struct Settings {
  private let options: [String: String]
  private let environment: [String: String]

  /// Creates the settings of this process. Nothing else reads the environment.
  package init(options: [String: String] = [:]) {
    self.init(options: options, environment: ProcessInfo.processInfo.environment)
  }

  package init(options: [String: String] = [:], environment: [String: String]) {
    self.options = options
    self.environment = environment
  }

  /// The text of a setting; `nil` if it is not set or empty.
  package subscript(key: some DeclaredSetting) -> String? {
    let value = options[key.setting.name] ?? environment[key.setting.name] ?? ""
    return value.isEmpty ? nil : value
  }

  package func text(_ key: Setting.Key<String>) -> String { textOrDefault(key) }

  private func textOrDefault(_ key: some DeclaredSetting) -> String {
    if let text = self[key] { return text }
    guard case .value(let value) = key.setting.fallback else {
      preconditionFailure("\(key.setting.name) is declared without a default value")
    }
    return value
  }

  /// Returns an integer.
  ///
  /// - Parameters:
  ///   - range: the accepted range where it is narrower than the declared one.
  ///   - fallback: the default where it is declared in words.
  package func integer(
    _ key: Setting.Key<Int>, in range: ClosedRange<Int>? = nil, default fallback: @autoclosure () -> Int? = nil
  ) throws(ConfigurationError) -> Int {
    if self[key] == nil, let fallback = fallback() { return fallback }
    return try integer(of: key, in: range)
  }

  package func duration(_ key: Setting.Key<Duration>) throws(ConfigurationError) -> Duration {
    .milliseconds(try integer(of: key))
  }

  private func integer(
    of key: some DeclaredSetting, in range: ClosedRange<Int>? = nil
  ) throws(ConfigurationError) -> Int {
    let range =
      switch key.setting.kind {
      case .integer(let declared), .milliseconds(let declared): range ?? declared
      default: preconditionFailure("\(key.setting.name) is not declared as an integer")
      }
    guard let number = Int(textOrDefault(key)), range.contains(number) else {
      throw error(key, "must be an integer from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// Returns a number that is in the declared range or 0.
  package func number(_ key: Setting.Key<Double>) throws(ConfigurationError) -> Double {
    guard case .numberOrZero(let range) = key.setting.kind else {
      preconditionFailure("\(key.setting.name) is not declared as a number")
    }
    guard let number = Double(textOrDefault(key)), number == 0 || range.contains(number) else {
      throw error(key, "must be a number from \(range.lowerBound) to \(Int(range.upperBound)), or 0 for no limit")
    }
    return number
  }

  /// Returns a Boolean value: `1`, `true` or `yes`, and `0`, `false` or `no`, in either case.
  package func boolean(_ key: Setting.Key<Bool>) throws(ConfigurationError) -> Bool {
    switch textOrDefault(key).lowercased() {
    case "1", "true", "yes": return true
    case "0", "false", "no": return false
    default: throw error(key, "must be 1, true, yes, 0, false or no")
    }
  }

  /// Returns a case of an enumeration by its raw value, in either case.
  ///
  /// - Parameter fallback: the default where it is declared in words.
  package func choice<Choice: CaseIterable & RawRepresentable<String>>(
    _ key: Setting.Key<Choice>, default fallback: Choice? = nil
  ) throws(ConfigurationError) -> Choice {
    if self[key] == nil, let fallback { return fallback }
    guard let choice = Choice(rawValue: textOrDefault(key).lowercased()) else {
      let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
      throw error(key, "must be one of \(names)")
    }
    return choice
  }

  /// Returns the parts of a list with commas between, without spaces around them and without empty ones; none if it is
  /// not set.
  ///
  /// - Throws: ``ConfigurationError`` for a value without parts, which would otherwise mean the default, or nothing.
  package func list(_ key: Setting.Key<[String]>) throws(ConfigurationError) -> [String] {
    guard let value = self[key] else { return [] }
    let parts = value.split(separator: ",").map { $0.trimmingCharacters(in: [" "]) }.filter { !$0.isEmpty }
    guard !parts.isEmpty else { throw error(key, "must be a list separated by commas") }
    return parts
  }

  /// Returns the networks of a list.
  package func networks(_ key: Setting.Key<[String]>) throws(ConfigurationError) -> [IPNetwork] {
    var networks: [IPNetwork] = []
    for text in try list(key) {
      guard let network = IPNetwork(text) else {
        throw ConfigurationError(
          key, value: text,
          expectation: "must be addresses or networks separated by commas, such as 10.0.0.0/8 or 2001:db8::/32")
      }
      networks.append(network)
    }
    return networks
  }

  /// Returns a digest of everything that the operator chose and responses depend on, for entity tags: the values of those
  /// of the settings that affect responses, and the contents of the files that they name.
  package func responseDigest(of all: [Setting]) -> UInt64 {
    var hash = FNV1a()
    for setting in all where setting.effect == .responses {
      var value = self[setting]
      if case .value(let fallback) = setting.fallback { value = value ?? fallback }
      guard let value else { continue }
      hash.combine(bytes: "\(setting.name)=".utf8)
      if case .file = setting.kind {
        hash.combine(bytes: FileManager.default.contents(atPath: value) ?? Data())
      } else {
        hash.combine(bytes: value.utf8)
      }
      // No text has this byte.
      hash.combine(bytes: [0xFF])
    }
    return hash.value
  }

  /// Returns the error for the value of a setting, which it shows unless it is a secret.
  package func error(_ key: some DeclaredSetting, _ expectation: String) -> ConfigurationError {
    ConfigurationError(key, value: key.setting.isSecret ? nil : self[key], expectation: expectation)
  }
}

/// The error of a setting that is invalid, or that is set without another one that it needs. It stops the start with
/// one line.
package struct ConfigurationError: Error, Hashable, CustomStringConvertible {
  /// The environment variable.
  package let variable: String

  /// The invalid value without secrets; `nil` when it is one, or when not the value but its presence is the error.
  package let value: String?

  /// The rest of a sentence whose subject is the variable, such as `must be an integer from 0 to 65535`.
  package let expectation: String

  package init(variable: String, value: String?, expectation: String) {
    self.variable = variable
    self.value = value.map(Self.withoutSecrets)
    self.expectation = expectation
  }

  package init(_ key: some DeclaredSetting, value: String?, expectation: String) {
    self.init(variable: key.setting.name, value: value, expectation: expectation)
  }

  /// Returns the error of a setting that contradicts others, such as one without the setting that it needs.
  package static func conflict(_ key: some DeclaredSetting, _ reason: String) -> ConfigurationError {
    ConfigurationError(key, value: nil, expectation: reason)
  }

  /// Returns a value with `…` for what may be secret: the user information and the query of an address, or all of a key
  /// or key set in place of the name of its file.
  private static func withoutSecrets(_ value: String) -> String {
    let start = value.trimmingCharacters(in: .whitespacesAndNewlines)
    // JSON and PEM, also in Base64, and API keys.
    let isContent = ["{", "eyJ", "-----BEGIN", "LS0t", "wm_"].contains { start.hasPrefix($0) }
    guard !isContent, !value.contains(where: \.isNewline) else { return "…" }
    var shown = value
    // A password with unencoded characters ends at the last @.
    if let end = shown.lastIndex(of: "@") {
      let start = shown.range(of: "://").map(\.upperBound).flatMap { $0 <= end ? $0 : nil } ?? shown.startIndex
      shown.replaceSubrange(start..<end, with: "…")
    }
    if let query = shown.firstIndex(of: "?") { shown.replaceSubrange(shown.index(after: query)..., with: "…") }
    return shown
  }

  package var description: String {
    "\(variable) \(expectation)\(value.map { ", got '\($0)'" } ?? "")"
  }
}
