/// The targets that `Package.swift` declares, read from its text, since the manifest's own program takes seconds.
///
/// The text names each target and each dependency by a literal or by a constant, the modules with tests by calls of its
/// function `module`, and those of features by calls of `feature`.
struct Manifest {
  struct Target {
    /// The names of targets and products that its declaration names.
    let dependencies: Set<String>
    /// Those that the function `module` gives to the tests of a module.
    let inherited: Set<String>
    /// A Boolean value that indicates whether it is a program, which tests may need without an import.
    let isExecutable: Bool

    init(_ dependencies: Set<String>, inherited: Set<String> = [], isExecutable: Bool = false) {
      self.dependencies = dependencies
      self.inherited = inherited
      self.isExecutable = isExecutable
    }
  }

  let targets: [String: Target]

  /// The dependencies that the function `module` gives to the tests of each module besides its own.
  private static let testSupport: Set = ["SyntheticData", "TestSupport"]

  /// The products that each constant of the manifest stands for, by its name.
  private let constants: [String: Set<String>]

  init(_ manifest: String) {
    let text = manifest.split(separator: "\n", omittingEmptySubsequences: false)
      .filter { !$0.drop { $0 == " " }.hasPrefix("//") }.joined(separator: "\n")
    var constants: [String: Set<String>] = [:]
    // Up to the next declaration.
    for match in text.matches(of: /(?s)\nlet (\w+)(.*?)(?=\n\n|\nlet )/) {
      constants[String(match.1)] = Set(match.2.matches(of: /\.product\(name: "([^"]+)"/).map { String($0.1) })
    }
    self.constants = constants.filter { !$0.value.isEmpty }

    var targets: [String: Target] = [:]
    for call in text.matches(
      of: /(?:^|[^\w.])(module|feature|\.(?:target|executableTarget|systemLibrary|testTarget))\(/)
    {
      let arguments = Self.arguments(after: text[call.range.upperBound...])
      // Neither those of the function `module` itself nor dependencies in the form `.target(name: "Geo")`.
      guard let name = arguments.first?.wholeMatch(of: /(?:name: )?"([^"]+)"/).map({ String($0.1) }),
        arguments.count > 1 || call.1 != ".target" || targets[name] == nil
      else { continue }
      let dependencies = Self.names(
        in: arguments.dropFirst().first { $0.hasPrefix("[") || $0.hasPrefix("dependencies:") }, self.constants)
      targets[name] = Target(dependencies, isExecutable: call.1 == ".executableTarget")
      if call.1 == "module" {
        targets[name + "Tests"] = Target(
          Self.names(in: arguments.first { $0.hasPrefix("tests:") }, self.constants),
          inherited: dependencies.union(Self.testSupport).union([name]))
      }
    }
    self.targets = targets
  }

  /// Returns the arguments of the call in whose parentheses a text begins.
  private static func arguments(after text: Substring) -> [String] {
    var arguments: [String] = [""]
    var depth = 0
    var isString = false
    for character in text {
      if character == "\"" { isString.toggle() }
      if !isString {
        if "([".contains(character) { depth += 1 }
        if ")]".contains(character) { depth -= 1 }
        if depth < 0 { break }
        if depth == 0, character == "," {
          arguments.append("")
          continue
        }
        if arguments[arguments.count - 1].isEmpty, character.isWhitespace { continue }
      }
      arguments[arguments.count - 1].append(character)
    }
    return arguments.map { String($0.reversed().drop(while: \.isWhitespace).reversed()) }.filter { !$0.isEmpty }
  }

  /// Returns the names of targets and products in a list of dependencies.
  private static func names(in list: String?, _ constants: [String: Set<String>]) -> Set<String> {
    guard let list else { return [] }
    let literals = list.replacing(/package: "[^"]*"/, with: "").matches(of: /"([^"]*)"/).map { String($0.1) }
    let words = list.replacing(/"[^"]*"/, with: "").matches(of: /\w+/).map { String($0.output) }
    return words.reduce(Set(literals)) { $0.union(constants[$1] ?? []) }
  }
}
