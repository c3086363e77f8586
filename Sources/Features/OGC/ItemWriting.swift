import APIDescription
import HTTPServer
import JSONText
import LocationsAPI
import ManagementAPI
import NIOHTTP1
import PointFormats
import Points

extension BodyDescription {
  fileprivate static let feature = BodyDescription(
    description: "The feature. Properties that the service sets are ignored.",
    media: [
      .init(.geoJSON, .featureDraft, example: Examples.newFeature),
      .init(.json, .featureDraft, example: Examples.newFeature),
    ])
}

extension ResponseDescription {
  fileprivate static func writtenItem(_ status: Int, _ description: String) -> ResponseDescription {
    .written(
      status, description, headers: [.contentCRS.required], media: [.init(.geoJSON, .item)])
  }
}

/// The dependencies of the handlers that change items.
struct ItemEditing {
  let context: FeaturesContext
  let requiresIfMatch: Bool

  /// Returns the item that a request changes, and the condition of the change.
  ///
  /// - Throws: `Problem` 400, 404 or 428.
  fileprivate func target(of request: HTTPRequest) throws(Problem) -> ItemTarget {
    try ParameterValues(request, allowing: []).check()
    return ItemTarget(
      collection: try context.collection(of: request), id: try PointID(ofItem: request),
      condition: try Preconditions.read(request.headers, isRequired: requiresIfMatch))
  }
}

/// An item that a request changes, and the condition of the change.
private struct ItemTarget {
  let collection: PointCollection
  let id: PointID
  let condition: WriteCondition
}

/// `POST /ogc/collections/{collection}/items`: creates a feature with a new id (OGC API Features, part 4).
struct CreateItemRoute: CallHandler {
  static let call = Call(
    .POST, "/ogc/collections/{collection}/items", scope: .write, joinsRestriction: true, id: "createItem",
    group: .features,
    summary: "Create a feature", description: "The service gives the id; one in the body is ignored.",
    describing: ["collection": .collection], requestHeaders: [.featureCRS], body: .feature,
    responses: [.writtenItem(201, "The new feature.")])

  let editing: ItemEditing

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let context = editing.context
    let collection = try context.collection(of: request)
    let (feature, bytes) = try await FeatureBody.read(request, context.properties)
    let draft = try FeatureBody.draft(of: feature, id: nil, in: collection)
    // Another reference system makes the same body another feature.
    let key = try IdempotencyKey.read(
      request, of: request.principal, body: bytes, variant: request.headers.first(name: "content-crs"))

    let point = try await request.writeResult(
      isFeature: true, of: await context.service.create(draft, once: key))

    return context.response(written: point, wasCreated: true, in: collection, for: request)
  }
}

/// `PUT /ogc/collections/{collection}/items/{id}`: replaces a feature, or creates it with that id.
struct ReplaceItemRoute: CallHandler {
  static let call = Call(
    .PUT, "/ogc/collections/{collection}/items/{id}", scope: .write, joinsRestriction: true, id: "replaceItem",
    group: .features,
    summary: "Replace a feature, or create it with this id", describing: ["collection": .collection],
    requestHeaders: [.featureCRS], body: .feature,
    responses: [.writtenItem(200, "The replaced feature."), .writtenItem(201, "The new feature.")])

  let editing: ItemEditing

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let context = editing.context
    let target = try editing.target(of: request)
    let feature = try await FeatureBody.read(request, context.properties).feature
    let draft = try FeatureBody.draft(of: feature, id: target.id, in: target.collection)
    try await context.requireItem(target, orNone: true, for: request)

    let (point, wasCreated) = try await request.writeResult(
      isFeature: true, of: await context.service.put(draft, id: target.id, if: target.condition))

    return context.response(written: point, wasCreated: wasCreated, in: target.collection, for: request)
  }
}

/// `PATCH /ogc/collections/{collection}/items/{id}`: changes parts of a feature by a JSON merge patch (RFC 7396).
struct ChangeItemRoute: CallHandler {
  static let call = Call(
    .PATCH, "/ogc/collections/{collection}/items/{id}", scope: .write, joinsRestriction: true, id: "changeItem",
    group: .features,
    summary: "Change members of a feature", description: "A JSON merge patch (RFC 7396).",
    describing: ["collection": .collection], requestHeaders: [.featureCRS],
    body: BodyDescription(
      description: "The members to change.",
      media: ["application/merge-patch+json", "application/geo+json", "application/json"].map {
        .init($0, .featurePatch)
      }),
    responses: [.writtenItem(200, "The changed feature.")])

  let editing: ItemEditing

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let context = editing.context
    let target = try editing.target(of: request)
    let patch = try await FeatureBody.readPatch(request, context.properties)

    let point = try await request.reportingUpdateErrors(isFeature: true) { () throws(PointUpdateError<Problem>) in
      try await context.service.update(id: target.id, if: target.condition) { point throws(Problem) in
        guard target.collection.contains(category: point.draft.category) else {
          throw .noItem(target.id)
        }
        let feature = ConvertedFeature(
          value: try FeatureBody.feature(of: point).merging(patch.value), ownTags: patch.ownTags)
        return try FeatureBody.draft(of: feature, id: target.id, in: target.collection)
      }
    }

    return context.response(written: point, wasCreated: false, in: target.collection, for: request)
  }
}

/// `DELETE /ogc/collections/{collection}/items/{id}`: removes a feature.
struct DeleteItemRoute: CallHandler {
  static let call = Call(
    .DELETE, "/ogc/collections/{collection}/items/{id}", scope: .write, joinsRestriction: true, id: "deleteItem",
    group: .features,
    summary: "Delete a feature", describing: ["collection": .collection],
    responses: [.init(204, "The feature is deleted.")])

  let editing: ItemEditing

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let context = editing.context
    let target = try editing.target(of: request)
    try await context.requireItem(target, orNone: false, for: request)
    return try await context.service.delete(
      id: target.id, if: target.condition, orThrow: .noItem(target.id), for: request)
  }
}

extension FeaturesContext {
  /// Checks that a place, where there is one, is in the collection. The collection of all places has every place.
  ///
  /// - Throws: `Problem` 404.
  fileprivate func requireItem(
    _ target: ItemTarget, orNone: Bool, for request: HTTPRequest
  ) async throws(Problem) {
    guard !target.collection.categories.isEmpty else { return }
    let point = try await request.result(of: await service.point(id: target.id, notBefore: request.minimumPosition))
    if point == nil, orNone { return }
    guard let point, target.collection.contains(category: point.draft.category) else { throw .noItem(target.id) }
  }

  /// Returns the response to a write, with the feature as it is now.
  fileprivate func response(
    written point: PointOfInterest, wasCreated: Bool, in collection: PointCollection, for request: HTTPRequest
  ) -> HTTPResponse {
    let links = FeatureLinks(address, for: request)
    var response = response(point, in: collection, .crs84, .geoJSON, links)
    response.addWritten(
      etag: EntityTag.of(version: point.version, format: .geoJSON, program: program),
      createdAt: wasCreated ? links.collection(collection, "/items/\(point.id)") : nil)
    return response
  }
}
