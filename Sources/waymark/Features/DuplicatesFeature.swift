import CoreMetrics
import Duplicates
import LocationsAPI
import Logging

/// The calls of pairs of places that are likely the same.
struct DuplicatesFeature: ServerFeature {
  static let settings: [Setting] = []

  init(_ settings: Settings) {}

  func add(
    to api: inout LocationsAPI.Configuration, store: RunningStore, metrics: any MetricsFactory, logger: Logger
  ) -> FeatureParts {
    FeatureParts { [decisions = DuplicateDecisions(store.records)] api in
      DuplicateCalls(api, decisions: decisions).endpoints
    }
  }
}
