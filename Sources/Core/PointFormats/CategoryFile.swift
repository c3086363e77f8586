import Basics
import CBuiltInCategories
import Points
package import SearchWords
import Yams

extension CategoryTree {
  /// The tree that is part of the program.
  package static let builtIn: CategoryTree = {
    let bytes = UnsafeBufferPointer(start: waymark_built_in_categories, count: waymark_built_in_categories_count)
    do {
      return try make(yaml: String(decoding: bytes, as: UTF8.self))
    } catch {
      preconditionFailure("the built-in categories are invalid: \(error)")
    }
  }()

  /// Returns the tree of a text in YAML, of which JSON is a part.
  ///
  /// - Throws: ``YAMLFileError`` at the first part that is invalid.
  package static func make(yaml text: String) throws(YAMLFileError) -> CategoryTree {
    var reader = CategoryReader()
    let (declarations, lines) = try reader.read(try CategoryReader.root(of: text))
    do {
      return try CategoryTree(declarations)
    } catch {
      throw YAMLFileError(
        line: lines[declarations[error.index].name],
        reason: "category '\(declarations[error.index].name)' \(error.reason)")
    }
  }
}

/// A reader of the nodes of a file of categories.
private struct CategoryReader: NodeReader {
  static let subject = "the file of categories"
  var nodeCount = 0

  /// Returns the declarations of a file, and the lines of those that are in it. They are the last ones, so that of two
  /// that do not go together one with a line is reported.
  mutating func read(
    _ root: Node
  ) throws(YAMLFileError) -> (declarations: [CategoryTree.Declaration], lines: [ExactText: Int]) {
    var base: [CategoryTree.Declaration] = []
    var own: [(key: Node.Scalar, value: Node)]?
    for (key, node) in try members(of: root, in: Self.subject) {
      switch key {
      case "extends":
        guard try text(node, key) == "built-in" else { throw error(node, "'extends' must be built-in") }
        base = CategoryTree.builtIn.categories
      case "categories": own = try keyedMembers(of: node, in: key)
      default: throw error(node, "'\(key)' is unknown; the file has extends and categories")
      }
    }
    guard let own else { throw error(root, "the file must have categories") }
    var replaced: [ExactText: CategoryTree.Declaration] = [:]
    for declaration in base { replaced[declaration.name] = declaration }
    var lines: [ExactText: Int] = [:]
    var declarations: [CategoryTree.Declaration] = []
    for (key, node) in own {
      let name = ExactText(key.string)
      lines[name] = key.mark?.line
      let known = replaced[name] ?? CategoryTree.Declaration(name: name, names: [])
      declarations.append(try declaration(node, changing: known))
    }
    let ownNames = Set(declarations.map(\.name))
    return (base.filter { !ownNames.contains($0.name) } + declarations, lines)
  }

  private mutating func declaration(
    _ node: Node, changing known: CategoryTree.Declaration
  ) throws(YAMLFileError) -> CategoryTree.Declaration {
    var declaration = known
    for (key, value) in try members(of: node, in: "category '\(known.name)'") {
      switch key {
      case "parent": declaration.parent = ExactText(try text(value, key))
      case "also":
        let names = try texts(value, key).map { ExactText($0) }
        declaration.otherNames += names.filter { !declaration.otherNames.contains($0) }
      case "names":
        for (language, value) in try members(of: value, in: key) {
          let tag = language.lowercased()
          guard LanguagePriorityList.isWellFormed(tag[...]), tag != "*" else {
            throw error(value, "category '\(known.name)' has names in '\(language)', which is not a language tag")
          }
          let names = try texts(value, language)
          guard let label = names.first else {
            throw error(value, "category '\(known.name)' has no label in '\(language)'")
          }
          declaration.names.removeAll { $0.language.hasSameBytes(as: tag) }
          declaration.names.append(
            .init(language: tag, label: label, synonyms: names.dropFirst().map { ExactText($0) }))
        }
      default:
        throw error(value, "category '\(known.name)' has no member '\(key)'; it has parent, also and names")
      }
    }
    return declaration
  }
}
