import APIDescription
import JSONText
import LocationsAPI

extension MCPTool {
  /// Returns the structured result of a tool.
  ///
  /// - Parameters:
  ///   - body: the body of the call's response.
  ///   - isLastPage: a Boolean value that indicates whether there are no places behind those of the response.
  ///   - attributions: the attributions of all data sets, for a result without places.
  ///   - url: returns the address of the place of an id.
  func result(
    of body: JSONValue, isLastPage: Bool, attributions: [String], url: (String) -> String
  ) -> JSONValue {
    var space = ResultSpace()
    switch (self, body) {
    case (.placeDetails, _):
      let place = space.cut(body, url: url)
      return ["place": place, "attribution": space.attribution]
    case (.listCategories, .array(let tree)):
      for attribution in attributions { space.addAttribution(attribution) }
      let rows = Self.rows(of: tree, below: nil).enumerated()
        .sorted { ($1.element.count, $0.offset) < ($0.element.count, $1.offset) }.map(\.element.row)
      let categories = rows.prefix { space.take($0) }
      return [
        "categories": .array(Array(categories)), "more": .bool(categories.count < rows.count),
        "attribution": space.attribution,
      ]
    case (_, .array(let found)):
      var places: [JSONValue] = []
      for place in found {
        guard let place = space.whole(place, url: url) else { break }
        places.append(place)
      }
      return [
        "places": .array(places), "more": .bool(!isLastPage || places.count < found.count),
        "attribution": space.attribution,
      ]
    default: return body
    }
  }

  /// Returns the categories of a tree, each with the one above it, and their numbers of places.
  private static func rows(of tree: [JSONValue], below parent: JSONValue?) -> [(row: JSONValue, count: Int)] {
    tree.flatMap { node -> [(row: JSONValue, count: Int)] in
      guard case .object(let members) = node, case .number(let count)? = node["count"] else { return [] }
      let row = members.filter { $0.name != "children" } + (parent.map { [.init(name: "parent", value: $0)] } ?? [])
      var rows = [(row: JSONValue.object(row), count: Int(count) ?? 0)]
      if case .array(let children)? = node["children"] { rows += Self.rows(of: children, below: node["category"]) }
      return rows
    }
  }
}

/// The space that is left in a result of at most 20 kB, in which all is twice: as a value, and in the text of that.
private struct ResultSpace {
  /// The number of bytes of a result, less those around its elements.
  private var bytes = 20_000 - 800

  /// The number of Unicode scalars behind which a text is cut: no name is longer.
  private static let textLength = 500

  private var attributions: [JSONValue] = []

  var attribution: JSONValue { .array(attributions) }

  /// Takes the space of a value; returns `false` if there is too little.
  mutating func take(_ value: JSONValue) -> Bool {
    let text = value.text
    // As a string, each of these has a backslash before it.
    let escapes = text.count { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
    let needed = 2 * text.count + escapes + 2
    guard needed <= bytes else { return false }
    bytes -= needed
    return true
  }

  mutating func addAttribution(_ text: String) {
    let value = JSONValue.string(text)
    if !attributions.contains(value), take(value) { attributions.append(value) }
  }

  /// Returns a place of a list with its address, and its attribution among those of the result; `nil` if there is too
  /// little space for it.
  mutating func whole(_ place: JSONValue, url: (String) -> String) -> JSONValue? {
    var rest = self
    let members = rest.members(of: place, url: url)
    guard rest.take(.object(members)) else { return nil }
    self = rest
    return .object(members)
  }

  /// Returns a place with its address, whose long texts are cut, and without what there is too little space for.
  mutating func cut(_ place: JSONValue, url: (String) -> String) -> JSONValue {
    var kept: [JSONValue.Member] = []
    var isCut = false
    let members = members(of: place, url: url)
    // The tags are the longest, and the details have what most people ask for.
    let tags = members.filter { $0.name == "tags" }
    for member in members.filter({ $0.name != "tags" }) + tags {
      let value = Self.shortened(member.value)
      isCut = isCut || value != member.value
      if case .object(let inner) = value {
        let fitting = inner.filter { take(.object([$0])) }
        isCut = isCut || fitting.count < inner.count
        kept.append(.init(name: member.name, value: .object(fitting)))
      } else if take(.object([.init(name: member.name, value: value)])) {
        kept.append(.init(name: member.name, value: value))
      } else {
        isCut = true
      }
    }
    return .object(isCut ? kept + [.init(name: "cut", value: true)] : kept)
  }

  /// Returns the members of a place with its address, and adds its attribution.
  private mutating func members(of place: JSONValue, url: (String) -> String) -> [JSONValue.Member] {
    guard case .object(let members) = place, case .string(let id)? = place["id"] else { return [] }
    if case .string(let text)? = place["attribution"] { addAttribution(text) }
    return [.init(name: "url", value: .string(url(id)))] + members.filter { $0.name != "attribution" }
  }

  /// Returns a value whose long texts are cut.
  private static func shortened(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text):
      let scalars = text.unicodeScalars
      return scalars.count > textLength ? .string(String(scalars.prefix(textLength)) + "…") : value
    case .array(let elements): return .array(elements.map(shortened))
    case .object(let members): return .object(members.map { .init(name: $0.name, value: shortened($0.value)) })
    default: return value
    }
  }
}
