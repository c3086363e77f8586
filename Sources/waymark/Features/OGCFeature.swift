import CoreMetrics
import LocationsAPI
import Logging
import OGC

/// The calls of OGC API Features and Tiles.
struct OGCFeature: ServerFeature {
  static let settings: [Setting] = []

  private let collections: PointCollections

  init(_ settings: Settings) throws(ConfigurationError) {
    guard let collections = PointCollections(settings[Setting.filters.collections] ?? "") else {
      throw settings.error(
        Setting.filters.collections,
        "must be collections such as food=cafe,restaurant;culture=museum, each with a name of letters, digits, - and _"
          + " other than places")
    }
    self.collections = collections
  }

  func add(
    to api: inout LocationsAPI.Configuration, store: RunningStore, metrics: any MetricsFactory, logger: Logger
  ) -> FeatureParts {
    FeatureParts { [collections] api in FeaturesAPI(api, collections: collections).endpoints }
  }
}
