package import Yams

/// The reason why a file in YAML, such as a mapping, is invalid.
package struct YAMLFileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The maximum length of a file in bytes: 1 MiB.
  package static let maximumFileBytes = 1 << 20

  /// The line of the file, counted from 1, where it is known.
  package let line: Int?

  /// The reason, for a user.
  package let reason: String

  /// The message for a user; it follows the name of the file.
  package var description: String { line.map { "line \($0): \(reason)" } ?? reason }

  package init(line: Int?, reason: String) {
    (self.line, self.reason) = (line, reason)
  }
}

/// A reader of the nodes of a file in YAML.
package protocol NodeReader {
  /// The name of the file in messages.
  static var subject: String { get }

  /// The number of nodes read so far, those that aliases repeat included.
  var nodeCount: Int { get set }
}

extension NodeReader {
  /// The maximum number of nodes.
  private static var maximumNodes: Int { 50_000 }

  /// Returns the root of a text in YAML, of which JSON is a part.
  package static func root(of text: String) throws(YAMLFileError) -> Node {
    guard text.utf8.count <= YAMLFileError.maximumFileBytes else {
      throw YAMLFileError(line: nil, reason: "\(subject) has more than \(YAMLFileError.maximumFileBytes) bytes")
    }
    do {
      if let root = try Yams.compose(yaml: text) { return root }
    } catch {
      throw YAMLFileError(line: nil, reason: "is not valid YAML: \(error)")
    }
    throw YAMLFileError(line: nil, reason: "\(subject) is empty")
  }

  private mutating func count(_ node: Node) throws(YAMLFileError) {
    nodeCount += 1
    guard nodeCount <= Self.maximumNodes else {
      throw error(node, "\(Self.subject) has more than \(Self.maximumNodes) parts")
    }
  }

  package mutating func members(of node: Node, in name: String) throws(YAMLFileError) -> [(key: String, value: Node)] {
    try keyedMembers(of: node, in: name).map { ($0.key.string, $0.value) }
  }

  /// Returns the members with their keys, which have lines.
  package mutating func keyedMembers(
    of node: Node, in name: String
  ) throws(YAMLFileError) -> [(key: Node.Scalar, value: Node)] {
    guard case .mapping(let mapping) = node else { throw error(node, "\(name) must have members") }
    var members: [(key: Node.Scalar, value: Node)] = []
    for (key, value) in mapping {
      guard case .scalar(let scalar) = key else { throw error(key, "the names of \(name) must be strings") }
      try count(value)
      members.append((scalar, value))
    }
    return members
  }

  /// Returns the elements of a sequence, or any other node as the only one.
  package mutating func elements(_ node: Node) throws(YAMLFileError) -> [Node] {
    guard case .sequence(let sequence) = node else { return [node] }
    for element in sequence { try count(element) }
    return Array(sequence)
  }

  package func text(_ node: Node, _ name: String) throws(YAMLFileError) -> String {
    guard case .scalar(let scalar) = node else { throw error(node, "'\(name)' must be a string") }
    return scalar.string
  }

  package mutating func texts(_ node: Node, _ name: String) throws(YAMLFileError) -> [String] {
    var texts: [String] = []
    for element in try elements(node) { texts.append(try text(element, name)) }
    return texts
  }

  package func boolean(_ node: Node, _ name: String) throws(YAMLFileError) -> Bool {
    switch try text(node, name) {
    case "true": return true
    case "false": return false
    default: throw error(node, "'\(name)' must be true or false")
    }
  }

  package func error(_ node: Node, _ reason: String) -> YAMLFileError {
    YAMLFileError(line: node.mark?.line, reason: reason)
  }
}
