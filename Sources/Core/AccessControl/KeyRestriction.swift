package import Basics
package import CQL2
package import HTTPServer
package import JSONText
package import Points

/// The error of a restriction that can't be used.
package struct InvalidRestriction: Error, Hashable, Sendable, CustomStringConvertible {
  @ComparedByBytes package private(set) var description: String

  package init(_ description: String) { self.description = description }
}

extension AccessRestriction {
  /// The maximum number of areas.
  static let maximumAreas = 100

  /// The maximum length of the name of an area in bytes.
  private static let maximumNameLength = 1_000

  /// Creates a restriction of a filter in CQL2 Text and of ids or names of areas; `nil` if there are neither.
  ///
  /// - Parameter queryables: the types of the tags; `nil` if they are not known, so that types are not checked.
  /// - Throws: ``InvalidRestriction``.
  package static func validated(
    filter: String?, areas: [String], queryables: Queryables?
  ) throws(InvalidRestriction) -> AccessRestriction? {
    guard filter != nil || !areas.isEmpty else { return nil }
    let restriction = AccessRestriction(filter: filter, areas: areas)
    do throws(FilterError) {
      if let queryables {
        _ = try restriction.propertyFilter(by: queryables)
      } else if let filter {
        _ = try FilterExpression(text: filter)
      }
    } catch {
      throw InvalidRestriction("has an invalid filter: \(error)")
    }
    guard areas.count <= maximumAreas else { throw InvalidRestriction("has more than \(maximumAreas) areas") }
    guard areas.allSatisfy({ (1...maximumNameLength).contains($0.utf8.count) }) else {
      throw InvalidRestriction("has an area whose id or name is not 1 to \(maximumNameLength) bytes long")
    }
    return restriction
  }

  /// Returns the condition on the properties of places; `nil` if there is none.
  ///
  /// - Throws: `FilterError`.
  package func propertyFilter(by queryables: Queryables) throws(FilterError) -> PropertyFilter? {
    guard let filter else { return nil }
    return try PropertyFilter(FilterExpression(text: filter.text), queryables: queryables)
  }

  /// Creates a restriction of the JSON object of a line of a file of keys, with the members `filter` and `areas`.
  ///
  /// - Throws: ``InvalidRestriction``, also if it has neither or other members.
  static func ofKey(
    json text: Substring, queryables: Queryables
  ) throws(InvalidRestriction) -> AccessRestriction {
    let rule = InvalidRestriction(
      "has a restriction that is not an object with the string 'filter' or the array 'areas'")
    guard let value = try? JSONReader.value(of: Array(text.utf8), maximumDepth: 4), case .object(let members) = value,
      members.allSatisfy({ $0.name.hasSameBytes(as: "filter") || $0.name.hasSameBytes(as: "areas") })
    else { throw rule }
    guard let restriction = try of(filter: value["filter"], areas: value["areas"], rule, queryables) else { throw rule }
    return restriction
  }

  /// Creates a restriction of values in JSON; `nil` if there are none.
  ///
  /// - Throws: ``InvalidRestriction``; the rule for a value of another type, and for an empty list of areas.
  package static func of(
    filter: JSONValue?, areas: JSONValue?, _ rule: InvalidRestriction, _ queryables: Queryables
  ) throws(InvalidRestriction) -> AccessRestriction? {
    var text: String?
    var names: [String] = []
    if let filter {
      guard case .string(let value) = filter else { throw rule }
      text = value
    }
    if let areas {
      guard let strings = areas.strings, !strings.isEmpty else { throw rule }
      names = strings
    }
    return try validated(filter: text, areas: names, queryables: queryables)
  }

  /// The JSON object of a line of a file of keys.
  var json: String {
    var json = JSONWriter()
    json.beginObject()
    if let filter { json.write(member: "filter", filter.text) }
    if !areas.isEmpty {
      json.write(name: "areas")
      json.beginArray()
      for area in areas { json.write(string: area.text) }
      json.endArray()
    }
    json.endObject()
    return String(decoding: json.sink, as: UTF8.self)
  }
}
