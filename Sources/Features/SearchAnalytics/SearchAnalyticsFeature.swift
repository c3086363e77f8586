import LocationsAPI
package import ServerFeatures

/// The report of the searches that analytics keep.
package struct SearchAnalyticsFeature: ServerFeature {
  package init(_ settings: Settings) {}

  package func parts(of core: Core) -> FeatureParts {
    FeatureParts { [history = core.searches] api in SearchReportCalls(api, history: history).endpoints }
  }
}
