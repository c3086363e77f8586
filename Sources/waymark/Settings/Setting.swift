/// A setting of the program: an environment variable and, where it has one, the command-line option of the same name.
///
/// ``SettingGroup`` declares all of them. The command-line options, the parsing of values and their error messages, the
/// help of the commands, the example configuration and `docs/configuration.md` are derived from the declarations.
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
    /// A Boolean value whose option takes no value.
    case flag
    /// One of several words.
    case choice([String])
    /// Values with commas between.
    case list(_ placeholder: String)

    /// The raw values of an enumeration.
    static func choice<Choice: CaseIterable & RawRepresentable<String>>(of: Choice.Type) -> Kind {
      .choice(Choice.allCases.map(\.rawValue))
    }

    /// From one millisecond to an hour.
    static let timeout = Kind.milliseconds(1...3_600_000)
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

  init(
    _ name: String, _ kind: Kind, affects effect: Effect, default fallback: Default = .none, _ help: String,
    details: String = "", isSecret: Bool = false, option: Option = .sameName
  ) {
    self.name = name
    self.kind = kind
    self.effect = effect
    self.fallback = fallback
    self.help = help
    self.details = details
    self.isSecret = isSecret
    self.option = option
  }

  /// The name of the option without its dashes; `nil` where there is none.
  var optionName: String? {
    switch option {
    case .sameName: String(name.lowercased().map { $0 == "_" ? "-" : $0 })
    case .named(let name): name
    case .none: nil
    }
  }

  private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

  /// Returns the setting with a name, which must be declared.
  static func named(_ name: String) -> Setting {
    guard let setting = byName[name] else { preconditionFailure("no setting is declared with the name \(name)") }
    return setting
  }

  /// The settings of the server, which are the options of `waymark serve`.
  static let ofServer = SettingGroup.ofServer.flatMap(\.settings)

  /// Every setting.
  static let all = ofServer + SettingGroup.client.settings
}
