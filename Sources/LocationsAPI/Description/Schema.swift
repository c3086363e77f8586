import Basics
package import JSONText
import PointFormats

/// A version of OpenAPI in which the service is described.
enum OpenAPIVersion: String, CaseIterable {
  /// OpenAPI 3.0.3, whose schemas are a dialect of their own.
  case v3_0 = "3.0.3"
  /// OpenAPI 3.1, whose schemas are those of JSON Schema 2020-12.
  case v3_1 = "3.1.0"

  /// The media type of the document.
  var mediaType: String { "application/vnd.oai.openapi+json;version=\(rawValue.prefix(3))" }
}

/// A schema of JSON values, in the part of JSON Schema that both versions of OpenAPI have.
struct Schema: Sendable {
  /// The type of the values.
  enum Kind: Sendable {
    case any
    case string
    case integer
    case number
    case boolean
    indirect case array(of: Schema)
    /// An array whose first elements have these schemas. OpenAPI 3.0 states their number alone.
    indirect case tuple([Schema])
    /// An object with the members, and with others of a schema; with no others where it is `nil`.
    indirect case object([Property], others: Schema?)
    /// The schema of that name in ``Schema/components``.
    case component(String)
    indirect case anyOf([Schema])
    indirect case allOf([Schema])
  }

  /// A member of an object.
  struct Property: Sendable {
    let name: String
    let schema: Schema
    var isRequired = false

    /// Creates a member that may be absent.
    static func optional(_ name: String, _ schema: Schema) -> Property { Property(name: name, schema: schema) }

    /// Creates a member that is never absent.
    static func required(_ name: String, _ schema: Schema) -> Property {
      Property(name: name, schema: schema, isRequired: true)
    }
  }

  let kind: Kind
  /// The explanation in CommonMark.
  var description: String?
  /// The keywords that both versions have, such as `minimum`.
  var keywords: [JSONValue.Member] = []
  var example: JSONValue?
  var isNullable = false
  /// The schema of an object's names; OpenAPI 3.0 has none.
  private var nameKeywords: [JSONValue.Member] = []

  init(
    _ kind: Kind, _ description: String? = nil, _ keywords: KeyValuePairs<String, JSONValue> = [:],
    example: JSONValue? = nil
  ) {
    self.kind = kind
    self.description = description
    self.keywords = keywords.map { .init(name: $0.key, value: $0.value) }
    self.example = example
  }

  /// Creates a reference to a schema in ``components``.
  static func component(_ name: String) -> Schema { Schema(.component(name)) }

  /// Creates a schema of these strings; a reference to the component if they are one of ``enumerations``.
  static func oneOf(_ values: [String], default fallback: String? = nil) -> Schema {
    guard let fallback else {
      let shared = enumerations.first { $0.values.elementsEqual(values) { $0.hasSameBytes(as: $1) } }
      return shared.map { .component($0.name) } ?? enumeration(values)
    }
    var schema = enumeration(values)
    schema.keywords.append(.init(name: "default", value: .string(fallback)))
    return schema
  }

  fileprivate static func enumeration(_ values: [String]) -> Schema {
    Schema(.string, nil, ["enum": .array(values.map(JSONValue.string))])
  }

  /// The schema with `null` as a value too.
  var orNull: Schema {
    var schema = self
    schema.isNullable = true
    return schema
  }

  /// Returns the schema of an object whose names have these keywords.
  func naming(_ keywords: KeyValuePairs<String, JSONValue>) -> Schema {
    var schema = self
    schema.nameKeywords = keywords.map { .init(name: $0.key, value: $0.value) }
    return schema
  }

  /// Returns the schema in a version of OpenAPI.
  func json(_ version: OpenAPIVersion) -> JSONValue {
    var members: [JSONValue.Member] = []
    func add(_ name: String, _ value: JSONValue) { members.append(.init(name: name, value: value)) }
    func addType(_ name: String) {
      add("type", isNullable && version == .v3_1 ? [.string(name), "null"] : .string(name))
    }
    switch kind {
    case .any: break
    case .string: addType("string")
    case .integer: addType("integer")
    case .number: addType("number")
    case .boolean: addType("boolean")
    case .array(let element):
      addType("array")
      add("items", element.json(version))
    case .tuple(let elements):
      addType("array")
      switch version {
      case .v3_0: add("items", [:])
      case .v3_1: add("prefixItems", .array(elements.map { $0.json(version) }))
      }
      add("minItems", .count(elements.count))
    case .object(let properties, let others):
      addType("object")
      let required = properties.filter(\.isRequired).map { JSONValue.string($0.name) }
      if !required.isEmpty { add("required", .array(required)) }
      if !properties.isEmpty {
        add("properties", .object(properties.map { .init(name: $0.name, value: $0.schema.json(version)) }))
      }
      add("additionalProperties", others?.json(version) ?? false)
      if !nameKeywords.isEmpty, version == .v3_1 { add("propertyNames", .object(nameKeywords)) }
    case .component(let name): return ["$ref": .string("#/components/schemas/\(name)")]
    case .anyOf(let schemas):
      // In OpenAPI 3.0 `nullable` stands beside a type alone.
      let schemas = schemas.map { isNullable && version == .v3_0 ? $0.orNull : $0 }.map { $0.json(version) }
      add("anyOf", .array(schemas + (isNullable && version == .v3_1 ? [["type": "null"]] : [])))
      return .object(members + (description.map { [.init(name: "description", value: .string($0))] } ?? []))
    case .allOf(let schemas): add("allOf", .array(schemas.map { $0.json(version) }))
    }
    if isNullable, version == .v3_0 { add("nullable", true) }
    if let description { add("description", .string(description)) }
    members += keywords
    if let example {
      switch version {
      case .v3_0: add("example", example)
      case .v3_1: add("examples", [example])
      }
    }
    return .object(members)
  }
}

extension Schema {
  /// The strings that several calls or schemas have, by name. They are components, so that a generated client has one
  /// type for each instead of one for each use. The languages of filters are not among them: GDAL looks for their names
  /// in the parameter.
  static let enumerations: [(name: String, values: [String])] = [
    ("PlaceFormat", PointFormat.responses.map(\.rawValue)), ("JSONFormat", [PointFormat.json.rawValue]),
    ("PageFormat", ["json", "html"]), ("PlaceField", Parameter.fieldNames(additional: [])),
    ("TextOrder", TextArguments.Sort.allCases.map(\.rawValue)),
    ("ReferenceSystem", ReferenceSystem.allCases.map(\.rawValue)),
    ("ContentReferenceSystem", ReferenceSystem.allCases.map(\.fieldValue)), ("AnyVersion", ["*"]),
    ("PhotonLayer", PhotonLayer.allCases.map(\.rawValue)), ("PhotonSwitch", ["0", "1", "true", "false"]),
    ("PointType", ["Point"]), ("FeatureType", ["Feature"]), ("FeatureCollectionType", ["FeatureCollection"]),
  ]

  /// The schemas of the ``enumerations``.
  static let enumerationComponents = enumerations.map { (name: $0.name, schema: Schema.enumeration($0.values)) }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  package init(stringLiteral value: String) { self = .string(value) }

  package init(integerLiteral value: Int) { self = .number("\(value)") }

  package init(floatLiteral value: Double) { self = .number("\(value)") }

  package init(booleanLiteral value: Bool) { self = .bool(value) }

  package init(nilLiteral: ()) { self = .null }

  package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

  /// Creates an object whose members are in the order of the literal.
  package init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(elements.map { Member(name: $0.0, value: $0.1) })
  }
}
