import JSONText
import NIOHTTP1
import PointFormats

extension BodyDescription {
  fileprivate static let draft = BodyDescription(
    description: "The place. Fields that the service sets are ignored.",
    media: [
      .init(.json, .component("PlaceDraft"), example: Examples.draft),
      .init(.geoJSON, .component("FeatureDraft"), example: Examples.newFeature),
    ])
}

extension [HeaderDescription] {
  fileprivate static let written: [HeaderDescription] = [.entityTag.required, .position]
}

extension CallDescription {
  private static let changeProblems = ProblemDescription.parameters.union(ProblemDescription.change)

  static let writing: [CallDescription] = [
    CallDescription(
      method: .POST, path: "/locations", id: "createLocation", group: .write, summary: "Create a place",
      description: "The service gives the id; one in the body is ignored.",
      requestHeaders: [.idempotencyKey],
      body: .draft,
      responses: [.init(201, "The new place.", headers: [.location.required] + .written, media: .place)],
      problems: changeProblems.union(ProblemDescription.body).union(ProblemDescription.idempotency)
        .union(ProblemDescription.acceptance)),
    CallDescription(
      method: .PUT, path: "/locations/{id}", id: "replaceLocation", group: .write,
      summary: "Replace a place, or create it with this id",
      requestHeaders: [.ifMatch, .ifAbsent],
      body: .draft,
      responses: [
        .init(200, "The replaced place.", headers: .written, media: .place),
        .init(201, "The new place.", headers: [.location.required] + .written, media: .place),
      ],
      problems: changeProblems.union(ProblemDescription.body).union(ProblemDescription.preconditions)
        .union(ProblemDescription.acceptance).union([.init(409, .conflict)])),
    CallDescription(
      method: .PATCH, path: "/locations/{id}", id: "changeLocation", group: .write, summary: "Change fields of a place",
      description: "A JSON merge patch (RFC 7396). Concurrent patches without a condition are all applied.",
      requestHeaders: [.ifMatch, .ifAbsent],
      body: BodyDescription(
        description: "The fields to change.",
        media: [
          .init("application/merge-patch+json", .component("PlacePatch")), .init(.json, .component("PlacePatch")),
        ]),
      responses: [.init(200, "The changed place.", headers: .written, media: .place)],
      problems: changeProblems.union(ProblemDescription.body).union(ProblemDescription.preconditions)
        .union(ProblemDescription.acceptance).union([.notFound, .init(409, .conflict)])),
    CallDescription(
      method: .DELETE, path: "/locations/{id}", id: "deleteLocation", group: .write, summary: "Delete a place",
      requestHeaders: [.ifMatch, .ifAbsent],
      responses: [.init(204, "The place is deleted.", headers: [.position])],
      problems: changeProblems.union(ProblemDescription.preconditions).union([.notFound])),
    CallDescription(
      method: .DELETE, path: "/locations", id: "deleteSource", group: .write,
      summary: "Delete all places of a data set",
      description:
        "In batches. If one fails, the problem's `deleted` is the number of places deleted before; repeating the"
        + " request deletes the rest.",
      parameters: ["source": Parameter.source.description.required],
      responses: [
        .init(200, "The number of deleted places.", headers: [.position], media: .json(.component("Deletion")))
      ],
      problems: changeProblems.union([.init(412, .versionMismatch)])),
  ]

  static let transfer: [CallDescription] = [
    CallDescription(
      method: .POST, path: "/locations/import", id: "importLocations", group: .transfer, summary: "Import places",
      description:
        "A stream of places of any length, with `Content-Encoding: gzip` or without. A row replaces the place with its"
        + " `id`, or with its `source` and `sourceId`, or else creates one.",
      parameters: [
        "source": .init(
          "Name of the data set of the rows that name none; their `sourceId` is their id in it.",
          .rowOption(example: "waymark-sample"))
      ],
      requestHeaders: [.idempotencyKey],
      body: BodyDescription(
        description: "The places.",
        media: [
          .init(.ndjson, Schema(.any, "A JSON object a line."), example: Examples.ndjson),
          .init(.geoJSON, Schema(.object([], others: Schema(.any))), example: Examples.collection),
          .init(.geoJSONSequence, Schema(.any, "Features (RFC 8142)."), example: Examples.sequence),
          .init(.csv, Schema(.any, "A header row and a row for each place (RFC 4180)."), example: Examples.csv),
          .init(.json, Schema(.array(of: Schema(.any))), example: [Examples.draft]),
        ]),
      responses: [
        .init(200, "What became of the rows.", headers: [.position], media: .json(.component("ImportReport")))
      ],
      problems: changeProblems.union(ProblemDescription.body).union(ProblemDescription.idempotency)),
    CallDescription(
      method: .GET, path: "/locations/export", id: "exportLocations", group: .transfer, summary: "Export places",
      description: "All places that match the filters, as a stream. An import reads it again.",
      parameters: ["f": .format(PointFormat.exports)],
      requestHeaders: [.minimumPosition],
      responses: [
        .init(
          200, "The places.", headers: [.contentDisposition.required, .age] + HeaderDescription.caching,
          media: [
            .init(.ndjson, Schema(.string, "A JSON object a line."), example: Examples.ndjson),
            .init(.geoJSON, .component("FeatureCollection"), example: Examples.collection),
            .init(.geoJSONSequence, Schema(.string, "Features (RFC 8142)."), example: Examples.sequence),
            .init(.csv, Schema(.string, "A header row and a row for each place (RFC 4180)."), example: Examples.csv),
            .init(.json, Schema(.array(of: .component("Place"))), example: [Examples.place]),
          ])
      ],
      problems: ProblemDescription.parameters.union(ProblemDescription.store).union(ProblemDescription.acceptance)
        .union(ProblemDescription.filter)),
  ]
}
