import ArgumentParser

/// The settings that a command has options for.
package protocol SettingSelection: Sendable {
  static var settings: [Setting] { get }

  /// A Boolean value that indicates whether the help of each option names its environment variable.
  static var namesVariables: Bool { get }
}

extension SettingSelection {
  package static var namesVariables: Bool { true }
}

/// The command-line options of some settings, generated from their declarations.
///
/// ArgumentParser learns a type's options from its mirror and decodes their values by the labels of the mirror's
/// children. The mirror of this type has an option for each setting, labelled with the setting's name.
package struct SettingOptions<Selection: SettingSelection>: ParsableArguments, CustomReflectable {
  /// The values of the options that were given, by the names of their settings.
  package private(set) var values: [String: String] = [:]

  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }

    init?(intValue: Int) { nil }
  }

  package init() {}

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    for setting in Selection.settings {
      values[setting.name] =
        try container.decode(Option<String?>.self, forKey: Key(stringValue: setting.name)).wrappedValue
    }
  }

  package var customMirror: Mirror {
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

extension String {
  /// The text without the backticks of Markdown.
  package var withoutBackticks: String { filter { $0 != "`" } }
}
