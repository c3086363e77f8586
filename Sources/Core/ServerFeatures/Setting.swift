/// A setting of the program: an environment variable and, where it has one, the command-line option of the same name.
///
/// The properties of each ``SettingGroup`` declare them. The command-line options, the parsing of values and their error
/// messages, the help of the commands, the example configuration and `docs/configuration.md` are derived from the
/// declarations.
package struct Setting: Sendable {
  /// The type of the value, with its unit and range.
  package enum Kind: Sendable {
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
  package enum Default: Sendable, ExpressibleByStringLiteral {
    /// The same as setting this value.
    case value(String)
    /// A value that depends on other settings or on the machine, in words.
    case described(String)

    package static let none = Default.described("none")

    package init(stringLiteral value: String) { self = .value(value) }

    /// The default in Markdown.
    package var markdown: String {
      switch self {
      case .value(let value): "`\(value)`"
      case .described(let words): words
      }
    }
  }

  /// The command-line option of a setting.
  package enum Option: Sendable {
    /// The name of the variable in kebab case.
    case sameName
    case named(String)
    case none
  }

  /// The parts of the program that a setting affects.
  package enum Effect: Sendable {
    /// Responses that have entity tags: the tags contain a digest of the value, or of the file that it names.
    case responses
    /// The operation of the service, other responses, or header fields alone.
    case operation
  }

  /// The environment variable.
  package let name: String
  package let kind: Kind
  package let effect: Effect
  package let fallback: Default
  /// A sentence in Markdown.
  package let help: String
  /// Further sentences of the documentation, in Markdown.
  package let details: String
  /// A Boolean value that indicates whether the value must not be shown.
  package let isSecret: Bool
  package let option: Option

  /// A Boolean value that indicates whether the value is the path of a file or folder, or a list of such paths.
  package var namesFiles: Bool {
    switch kind {
    case .file, .folder, .list("files"): true
    default: false
    }
  }

  /// The name of the option without its dashes; `nil` if there is none.
  package var optionName: String? {
    switch option {
    case .sameName: String(name.lowercased().map { $0 == "_" ? "-" : $0 })
    case .named(let name): name
    case .none: nil
    }
  }

  /// The word that stands for the value.
  package var placeholder: String {
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
}

/// The declaration of a setting, whatever the type of its value.
package protocol DeclaredSetting: Sendable {
  var setting: Setting { get }
}

extension Setting: DeclaredSetting {
  package var setting: Setting { self }

  /// A setting with the type of its value, so that a misspelt name, or the use as another type, does not compile.
  package struct Key<Value>: DeclaredSetting {
    package let setting: Setting

    package init(
      _ name: String, _ kind: TypedKind<Value>, affects effect: Effect, default fallback: Default = .none,
      _ help: String, details: String = "", isSecret: Bool = false, option: Option = .sameName
    ) {
      setting = Setting(
        name: name, kind: kind.kind, effect: effect, fallback: fallback, help: help, details: details,
        isSecret: isSecret, option: option)
    }
  }

  package struct TypedKind<Value>: Sendable {
    fileprivate let kind: Kind
  }
}

extension Setting.TypedKind<String> {
  package static func text(_ placeholder: String) -> Self { Self(kind: .text(placeholder)) }
  package static var file: Self { Self(kind: .file) }
  package static var folder: Self { Self(kind: .folder) }
}

extension Setting.TypedKind<[String]> {
  package static func list(_ placeholder: String) -> Self { Self(kind: .list(placeholder)) }
}

extension Setting.TypedKind<Int> {
  package static func integer(_ range: ClosedRange<Int>) -> Self { Self(kind: .integer(range)) }
}

extension Setting.TypedKind<Double> {
  package static func numberOrZero(_ range: ClosedRange<Double>) -> Self { Self(kind: .numberOrZero(range)) }
}

extension Setting.TypedKind<Duration> {
  package static func milliseconds(_ range: ClosedRange<Int>) -> Self { Self(kind: .milliseconds(range)) }

  /// From one millisecond to an hour.
  package static var timeout: Self { .milliseconds(1...3_600_000) }
}

extension Setting.TypedKind<Bool> {
  package static var boolean: Self { Self(kind: .boolean) }
}

extension Setting.TypedKind where Value: CaseIterable & RawRepresentable<String> {
  package static func choice(of: Value.Type) -> Self { Self(kind: .choice(Value.allCases.map(\.rawValue))) }
}

/// Settings that the documentation shows together, each a property of the type ``Setting/Key``.
package protocol SettingGroup: Sendable {
  var title: String { get }
}

extension SettingGroup {
  /// The settings in the order of their declarations, but for those of features.
  package var settings: [Setting] { settings(with: []) }

  /// Returns the settings in the order of their declarations, with those of features where the group has its property
  /// of the type ``FeatureSettings``.
  package func settings(with features: [any ServerFeature.Type]) -> [Setting] {
    Mirror(reflecting: self).children.flatMap { child in
      child.value is FeatureSettings
        ? features.filter { $0.settingsTitle == title }.flatMap { $0.settings }
        : (child.value as? any DeclaredSetting).map { [$0.setting] } ?? []
    }
  }
}

/// The place of the settings of features among the others of their group.
package struct FeatureSettings: Sendable {
  package init() {}
}
