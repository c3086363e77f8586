import Basics
import HTTPServer
package import JSONText
import PointDetails
import PointFormats
package import Points

/// A version of OpenAPI in which the service is described.
package enum OpenAPIVersion: String, CaseIterable {
  /// OpenAPI 3.0.3, whose schemas are a dialect of their own.
  case v3_0 = "3.0.3"
  /// OpenAPI 3.1, whose schemas are those of JSON Schema 2020-12.
  case v3_1 = "3.1.0"

  /// The media type of the document.
  package var mediaType: String { "application/vnd.oai.openapi+json;version=\(rawValue.prefix(3))" }
}

/// A schema of JSON values, in the part of JSON Schema that both versions of OpenAPI have.
package struct Schema: Sendable {
  package enum Kind: Sendable {
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
    case component(Component)
    indirect case anyOf([Schema])
    indirect case allOf([Schema])
  }

  /// A member of an object.
  package struct Property: Sendable {
    package let name: String
    package let schema: Schema
    package var isRequired = false

    package static func optional(_ name: String, _ schema: Schema) -> Property { Property(name: name, schema: schema) }

    package static func required(_ name: String, _ schema: Schema) -> Property {
      Property(name: name, schema: schema, isRequired: true)
    }
  }

  /// A schema with a name, to which others refer. It is declared beside the calls that it is for, and a document has
  /// those that its calls refer to.
  package final class Component: Sendable {
    let name: String
    /// The place among the components of a document, which has those of lower numbers first.
    let order: Int
    private let makeSchema: @Sendable () -> Schema

    /// Creates a component, whose schema may refer to the component itself.
    package init(_ name: String, order: Int, _ makeSchema: @escaping @Sendable () -> Schema) {
      self.name = name
      self.order = order
      self.makeSchema = makeSchema
    }

    package var schema: Schema { makeSchema() }
  }

  package let kind: Kind
  /// The explanation in CommonMark.
  package var description: String?
  /// The keywords that both versions have, such as `minimum`.
  package var keywords: [JSONValue.Member] = []
  package var example: JSONValue?
  package var isNullable = false
  /// The schema of an object's names; OpenAPI 3.0 has none.
  private var nameKeywords: [JSONValue.Member] = []

  package init(
    _ kind: Kind, _ description: String? = nil, _ keywords: KeyValuePairs<String, JSONValue> = [:],
    example: JSONValue? = nil
  ) {
    self.kind = kind
    self.description = description
    self.keywords = keywords.map { .init(name: $0.key, value: $0.value) }
    self.example = example
  }

  /// Returns a reference to the schema as a component.
  package func named(_ name: String, order: Int) -> Schema {
    Schema(.component(Component(name, order: order) { self }))
  }

  /// Creates a schema of these strings; a reference to the component if they are one of ``enumerations``.
  package static func oneOf(_ values: [String], default fallback: String? = nil) -> Schema {
    guard let fallback else {
      let shared = enumerations.first { $0.values.elementsEqual(values) { $0.hasSameBytes(as: $1) } }
      return shared?.schema ?? enumeration(values)
    }
    var schema = enumeration(values)
    schema.keywords.append(.init(name: "default", value: .string(fallback)))
    return schema
  }

  /// Creates a schema of these strings, which is declared beside the only calls that have it.
  package static func enumeration(_ values: [String]) -> Schema {
    Schema(.string, nil, ["enum": .array(values.map(JSONValue.string))])
  }

  /// The schema with `null` as a value too.
  package var orNull: Schema {
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
  ///
  /// - Parameter isInlining: a Boolean value that indicates whether components stand in place of references to them. None
  ///   may refer to itself then.
  package func json(_ version: OpenAPIVersion, isInlining: Bool = false) -> JSONValue {
    func json(_ schema: Schema) -> JSONValue { schema.json(version, isInlining: isInlining) }
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
      add("items", json(element))
    case .tuple(let elements):
      addType("array")
      switch version {
      case .v3_0: add("items", [:])
      case .v3_1: add("prefixItems", .array(elements.map(json)))
      }
      add("minItems", .count(elements.count))
    case .object(let properties, let others):
      addType("object")
      let required = properties.filter(\.isRequired).map { JSONValue.string($0.name) }
      if !required.isEmpty { add("required", .array(required)) }
      if !properties.isEmpty {
        add("properties", .object(properties.map { .init(name: $0.name, value: json($0.schema)) }))
      }
      add("additionalProperties", others.map(json) ?? false)
      if !nameKeywords.isEmpty, version == .v3_1 { add("propertyNames", .object(nameKeywords)) }
    case .component(let component):
      let reference: JSONValue =
        isInlining ? json(component.schema) : ["$ref": .string("#/components/schemas/\(component.name)")]
      guard isNullable else { return reference }
      return version == .v3_1 ? ["anyOf": [reference, ["type": "null"]]] : ["allOf": [reference], "nullable": true]
    case .anyOf(let schemas):
      // In OpenAPI 3.0 `nullable` stands beside a type alone.
      let schemas = schemas.map { isNullable && version == .v3_0 ? $0.orNull : $0 }.map(json)
      add("anyOf", .array(schemas + (isNullable && version == .v3_1 ? [["type": "null"]] : [])))
      return .object(members + (description.map { [.init(name: "description", value: .string($0))] } ?? []))
    case .allOf(let schemas): add("allOf", .array(schemas.map(json)))
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
  /// The enumerations that several calls or schemas have. They are components, so that a generated client has one type
  /// for each instead of one for each use. The languages of filters are not among them: GDAL looks for their names in the
  /// parameter.
  private static let enumerations: [(values: [String], schema: Schema)] = [
    shared(PointFormat.responses.map(\.rawValue), "PlaceFormat", order: 720),
    shared([PointFormat.json.rawValue], "JSONFormat", order: 730),
    shared(["json", "html"], "PageFormat", order: 740),
    shared(fieldNames(additional: []), "PlaceField", order: 750),
    shared(fieldNames(additional: .opening), "PlaceOrHoursField", order: 760),
    shared(["*"], "AnyVersion", order: 800),
    shared(PlaceState.State.allCases.map(\.rawValue), "OpenState", order: 840),
    shared(OperatingStatus.allCases.map(\.rawValue), "OperatingStatus", order: 880),
    shared(PlaceDetails.Wheelchair.allCases.map(\.rawValue), "Wheelchair", order: 890),
    shared(ImportMode.allCases.map(\.rawValue), "ImportMode", order: 910),
    shared(["Point"], "PointType", order: 940),
    shared(["Feature"], "FeatureType", order: 950),
    shared(["FeatureCollection"], "FeatureCollectionType", order: 960),
  ]

  private static func shared(
    _ values: [String], _ name: String, order: Int
  ) -> (values: [String], schema: Schema) {
    (values, enumeration(values).named(name, order: order))
  }
}

extension Sequence<Schema> {
  /// The components that the schemas refer to, each once, in the order of documents.
  var components: [Schema.Component] {
    var found: [ObjectIdentifier: Schema.Component] = [:]
    func visit(_ schema: Schema) {
      switch schema.kind {
      case .any, .string, .integer, .number, .boolean: break
      case .array(let element): visit(element)
      case .tuple(let schemas), .anyOf(let schemas), .allOf(let schemas): schemas.forEach(visit)
      case .object(let properties, let others):
        for property in properties { visit(property.schema) }
        if let others { visit(others) }
      case .component(let component):
        if found.updateValue(component, forKey: ObjectIdentifier(component)) == nil { visit(component.schema) }
      }
    }
    forEach(visit)
    return found.values.sorted { ($0.order, $0.name) < ($1.order, $1.name) }
  }
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

extension Schema {
  // MARK: Places

  private static func text(_ description: String, maximum: Int) -> Schema {
    Schema(.string, description, ["maxLength": .count(maximum), "pattern": .noControlCharacters])
  }

  package static let name = Schema(
    .string, "The name, trimmed of white space.",
    [
      "minLength": 1, "maxLength": .count(PointDraft.maximumNameLength),
      "pattern": .notBlank,
    ])
  package static let category = text(
    "Such as `cafe` or `natural:peak`.", maximum: PointDraft.maximumCategoryLength)
  package static let source = text("The data set that the place is from.", maximum: PointDraft.maximumOriginLength)
  package static let sourceID = text("The id in that data set.", maximum: PointDraft.maximumOriginLength)
  package static let latitude = Schema(.number, "Latitude in degrees, WGS 84.", ["minimum": -90, "maximum": 90])
  package static let longitude = Schema(.number, "Longitude in degrees, WGS 84.", ["minimum": -180, "maximum": 180])
  package static let uuid = Schema(.string, nil, ["format": "uuid"])
  package static let time = Schema(.string, nil, ["format": "date-time"])
  package static let count = Schema(.integer, nil, ["minimum": 0])
  package static let any = Schema(.any)
  package static let jsonObject = Schema(.object([], others: any)).named("JSONObject", order: 450)
  private static let ignored = Schema(.any, "Set by the service; ignored.")

  /// Returns the schema of the values of a field of a place.
  private static func values(of field: PointField) -> Schema {
    switch field {
    case .id: uuid
    case .name: name
    case .category: category
    case .latitude: latitude
    case .longitude: longitude
    case .distance:
      Schema(.number, "Metres from the position or the route of the search, along the ellipsoid.", ["minimum": 0])
    case .along: Schema(.number, "Metres along the route of the search.", ["minimum": 0])
    case .tags: tags
    case .source: source
    case .sourceID: sourceID
    case .version: Schema(.integer, "Grows with each change and never repeats for an id.", ["minimum": 1])
    case .createdAt, .updatedAt: time
    case .attribution: Schema(.string, "Attribution of the data set, if `fields` names it.")
    case .openState: openState
    case .openUntil:
      Schema(
        .string, "Time at which an open place closes, by its clock, if `fields` names it.", ["format": "date-time"])
    case .opensAt:
      Schema(
        .string, "Time at which a place opens that is not open, by its clock, if `fields` names it.",
        ["format": "date-time"])
    case .timeZone: timeZone
    case .label: Schema(.string, "Name and address in one line, if `fields` names it.")
    case .score: Schema(.number, "Rank of the match of `q`, greater is better; if `fields` names it.", ["minimum": 0])
    case .match: match
    case .geometry: pointGeometry
    case .operatingStatus: .oneOf(OperatingStatus.allCases.map(\.rawValue))
    }
  }

  /// Returns the members of a place in a response.
  package static func members(_ fields: [PointField], required: Set<PointField> = []) -> [Property] {
    fields.map { Property(name: $0.name, schema: values(of: $0), isRequired: required.contains($0)) }
  }

  /// Returns the members of a place that a client sends, those that are ignored last.
  ///
  /// - Parameter isPatch: a Boolean value that indicates whether they change a place, so that none is required.
  package static func sentMembers(_ fields: [PointField], isPatch: Bool = false) -> [Property] {
    fields.filter(\.isWritable).map { field in
      let schema =
        switch field {
        case .id where isPatch: uuid
        case .tags: isPatch ? optionalTags : tagsDraft
        default: field.isRequired ? values(of: field) : values(of: field).orNull
        }
      return Property(name: field.name, schema: schema, isRequired: field.isRequired && !isPatch)
    } + ignoredMembers
  }

  private static let ignoredMembers = PointField.members.filter { $0 == .distance || $0.giver == .service }
    .map { Property.optional($0.name, ignored) }

  /// The edits of a place.
  package static let placeEdits = Schema(
    .array(of: placeEdit), "The fields that a call has changed, if `view` asks for them; imports keep their values.",
    ["minItems": 1])

  private static let placeEdit = Schema(
    .object(
      [
        .required(
          "field",
          Schema(
            .string,
            "`name`, `category`, `position`, `tags.` with the key of a tag, or `deleted` for a place that was deleted.",
            example: "tags.opening_hours")),
        .optional(
          "source",
          Schema(
            .anyOf([
              Schema(.string),
              Schema(.object([.required("lat", latitude), .required("long", longitude)], others: nil)),
            ]), "The value of the source; `null` if it has none, and absent for `deleted`."
          ).orNull),
        .required("since", Schema(.string, "Time of the last edit of the field.", ["format": "date-time"])),
        .optional(
          "conflict",
          Schema(.boolean, "`true` if the source has changed the field to another value after the edit.")),
      ], others: nil),
    "A field that was edited.",
    example: ["field": "name", "source": "Café Corner", "since": "2026-11-20T10:15:00Z", "conflict": true]
  ).named("PlaceEdit", order: 970)

  /// The typed values of the tags of a place.
  static let placeDetails: Schema = {
    func texts(_ description: String, _ format: String? = nil) -> Schema {
      Schema(.array(of: Schema(.string, nil, format.map { ["format": .string($0)] } ?? [:])), description)
    }
    func object(_ description: String, _ properties: [Property]) -> Schema {
      Schema(.object(properties, others: nil), description)
    }
    let parts = ["houseNumber", "street", "neighbourhood", "district", "city", "postcode", "county", "state"]
    return Schema(
      .object(
        [
          .required("status", .oneOf(OperatingStatus.allCases.map(\.rawValue))),
          .optional(
            "address",
            object(
              "Parts of the address, as the tags have them.",
              [
                .required("lines", texts("Lines in the order that is usual in the country, without the country."))
              ] + parts.map { .optional($0, Schema(.string)) } + [
                .optional("country", Schema(.string, "Code of ISO 3166-1.", example: "AT"))
              ])),
          .optional("phones", texts("Numbers in the form of E.164.")), .optional("websites", texts("Websites.", "uri")),
          .optional("emails", texts("Addresses of e-mail.")),
          .optional(
            "social",
            Schema(
              .array(
                of: Schema(
                  .object(
                    [
                      .required("network", Schema(.string, nil, example: "instagram")),
                      .required("url", Schema(.string, nil, ["format": "uri"])),
                    ], others: nil))),
              "Pages of social networks, one of each.")),
          .optional(
            "brand",
            object(
              "Brand.",
              [
                .optional("name", Schema(.string)),
                .optional("wikidata", Schema(.string, "Identifier in Wikidata.", example: "Q38076")),
              ])),
          .optional("operator", Schema(.string, "Name of the operator.")),
          .optional("wheelchair", .oneOf(PlaceDetails.Wheelchair.allCases.map(\.rawValue))),
          .optional("payment", texts("Accepted means of payment, such as `cash`.")),
          .optional("diet", texts("Diets that there is food for, such as `vegan`.")),
          .optional("entrance", Schema(.string, "Kind of the entrance, such as `main`.")),
          .optional("licence", Schema(.string, "Licence of the data set.")),
          .optional("attribution", Schema(.string, "Attribution of the data set.")),
        ], others: nil),
      "The typed values of the tags, if `view` asks for them. Values that do not validate are left out."
    ).named("PlaceDetails", order: 190)
  }()

  package static let openState: Schema = {
    var schema = Schema.oneOf(PlaceState.State.allCases.map(\.rawValue))
    schema.description = "State by the opening hours at the time of the search, if `fields` names it."
    return schema
  }()

  package static let timeZone = Schema(
    .string, "Name of the time zone in the IANA database.", example: "Europe/Vienna")

  static let match = Schema(
    .object(
      [
        .required("key", Schema(.string, "`name`, or the key of the tag that has the name.")),
        .required("text", Schema(.string, "The name that matches.")),
        .required(
          "ranges",
          Schema(
            .array(of: Schema(.array(of: count), nil, ["minItems": 2, "maxItems": 2])),
            "The parts that match, each as the offset of its first Unicode scalar and of the one behind its last.")),
      ], others: nil),
    "The name that matches `q`, if `fields` names it.",
    example: ["key": "name", "text": "Winchester Mystery House", "ranges": [[0, 10], [11, 18]]]
  ).named("Match", order: 140)

  package static let place = Schema(
    .object(
      members(PointField.members) + [.optional("details", .placeDetails), .optional("edits", .placeEdits)], others: nil),
    "A place, with the fields that were asked for. Absent values are left out.", example: Examples.place
  ).named("Place", order: 10)

  private static let tag = Schema(
    .string, nil, ["maxLength": .count(Tags.maximumValueLength), "pattern": "^[^\\u0000]*$"])
  private static let tagKey: KeyValuePairs<String, JSONValue> = [
    "maxLength": .count(Tags.maximumKeyLength), "pattern": "^[^\\u0000]*$",
  ]

  package static let tags = Schema(
    .object([], others: tag), "Further properties; keys have up to \(Tags.maximumKeyLength) characters.",
    ["maxProperties": .count(Tags.maximumCount)]
  ).naming(tagKey).named("Tags", order: 120)

  /// The tags that a client sends, or `null`.
  static let optionalTags = Schema(
    .object([], others: Schema(.anyOf([tag, Schema(.number), Schema(.boolean)])).orNull),
    "Further properties; keys have up to \(Tags.maximumKeyLength) characters. Numbers and booleans become strings;"
      + " `null` is not a tag.",
    ["maxProperties": .count(Tags.maximumCount)]
  ).naming(tagKey).orNull

  package static let tagsDraft = optionalTags.named("TagsDraft", order: 130)

  /// The id of a Feature or an area that a client sends.
  package static let foreignID = Property.optional(
    "id", Schema(.any, "That of the path, or left out. One that is not a UUID is ignored."))

  package static let placeDraft = Schema(
    .object(sentMembers(PointField.members), others: nil),
    "The fields of a place that a client sets. `source` and `sourceId` are given both or neither, and the pair is"
      + " unique.",
    example: Examples.draft
  ).named("PlaceDraft", order: 20)

  package static let placePatch = Schema(
    .object(sentMembers(PointField.members, isPatch: true), others: nil),
    "A JSON merge patch (RFC 7396) of a place: `null` removes a value.",
    example: ["category": "bar", "tags": ["wheelchair": "yes", "fax": nil]]
  ).named("PlacePatch", order: 30)

  // MARK: GeoJSON

  package static let pointGeometry = Schema(
    .object(
      [
        .required("type", .oneOf(["Point"])),
        .required(
          "coordinates",
          Schema(
            .array(of: Schema(.number, nil, ["minimum": -180, "maximum": 180])), "Longitude and latitude in degrees.",
            ["minItems": 2, "maxItems": 2])),
      ], others: any)
  ).named("PointGeometry", order: 150)

  static let geometryDraft = Schema(
    .object(
      [.required("type", .oneOf(["Point"])), .required("coordinates", coordinates)], others: any))

  /// The geometry of a merge patch, whose members replace those that there are.
  package static let geometryPatch = Schema(
    .object(
      [.optional("type", .oneOf(["Point"])), .optional("coordinates", coordinates)], others: any))

  private static let coordinates = Schema(
    .tuple([longitude, latitude]), "Longitude and latitude; further elements are ignored.")

  static let feature = Schema(
    .object(
      [
        .required("type", .oneOf(["Feature"])), .optional("id", uuid),
        .required("geometry", .pointGeometry),
        .required("properties", Schema(.object(members(PointField.properties), others: nil))),
      ], others: nil),
    "A place as a Feature (RFC 7946).", example: Examples.feature
  ).named("Feature", order: 40)

  package static let featureDraft = Schema(
    .object(
      [
        .required("type", .oneOf(["Feature"])),
        foreignID,
        .required("geometry", geometryDraft),
        .required("properties", Schema(.object(sentMembers(PointField.properties), others: nil))),
      ], others: any),
    "The fields of a place that a client sets, as a Feature (RFC 7946).", example: Examples.newFeature
  ).named("FeatureDraft", order: 50)

  package static let featureCollection = Schema(
    .object(
      [
        .required("type", .oneOf(["FeatureCollection"])),
        .required("features", Schema(.array(of: .feature))),
        .optional("numberReturned", count),
        .optional("timeStamp", Schema(.string, "Time of the page's last change.", ["format": "date-time"])),
        .optional(
          "links",
          Schema(
            .array(
              of: Schema(
                .object(
                  [
                    .required("rel", .oneOf(["next", "license"])), .required("type", Schema(.string)),
                    .required("href", Schema(.string, nil, ["format": "uri-reference"])),
                  ], others: nil))),
            "Links (RFC 8288): `next` leads to the next page, `license` to the data sets with their licences.")),
      ], others: any),
    "Places as a FeatureCollection (RFC 7946).", example: Examples.collection
  ).named("FeatureCollection", order: 60)

  package static let problem = Schema(
    .object(
      [
        .required("type", Schema(.string, "A URI, which ends in the code.")),
        .required("title", Schema(.string)),
        .required("status", Schema(.integer, nil, ["minimum": 400, "maximum": 599])),
        .optional("detail", Schema(.string)),
        .required("code", .oneOf(ProblemCode.allCases.map(\.rawValue))),
        .optional("deleted", count),
        .optional(
          "errors",
          Schema(
            .array(
              of: Schema(
                .object(
                  [
                    .optional("parameter", Schema(.string)),
                    .optional("pointer", Schema(.string, "A JSON pointer into the body.")),
                    .optional("row", count), .optional("line", count), .required("detail", Schema(.string)),
                  ], others: nil))))),
      ], others: any),
    "A problem (RFC 9457). Programs tell problems apart by `code`.",
    example: [
      "type": "urn:waymark:problem:invalid-parameter", "title": "Bad Request", "status": 400,
      "detail": "lat must be a number from -90 to 90, got 'north'", "code": "invalid-parameter",
      "errors": [["parameter": "lat", "detail": "must be a number from -90 to 90, got 'north'"]],
    ]
  ).named("Problem", order: 470)
}
