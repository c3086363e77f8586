import LocationsAPI
package import PrometheusMetrics
package import ServerFeatures

/// The changes of places over HTTP, as pages and as streams.
package struct ChangesFeature: ServerFeature {
  private static let maximumStreams = Setting.Key(
    "CHANGES_MAX_STREAMS", .integer(0...1_000_000), affects: .operation, default: "10000",
    "Maximum number of streams of changes; then 503.",
    details: "One client may have as many as are free beside its own. They count among the connections, but not among "
      + "the current requests. See [Changes](changes.md#streams).")

  package static let settings = [maximumStreams.setting]
  package static let settingsTitle = "Limits"
  package static let metrics = collected.map(\.description)

  private static let collected: [CollectedMetric<ChangeStreams.Counts>] = [
    .gauge("change_streams_open", "Open streams of changes.") { Double($0.open) },
    .total("change_stream_events_total", "Changes that were sent on streams.") { Double($0.events) },
    .total("change_stream_bytes_total", "Bytes that were sent on streams of changes.") { Double($0.bytes) },
    .total(
      "change_stream_lag_seconds_total",
      "Sum over the changes on streams of the time since this instance saw the change."
    ) { $0.lagSeconds },
    .total(
      "change_stream_interruptions_total",
      "Times that a stream was slower than the changes, or they were not published, and it read the change log."
    ) { Double($0.interruptions) },
    .total("change_stream_resets_total", "Positions of streams that were not known any more.") { Double($0.resets) },
  ]

  private let maximumStreams: Int

  package init(_ settings: Settings) throws(ConfigurationError) {
    maximumStreams = try settings.integer(Self.maximumStreams)
  }

  package func parts(of core: Core) -> FeatureParts {
    let streams = ChangeStreams(limit: maximumStreams, conditionBytes: core.bufferedBytes / 4)
    return FeatureParts(
      endpoints: { api in ChangeCalls(api, streams: streams).endpoints },
      collectors: [ValueCollector(Self.collected, factory: core.metrics) { streams.counts }])
  }
}
