import CoreMetrics
import LocationsAPI
import Logging
import SearchAnalytics

/// The report of the searches that analytics keep.
struct SearchAnalyticsFeature: ServerFeature {
  static let settings: [Setting] = []

  init(_ settings: Settings) {}

  func add(
    to api: inout LocationsAPI.Configuration, store: RunningStore, metrics: any MetricsFactory, logger: Logger
  ) -> FeatureParts {
    FeatureParts { [history = store.searchLog] api in SearchReportCalls(api, history: history).endpoints }
  }
}
