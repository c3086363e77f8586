import Basics
import Foundation

/// The values of settings: those of command-line options first, then those of the environment.
///
/// Every accessor throws ``ConfigurationError`` with the setting, its value and the accepted values. An empty value
/// counts as not set.
struct Settings {
  private let options: [String: String]
  private let environment: [String: String]

  /// Creates the settings of this process. Nothing else reads the environment.
  init(options: [String: String] = [:]) {
    self.init(options: options, environment: ProcessInfo.processInfo.environment)
  }

  init(options: [String: String] = [:], environment: [String: String]) {
    self.options = options
    self.environment = environment
  }

  /// The path of an entry of the table.
  typealias Key<Value> = KeyPath<SettingTable, SettingKey<Value>>

  /// The text of a setting; `nil` if it is not set or empty.
  subscript(setting: Setting) -> String? {
    let value = options[setting.name] ?? environment[setting.name] ?? ""
    return value.isEmpty ? nil : value
  }

  subscript<Value>(key: Key<Value>) -> String? { self[Setting.of(key)] }

  private func text(_ setting: Setting) -> String {
    if let text = self[setting] { return text }
    guard case .value(let value) = setting.fallback else {
      preconditionFailure("\(setting.name) is declared without a default value")
    }
    return value
  }

  /// Returns the text of a setting, or its default value.
  func text(_ key: Key<String>) -> String { text(Setting.of(key)) }

  /// Returns an integer.
  ///
  /// - Parameters:
  ///   - range: the accepted range if it is narrower than the declared one.
  ///   - fallback: the default if it is declared in words.
  func integer(
    _ key: Key<Int>, in range: ClosedRange<Int>? = nil, default fallback: @autoclosure () -> Int? = nil
  ) throws(ConfigurationError) -> Int {
    if self[key] == nil, let fallback = fallback() { return fallback }
    return try integer(Setting.of(key), in: range)
  }

  private func integer(_ setting: Setting, in range: ClosedRange<Int>?) throws(ConfigurationError) -> Int {
    let range =
      switch setting.kind {
      case .integer(let declared), .milliseconds(let declared): range ?? declared
      default: preconditionFailure("\(setting.name) is not declared as an integer")
      }
    guard let number = Int(text(setting)), range.contains(number) else {
      throw error(setting, "must be an integer from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  func milliseconds(_ key: Key<Duration>) throws(ConfigurationError) -> Duration {
    .milliseconds(try integer(Setting.of(key), in: nil))
  }

  /// Returns a number that is in the declared range or 0.
  func number(_ key: Key<Double>) throws(ConfigurationError) -> Double {
    let setting = Setting.of(key)
    guard case .numberOrZero(let range) = setting.kind else {
      preconditionFailure("\(setting.name) is not declared as a number")
    }
    guard let number = Double(text(setting)), number == 0 || range.contains(number) else {
      throw error(key, "must be a number from \(range.lowerBound) to \(Int(range.upperBound)), or 0 for no limit")
    }
    return number
  }

  /// Returns a Boolean value: `1`, `true` or `yes`, and `0`, `false` or `no`, in either case.
  func boolean(_ key: Key<Bool>) throws(ConfigurationError) -> Bool {
    switch text(Setting.of(key)).lowercased() {
    case "1", "true", "yes": return true
    case "0", "false", "no": return false
    default: throw error(key, "must be 1, true, yes, 0, false or no")
    }
  }

  /// Returns a case of an enumeration by its raw value, in either case.
  ///
  /// - Parameter fallback: the default if it is declared in words.
  func choice<Choice: CaseIterable & RawRepresentable<String>>(
    _ key: Key<Choice>, default fallback: Choice? = nil
  ) throws(ConfigurationError) -> Choice {
    if self[key] == nil, let fallback { return fallback }
    guard let choice = Choice(rawValue: text(Setting.of(key)).lowercased()) else {
      throw error(key, "must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return choice
  }

  /// Returns the parts of a list with commas between, without spaces around them and without empty ones.
  func list(_ key: Key<[String]>) -> [String] {
    (self[key] ?? "").split(separator: ",").map { $0.trimmingCharacters(in: [" "]) }.filter { !$0.isEmpty }
  }

  /// Returns a digest of everything that the operator chose and responses depend on, for entity tags: the values of the
  /// settings that affect responses, and the contents of the files that they name.
  func responseDigest() -> UInt64 {
    var hash = FNV1a()
    for setting in Setting.ofServer where setting.effect == .responses {
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
  func error<Value>(_ key: Key<Value>, _ expectation: String) -> ConfigurationError {
    error(Setting.of(key), expectation)
  }

  func error(_ setting: Setting, _ expectation: String) -> ConfigurationError {
    ConfigurationError(
      variable: setting.name, value: setting.isSecret ? nil : self[setting], expectation: expectation)
  }
}

/// The error of a setting that is invalid, or that is set without another one that it needs. It stops the start with
/// one line.
struct ConfigurationError: Error, Hashable, CustomStringConvertible {
  /// The environment variable.
  let variable: String

  /// The invalid value; `nil` when it is a secret, or when not the value but its presence is the error.
  let value: String?

  /// The rest of a sentence whose subject is the variable, such as `must be an integer from 0 to 65535`.
  let expectation: String

  /// Returns the error of an invalid value that is not a secret.
  static func invalid<Value>(_ key: Settings.Key<Value>, _ value: String, _ expectation: String) -> ConfigurationError {
    ConfigurationError(variable: Setting.of(key).name, value: value, expectation: expectation)
  }

  /// Returns the error of a setting that contradicts others, such as one without the setting that it needs.
  static func conflict<Value>(_ key: Settings.Key<Value>, _ reason: String) -> ConfigurationError {
    conflict(.of(key), reason)
  }

  static func conflict(_ setting: Setting, _ reason: String) -> ConfigurationError {
    ConfigurationError(variable: setting.name, value: nil, expectation: reason)
  }

  var description: String {
    "\(variable) \(expectation)\(value.map { ", got '\($0)'" } ?? "")"
  }
}
