import CoreMetrics
import LocationsAPI
import Logging
import Maps

/// The calls by which maps show places.
struct MapsFeature: ServerFeature {
  static let settings: [Setting] = []

  init(_ settings: Settings) {}

  func add(
    to api: inout LocationsAPI.Configuration, store: RunningStore, metrics: any MetricsFactory, logger: Logger
  ) -> FeatureParts {
    FeatureParts { MapCalls($0).endpoints }
  }
}
