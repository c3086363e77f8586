import LocationsAPI
import SearchAnalytics
import ServerFeatures

/// The report of the searches that analytics keep.
struct SearchAnalyticsFeature: ServerFeature {
  init(_ settings: Settings) {}

  func parts(of core: Core) -> FeatureParts {
    FeatureParts { [history = core.searches] api in SearchReportCalls(api, history: history).endpoints }
  }
}
