import AccessControl
import HTTPServer
import Points

/// OGC API Features and Tiles to the places of an interface.
package struct FeaturesAPI: Sendable {
  package let endpoints: [Endpoint]

  package init(_ locations: LocationsAPI, collections: PointCollections = PointCollections()) {
    let configuration = locations.configuration
    let context = FeaturesContext(
      service: configuration.service, editor: configuration.editor, revalidation: locations.revalidation,
      program: locations.program, address: configuration.address, filtering: configuration.filtering,
      collections: collections, properties: FeatureProperties(configuration.filtering.queryables))
    let described =
      FeaturesRoute.endpoints(context, configuration.caching)
      + ItemsRoute.endpoints(context, configuration.caching, configuration.requiresIfMatch)
      + TilesetRoute.endpoints(context, locations.tiles)
    endpoints =
      described + [
        FeaturesDescription.endpoint(
          describing: described.map(\.call), context, version: configuration.version,
          openScopes: configuration.access.openScopes)
      ]
  }
}

/// The dependencies of the routes of OGC API Features.
struct FeaturesContext: Sendable {
  let service: PointsService
  let editor: PointEditor?
  let revalidation: Revalidation
  let program: ProgramTag
  let address: PublicAddress
  let filtering: Filtering
  let collections: PointCollections
  let properties: FeatureProperties

  /// Returns the collection in the path of a request.
  ///
  /// - Throws: `Problem` 404.
  func collection(of request: HTTPRequest) throws(Problem) -> PointCollection {
    let id = request.pathParameters["collection"]
    guard let collection = collections[id] else {
      throw .notFound("there is no collection '\(id.prefix(50))'")
    }
    return collection
  }
}
