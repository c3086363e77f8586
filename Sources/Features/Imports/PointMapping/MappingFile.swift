import Basics
import CBuiltInMappings
package import PointFormats
import Points
import Yams

extension Mapping {
  /// Creates the mapping of a text in YAML, of which JSON is a part.
  ///
  /// - Throws: ``YAMLFileError`` at the first part that is invalid.
  package init(yaml text: String) throws(YAMLFileError) {
    self = try Self.mapping(yaml: text)
  }

  private static func mapping(yaml text: String) throws(YAMLFileError) -> Mapping {
    var mapping = Mapping()
    var reader = MappingReader()
    let root = try MappingReader.root(of: text)
    try reader.read(root, into: &mapping)
    mapping.mentions = mentions(in: root)
    return mapping
  }

  /// Returns the texts of a node, in lower case, and of rules such as `shop=*` the name. The size of the file bounds the
  /// depth.
  private static func mentions(in node: Node) -> Set<ExactText> {
    switch node {
    case .scalar(let scalar):
      let text = scalar.string.lowercased()
      return [ExactText(text), ExactText(String(text.prefix { $0 != "=" }))]
    case .sequence(let nodes): return nodes.reduce(into: []) { $0.formUnion(mentions(in: $1)) }
    case .mapping(let members):
      return members.reduce(into: []) { $0.formUnion(mentions(in: $1.key).union(mentions(in: $1.value))) }
    default: return []
    }
  }

  /// Creates a built-in mapping; `nil` if there is none of that name.
  package init?(builtIn name: String) {
    guard let text = BuiltInMappings.text(named: name), let mapping = try? Mapping(yaml: text) else { return nil }
    self = mapping
  }
}

/// A reader of the nodes of a mapping file.
private struct MappingReader: NodeReader {
  static let subject = "the mapping"
  var nodeCount = 0

  mutating func read(_ root: Node, into mapping: inout Mapping) throws(YAMLFileError) {
    for (key, node) in try members(of: root, in: "the mapping") {
      switch key {
      case "source": mapping.source = try source(node)
      case "table": mapping.table = try table(node)
      case "ignoreCase": mapping.ignoresCase = try boolean(node, key)
      case "unpack": mapping.unpacked = try texts(node, key)
      case "take":
        for rule in try elements(node) { mapping.takeRules.append(try takeRule(rule)) }
      case "sourceId": mapping.sourceID = try expression(node, key)
      case "name": mapping.name = try expression(node, key)
      case "point": mapping.position = try position(node)
      case "category":
        for rule in try elements(node) { try appendCategoryRules(rule, to: &mapping.category) }
      case "categoryNames":
        for (name, node) in try members(of: node, in: key) { mapping.category.names[name] = try text(node, name) }
      case "categoryValues": mapping.category.values = try categoryValues(node)
      case "pieces":
        for rule in try elements(node) { mapping.pieceRules.append(try pieceRule(rule)) }
      case "tags": try readTags(node, into: &mapping)
      default:
        throw error(
          root,
          "'\(key)' is unknown; a mapping has source, table, ignoreCase, unpack, take, sourceId, name, "
            + "point, category, categoryNames, categoryValues, pieces and tags")
      }
    }
    guard !mapping.name.alternatives.isEmpty else { throw error(root, "the mapping has no name") }
  }

  // MARK: Parts

  private mutating func source(_ node: Node) throws(YAMLFileError) -> DataSource {
    var texts: [String: String] = [:]
    for (key, value) in try members(of: node, in: "source") {
      guard ["name", "licence", "attribution", "url"].contains(key) else {
        throw error(node, "source has no member '\(key)'; it has name, licence, attribution and url")
      }
      texts[key] = try text(value, key)
    }
    guard let name = texts["name"], !name.isEmpty else { throw error(node, "source must have a name") }
    return DataSource(name: name, licence: texts["licence"], attribution: texts["attribution"], url: texts["url"])
  }

  private mutating func table(_ node: Node) throws(YAMLFileError) -> TableLayout {
    var table = TableLayout()
    for (key, value) in try members(of: node, in: "table") {
      switch key {
      case "columns": table.columns = try texts(value, key)
      case "quotes": table.isUnquoted = try !boolean(value, key)
      case "separator":
        let separators: [String: UInt8] = ["comma": 0x2C, "semicolon": 0x3B, "tab": 0x09, "bar": 0x7C]
        guard let separator = separators[try text(value, key)] else {
          throw error(value, "separator must be comma, semicolon, tab or bar")
        }
        table.separator = separator
      default: throw error(value, "table has no member '\(key)'; it has columns, separator and quotes")
      }
    }
    if table.columns != nil, table.separator == nil {
      throw error(node, "a table whose columns are named must have a separator")
    }
    return table
  }

  private mutating func position(_ node: Node) throws(YAMLFileError) -> Mapping.Position {
    var position = Mapping.Position()
    for (key, value) in try members(of: node, in: "point") {
      switch key {
      case "latitude": position.latitude = try expression(value, key)
      case "longitude": position.longitude = try expression(value, key)
      case "wkt": position.wellKnownText = try expression(value, key)
      case "pair": position.pair = try expression(value, key)
      default: throw error(value, "point has no member '\(key)'; it has latitude, longitude, pair and wkt")
      }
    }
    return position
  }

  private mutating func takeRule(_ node: Node) throws(YAMLFileError) -> Mapping.TakeRule {
    var reason: String?
    let condition = try condition(node, "take", beside: "either, otherwise") {
      (reader, key, value, condition) throws(YAMLFileError) in
      switch key {
      case "otherwise": reason = try reader.text(value, key)
      case "either":
        for element in try reader.elements(value) {
          let alternative = try reader.condition(element, key) { _, _, _, _ in false }
          condition.alternatives.append(alternative)
        }
      default: return false
      }
      return true
    }
    return Mapping.TakeRule(condition: condition, reason: reason ?? "not taken by the mapping")
  }

  private mutating func pieceRule(_ node: Node) throws(YAMLFileError) -> Mapping.PieceRule {
    var distance: Double?
    let condition = try condition(node, "pieces", beside: "within") {
      (reader, key, value, _) throws(YAMLFileError) in
      guard key == "within" else { return false }
      distance = Double(try reader.text(value, key))
      return true
    }
    guard let distance, (1...100_000).contains(distance) else {
      throw error(node, "a rule of pieces must have within, a distance from 1 to 100000 metres")
    }
    guard !condition.selectedFields.isEmpty else { throw error(node, "a rule of pieces must have any") }
    return Mapping.PieceRule(condition: condition, distanceMetres: distance)
  }

  /// Returns the condition of a rule.
  ///
  /// - Parameters:
  ///   - names: the names of the rule's other members, for the message.
  ///   - other: reads one of the other members, or returns `false` for an unknown one.
  private mutating func condition(
    _ node: Node, _ name: String, beside names: String = "",
    _ other: (inout MappingReader, String, Node, inout Condition) throws(YAMLFileError) -> Bool
  ) throws(YAMLFileError) -> Condition {
    var condition = Condition(clauses: [])
    for (key, value) in try members(of: node, in: name) {
      if let quantifier = Condition.Quantifier(rawValue: key) {
        condition.clauses.append(.init(quantifier: quantifier, tests: try tests(value)))
      } else if try !other(&self, key, value, &condition) {
        throw error(
          value,
          "a rule of \(name) has no member '\(key)'; it has any, all, none\(names.isEmpty ? "" : ", \(names)")")
      }
    }
    guard !condition.clauses.isEmpty || !condition.alternatives.isEmpty else {
      throw error(node, "a rule of \(name) must have any, all or none")
    }
    return condition
  }

  private mutating func categoryValues(_ node: Node) throws(YAMLFileError) -> CategoryRules.Values {
    var values = CategoryRules.Values()
    for (key, value) in try members(of: node, in: "categoryValues") {
      switch key {
      case "only":
        guard try text(value, key) == "identifiers" else { throw error(value, "'only' must be identifiers") }
        values.areIdentifiers = true
      case "unclear": values.unclear = Set(try texts(value, key).map { ExactText($0) })
      case "absent": values.absent = Set(try texts(value, key).map { ExactText($0) })
      default: throw error(value, "categoryValues has no member '\(key)'; it has only, unclear and absent")
      }
    }
    return values
  }

  private mutating func tests(_ node: Node) throws(YAMLFileError) -> [Condition.Field] {
    guard case .mapping = node else {
      var fields: [Condition.Field] = []
      for name in try texts(node, "a condition") {
        fields.append(.init(path: try path(name, node), test: .exists))
      }
      return fields
    }
    var fields: [Condition.Field] = []
    for (name, value) in try members(of: node, in: "a condition") {
      let test: Condition.Test
      if case .mapping = value {
        let members = try members(of: value, in: name)
        guard members.count == 1, let (key, number) = members.first, key == "atLeast",
          let minimum = Double(try text(number, key))
        else { throw error(value, "the condition on '\(name)' must be values or atLeast with a number") }
        test = .isAtLeast(minimum)
      } else {
        let values = try texts(value, name)
        test = values == ["*"] ? .exists : .isOneOf(values)
      }
      fields.append(.init(path: try path(name, value), test: test))
    }
    return fields
  }

  private mutating func appendCategoryRules(_ node: Node, to rules: inout CategoryRules) throws(YAMLFileError) {
    for (pattern, value) in try members(of: node, in: "category") {
      let parts = pattern.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[1].isEmpty else {
        throw error(node, "'\(pattern)' must be a field and a value, such as amenity=cafe or amenity=*")
      }
      let category = try text(value, pattern)
      rules.append(
        .init(value: parts[1] == "*" ? nil : String(parts[1]), category: category.isEmpty ? nil : category),
        of: try path(String(parts[0]), node))
    }
  }

  private mutating func readTags(_ node: Node, into mapping: inout Mapping) throws(YAMLFileError) {
    for (key, value) in try members(of: node, in: "tags") {
      switch key {
      case "keep":
        if case .scalar(let scalar) = value, scalar.string == "all" {
          mapping.kept = .all
        } else if case .scalar(let scalar) = value, scalar.string == "none" {
          mapping.kept = .only([])
        } else {
          let patterns = try texts(value, key)
          mapping.kept = .only(patterns.map { NamePattern(text: $0) })
        }
      case "drop":
        let patterns = try texts(value, key)
        mapping.dropped = patterns.map { NamePattern(text: $0) }
      case "set":
        for (name, value) in try members(of: value, in: key) {
          mapping.tags.append((name, try expression(value, name)))
        }
      case "spread":
        for element in try elements(value) { mapping.spreads.append(try spread(element)) }
      default: throw error(value, "tags has no member '\(key)'; it has keep, drop, set and spread")
      }
    }
  }

  private mutating func spread(_ node: Node) throws(YAMLFileError) -> Mapping.Spread {
    var from: FieldPath?
    var key: Expression?
    var value: Expression?
    for (name, node) in try members(of: node, in: "spread") {
      switch name {
      case "from": from = try path(try text(node, name), node)
      case "key": key = try expression(node, name)
      case "value": value = try expression(node, name)
      default: throw error(node, "spread has no member '\(name)'; it has from, key and value")
      }
    }
    guard let from, let key else { throw error(node, "spread must have from and key") }
    if let value { return Mapping.Spread(from: from, key: key, value: value) }
    return Mapping.Spread(from: from, key: key, value: try expression(Node("value"), "value"))
  }

  // MARK: Expressions

  private mutating func expression(_ node: Node, _ name: String) throws(YAMLFileError) -> Expression {
    var alternatives: [Expression.Alternative] = []
    for element in try elements(node) { alternatives.append(try alternative(element, name)) }
    return Expression(alternatives)
  }

  private mutating func alternative(_ node: Node, _ name: String) throws(YAMLFileError) -> Expression.Alternative {
    guard case .mapping = node else {
      let text = try text(node, name)
      guard let form = Expression.Form(text) else {
        throw error(node, "'\(text)' is neither the path of a field nor a text with paths in braces")
      }
      return .init(form: form, condition: nil)
    }
    var form: Expression.Form?
    var condition: Condition?
    for (key, value) in try members(of: node, in: name) {
      switch key {
      case "value":
        let inner = try alternative(value, key)
        guard inner.condition == nil else { throw error(value, "a value has one condition") }
        form = inner.form
      case "text": form = .text(try text(value, key))
      case "when": condition = Condition(clauses: [.init(quantifier: .all, tests: try tests(value))])
      default: throw error(value, "'\(name)' has no member '\(key)'; it has value, text and when")
      }
    }
    guard let form else { throw error(node, "'\(name)' must have a value or a text") }
    return .init(form: form, condition: condition)
  }

  private func path(_ text: String, _ node: Node) throws(YAMLFileError) -> FieldPath {
    guard let path = FieldPath(text) else {
      throw error(node, "'\(text)' is no path of a field, such as names.primary or addresses[0].freeform")
    }
    return path
  }
}

/// The mappings that are part of the program.
package enum BuiltInMappings {
  /// The names.
  package static let names: [String] = (0...).lazy.map(entry).prefix { $0 != nil }.compactMap { $0?.name }

  /// Returns the text of a mapping file; `nil` if there is none of that name.
  package static func text(named name: String) -> String? {
    (0...).lazy.map(entry).prefix { $0 != nil }.compactMap(\.self).first { $0.name == name }?.text
  }

  private static func entry(_ index: Int) -> (name: String, text: String)? {
    let mapping = waymark_built_in_mapping(index)
    guard let name = mapping.name else { return nil }
    let bytes = UnsafeBufferPointer(start: mapping.bytes, count: mapping.count)
    return (String(cString: name), String(decoding: bytes, as: UTF8.self))
  }
}
