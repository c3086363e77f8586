import LocationsAPI
package import ServerFeatures

/// The calls of OGC API Features and Tiles.
package struct OGCFeature: ServerFeature {
  private static let key = Setting.Key(
    "OGC_COLLECTIONS", .text("collections"), affects: .responses, default: .described("none: `places` alone"),
    "Further collections of OGC API Features, each with its categories, such as food=cafe,restaurant;culture=museum.",
    details: "See [OGC API Features](ogc-api-features.md#collections).")

  package static let settings = [key.setting]
  package static let settingsTitle = "Filters and features"

  private let collections: PointCollections

  package init(_ settings: Settings) throws(ConfigurationError) {
    guard let collections = PointCollections(settings[Self.key] ?? "") else {
      throw settings.error(
        Self.key,
        "must be collections such as food=cafe,restaurant;culture=museum, each with a name of letters, digits, - and _"
          + " other than places")
    }
    self.collections = collections
  }

  package func parts(of core: Core) -> FeatureParts {
    FeatureParts { [collections] api in FeaturesAPI(api, collections: collections).endpoints }
  }
}
