import APIDescription
import JSONText
import LocationsAPI
import PointFormats
import Points

extension Schema {
  /// A schema of JSON Schema.
  static let jsonSchema = Schema(.object([.required("type", .oneOf(["object"]))], others: any))
    .named("JSONSchema", order: 560)

  private static let links = Schema(.array(of: .link), "Links (RFC 8288).")

  static let link = Schema(
    .object(
      [
        .required("rel", Schema(.string)), .required("type", Schema(.string)),
        .required("href", Schema(.string, nil, ["format": "uri-reference"])),
      ], others: nil)
  ).named("Link", order: 550)

  static let landing = Schema(
    .object(
      [
        .required("title", Schema(.string)), .required("description", Schema(.string)),
        .required("links", links),
      ], others: any)
  ).named("FeaturesLanding", order: 480)

  static let conformance = Schema(
    .object([.required("conformsTo", Schema(.array(of: Schema(.string, nil, ["format": "uri"]))))], others: any),
    "The conformance classes that the service implements.",
    example: ["conformsTo": ["http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/core"]]
  ).named("FeaturesConformance", order: 490)

  private static let systems = Schema(
    .array(of: .referenceSystem), "Coordinate reference systems by their URIs.")

  static let collection = Schema(
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
      ], others: any)
  ).named("Collection", order: 510)

  static let collections = Schema(
    .object(
      [
        .required("links", links), .required("crs", systems),
        .required("collections", Schema(.array(of: .collection))),
      ], others: any)
  ).named("Collections", order: 500)

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

  static let item = Schema(
    .object(
      [
        .required("type", .oneOf(["Feature"])), .required("id", uuid), .required("geometry", position),
        .required(
          "properties",
          Schema(
            .object(members(PointField.properties, required: [.name]), others: any),
            "Tags with a declared type are members beside the others.")),
        .optional("links", links),
      ], others: any)
  ).named("FeatureItem", order: 530)

  static let items = Schema(
    .object(
      [
        .required("type", .oneOf(["FeatureCollection"])),
        .required("features", Schema(.array(of: .item))),
        .optional(
          "numberMatched",
          Schema(
            .integer, "Number of features that match, on all pages; absent if a filter takes too long to count.",
            ["minimum": 0])),
        .required("numberReturned", count), .required("links", links),
      ], others: any)
  ).named("FeatureItems", order: 520)

  static let featurePatch = Schema(
    .object(
      [
        .optional("type", .oneOf(["Feature"])), .optional("geometry", geometryPatch),
        .optional("properties", Schema(.object(sentMembers(PointField.properties, isPatch: true), others: nil))),
      ], others: any),
    "A JSON merge patch (RFC 7396) of a feature: `null` removes a value.",
    example: ["properties": ["category": "bar", "tags": ["wheelchair": "yes", "fax": nil]]]
  ).named("FeaturePatch", order: 540)
}
