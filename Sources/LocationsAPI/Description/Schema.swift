import Basics
import HTTPServer
package import JSONText
import PointFormats
import Points

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

    static func optional(_ name: String, _ schema: Schema) -> Property { Property(name: name, schema: schema) }

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
    case .component(let name):
      let reference: JSONValue = ["$ref": .string("#/components/schemas/\(name)")]
      guard isNullable else { return reference }
      return version == .v3_1 ? ["anyOf": [reference, ["type": "null"]]] : ["allOf": [reference], "nullable": true]
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
    ("PageFormat", ["json", "html"]), ("PlaceField", fieldNames(additional: [])),
    ("PlaceOrHoursField", fieldNames(additional: .opening)),
    ("TextOrder", TextArguments.Sort.allCases.map(\.rawValue)),
    ("ReferenceSystem", ReferenceSystem.allCases.map(\.rawValue)),
    ("ContentReferenceSystem", ReferenceSystem.allCases.map(\.fieldValue)), ("AnyVersion", ["*"]),
    ("PhotonLayer", PhotonLayer.allCases.map(\.rawValue)), ("PhotonSwitch", ["0", "1", "true", "false"]),
    ("NominatimFormat", ["json", "jsonv2"]),
    ("OpenState", PlaceState.State.allCases.map(\.rawValue)),
    ("UnknownHours", UnknownHours.allCases.map(\.rawValue)),
    ("StatusFilter", StatusFilter.allCases.map(\.rawValue)), ("PlaceView", PlaceView.allCases.map(\.rawValue)),
    ("OperatingStatus", OperatingStatus.allCases.map(\.rawValue)),
    ("Wheelchair", PlaceDetails.Wheelchair.allCases.map(\.rawValue)),
    ("DuplicateState", DuplicateState.allCases.map(\.rawValue)),
    ("ImportMode", ImportMode.allCases.map(\.rawValue)), ("AreaKind", AreaKind.allCases.map(\.rawValue)),
    ("AreaFormat", AreasRoute.formats.map(\.rawValue)),
    ("PointType", ["Point"]), ("FeatureType", ["Feature"]),
    ("FeatureCollectionType", ["FeatureCollection"]),
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

extension Schema {
  /// The schemas that others refer to, by name.
  static let components: [(name: String, schema: Schema)] =
    [
      ("Place", place), ("PlaceDraft", draft), ("PlacePatch", patch), ("Feature", feature),
      ("FeatureDraft", featureDraft),
      ("FeatureCollection", collection), ("PhotonFeatureCollection", photonCollection),
      ("NominatimPlace", nominatimPlace),
      ("Suggestion", suggestion),
      ("Search", search), ("FilterLanguage", Parameter.filterLanguage.description.schema),
      ("Tags", tags), ("TagsDraft", tagsDraft.orNull), ("Match", match),
      ("PointGeometry", geometry),
      ("CheckResult", check),
      ("CategoryCount", categoryCount), ("Hours", hours), ("PlaceDetails", placeDetails),
      ("Area", area), ("AreaNames", areaNames), ("AreaGeometry", areaGeometry), ("AreaDraft", areaDraft),
      ("AreaPatch", areaPatch),
      ("AreaFeature", areaFeature), ("AreaFeatureDraft", areaFeatureDraft),
      ("AreaFeatureCollection", areaCollection), ("DataSource", dataSource), ("ImportReport", importReport),
      ("Batch", batch), ("BatchOperation", batchOperation), ("BatchResults", batchResults), ("Deletion", deletion),
      ("SearchReport", searchReport), ("Changes", changes), ("Change", change),
      ("ProtocolRequest", protocolRequest), ("ProtocolResponse", protocolResponse),
      ("Health", health), ("Index", index), ("MapLayer", mapLayer), ("MapSettings", mapSettings),
      ("StatusSettings", statusSettings), ("StatusHistory", statusHistory),
      ("JSONObject", Schema(.object([], others: any))),
      ("OpenAPIDocument", Schema(.object([.required("openapi", Schema(.string))], others: any))), ("Problem", problem),
    ] + features + suggestedEdits + webhooks + duplicates + enumerationComponents

  // MARK: Places

  private static func text(_ description: String, maximum: Int) -> Schema {
    Schema(.string, description, ["maxLength": .count(maximum), "pattern": .noControlCharacters])
  }

  static let name = Schema(
    .string, "The name, trimmed of white space.",
    [
      "minLength": 1, "maxLength": .count(PointDraft.maximumNameLength),
      "pattern": .notBlank,
    ])
  static let category = text(
    "Such as `cafe` or `natural:peak`.", maximum: PointDraft.maximumCategoryLength)
  static let source = text("The data set that the place is from.", maximum: PointDraft.maximumOriginLength)
  static let sourceID = text("The id in that data set.", maximum: PointDraft.maximumOriginLength)
  private static let latitude = Schema(.number, "Latitude in degrees, WGS 84.", ["minimum": -90, "maximum": 90])
  private static let longitude = Schema(.number, "Longitude in degrees, WGS 84.", ["minimum": -180, "maximum": 180])
  static let uuid = Schema(.string, nil, ["format": "uuid"])
  static let time = Schema(.string, nil, ["format": "date-time"])
  static let count = Schema(.integer, nil, ["minimum": 0])
  static let any = Schema(.any)
  private static let ignored = Schema(.any, "Set by the service; ignored.")

  /// The fields of a place beside its id and coordinates.
  static let otherFields: [Property] = [
    .optional(
      "distance",
      Schema(.number, "Metres from the position or the route of the search, along the ellipsoid.", ["minimum": 0])),
    .optional("alongMetres", Schema(.number, "Metres along the route of the search.", ["minimum": 0])),
    .optional("tags", .component("Tags")),
    .optional("source", source),
    .optional("sourceId", sourceID),
    .optional("version", Schema(.integer, "Grows with each change and never repeats for an id.", ["minimum": 1])),
    .optional("createdAt", time),
    .optional("updatedAt", time),
    .optional("attribution", Schema(.string, "Attribution of the data set, where `fields` names it.")),
    .optional("openState", openState),
    .optional(
      "openUntil",
      Schema(
        .string, "Time at which an open place closes, by its clock, where `fields` names it.", ["format": "date-time"])),
    .optional(
      "opensAt",
      Schema(
        .string, "Time at which a place opens that is not open, by its clock, where `fields` names it.",
        ["format": "date-time"])),
    .optional("timeZone", timeZone),
    .optional("label", Schema(.string, "Name and address in one line, where `fields` names it.")),
    .optional(
      "score", Schema(.number, "Rank of the match of `q`, greater is better; where `fields` has it.", ["minimum": 0])),
    .optional("match", .component("Match")),
  ]

  /// The typed values of the tags of a place.
  private static let placeDetails: Schema = {
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
      "The typed values of the tags, where `view` asks for them. Values that do not validate are left out.")
  }()

  private static let openState: Schema = {
    var schema = Schema.oneOf(PlaceState.State.allCases.map(\.rawValue))
    schema.description = "State by the opening hours at the time of the search, where `fields` names it."
    return schema
  }()

  private static let timeZone = Schema(
    .string, "Name of the time zone in the IANA database.", example: "Europe/Vienna")

  /// The opening hours of some days.
  static let hours = Schema(
    .object(
      [
        .optional("openingHours", Schema(.string, "The tag `opening_hours`.", example: "Mo-Fr 09:00-18:00")),
        .optional("error", Schema(.string, "The reason for which the tag cannot be parsed.")),
        .required("timeZone", timeZone),
        .optional(
          "holidays", Schema(.string, "Code of ISO 3166 whose public holidays hold; absent if unknown.", example: "AT")),
        .required("openState", openState),
        .optional("openUntil", time), .optional("opensAt", time),
        .required("from", Schema(.string, "First day.", ["format": "date"])),
        .required("days", Schema(.integer, "Number of days.", ["minimum": 1])),
        .required(
          "intervals",
          Schema(
            .array(
              of: Schema(
                .object(
                  [
                    .required("start", time), .required("end", time), .required("state", openState),
                    .optional("comment", Schema(.string, "Comment of the hours.")),
                  ], others: nil))),
            "The intervals from the first midnight to the last, without gaps, with the times of the place's clock.")),
      ], others: nil))

  private static let match = Schema(
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
    "The name that matches `q`, where `fields` names it.",
    example: ["key": "name", "text": "Winchester Mystery House", "ranges": [[0, 10], [11, 18]]])

  private static let place = Schema(
    .object(
      [
        .optional("id", uuid), .optional("name", name), .optional("category", category), .optional("lat", latitude),
        .optional("long", longitude),
      ] + otherFields + [.optional("details", .component("PlaceDetails"))], others: nil),
    "A place, with the fields that were asked for. Absent values are left out.", example: Examples.place)

  private static let tag = Schema(
    .string, nil, ["maxLength": .count(Tags.maximumValueLength), "pattern": "^[^\\u0000]*$"])
  private static let tagKey: KeyValuePairs<String, JSONValue> = [
    "maxLength": .count(Tags.maximumKeyLength), "pattern": "^[^\\u0000]*$",
  ]

  private static let tags = Schema(
    .object([], others: tag), "Further properties; keys have up to \(Tags.maximumKeyLength) characters.",
    ["maxProperties": .count(Tags.maximumCount)]
  ).naming(tagKey)

  static let tagsDraft = Schema(
    .object([], others: Schema(.anyOf([tag, Schema(.number), Schema(.boolean)])).orNull),
    "Further properties; keys have up to \(Tags.maximumKeyLength) characters. Numbers and Booleans become text; `null`"
      + " is no tag.",
    ["maxProperties": .count(Tags.maximumCount)]
  ).naming(tagKey)

  /// The id of a Feature or an area that a client sends.
  static let foreignID = Property.optional(
    "id", Schema(.any, "That of the path, or left out. One that is no UUID is ignored."))

  static let ignoredFields = ["distance", "version", "createdAt", "updatedAt"].map {
    Property.optional($0, ignored)
  }

  private static let draft = Schema(
    .object(
      [
        .optional("id", uuid.orNull), .required("name", name), .optional("category", category.orNull),
        .required("lat", latitude), .required("long", longitude), .optional("tags", .component("TagsDraft")),
        .optional("source", source.orNull), .optional("sourceId", sourceID.orNull),
      ] + ignoredFields, others: nil),
    "The fields of a place that a client sets. `source` and `sourceId` are given both or neither, and the pair is"
      + " unique.",
    example: Examples.draft)

  private static let patch = Schema(
    .object(
      [
        .optional("id", uuid), .optional("name", name), .optional("category", category.orNull),
        .optional("lat", latitude), .optional("long", longitude),
        .optional("tags", tagsDraft.orNull),
        .optional("source", source.orNull), .optional("sourceId", sourceID.orNull),
      ] + ignoredFields, others: nil),
    "A JSON merge patch (RFC 7396) of a place: `null` removes a value.",
    example: ["category": "bar", "tags": ["wheelchair": "yes", "fax": nil]])

  // MARK: GeoJSON

  private static let geometry = Schema(
    .object(
      [
        .required("type", .oneOf(["Point"])),
        .required(
          "coordinates",
          Schema(
            .array(of: Schema(.number, nil, ["minimum": -180, "maximum": 180])), "Longitude and latitude in degrees.",
            ["minItems": 2, "maxItems": 2])),
      ], others: any))

  static let geometryDraft = Schema(
    .object(
      [.required("type", .oneOf(["Point"])), .required("coordinates", coordinates)], others: any))

  /// The geometry of a merge patch, whose members replace those that there are.
  static let geometryPatch = Schema(
    .object(
      [.optional("type", .oneOf(["Point"])), .optional("coordinates", coordinates)], others: any))

  private static let coordinates = Schema(
    .tuple([longitude, latitude]), "Longitude and latitude; further elements are ignored.")

  private static let feature = Schema(
    .object(
      [
        .required("type", .oneOf(["Feature"])), .optional("id", uuid),
        .required("geometry", .component("PointGeometry")),
        .required(
          "properties",
          Schema(.object([.optional("name", name), .optional("category", category)] + otherFields, others: nil))),
      ], others: nil),
    "A place as a Feature (RFC 7946).", example: Examples.feature)

  private static let featureDraft = Schema(
    .object(
      [
        .required("type", .oneOf(["Feature"])),
        foreignID,
        .required("geometry", geometryDraft),
        .required(
          "properties",
          Schema(
            .object(
              [
                .required("name", name), .optional("category", category.orNull),
                .optional("tags", .component("TagsDraft")),
                .optional("source", source.orNull), .optional("sourceId", sourceID.orNull),
              ] + ignoredFields, others: nil))),
      ], others: any),
    "The fields of a place that a client sets, as a Feature (RFC 7946).", example: Examples.newFeature)

  private static let collection = Schema(
    .object(
      [
        .required("type", .oneOf(["FeatureCollection"])),
        .required("features", Schema(.array(of: .component("Feature")))),
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
    "Places as a FeatureCollection (RFC 7946).", example: Examples.collection)

  private static let photonCollection: Schema = {
    let texts = [
      "housenumber", "street", "locality", "district", "postcode", "city", "county", "state", "country", "countrycode",
    ].map { Property.optional($0, Schema(.string)) }
    let properties = Schema(
      .object(
        [
          .optional("osm_type", .oneOf(["N", "W", "R"])), .optional("osm_id", count),
          .required("osm_key", Schema(.string)), .required("osm_value", Schema(.string)),
          .required("type", .oneOf(PhotonLayer.allCases.map(\.rawValue))), .required("name", Schema(.string)),
        ] + texts, others: nil))
    let feature = Schema(
      .object(
        [
          .required("type", .oneOf(["Feature"])), .required("id", uuid),
          .required("geometry", .component("PointGeometry")),
          .required("properties", properties),
        ], others: nil))
    return Schema(
      .object(
        [.required("type", .oneOf(["FeatureCollection"])), .required("features", Schema(.array(of: feature)))],
        others: nil),
      "Places with the properties of Photon's API, each if it is known.", example: Examples.photon)
  }()

  private static let nominatimPlace: Schema = {
    let text = Schema(.string)
    let tags = component("Tags").orNull
    return Schema(
      .object(
        [
          .required("place_id", count), .optional("osm_type", .oneOf(["node", "way", "relation"])),
          .optional("osm_id", count), .required("id", uuid), .required("lat", text), .required("lon", text),
          .optional("class", text), .optional("category", text), .required("type", text),
          .required("place_rank", count), .required("addresstype", text), .required("name", text),
          .required("display_name", text), .optional("address", Schema(.object([], others: text))),
          .optional("extratags", tags), .optional("namedetails", tags),
          .required("boundingbox", Schema(.array(of: text), nil, ["minItems": 4, "maxItems": 4])),
        ], others: nil),
      "A place with the properties of Nominatim's API.", example: Examples.nominatim)
  }()

  // MARK: Results

  private static let check = Schema(
    .object(
      [.required("isPointOfInterest", Schema(.boolean)), .optional("location", .component("Place"))], others: nil),
    nil, example: ["isPointOfInterest": true, "location": Examples.found])

  private static let categoryCount = Schema(
    .object(
      [
        .required("category", Schema(.string)),
        .optional("label", Schema(.string, "In a tree, the label of a category of it.")), .required("count", count),
        .optional(
          "children",
          Schema(.array(of: .component("CategoryCount")), "In a tree, the categories below that have places.")),
      ], others: nil),
    nil, example: ["category": "cafe", "count": 72])

  private static let suggestion = Schema(
    .anyOf([
      Schema(
        .object(
          [
            .required("type", .oneOf(["category"])), .required("category", Schema(.string)),
            .optional("label", Schema(.string, "Label of a category of the tree.")), .required("count", count),
          ], others: nil),
        "A category with its number of places, and those below it."),
      Schema(
        .object(
          [
            .required("type", .oneOf(["place"])), .required("id", uuid), .required("name", name),
            .required("label", Schema(.string, "Name and address in one line.")), .optional("category", category),
            .optional("distance", Schema(.number, nil, ["minimum": 0])),
          ], others: nil),
        "A place."),
    ]),
    "A category or a place for a text that is being typed.")

  private static let dataSource = Schema(
    .object(
      [
        .required("name", Schema(.string)), .optional("licence", Schema(.string)),
        .optional("attribution", Schema(.string)), .optional("url", Schema(.string)),
        .optional("usedFor", .oneOf(BuiltInData.allCases.map(\.rawValue))),
      ], others: nil),
    nil, example: ["name": "osm", "licence": "ODbL-1.0", "attribution": "© OpenStreetMap contributors"])

  private static let importReport = Schema(
    .object(
      [
        .required("created", count), .required("updated", count), .required("unchanged", count),
        .optional("deleted", count), .required("rejected", count),
        .required(
          "errors",
          Schema(
            .array(
              of: Schema(
                .object(
                  [
                    .required("row", count), .optional("line", count), .required("detail", Schema(.string)),
                  ], others: nil))),
            "The first 100 rejected rows.", ["maxItems": 100])),
        .optional("warnings", Schema(.array(of: Schema(.string)))),
        .optional(
          "implausible",
          Schema(.integer, "The number of the warnings about implausible coordinates.", ["minimum": 1])),
      ], others: nil),
    "The number of rows by what became of them.",
    example: [
      "created": 1, "updated": 0, "unchanged": 0, "rejected": 1,
      "errors": [["row": 2, "line": 3, "detail": "/lat must be a number from -90 to 90, got '-91'"]],
    ])

  private static let deletion = Schema(
    .object([.required("deleted", count)], others: nil), "The number of deleted places.", example: ["deleted": 3])

  private static let searchReport: Schema = {
    let counts: [Property] = [.required("searches", count), .required("foundNothing", count)]
    func list(_ subject: [Property]) -> Schema { Schema(.array(of: Schema(.object(subject + counts, others: nil)))) }
    let cells = list([.required("lat", latitude), .required("long", longitude)])
    let milliseconds = Schema(.number, nil, ["minimum": 0]).orNull
    return Schema(
      .object(
        [.required("since", time), .required("until", time)] + counts + [
          .required(
            "durationMs",
            Schema(.object([.required("p50", milliseconds), .required("p99", milliseconds)], others: nil))),
          .required("busiestCells", cells), .required("cellsFoundNothing", cells),
          .required("categories", list([.required("category", Schema(.string))])),
          .optional("textsFoundNothing", list([.required("text", Schema(.string))])),
          .required("hours", list([.required("hour", time)])),
        ], others: nil))
  }()

  private static let position = Schema(.string, "An opaque position.", ["minLength": 1])

  private static let change = Schema(
    .object(
      [
        .required("id", uuid), .required("version", Schema(.integer, nil, ["minimum": 1])),
        .optional("place", .component("Place")),
        .optional("deleted", Schema(.boolean, "The place does not exist any more.")),
        .optional("outside", Schema(.boolean, "The place exists, and does not match the filters.")),
      ], others: nil),
    "A changed place: it has one of `place`, `deleted` and `outside`.")

  private static let changes = Schema(
    .object(
      [
        .required("changes", Schema(.array(of: .component("Change")))), .required("position", position),
        .required("more", Schema(.boolean, "Whether there are more changes after the position.")),
      ], others: nil))

  private static let health = Schema(
    .object(
      [
        .required("status", .oneOf(["ok"])),
        .optional(
          "writes",
          Schema(
            .object([.required("status", .oneOf(["refused"])), .required("reason", Schema(.string))], others: nil),
            "Present while reads are served and writes are 503.")),
        .optional(
          "index",
          Schema(
            .object([.required("phase", Schema(.string)), .required("places", count)], others: nil),
            "The state of the index in memory over PostgreSQL.")),
      ], others: nil),
    nil, example: ["status": "ok"])

  private static let index = Schema(
    .object(
      [
        .required("name", Schema(.string)), .required("version", Schema(.string)),
        .required(
          "links", Schema(.object([], others: Schema(.string)), "URI templates (RFC 6570) of the calls, by name.")),
      ], others: nil),
    nil, example: ["name": "waymark", "version": "1.0.0", "links": ["location": "locations/{id}"]])

  private static let mapSettings = Schema(
    .object(
      [.required("layers", Schema(.array(of: .component("MapLayer")), "The tiles that are drawn, the lowest first."))],
      others: nil),
    nil, example: ["layers": [mapLayerExample]])

  private static let mapLayer = Schema(
    .object(
      [
        .required(
          "tiles",
          Schema(.string, "The address of a tile, relative to the service or absolute, with `{z}`, `{x}` and `{y}`.")),
        .required(
          "format",
          Schema(
            .string, "`vector` for the built-in base map.",
            ["enum": .array(MapLayer.Format.allCases.map { .string($0.rawValue) })])),
        .optional("minimumZoom", Schema(.integer, "The lowest zoom level of the tiles.", ["minimum": 0])),
        .optional("maximumZoom", Schema(.integer, "The highest zoom level of the tiles.", ["minimum": 0])),
        .optional(
          "bounds",
          Schema(
            .array(of: Schema(.number)), "The box that has tiles: west, south, east, north.",
            ["minItems": 4, "maxItems": 4])),
        .required("attribution", Schema(.string, "The attribution, as plain text.")),
      ], others: nil),
    nil, example: mapLayerExample)

  private static let mapLayerExample: JSONValue = [
    "tiles": "/basemap/{z}/{x}/{y}.png", "format": "image", "attribution": "© OpenStreetMap contributors",
  ]

  private static let statusSettings = Schema(
    .object(
      [
        .required(
          "openScopes",
          Schema(
            .array(of: .oneOf(AccessScope.allCases.map(\.rawValue))),
            "The scopes of the calls that need neither a key nor a token.")),
        .required("hasSearches", Schema(.boolean, "Whether there is a report on searches.")),
      ], others: nil),
    nil, example: ["openScopes": ["read"], "hasSearches": false])

  private static let statusHistory = Schema(
    .object(
      [
        .required(
          "series",
          Schema(
            .array(of: Schema(.string)), "The names and labels of the series in Prometheus' text format.")),
        .required(
          "samples",
          Schema(
            .array(
              of: Schema(
                .object(
                  [
                    .required("age", Schema(.number, "The seconds since the sample was taken.")),
                    .required(
                      "values",
                      Schema(
                        .array(of: Schema(.number).orNull),
                        "The values of the series; `null` for one that had not begun.")),
                  ], others: nil))), "The samples, from the oldest.")),
      ], others: nil),
    nil, example: ["series": ["http_requests_in_flight"], "samples": [["age": 4.5, "values": [1]]]])

  private static let problem = Schema(
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
    ])
}
