import ArgumentParser

/// A setting of the program: an environment variable and, where it has one, the command-line option of the same name.
///
/// The properties of each ``SettingGroup`` declare them. The command-line options, the parsing of values and their error
/// messages, the help of the commands, the example configuration and `docs/configuration.md` are derived from the
/// declarations.
struct Setting: Sendable {
  /// The type of the value, with its unit and range.
  enum Kind: Sendable {
    /// Any text, with the word that stands for it in the help.
    case text(_ placeholder: String)
    case file
    case folder
    case integer(ClosedRange<Int>)
    /// A number in the range, or 0.
    case numberOrZero(ClosedRange<Double>)
    case milliseconds(ClosedRange<Int>)
    case boolean
    /// One of several words.
    case choice([String])
    /// Values with commas between.
    case list(_ placeholder: String)
  }

  /// The value of a setting that is not set.
  enum Default: Sendable, ExpressibleByStringLiteral {
    /// The same as setting this value.
    case value(String)
    /// A value that depends on other settings or on the machine, in words.
    case described(String)

    static let none = Default.described("none")

    init(stringLiteral value: String) { self = .value(value) }

    /// The default in Markdown.
    var markdown: String {
      switch self {
      case .value(let value): "`\(value)`"
      case .described(let words): words
      }
    }
  }

  /// The command-line option of a setting.
  enum Option: Sendable {
    /// The name of the variable in kebab case.
    case sameName
    case named(String)
    case none
  }

  /// The parts of the program that a setting affects.
  enum Effect: Sendable {
    /// Responses that have entity tags: the tags contain a digest of the value, or of the file that it names.
    case responses
    /// The operation of the service, other responses, or header fields alone.
    case operation
  }

  /// The environment variable.
  let name: String
  let kind: Kind
  let effect: Effect
  let fallback: Default
  /// A sentence in Markdown.
  let help: String
  /// Further sentences of the documentation, in Markdown.
  let details: String
  /// A Boolean value that indicates whether the value must not be shown.
  let isSecret: Bool
  let option: Option

  /// A Boolean value that indicates whether the value is the path of a file or folder, or a list of such paths.
  var namesFiles: Bool {
    switch kind {
    case .file, .folder, .list("files"): true
    default: false
    }
  }

  /// The name of the option without its dashes; `nil` if there is none.
  var optionName: String? {
    switch option {
    case .sameName: String(name.lowercased().map { $0 == "_" ? "-" : $0 })
    case .named(let name): name
    case .none: nil
    }
  }
}

/// The declaration of a setting, whatever the type of its value.
protocol DeclaredSetting: Sendable {
  var setting: Setting { get }
}

extension Setting: DeclaredSetting {
  var setting: Setting { self }

  /// A setting with the type of its value, so that a misspelt name, or the use as another type, does not compile.
  struct Key<Value>: DeclaredSetting {
    let setting: Setting

    init(
      _ name: String, _ kind: TypedKind<Value>, affects effect: Effect, default fallback: Default = .none,
      _ help: String, details: String = "", isSecret: Bool = false, option: Option = .sameName
    ) {
      setting = Setting(
        name: name, kind: kind.kind, effect: effect, fallback: fallback, help: help, details: details,
        isSecret: isSecret, option: option)
    }
  }

  struct TypedKind<Value>: Sendable {
    fileprivate let kind: Kind
  }
}

extension Setting.TypedKind<String> {
  static func text(_ placeholder: String) -> Self { Self(kind: .text(placeholder)) }
  static var file: Self { Self(kind: .file) }
  static var folder: Self { Self(kind: .folder) }
}

extension Setting.TypedKind<[String]> {
  static func list(_ placeholder: String) -> Self { Self(kind: .list(placeholder)) }
}

extension Setting.TypedKind<Int> {
  static func integer(_ range: ClosedRange<Int>) -> Self { Self(kind: .integer(range)) }
}

extension Setting.TypedKind<Double> {
  static func numberOrZero(_ range: ClosedRange<Double>) -> Self { Self(kind: .numberOrZero(range)) }
}

extension Setting.TypedKind<Duration> {
  static func milliseconds(_ range: ClosedRange<Int>) -> Self { Self(kind: .milliseconds(range)) }

  /// From one millisecond to an hour.
  static var timeout: Self { .milliseconds(1...3_600_000) }
}

extension Setting.TypedKind<Bool> {
  static var boolean: Self { Self(kind: .boolean) }
}

extension Setting.TypedKind where Value: CaseIterable & RawRepresentable<String> {
  static func choice(of: Value.Type) -> Self { Self(kind: .choice(Value.allCases.map(\.rawValue))) }
}

/// Settings that the documentation shows together, each a property of the type ``Setting/Key``, or several in a list.
protocol SettingGroup: Sendable {
  var title: String { get }
}

extension SettingGroup {
  /// The settings in the order of their declarations.
  var settings: [Setting] {
    Mirror(reflecting: self).children.flatMap { child in
      (child.value as? any DeclaredSetting).map { [$0.setting] } ?? child.value as? [Setting] ?? []
    }
  }
}

/// The settings that a command has options for.
protocol SettingSelection: Sendable {
  static var settings: [Setting] { get }

  /// A Boolean value that indicates whether the help of each option names its environment variable.
  static var namesVariables: Bool { get }
}

extension SettingSelection {
  static var namesVariables: Bool { true }
}

/// The command-line options of some settings, generated from their declarations.
///
/// ArgumentParser learns a type's options from its mirror and decodes their values by the labels of the mirror's
/// children. The mirror of this type has an option for each setting, labelled with the setting's name.
struct SettingOptions<Selection: SettingSelection>: ParsableArguments, CustomReflectable {
  /// The values of the options that were given, by the names of their settings.
  private(set) var values: [String: String] = [:]

  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }

    init?(intValue: Int) { nil }
  }

  init() {}

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    for setting in Selection.settings {
      values[setting.name] =
        try container.decode(Option<String?>.self, forKey: Key(stringValue: setting.name)).wrappedValue
    }
  }

  var customMirror: Mirror {
    let children = Selection.settings.compactMap { setting in
      setting.argument(namesVariable: Selection.namesVariables).map { Mirror.Child(label: setting.name, value: $0) }
    }
    return Mirror(self, children: children)
  }
}

extension Setting {
  /// The option; `nil` where the setting is an environment variable alone.
  fileprivate func argument(namesVariable: Bool) -> Any? {
    guard let optionName else { return nil }
    var argumentHelp = ArgumentHelp(stringLiteral: optionHelp(namesVariable: namesVariable))
    argumentHelp.valueName = placeholder
    return ArgumentParser.Option<String?>(name: .customLong(optionName), help: argumentHelp, completion: completion)
  }

  /// The help of the option: a sentence, the range and the default.
  private func optionHelp(namesVariable: Bool) -> String {
    let fallback = namesVariable ? "\(name), else \(fallback.markdown)" : fallback.markdown
    let range =
      switch kind {
      case .integer(let range): " From \(range.lowerBound) to \(range.upperBound)."
      default: ""
      }
    return "\(help)\(range) (default: \(fallback))".withoutBackticks
  }

  /// The word that stands for the value.
  var placeholder: String {
    switch kind {
    case .text(let placeholder), .list(let placeholder): placeholder
    case .file: "file"
    case .folder: "folder"
    case .integer, .numberOrZero: "number"
    case .milliseconds: "milliseconds"
    case .boolean: "boolean"
    case .choice(let choices): choices.joined(separator: "|")
    }
  }

  private var completion: CompletionKind? {
    switch kind {
    case .file: .file()
    case .folder: .directory
    case .boolean: .list(["true", "false"])
    case .choice(let choices): .list(choices)
    case .text, .integer, .numberOrZero, .milliseconds, .list: nil
    }
  }
}
