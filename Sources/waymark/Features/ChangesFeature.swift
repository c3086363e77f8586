import Changes
import CoreMetrics
import LocationsAPI
import Logging
import PrometheusMetrics

/// The changes of places over HTTP, as pages and as streams.
struct ChangesFeature: ServerFeature {
  static let settings: [Setting] = []

  private let streams: ChangeStreams

  init(_ settings: Settings) throws(ConfigurationError) {
    let bufferedBytes = try settings.integer(
      Setting.limits.bufferedBytes, default: AvailableMemory.ofProcess.defaultBufferedBytes)
    streams = ChangeStreams(
      limit: try settings.integer(Setting.limits.changeStreams), conditionBytes: bufferedBytes / 4)
  }

  func add(
    to api: inout LocationsAPI.Configuration, store: RunningStore, metrics: any MetricsFactory, logger: Logger
  ) -> FeatureParts {
    FeatureParts(
      endpoints: { [streams] api in ChangeCalls(api, streams: streams).endpoints },
      collectors: [ValueCollector(MetricCatalogue.changeStreams, factory: metrics) { [streams] in streams.counts }])
  }
}
