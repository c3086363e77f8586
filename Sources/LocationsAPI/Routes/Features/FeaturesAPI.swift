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
