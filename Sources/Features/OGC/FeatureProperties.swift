import APIDescription
import Basics
import CQL2
import JSONText
import LocationsAPI
import Points

/// The properties of features: those of places, and the tags whose types are declared. The other tags are the members
/// of the property `tags`.
struct FeatureProperties: Sendable {
  struct Property: Sendable {
    let name: String
    let type: FilterType
    /// The field of places that it is; `nil` for a tag.
    var field: PointField?
    /// The key of the tag that it is; `nil` for a field of places.
    var tag: String?
  }

  /// The names of query parameters, which tags must not take.
  private static let parameters = Set(ItemsRoute.call.parameters.map { ExactText($0.name) })

  /// The declared tags, by name.
  let tags: [Property]

  /// The properties that conditions can name, without the geometry.
  let queryables: [Property]

  init(_ declarations: Queryables) {
    tags = declarations.types.sorted { $0.key < $1.key }.map { key, type in
      let isTaken = PointField(queryable: key.text) != nil || Self.parameters.contains(key) || key.text == "tags"
      return Property(name: isTaken ? Queryables.tagPrefix + key.text : key.text, type: type, tag: key.text)
    }
    queryables = Self.queryablesOfPlaces + tags
  }

  /// The fields of places that conditions can name, without the geometry.
  static let queryablesOfPlaces = ofPlaces(PointField.queryables.filter { $0 != .geometry })

  private static func ofPlaces(_ fields: [PointField]) -> [Property] {
    fields.compactMap { field in field.filterType.map { Property(name: field.name, type: $0, field: field) } }
  }

  /// The properties that features have beside `tags`, in their order.
  var ofFeatures: [Property] { Self.ofPlaces(PointField.properties) + tags }

  // MARK: Schemas

  /// Returns the properties of conditions as a JSON schema (OGC 19-079r2, section 6.2).
  func queryables(of collection: PointCollection, id: String) -> JSONValue {
    let properties = queryables.map { property -> JSONValue.Member in
      var schema = property.type.schema
      if property.field == .id { schema.append(.init(name: "x-ogc-role", value: "id")) }
      return .init(name: property.name, value: .object([.init(name: "title", value: .string(property.name))] + schema))
    }
    return Self.document(collection, id: id, properties: properties, others: true)
  }

  /// Returns the properties of features as a JSON schema (OGC API Features, part 5).
  func schema(of collection: PointCollection, id: String) -> JSONValue {
    let properties = ofFeatures.map { property -> JSONValue.Member in
      var schema = property.type.schema
      if property.field?.giver == .service {
        schema.append(.init(name: "readOnly", value: true))
      }
      return .init(name: property.name, value: .object([.init(name: "title", value: .string(property.name))] + schema))
    }
    let tags: JSONValue = ["title": "tags", "type": "object", "additionalProperties": ["type": "string"]]
    let identifier: JSONValue.Member = .init(
      name: "id", value: ["type": "string", "readOnly": true, "x-ogc-role": "id", "format": "uuid"])
    return Self.document(
      collection, id: id, properties: [identifier] + properties + [.init(name: "tags", value: tags)], others: false)
  }

  /// Returns the schema of a feature in GeoJSON, which GDAL takes its fields from.
  ///
  /// Integers that may have more than 32 bits are numbers, because GDAL takes each integer for one of 32 bits. It finds
  /// the type of the version, which each feature has, in the features.
  func geoJSONSchema(of collection: PointCollection) -> JSONValue {
    let properties = ofFeatures.filter { $0.field != .version }.map { property in
      JSONValue.Member(
        name: property.name,
        value: .object(property.type == .integer ? FilterType.number.schema : property.type.schema))
    }
    return [
      "$schema": .string(Self.dialect), "type": "object", "title": .string(collection.title),
      "required": ["type", "geometry", "properties"],
      "properties": [
        "type": ["type": "string", "enum": ["Feature"]],
        "id": ["type": "string"],
        "geometry": [
          "type": "object", "required": ["type", "coordinates"],
          "properties": [
            "type": ["type": "string", "enum": ["Point"]],
            "coordinates": ["type": "array", "minItems": 2, "items": ["type": "number"]],
          ],
        ],
        "properties": [
          "type": "object",
          "properties": .object(properties + [.init(name: "tags", value: ["type": "object"])]),
        ],
      ],
    ]
  }

  private static let dialect = "https://json-schema.org/draft/2020-12/schema"

  private static func document(
    _ collection: PointCollection, id: String, properties: [JSONValue.Member], others: Bool
  ) -> JSONValue {
    let geometry: JSONValue = [
      "title": "geometry", "format": "geometry-point", "x-ogc-role": "primary-geometry",
    ]
    return .object(
      [
        .init(name: "$schema", value: .string(dialect)), .init(name: "$id", value: .string(id)),
        .init(name: "type", value: "object"), .init(name: "title", value: .string(collection.title)),
        .init(name: "description", value: .string(collection.description)),
        .init(name: "properties", value: .object([.init(name: "geometry", value: geometry)] + properties)),
        .init(name: "additionalProperties", value: .bool(others)),
      ])
  }
}

extension FilterType {
  /// The members of a JSON schema for values of the type.
  var schema: [JSONValue.Member] {
    func members(_ type: JSONValue, format: String? = nil) -> [JSONValue.Member] {
      [.init(name: "type", value: type)] + (format.map { [.init(name: "format", value: .string($0))] } ?? [])
    }
    return switch self {
    case .string: members("string")
    case .integer: members("integer")
    case .number: members("number")
    case .boolean: members("boolean")
    case .date: members("string", format: "date")
    case .timestamp: members("string", format: "date-time")
    case .geometry: [.init(name: "format", value: "geometry-point")]
    case .stringArray: members("array") + [.init(name: "items", value: ["type": "string"])]
    }
  }
}
