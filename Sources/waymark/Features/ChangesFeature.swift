import Changes
import LocationsAPI
import PrometheusMetrics
import ServerFeatures

/// The changes of places over HTTP, as pages and as streams.
struct ChangesFeature: ServerFeature {
  private let streams: ChangeStreams

  init(_ settings: Settings) throws(ConfigurationError) {
    let bufferedBytes = try settings.integer(
      Setting.limits.bufferedBytes, default: AvailableMemory.ofProcess.defaultBufferedBytes)
    streams = ChangeStreams(
      limit: try settings.integer(Setting.limits.changeStreams), conditionBytes: bufferedBytes / 4)
  }

  func add(to api: inout LocationsAPI.Configuration, of core: Core) -> FeatureParts {
    FeatureParts(
      endpoints: { [streams] api in ChangeCalls(api, streams: streams).endpoints },
      collectors: [ValueCollector(MetricCatalogue.changeStreams, factory: core.metrics) { [streams] in streams.counts }]
    )
  }
}
