import ArgumentParser
import LocationsAPI

/// `waymark keys`: what is done with API keys.
struct KeysCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keys",
    abstract: "Makes API keys.",
    subcommands: [CreateKeyCommand.self]
  )
}

/// `waymark keys create`: makes an API key and shows it this once.
struct CreateKeyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Makes an API key and shows it, once.",
    discussion: """
      The key goes to its user, who sends it as 'Authorization: Bearer KEY'. The line goes into the file that \
      API_KEYS_FILE names; a running server reads the file again at SIGHUP. The key can't be told from the line. The \
      line alone is written to the standard output, so that it can be appended to the file.

      Example:
        waymark keys create phone-app --scope read >> keys.txt
      """
  )

  @Argument(help: "Whose key it is: 1 to 100 characters out of A-Z a-z 0-9 . _ -")
  var name: String

  @Option(help: "read, write or admin; each allows what those before it allow.")
  var scope: String = AccessScope.write.rawValue

  func run() async throws {
    guard APIKey.isAcceptable(name: name) else {
      throw Exit.because("'\(name)': a name is 1 to 100 characters out of A-Z a-z 0-9 . _ -", Exit.usage)
    }
    guard let scope = AccessScope(rawValue: scope) else {
      let names = AccessScope.allCases.map(\.rawValue).joined(separator: ", ")
      throw Exit.because("--scope '\(scope)': must be one of \(names)", Exit.usage)
    }
    var generator = SystemRandomNumberGenerator()
    let (secret, key) = APIKey.generate(name: name, scope: scope, using: &generator)
    StandardError.write(Array("The key, shown this once: \(secret)\nThe line for API_KEYS_FILE:\n".utf8))
    print(key.line)
  }
}
