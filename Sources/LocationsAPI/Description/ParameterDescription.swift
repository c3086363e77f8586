import JSONText
import PointFormats
import Points

/// The description of a parameter of the query or the path.
struct ParameterDescription: Sendable {
  var description: String
  var schema: Schema
  var isRequired = false
  /// A Boolean value that indicates whether the elements of the value are described as several parameters.
  var isRepeatable = false
  /// A Boolean value that indicates whether `style` and `explode` are stated although the value is no array. OGC API
  /// Features prescribes it for `limit` and `datetime`, and QGIS recognises conditions on properties by it.
  var statesStyle = false
  /// A value with which a first request is answered, of a parameter that may be left out if there are others.
  var example: JSONValue?

  init(
    _ description: String, _ schema: Schema, isRequired: Bool = false, isRepeatable: Bool = false,
    statesStyle: Bool = false, example: JSONValue? = nil
  ) {
    self.description = description
    self.schema = schema
    self.isRequired = isRequired
    self.isRepeatable = isRepeatable
    self.statesStyle = statesStyle
    self.example = example
  }

  /// The parameter where it must be given.
  var required: ParameterDescription {
    var parameter = self
    parameter.isRequired = true
    return parameter
  }
}

extension Parameter {
  /// The description in every call that has no other one.
  var description: ParameterDescription {
    switch self {
    case .latitude:
      .init(
        "Latitude of the position in degrees (WGS 84). Given together with `long`.",
        Schema(.number, nil, ["minimum": -90, "maximum": 90], example: 37.3293))
    case .longitude:
      .init(
        "Longitude of the position in degrees (WGS 84). The names `lon` and `lng` are accepted too.",
        Schema(.number, nil, ["minimum": -180, "maximum": 180], example: -121.8893))
    case .radius:
      .init(
        "Maximum distance from the position or the route in metres along the ellipsoid, inclusive. Needs `lat` and"
          + " `long`, or `route`.",
        Schema(.number, nil, ["minimum": 0], example: 1500))
    case .category:
      .init(
        "Only places of these categories, separated by commas or as repeated parameters. A category of the tree stands"
          + " for those below it too; one with an exclamation mark before it is left out.",
        Schema(
          .array(
            of: Schema(
              .string, nil,
              [
                "minLength": 1, "maxLength": .count(PointDraft.maximumCategoryLength),
                "pattern": "^(?!!$)[^,\\u0000]+$",
              ])),
          nil, ["minItems": 1], example: ["museum", "theatre"]),
        isRepeatable: true)
    case .box:
      .init(
        "Only places in the box: west, south, east, north in degrees. West may be greater than east, across the"
          + " antimeridian; south must not be greater than north.",
        Schema(
          .array(of: Schema(.number, nil, ["minimum": -180, "maximum": 180])), nil, ["minItems": 4, "maxItems": 4],
          example: [-122.5, 37.2, -121.5, 37.9]))
    case .limit:
      .init(
        "Maximum number of places of a page.",
        Schema(
          .integer, nil,
          [
            "minimum": .count(PointQuery.limits.lowerBound), "maximum": .count(PointQuery.limits.upperBound),
            "default": .count(PointQuery.defaultLimit),
          ]))
    case .cursor:
      .init(
        "Position of the next page, opaque: taken from a `Link` of relation `next`, together with the other"
          + " parameters.",
        Schema(.string, nil, ["minLength": 1]))
    case .fields:
      .init(
        "Fields of each place, separated by commas; `*` stands for all of a place's own.",
        Self.fieldsSchema(additional: []))
    case .format:
      .init(
        "Format of the response; it takes precedence over `Accept`.", .oneOf(PointFormat.responses.map(\.rawValue)))
    case .mode:
      .init(
        "`partial`, the default, imports the valid rows; `atomic` imports nothing if a row is invalid.",
        .oneOf(ImportMode.allCases.map(\.rawValue)))
    case .dryRun:
      .init("`true` reports what would be done, and changes nothing.", Schema(.boolean, nil, ["default": false]))
    case .source:
      .init("Name of the data set that the places come from.", Self.originSchema(example: "waymark-sample"))
    case .sourceID:
      .init("Id of the place in its data set. Needs `source`.", Self.originSchema(example: "howrah-bridge"))
    case .confirm:
      .init("Confirms the deletion of all places of the data set.", .oneOf(["true"]), isRequired: true)
    case .idField:
      .init(
        "Member or column with the id in the data set. Needs `source`.", Schema(.string, example: "sourceId"))
    case .unknownFields:
      .init(
        "Whether members and columns that are no fields of a place become tags, or make a row invalid.",
        .oneOf(["tags", "reject"], default: "tags"))
    case .since: .init("Beginning of the period; a day before its end by default.", Self.timeSchema)
    case .until: .init("End of the period; now by default.", Self.timeSchema)
    case .replaceSource:
      .init(
        "Name of a data set whose other places, those of no row, are deleted in the same transaction.",
        .rowOption(example: "demo"))
    case .maxDeletions:
      .init(
        "Maximum number of places that `replaceSource` may delete, or percentage of the places of the data set, of"
          + " which \(DeletionLimit.smallestShare) may be deleted in any case. More is 422 `too-many-deletions`.",
        Schema(
          .string, nil,
          ["pattern": "^([0-9]{1,15}|(100|[0-9]{1,2})%)$", "default": .string(DeletionLimit.standard.description)]))
    case .licence: .init("Licence of the data set that `source` names.", Self.sourceTextSchema(example: "ODbL-1.0"))
    case .attribution:
      .init(
        "Attribution of the data set that `source` names.",
        Self.sourceTextSchema(example: "© OpenStreetMap contributors"))
    case .languages:
      .init(
        "Preferred languages of the places' names (RFC 4647, look-up), separated by commas; a place without a name in"
          + " one of them keeps its own.",
        Schema(
          .array(of: Schema(.string, nil, ["pattern": "^(\\*|[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8}){0,7})$"])), nil,
          ["minItems": 1, "maxItems": .count(LanguagePriorityList.maximumCount)], example: ["ko", "en"]))
    case .text:
      .init(
        "Words of a place's names, category and address; at least one letter or digit. Spelling errors are tolerated.",
        Schema(
          .string, nil, ["minLength": 1, "maxLength": .count(TextQuery.maximumLength)], example: "winchester mystery"))
    case .autocomplete:
      .init(
        "`true` takes the last word as the beginning of a word. `false` without it. Needs `q`.",
        Schema(.boolean, nil, example: true))
    case .sort:
      .init(
        "Order of the matches of `q`: `relevance` without it; `distance` needs `lat` and `long`. Needs `q`.",
        .oneOf(TextArguments.Sort.allCases.map(\.rawValue)))
    case .filter:
      .init(
        "Condition on any property, tags included, in the Common Query Language (CQL2, OGC 21-065).",
        Schema(.string, nil, ["minLength": 1], example: "category = 'museum' AND name LIKE 'The %'"))
    case .filterLanguage:
      .init(
        "Encoding of `filter`: `cql2-text` without it, of which `cql-text` is the former name. Needs `filter`.",
        .oneOf(FilterLanguage.allCases.map(\.rawValue)))
    case .filterCRS:
      .init(
        "Reference system of the geometries in `filter`; CRS84 without it.",
        .oneOf(ReferenceSystem.allCases.map(\.rawValue)))
    case .crs:
      .init(
        "Reference system of the response, with its order of the axes; CRS84 without it.",
        .oneOf(ReferenceSystem.allCases.map(\.rawValue)))
    case .boxCRS:
      .init(
        "Reference system of `bbox`, with its order of the axes; CRS84 without it.",
        .oneOf(ReferenceSystem.allCases.map(\.rawValue)))
    case .dateTime:
      .init(
        "Only places whose last change was at this time, or between two, with a slash between and `..` for an open end.",
        Schema(.string, nil, ["pattern": Self.dateTimePattern], example: "2026-01-01T00:00:00Z/.."), statesStyle: true)
    case .within:
      .init(
        "Only places in a polygon or a multipolygon, in WKT or GeoJSON: longitude before latitude, holes after the outer"
          + " ring. Edges are geodesics; the interior of a ring is the smaller part of the earth.",
        Schema(
          .string, nil, ["minLength": 1], example: "POLYGON((16.3 48.1, 16.5 48.1, 16.4 48.3, 16.3 48.1))"))
    case .area:
      .init(
        "Only places in a named area: its id, or a name in any language. Of several areas of the name the nearest to the"
          + " position counts, and then the most important. Not together with `within`.",
        Schema(.string, nil, ["minLength": 1, "maxLength": .count(PointDraft.maximumNameLength)], example: "Vienna"))
    case .kind: .init("Only areas of this kind.", .oneOf(AreaKind.allCases.map(\.rawValue)))
    case .route:
      .init(
        "Only places within `radius`, at most 1,000 km, of a line: an encoded polyline of precision 5, or a line string"
          + " in WKT or GeoJSON. They are in the order along it. Not together with `lat` and `long`.",
        Schema(.string, nil, ["minLength": 1], example: "LINESTRING(16.3 48.1, 16.5 48.2)"))
    case .attributionURL:
      .init(
        "Address of the attribution's page.",
        Schema(
          .string, nil, ["maxLength": .count(DataSource.maximumLength), "pattern": .address],
          example: "https://www.openstreetmap.org/copyright"))
    case .tags:
      .init(
        "Keys of tags that are attributes of the places, separated by commas.",
        Schema(
          .array(
            of: Schema(
              .string, nil,
              ["minLength": 1, "maxLength": .count(Tags.maximumKeyLength), "pattern": "^(?!(id|name|category)$)[^,]+$"])
          ),
          nil, ["minItems": 1, "maxItems": .count(TileQuery.maximumTags)], example: ["cuisine", "website"]))
    case .open:
      .init(
        "Only places that are open at a time, by their tag `opening_hours`: `now`; a local time of each place, such as"
          + " `2026-11-23T19:00`; or a time with an offset. The later pages of `now` are of the time of the first.",
        Schema(
          .string, nil,
          [
            "pattern":
              "^(now|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)$"
          ],
          example: "now"))
    case .openUnknown:
      .init(
        "Whether `open` has the places of which it is unknown too: without hours, or with hours that cannot be parsed"
          + " or depend on what is unknown; `exclude` without it. Needs `open`.",
        .oneOf(UnknownHours.allCases.map(\.rawValue)))
    case .status:
      .init(
        "`operating` leaves out the places whose tags say that they are closed, for a time or for good; `any` without"
          + " it.",
        .oneOf(StatusFilter.allCases.map(\.rawValue)))
    case .state:
      .init("Only suggestions in this state.", .oneOf(Suggestion.State.allCases.map(\.rawValue)))
    case .place: .init("Only suggestions for the place of this id.", Schema.uuid)
    case .view:
      .init(
        "`details` adds the member `details`: the typed values of the tags, in one form whatever the data set. Needs"
          + " JSON.",
        .oneOf(PlaceView.allCases.map(\.rawValue)))
    case .from:
      .init(
        "First day, from 2000 to 2100, by the calendar of the place; today by default.",
        Schema(.string, nil, ["format": "date", "pattern": "^2(0\\d\\d|100)-"], example: "2026-11-23"))
    case .days:
      .init(
        "Number of days.",
        Schema(
          .integer, nil,
          [
            "minimum": .count(HoursRoute.days.lowerBound), "maximum": .count(HoursRoute.days.upperBound),
            "default": .count(HoursRoute.defaultDays),
          ]))
    case .wait:
      .init(
        "Seconds to wait for a change, where there is none yet.",
        Schema(
          .integer, nil,
          [
            "minimum": .count(ChangesRoute.waits.lowerBound), "maximum": .count(ChangesRoute.waits.upperBound),
            "default": 0,
          ]))
    case .tree:
      .init("`true` returns the categories as a tree. `false` without it.", Schema(.boolean, nil, example: true))
    case .ids:
      .init(
        "Only the places with these ids, separated by commas, in this order and each once; ids without a place are left"
          + " out. All of them are on one page, unless `limit` is given or their texts are longer than 4 MiB. Not together"
          + " with `lat` and `long`, `route` or `q`.",
        Schema(
          .array(of: Schema(.string, nil, ["format": "uuid"])), nil,
          ["minItems": 1, "maxItems": .count(PointQuery.maximumIDs)], example: [.string(Examples.id)]))
    case .atomic:
      .init(
        "`true` changes nothing if an operation fails; otherwise each succeeds or fails by itself.",
        Schema(.boolean, nil, ["default": false]))
    case .other:
      .init(
        "Name of the other data set; that of `source` without it, whose places are compared with each other.",
        Self.originSchema(example: "overture"))
    case .minimumScore:
      .init(
        "Least score of a pair.",
        Schema(
          .number, nil,
          [
            "minimum": .number("\(Double(DuplicateQuery.minimumScores.lowerBound) / 1000)"), "maximum": 1,
            "default": .number("\(Double(DuplicateQuery.defaultMinimumScore) / 1000)"),
          ]))
    case .states:
      .init(
        "States of the pairs, separated by commas: `open,confirmed` without it.",
        Schema(
          .array(of: .oneOf(DuplicateState.allCases.map(\.rawValue))), nil, ["minItems": 1],
          example: ["open", "confirmed"]))
    case .zoom: .init("Zoom level of a map.", Schema(.integer, nil, ["minimum": 0, "maximum": 22], example: 10))
    case .facets:
      .init(
        "Properties to count by, separated by commas: `category`, `group` for the groups of the tree of categories,"
          + " `area:KIND` for the named areas of a kind, and `tag.KEY` for a tag.",
        Schema(
          .array(
            of: Schema(
              .string, nil,
              ["pattern": "^(category|group|area:(country|region|city|district|postcode|custom)|tag\\.[^,]{1,200})$"])),
          nil,
          ["minItems": 1, "maxItems": .count(FacetQuery.maximumFacets), "uniqueItems": true],
          example: ["category", "tag.cuisine"]))
    }
  }

  /// The pattern of a time (RFC 3339), or of two with a slash between, one of which may be open.
  private static let dateTimePattern: JSONValue = {
    let time =
      "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]+)?"
      + "(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
    return .string("^(\(time)|\(time)/(\(time)|\\.\\.)?|(\\.\\.)?/\(time))$")
  }()

  /// Returns the schema of the names of fields.
  ///
  /// - Parameter additional: the fields that a call has beside those of every place.
  fileprivate static func fieldsSchema(additional: FieldSet) -> Schema {
    Schema(.array(of: .oneOf(fieldNames(additional: additional))), nil, ["minItems": 1], example: ["id", "name"])
  }

  /// Returns the names of the fields of every place and of additional ones, and `*`.
  static func fieldNames(additional: FieldSet) -> [String] {
    let fields = FieldSet.all.union([.attribution, additional])
    return FieldSet.named.filter { fields.contains($0.field) }.map(\.name) + ["*"]
  }

  private static func originSchema(example: JSONValue) -> Schema {
    Schema(
      .string, nil,
      ["minLength": 1, "maxLength": .count(PointDraft.maximumOriginLength), "pattern": "^[^\\u0000]*$"],
      example: example)
  }

  private static func sourceTextSchema(example: JSONValue) -> Schema {
    Schema(
      .string, nil, ["minLength": 1, "maxLength": .count(DataSource.maximumLength), "pattern": .noControlCharacters],
      example: example)
  }

  private static let timeSchema = Schema(
    .anyOf([
      Schema(.string, "A time (RFC 3339).", ["format": "date-time"], example: "2026-11-21T10:15:00Z"),
      Schema(
        .string, "A duration before now (ISO 8601), in weeks, or in days, hours, minutes and seconds.",
        ["pattern": "^P([0-9]{1,5}W|(?=[0-9T])([0-9]{1,5}D)?(T(?=[0-9])([0-9]{1,5}H)?([0-9]{1,5}M)?([0-9]{1,5}S)?)?)$"],
        example: "PT24H"),
    ]))
}

extension ParameterDescription {
  /// The id in a path.
  static let id = ParameterDescription(
    "Id of the place.", Schema(.string, nil, ["format": "uuid"], example: .string(Examples.id)), isRequired: true)

  /// The fields of a call that has some beside those of every place.
  static func fields(_ description: String, additional: FieldSet) -> ParameterDescription {
    .init(description, Parameter.fieldsSchema(additional: additional))
  }

  /// The maximum number of places of a call with other limits than those of lists.
  static func limit(_ limits: ClosedRange<Int>, default fallback: Int) -> ParameterDescription {
    .init(
      "Maximum number of elements.",
      Schema(
        .integer, nil,
        ["minimum": .count(limits.lowerBound), "maximum": .count(limits.upperBound), "default": .count(fallback)]))
  }

  /// The languages of the labels of categories.
  static let labelLanguages = ParameterDescription(
    "Preferred languages of the labels of categories (RFC 4647, look-up), separated by commas; English without a label in"
      + " one of them.", Parameter.languages.description.schema)

  /// The format of a call that offers these.
  static func format(_ formats: [PointFormat]) -> ParameterDescription {
    .init(Parameter.format.description.description, .oneOf(formats.map(\.rawValue)))
  }
}

extension Schema {
  /// Returns the schema of a name that an import gives to its rows.
  static func rowOption(example: JSONValue) -> Schema {
    Schema(
      .string, nil, ["minLength": 1, "maxLength": .count(PointDraft.maximumOriginLength), "pattern": .notBlank],
      example: example)
  }
}

extension JSONValue {
  /// The pattern of texts without control characters that are not blank.
  static let notBlank: JSONValue =
    "^[^\\u0000-\\u001F\\u007F-\\u009F]*[^\\s\\u0000-\\u001F\\u007F-\\u009F][^\\u0000-\\u001F\\u007F-\\u009F]*$"

  static func count(_ number: Int) -> JSONValue { .number(String(number)) }

  /// The pattern of ``DataSource/isAddress(_:)``.
  static let address: JSONValue =
    "^https?://[^\\s\\u0000-\\u001F\\u007F-\\u009F/?#][^\\s\\u0000-\\u001F\\u007F-\\u009F]*$"

  /// The pattern of texts without control characters.
  static let noControlCharacters: JSONValue = "^[^\\u0000-\\u001F\\u007F-\\u009F]*$"
}
