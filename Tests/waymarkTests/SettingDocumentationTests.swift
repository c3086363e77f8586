import ArgumentParser
import Foundation
import Testing

@testable import waymark

/// The settings that the program reads, those of `waymark serve --help` and those of `docs/configuration.md` are the same,
/// with the same defaults.
@Suite struct SettingDocumentationTests {
  /// A row of a table of settings, for each of the variables that it names.
  private struct Row: Hashable {
    let variable: String
    let defaultText: String

    /// The literal that the text of the default begins with, such as `8080`; `nil` where the text is in words.
    var defaultLiteral: String? {
      defaultText.prefixMatch(of: /`([^`]+)`/).map { String($0.1) }
    }
  }

  private let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
  private let page: String
  /// The text of `waymark serve --help`, each description in one line.
  private let help: String

  init() throws {
    page = try String(contentsOf: root.appending(path: "docs/configuration.md"), encoding: .utf8)
    help = Waymark.helpMessage(for: ServeCommand.self, columns: 10_000)
  }

  /// The rows of the table of settings of the server, or of the table of other variables.
  private func rows(ofServer isOfServer: Bool) throws -> [Row] {
    let tables = page.split(separator: "\n## ")
    let table = try #require(isOfServer ? tables.first : tables.first { $0.hasPrefix("Commands") })
    return table.split(separator: "\n").filter { $0.hasPrefix("| `") }.flatMap { line in
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      return cells[0].matches(of: /`([A-Z0-9_]+)`/).map { Row(variable: String($0.1), defaultText: cells[1]) }
    }
  }

  private static func option(_ variable: String) -> String {
    "--" + variable.lowercased().replacing("_", with: "-")
  }

  /// What the help says of an option, in one or two lines; `nil` where there is no such option.
  private func helpEntry(_ option: String) -> Substring? {
    help.split(separator: "\n  -").first { $0.hasPrefix("\(option.dropFirst()) ") }
  }

  @Test func eachVariableThatTheProgramReadsIsDocumentedAndNoOther() throws {
    var read: Set<String> = []
    let sources = root.appending(path: "Sources/waymark")
    let files = try #require(FileManager.default.enumerator(atPath: sources.path))
    for case let file as String in files where file.hasSuffix(".swift") {
      let text = try String(contentsOf: sources.appending(path: file), encoding: .utf8)
        .replacing(/contains\("[^"]*"\)/, with: "")
      for match in text.matches(of: /"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)"/) { read.insert(String(match.1)) }
      // Names of one word look like many other texts.
      for match in text.matches(of: /settings(?:\[|\.\w+\(\s*)"([A-Z]+)"/) { read.insert(String(match.1)) }
    }
    let documented = try (rows(ofServer: true) + rows(ofServer: false)).map(\.variable)

    #expect(read.count > 50)
    #expect(Set(documented).count == documented.count)
    #expect(Set(documented) == read)
  }

  @Test func eachSettingOfTheServerIsAnOptionAndNoOther() throws {
    let options = help.matches(of: /(?m)^ +(--[a-z-]+)/).map { String($0.1) }
    let documented = try rows(ofServer: true).map { Self.option($0.variable) }

    #expect(Set(options).subtracting(["--version"]) == Set(documented))
  }

  @Test func eachOptionSetsTheVariableOfItsName() throws {
    for row in try rows(ofServer: true) {
      let option = Self.option(row.variable)
      let isFlag = try #require(helpEntry(option)).contains("\(option.dropFirst()) <") == false

      let options = try ServeOptions.parse(isFlag ? [option] : [option, "value"])

      #expect(options.flags == [row.variable: isFlag ? "true" : "value"])
    }
  }

  @Test func theHelpTellsTheDocumentedDefaults() throws {
    for row in try rows(ofServer: true) {
      guard let literal = row.defaultLiteral else { continue }
      let entry = try #require(helpEntry(Self.option(row.variable)))

      #expect(entry.contains("(default: \(literal)"), "\(row.variable)")
    }
  }

  @Test func theProgramHasTheDocumentedDefaults() throws {
    let rows = try rows(ofServer: true)
    var examined = 0
    for row in rows {
      // Another variable's value, and a switch whose default is said in words.
      let isSwitch = row.defaultText == "off"
      guard let literal = row.defaultLiteral ?? (isSwitch ? "false" : nil),
        !literal.contains(/^[A-Z]+_/)
      else { continue }
      let other: String? = isSwitch ? "true" : Int(literal).map { "\($0 + 1)" }
      var base = [
        "DATABASE_URL": "postgresql://db/places", "ANALYTICS": "postgres", "API_KEYS_FILE": "keys.txt",
      ]
      if row.variable == "SKIP_DAMAGED" { base = ["MEMORY_STORE_PATH": "places.db"] }
      base[row.variable] = nil

      let implicit = try Self.configuration(base)
      let explicit = try Self.configuration(base.merging([row.variable: literal]) { $1 })

      #expect(explicit == implicit, "\(row.variable)=\(literal)")
      if let other {
        let changed = try Self.configuration(base.merging([row.variable: other]) { $1 })
        #expect(changed != implicit, "\(row.variable)=\(other)")
      }
      examined += 1
    }

    #expect(examined > 30)
  }

  /// All that the settings say, as text.
  private static func configuration(_ environment: [String: String]) throws -> String {
    let settings = Settings(environment: environment)
    var text = ""
    dump(try ServeConfiguration(settings), to: &text)
    dump(try LogConfiguration(settings, isTerminal: true), to: &text)
    return text
  }
}
