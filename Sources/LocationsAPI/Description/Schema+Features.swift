import JSONText
import PointFormats
import Points

extension Schema {
  /// The schemas of OGC API Features that others refer to, by name.
  static let features: [(name: String, schema: Schema)] = [
    ("FeaturesLanding", landing), ("FeaturesConformance", conformance), ("Collections", collections),
    ("Collection", collection), ("FeatureItems", items), ("FeatureItem", item), ("FeaturePatch", featurePatch),
    ("Link", link), ("JSONSchema", Schema(.object([.required("type", .oneOf(["object"]))], others: any))),
  ]

  private static let links = Schema(.array(of: .component("Link")), "Links (RFC 8288).")

  private static let link = Schema(
    .object(
      [
        .required("rel", Schema(.string)), .required("type", Schema(.string)),
        .required("href", Schema(.string, nil, ["format": "uri-reference"])),
      ], others: nil))

  private static let landing = Schema(
    .object(
      [
        .required("title", Schema(.string)), .required("description", Schema(.string)),
        .required("links", links),
      ], others: any))

  private static let conformance = Schema(
    .object([.required("conformsTo", Schema(.array(of: Schema(.string, nil, ["format": "uri"]))))], others: any),
    "The conformance classes that the service implements.",
    example: ["conformsTo": ["http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/core"]])

  private static let systems = Schema(
    .array(of: .oneOf(ReferenceSystem.allCases.map(\.rawValue))), "Coordinate reference systems by their URIs.")

  private static let collection = Schema(
    .object(
      [
        .required("id", Schema(.string)), .required("title", Schema(.string)),
        .required("description", Schema(.string)),
        .required(
          "extent",
          Schema(
            .object(
              [
                .required(
                  "spatial",
                  Schema(
                    .object(
                      [
                        .required("bbox", Schema(.array(of: Schema(.array(of: Schema(.number)))))),
                        .required("crs", Schema(.string)),
                      ], others: any)))
              ], others: any))),
        .required("itemType", .oneOf(["feature"])), .required("crs", systems), .required("storageCrs", Schema(.string)),
        .required("links", links),
      ], others: any))

  private static let collections = Schema(
    .object(
      [
        .required("links", links), .required("crs", systems),
        .required("collections", Schema(.array(of: .component("Collection")))),
      ], others: any))

  private static let position = Schema(
    .object(
      [
        .required("type", .oneOf(["Point"])),
        .required(
          "coordinates",
          Schema(
            .array(of: Schema(.number)), "A position in the reference system of `Content-Crs`.",
            ["minItems": 2, "maxItems": 2])),
      ], others: any))

  private static let item = Schema(
    .object(
      [
        .required("type", .oneOf(["Feature"])), .required("id", uuid), .required("geometry", position),
        .required(
          "properties",
          Schema(
            .object(
              [.required("name", name), .optional("category", category)] + otherFields, others: any),
            "Tags with a declared type are members beside the others.")),
        .optional("links", links),
      ], others: any))

  private static let items = Schema(
    .object(
      [
        .required("type", .oneOf(["FeatureCollection"])),
        .required("features", Schema(.array(of: .component("FeatureItem")))),
        .optional(
          "numberMatched",
          Schema(
            .integer, "Number of features that match, on all pages; absent where a filter takes too long to count.",
            ["minimum": 0])),
        .required("numberReturned", count), .required("links", links),
      ], others: any))

  private static let featurePatch = Schema(
    .object(
      [
        .optional("type", .oneOf(["Feature"])), .optional("geometry", geometryPatch),
        .optional(
          "properties",
          Schema(
            .object(
              [
                .optional("name", name), .optional("category", category.orNull), .optional("tags", tagsDraft.orNull),
                .optional("source", source.orNull), .optional("sourceId", sourceID.orNull),
              ] + ignoredFields, others: nil))),
      ], others: any),
    "A JSON merge patch (RFC 7396) of a feature: `null` removes a value.",
    example: ["properties": ["category": "bar", "tags": ["wheelchair": "yes", "fax": nil]]])
}
