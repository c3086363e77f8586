import HTTPServer
import JSONText
import NIOHTTP1
import PointFormats
import Points

/// `POST /ogc/collections/{collection}/items`: creates a feature with a new id (OGC API Features, part 4).
struct CreateItemRoute: RouteHandler {
  let context: FeaturesContext
  let editor: PointEditor

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let collection = try context.collection(of: request)
    let (feature, bytes) = try await FeatureBody.read(request, context.properties)
    let draft = try FeatureBody.draft(of: feature, id: nil, in: collection)
    let key = try IdempotencyKey.read(request, of: request.principal, body: bytes)

    let point = try await request.reportingWriteErrors { () throws(PointWriteError) in
      try await editor.store.create(draft, once: key)
    }

    return context.response(written: point, wasCreated: true, in: collection, for: request)
  }
}

/// `PUT /ogc/collections/{collection}/items/{id}`: replaces a feature, or creates it with that id.
struct ReplaceItemRoute: RouteHandler {
  let context: FeaturesContext
  let editor: PointEditor
  let requiresIfMatch: Bool

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let collection = try context.collection(of: request)
    let id = try PointID(ofItem: request)
    let condition = try Preconditions.read(request.headers, isRequired: requiresIfMatch)
    let feature = try await FeatureBody.read(request, context.properties).feature
    let draft = try FeatureBody.draft(of: feature, id: id, in: collection)
    try await context.requireItem(id, orNone: true, in: collection, for: request)

    let (point, wasCreated) = try await request.reportingWriteErrors { () throws(PointWriteError) in
      try await editor.store.put(draft, id: id, if: condition)
    }

    return context.response(written: point, wasCreated: wasCreated, in: collection, for: request)
  }
}

/// `PATCH /ogc/collections/{collection}/items/{id}`: changes parts of a feature by a JSON merge patch (RFC 7396).
struct ChangeItemRoute: RouteHandler {
  let context: FeaturesContext
  let editor: PointEditor
  let requiresIfMatch: Bool

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let collection = try context.collection(of: request)
    let id = try PointID(ofItem: request)
    let condition = try Preconditions.read(request.headers, isRequired: requiresIfMatch)
    let patch = try await FeatureBody.readPatch(request, context.properties)

    let point: PointOfInterest
    do {
      point = try await editor.update(id: id, if: condition) { point throws(Problem) in
        guard collection.contains(category: point.draft.category) else {
          throw .notFound("the collection has no item with the id \(id)")
        }
        return try FeatureBody.draft(of: FeatureBody.feature(of: point).merging(patch), id: id, in: collection)
      }
    } catch {
      throw request.problem(for: error)
    }

    return context.response(written: point, wasCreated: false, in: collection, for: request)
  }
}

/// `DELETE /ogc/collections/{collection}/items/{id}`: removes a feature.
struct DeleteItemRoute: RouteHandler {
  let context: FeaturesContext
  let editor: PointEditor
  let requiresIfMatch: Bool

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let collection = try context.collection(of: request)
    let id = try PointID(ofItem: request)
    let condition = try Preconditions.read(request.headers, isRequired: requiresIfMatch)
    try await context.requireItem(id, orNone: false, in: collection, for: request)

    do {
      try await editor.store.delete(id: id, if: condition)
    } catch .conditionFailed(nil) {
      // Without the condition it would be 404 too, and that comes first (RFC 9110, section 13.2.1).
      throw .notFound("the collection has no item with the id \(id)")
    } catch {
      throw request.problem(for: error)
    }

    return HTTPResponse(status: .noContent)
  }
}

extension FeaturesContext {
  /// Checks that a place, where there is one, is in the collection. The collection of all places has every place.
  ///
  /// - Throws: `Problem` 404.
  fileprivate func requireItem(
    _ id: PointID, orNone: Bool, in collection: PointCollection, for request: HTTPRequest
  ) async throws(Problem) {
    guard !collection.categories.isEmpty else { return }
    let point = try await request.reportingStoreErrors { () throws(PointStoreError) in
      try await service.store.point(id: id)
    }
    guard let point else {
      if orNone { return }
      throw .notFound("the collection has no item with the id \(id)")
    }
    guard collection.contains(category: point.draft.category) else {
      throw .notFound("the collection has no item with the id \(id)")
    }
  }

  /// Returns the response to a write, with the feature as it is now.
  fileprivate func response(
    written point: PointOfInterest, wasCreated: Bool, in collection: PointCollection, for request: HTTPRequest
  ) -> HTTPResponse {
    let links = FeatureLinks(address, for: request)
    var response = response(point, in: collection, .crs84, .geoJSON, links)
    response.headers.add(name: "etag", value: EntityTag.of(version: point.version, format: .geoJSON))
    if wasCreated {
      response.status = .created
      response.headers.add(name: "location", value: links.collection(collection, "/items/\(point.id)"))
    }
    return response
  }
}
