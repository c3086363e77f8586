import Foundation

/// A public type, function or initializer in the sources of the package, with its documentation comment.
struct PublicDeclaration {
  /// The kinds of declarations that need an example.
  enum Kind {
    case type, function, initializer
  }

  let kind: Kind

  /// The name without arguments; `init` for an initializer.
  let name: String

  /// The names of the types around it, the outermost first.
  let owners: [String]

  /// The labels of the parameters, in order; `_` for none.
  let labels: [String]

  /// A Boolean value that indicates whether a call may leave the first argument out.
  let hasOptionalFirstArgument: Bool

  /// A Boolean value that indicates whether it is a requirement of a protocol.
  let isRequirement: Bool

  /// The lines of the documentation comment, without their slashes.
  let comment: [String]

  /// The conditions of conditional compilation around it.
  let conditions: [String]

  /// The name with the labels, such as `places(near:limit:)`.
  var signature: String { kind == .type ? name : "\(name)(\(labels.map { $0 + ":" }.joined()))" }

  /// The name with the types around it.
  var path: String { (owners + [signature]).joined(separator: ".") }

  /// The blocks of Swift in the documentation comment.
  var examples: [String] {
    comment.joined(separator: "\n").components(separatedBy: "```swift\n").dropFirst()
      .map { $0.components(separatedBy: "\n```")[0] }
  }

  /// Returns whether code mentions the type, or calls or declares the function or initializer.
  func isShown(in code: String) -> Bool {
    let base = kind == .initializer ? owners.last ?? name : name
    return code.ranges(of: base).contains { range in
      let before = code[..<range.lowerBound].last
      guard before.map({ !$0.isLetter && $0 != "_" }) ?? true else { return false }
      let rest = code[range.upperBound...]
      guard kind != .type else { return rest.first.map { !$0.isLetter } ?? true }
      // A closure as the only argument follows without parentheses.
      guard rest.first == "(" else { return rest.first == "<" || rest.hasPrefix(" {") }
      guard let label = labels.first, label != "_", !hasOptionalFirstArgument else { return true }
      // A declaration has the name of the parameter after the label.
      let argument = rest.dropFirst().drop(while: \.isWhitespace)
      return argument.hasPrefix(label + ":") || argument.hasPrefix(label + " ")
    }
  }
}

extension PublicDeclaration {
  /// Returns the public declarations in a source file that is formatted by `swift format`.
  static func all(in source: String) -> [PublicDeclaration] {
    var reader = DeclarationReader()
    let lines = source.components(separatedBy: "\n")
    for index in lines.indices { reader.read(lines[index...]) }
    return reader.declarations
  }

  /// Returns the public declarations in a folder of sources and those below it, by file name.
  static func all(inFolder folder: URL) throws -> [(file: String, declarations: [PublicDeclaration])] {
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?
      .compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }.sorted { $0.path() < $1.path() }
    return try (files ?? []).map { file in
      (file.lastPathComponent, all(in: try String(contentsOf: file, encoding: .utf8)))
    }
  }
}

/// Reads declarations line by line. Scopes end where the indentation does.
private struct DeclarationReader {
  private struct Scope {
    let indentation: Int
    let name: String
    let isProtocol: Bool
  }

  private(set) var declarations: [PublicDeclaration] = []
  private var scopes: [Scope] = []
  private var conditions: [String] = []
  private var comment: [String] = []

  /// Reads the first of the given lines, which begins a declaration that may continue on the others.
  mutating func read(_ lines: ArraySlice<String>) {
    guard let line = lines.first else { return }
    let text = line.trimmingCharacters(in: .whitespaces)
    let indentation = line.prefix { $0 == " " }.count
    if text.hasPrefix("#") {
      readCondition(text)
    } else if text.hasPrefix("///") {
      comment.append(String(text.dropFirst(text.hasPrefix("/// ") ? 4 : 3)))
    } else if !text.hasPrefix("@") || text.contains(" func ") || text.contains(" init") {
      defer { comment = [] }
      guard let first = text.first else { return }
      if first != "}", first != ")" { scopes.removeAll { $0.indentation >= indentation } }
      readDeclaration(text, indentation: indentation, lines)
    }
  }

  private mutating func readCondition(_ text: String) {
    let words = text.split(separator: " ", maxSplits: 1)
    switch words[0] {
    case "#if": conditions.append(String(words[1]))
    case "#elseif": conditions[conditions.count - 1] = String(words[1])
    case "#else": conditions[conditions.count - 1] = "!(\(conditions[conditions.count - 1]))"
    case "#endif": conditions.removeLast()
    default: break
    }
  }

  private static let keywords: Set<Substring> = [
    "struct", "class", "enum", "protocol", "actor", "extension", "func", "init",
  ]
  private static let modifiers: Set<Substring> = [
    "public", "final", "indirect", "static", "mutating", "convenience", "override", "nonisolated", "private",
    "fileprivate",
  ]

  private mutating func readDeclaration(_ text: String, indentation: Int, _ lines: ArraySlice<String>) {
    var words = text.split(separator: " ")[...]
    let modifiers = words.prefix { Self.modifiers.contains($0) || $0.hasPrefix("@") }
    words = words.dropFirst(modifiers.count)
    // `class` is a modifier of functions, too.
    if words.first == "class", words.dropFirst().first == "func" { words = words.dropFirst() }
    guard let first = words.first else { return }
    let keyword = first.prefix { $0.isLetter }
    guard Self.keywords.contains(keyword) else { return }
    let name = words.dropFirst().first.map { String($0.prefix { $0.isLetter || $0.isNumber || $0 == "." }) } ?? ""
    let isPublic = modifiers.contains("public")
    let isRequirement = scopes.last?.isProtocol == true
    let isFunction = keyword == "func" || keyword == "init"
    if keyword != "extension", isPublic || isRequirement && isFunction {
      let parameters = isFunction ? Self.parameters(lines) : []
      declarations.append(
        PublicDeclaration(
          kind: keyword == "init" ? .initializer : isFunction ? .function : .type,
          name: keyword == "init" ? "init" : name.isEmpty ? "operator" : name, owners: scopes.map(\.name),
          labels: parameters.map { String($0.prefix { $0 != " " && $0 != ":" }) },
          hasOptionalFirstArgument: parameters.first?.contains(" = ") ?? false, isRequirement: isRequirement,
          comment: comment, conditions: conditions))
    }
    if !isFunction, text.hasSuffix("{") {
      scopes.append(Scope(indentation: indentation, name: name, isProtocol: keyword == "protocol" && isPublic))
    }
  }

  /// Returns the texts of the parameters of a function that begins on the first line.
  private static func parameters(_ lines: ArraySlice<String>) -> [String] {
    var (depth, parameters, current) = (0, [String](), "")
    for character in lines.prefix(20).joined(separator: " ").drop(while: { $0 != "(" }) {
      switch character {
      case "(", "[", "{": depth += 1
      case ")", "]", "}": depth -= 1
      default: break
      }
      if depth == 0 { break }
      if depth == 1, character == "," {
        parameters.append(current)
        current = ""
      } else if depth > 1 || character != "(" {
        current.append(character)
      }
    }
    return (parameters + [current]).map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
  }
}
