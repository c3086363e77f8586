import AccessControl
import ArgumentParser
import Basics
import HTTPServer
import Hosting
import ServerFeatures

/// `waymark keys`: the commands for API keys.
struct KeysCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keys",
    abstract: "Creates API keys.",
    subcommands: [CreateKeyCommand.self]
  )
}

/// `waymark keys create`: creates an API key and shows it once.
struct CreateKeyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Creates an API key and shows it once.",
    discussion: """
      The key goes to its user, who sends it as 'Authorization: Bearer KEY'. The line goes into the file that \
      API_KEYS_FILE names; a running server reads the file again at SIGHUP. The key can't be derived from the \
      line. Only the line is written to standard output, so that it can be appended to the file.

      Example:
        waymark keys create phone-app >> keys.txt
        waymark keys create editor --scope write >> keys.txt
        waymark keys create partner --filter "category <> 'internal'" --area Vienna >> keys.txt
      """
  )

  @Argument(help: "Name of the key's owner: 1 to 100 of the characters A-Z a-z 0-9 . _ -")
  var name: String

  private static let scopes = AccessScope.ofServer(with: Features.all)

  @Option(help: "\(scopes.map(\.description).listed("or")); each includes those before it.")
  var scope: String = AccessScope.read.description

  @Option(help: "Condition in CQL2 on the places that the owner may know of.")
  var filter: String?

  @Option(
    name: .customLong("area"),
    help: "Id or name of an area that the places are in; repeated, they are in one of the areas.")
  var areas: [String] = []

  func run() async throws {
    guard APIKey.isAcceptable(name: name) else {
      throw Exit.because("name must be 1 to 100 of the characters A-Z a-z 0-9 . _ -, got '\(name)'", Exit.usage)
    }
    guard let scope = Self.scopes.first(where: { $0.description == scope }) else {
      let names = Self.scopes.map(\.description).joined(separator: ", ")
      throw Exit.because("--scope must be one of \(names), got '\(scope)'", Exit.usage)
    }
    let restriction: AccessRestriction?
    do throws(InvalidRestriction) {
      restriction = try AccessRestriction.validated(filter: filter, areas: areas, queryables: nil)
    } catch {
      throw Exit.because("the key \(error)", Exit.usage)
    }
    var generator = SystemRandomNumberGenerator()
    let (secret, key) = APIKey.generate(name: name, scope: scope, restriction: restriction, using: &generator)
    StandardError.write(Array("The key, shown this once: \(secret)\nThe line for API_KEYS_FILE:\n".utf8))
    print(key.line)
  }
}
