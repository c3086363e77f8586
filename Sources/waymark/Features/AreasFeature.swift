import AreasAPI
import CoreMetrics
import LocationsAPI
import Logging

/// The calls of named areas.
struct AreasFeature: ServerFeature {
  static let settings: [Setting] = []

  init(_ settings: Settings) {}

  func add(
    to api: inout LocationsAPI.Configuration, store: RunningStore, metrics: any MetricsFactory, logger: Logger
  ) -> FeatureParts {
    FeatureParts { AreasAPI($0).endpoints }
  }
}
