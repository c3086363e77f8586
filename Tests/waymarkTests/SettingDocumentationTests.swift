import ArgumentParser
import Foundation
import Points
import SearchWords
import ServerFeatures
import Testing

@testable import Hosting
@testable import waymark

extension Setting: CustomTestStringConvertible {
  /// The environment variable.
  package var testDescription: String { name }
}

/// A tree of categories without its parts, which are most of a configuration as text.
extension CategoryTree: CustomReflectable {
  package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The agreement of the declared settings with the sources that use them, the options, the generated texts and the
/// values that the program accepts.
@Suite struct SettingDocumentationTests {
  private let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
  /// The text of `waymark serve --help`, each description in one line.
  private static let help = Waymark.helpMessage(for: ServeCommand.self, columns: 10_000)

  /// The entry of an option in the help, in one or two lines; `nil` where there is no such option.
  private func helpEntry(_ setting: Setting) -> Substring? {
    Self.help.split(separator: "\n  --").first { $0.hasPrefix("\(setting.optionName ?? "") ") }
  }

  private func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  /// A misspelt name does not compile where a setting is read; one in a message or in the help is found here.
  @Test func eachDeclaredSettingIsUsedAndEachUsedOneDeclared() throws {
    var sources = ""
    for folder in ["Sources/Core/Hosting", "Sources/Core/ServerFeatures", "Sources/Features", "Sources/waymark"] {
      let files = try #require(FileManager.default.enumerator(atPath: root.appending(path: folder).path))
      for case let file as String in files where file.hasSuffix(".swift") && !file.hasSuffix("SettingCatalogue.swift") {
        sources += try text("\(folder)/\(file)").replacing(/contains\("[^"]*"\)/, with: "")
      }
    }
    let used = Set(sources.matches(of: /"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)"/).map { String($0.1) })
    let all = ServerSettings.settings + Setting.client.settings
    let declared = Set(all.map(\.name))

    #expect(declared.count > 50 && declared.count == all.count)
    #expect(used.subtracting(declared).isEmpty)
    for group in Setting.groupsOfServer + [Setting.client] {
      let properties = Mirror(reflecting: group).children.filter { $0.value is any DeclaredSetting }.compactMap(\.label)
      #expect(properties.count == group.settings.count)
      #expect(properties.filter { !sources.contains(".\($0)") } == [])
    }
  }

  @Test func settingsOfFeaturesStandAmongThoseOfTheirGroupAndChangeTheConfiguration() throws {
    let environment = ["MEMORY_STORE_PATH": "places.db"]
    let without = try Self.configuration(environment)
    let values = [
      "CHANGES_MAX_STREAMS": "7", "OGC_COLLECTIONS": "food=cafe", "SUGGESTION_DAYS": "7",
      "WEBHOOK_ALLOWED_NETWORKS": "10.0.0.0/8",
    ]
    let named = ["JWT_AUDIENCE", "JWT_ISSUER", "JWT_JWKS", "MAP_TILES_ATTRIBUTION", "MAP_TILES_FILE", "MAP_TILES_URL"]
    let places = Setting.places.settings(with: Features.all).map(\.name)

    #expect(Features.all.flatMap { $0.settings }.map(\.name).sorted() == (values.keys + named).sorted())
    #expect(
      places.suffix(4) == [
        "CHANGES_RETENTION_DAYS", "SUGGESTION_DAYS", "WEBHOOK_ALLOWED_NETWORKS", "MIGRATIONS_PATH",
      ])
    for (name, value) in values {
      #expect(ServerSettings.settings.contains { $0.name == name }, "\(name) is in no group")
      #expect(try Self.configuration(environment.merging([name: value]) { $1 }) != without, "\(name)")
    }
  }

  @Test func theConfigurationPageIsUpToDate() throws {
    #expect(
      try text("docs/configuration.md") == SettingsDocumentation.page,
      "Write it: swift run waymark settings --markdown > docs/configuration.md")
  }

  @Test func theExampleEnvironmentFileIsUpToDate() throws {
    #expect(
      try text("deploy/waymark.example.env") == SettingsDocumentation.environmentFile,
      "Write it: swift run waymark settings > deploy/waymark.example.env")
  }

  @Test(arguments: ServerSettings.settings)
  func eachSettingOfTheServerIsAnOptionWithItsDefault(setting: Setting) throws {
    let option = "--\(setting.name.lowercased().replacing("_", with: "-"))"

    let options = try SettingOptions<ServerSettings>.parse([option, "value"])
    let entry = try #require(helpEntry(setting))

    #expect(options.values == [setting.name: "value"])
    #expect(entry.contains("(default: \(setting.fallback.markdown.withoutBackticks))"))
    #expect(entry.contains("<"))
  }

  @Test func theServerHasNoOtherOptions() {
    let options = Self.help.matches(of: /(?m)^ +(?:-h, )?--([a-z-]+)/).map { String($0.1) }

    #expect(Set(options) == Set(ServerSettings.settings.compactMap(\.optionName) + ["version", "help"]))
  }

  /// The settings that others need in order to be accepted.
  private static func environment(for setting: Setting) -> [String: String] {
    var environment = ["DATABASE_URL": "postgresql://db/places", "ANALYTICS": "postgres", "API_KEYS_FILE": "keys.txt"]
    if setting.name == "READ_MAX_STALENESS_MS" { environment["READ_CONSISTENCY"] = "bounded" }
    environment[setting.name] = nil
    return environment
  }

  /// The whole configuration as text.
  private static func configuration(_ environment: [String: String]) throws(ConfigurationError) -> String {
    let settings = Settings(environment: environment)
    var text = ""
    dump(try ServeConfiguration(settings, features: Features.all), to: &text)
    dump(try LogConfiguration(settings, isTerminal: true), to: &text)
    return text
  }

  private static func configuration(_ setting: Setting, _ value: String) throws(ConfigurationError) -> String {
    try configuration(environment(for: setting).merging([setting.name: value]) { $1 })
  }

  @Test(arguments: [
    "TILE_CLUSTER_MAX_ZOOM", "SKIP_DAMAGED", "SEARCH_IMPORTANCE_TAG", "HTTP_MAX_URI_BYTES", "HTTP_IDLE_TIMEOUT_MS",
    "NEVER_A_SETTING",
  ])
  func variableThatIsNoSettingIsIgnored(name: String) throws {
    let without = try Self.configuration([:])

    #expect(try Self.configuration([name: "1"]) == without)
  }

  @Test func mostServerSettingsDeclareADefaultValue() {
    let values = ServerSettings.settings.filter { if case .value = $0.fallback { true } else { false } }

    #expect(values.count >= 30)
  }

  @Test(arguments: ServerSettings.settings)
  func onlyValuesOtherThanTheDefaultChangeTheConfiguration(setting: Setting) throws {
    guard case .value(let value) = setting.fallback else { return }
    let other: String? =
      switch setting.kind {
      case .boolean: "true"
      case .integer, .milliseconds, .numberOrZero: Int(value).map { "\($0 + 1)" }
      default: nil
      }

    let implicit = try Self.configuration(Self.environment(for: setting))

    #expect(try Self.configuration(setting, value) == implicit)
    if let other { #expect(try Self.configuration(setting, other) != implicit) }
  }

  @Test(arguments: ServerSettings.settings)
  func valuesOutsideTheDeclaredRangeAreRejected(setting: Setting) throws {
    let range: ClosedRange<Int>
    switch setting.kind {
    case .integer(let declared), .milliseconds(let declared): range = declared
    default: return
    }
    // The log of searches narrows the range of the pool; `ConnectionSharesTests` has it.
    guard setting.name != "DATABASE_POOL_SIZE" else { return }

    for value in [range.lowerBound, range.upperBound] { _ = try Self.configuration(setting, "\(value)") }
    for value in ["\(range.lowerBound - 1)", "\(range.upperBound + 1)", "many", "1.5"] {
      let error = #expect(throws: ConfigurationError.self) { try Self.configuration(setting, value) }
      let expected =
        "\(setting.name) must be an integer from \(range.lowerBound) to \(range.upperBound), got '\(value)'"
      #expect(error?.description == expected)
    }
  }

  @Test(arguments: ServerSettings.settings)
  func unknownChoiceIsRejectedWithTheAcceptedOnes(setting: Setting) {
    let expectation: String
    switch setting.kind {
    case .boolean: expectation = "must be 1, true, yes, 0, false or no"
    case .choice(let choices): expectation = "must be one of \(choices.joined(separator: ", "))"
    default: return
    }

    let error = #expect(throws: ConfigurationError.self) { try Self.configuration(setting, "maybe") }

    #expect(error?.description == "\(setting.name) \(expectation), got 'maybe'")
  }

  @Test(arguments: (ServerSettings.settings + Setting.client.settings).filter(\.isSecret))
  func errorsDoNotShowSecrets(setting: Setting) {
    let error = Settings(environment: [setting.name: "hunter2"]).error(setting, "must be something else")

    #expect(!error.description.contains("hunter2"))
  }
}
