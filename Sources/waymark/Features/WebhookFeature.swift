import ArgumentParser
import CoreMetrics
import LocationsAPI
import Logging
import Points
import PrometheusMetrics
import Webhooks

/// Webhooks: their calls, the messages to them, and the metrics of these.
struct WebhookFeature: ServerFeature {
  private static let allowedNetworks = Setting.Key(
    "WEBHOOK_ALLOWED_NETWORKS", .list("networks"), affects: .operation, default: .described("none: the Internet alone"),
    "Private addresses and networks, with commas between, that webhooks may be sent to, such as 10.1.0.0/16.",
    details: "Without TLS too. See [Webhooks](webhooks.md#addresses).")

  static let settings = [allowedNetworks.setting]
  static let needsKeptPlaces = true
  static let metrics = [WebhookCollector.deliveries, WebhookCollector.lag, WebhookCollector.disabled]
  static let command: (any ParsableCommand.Type)? = WebhooksCommand.self

  private let networks: WebhookNetworks

  /// The file of the authorities that may have signed the certificates of webhooks.
  private let authorities: AuthorityFile?

  init(_ settings: Settings) throws(ConfigurationError) {
    networks = WebhookNetworks(allowed: try settings.networks(Self.allowedNetworks))
    let authorities = Setting.client.authorities
    self.authorities = settings[authorities].map { AuthorityFile(variable: authorities.setting.name, path: $0) }
  }

  /// Adds nothing if the store does not keep records.
  func add(
    to api: inout LocationsAPI.Configuration, store: RunningStore, metrics: any MetricsFactory, logger: Logger
  ) -> FeatureParts {
    guard store.keepsRecords else { return FeatureParts() }
    let sender = WebhookSender(
      store: Webhooks(store.records), changes: store.changes,
      suggestions: { [suggestions = Suggestions(store.records)] now throws(PointStoreError) in
        try await suggestions.open(at: now)
      }, transport: WebhookRequests(networks: networks, authorities: authorities),
      conditions: { [filtering = api.filtering, areas = store.areas] filter in
        try await WebhookFilter.conditions(of: filter, filtering, areas)
      },
      placeURL: { [address = api.address] id in address.target(path: "/locations/\(id)") },
      logger: logger)
    api.webhooks = sender
    return FeatureParts(
      collectors: [WebhookCollector(sender, factory: metrics)], services: [BackgroundService { await sender.run() }])
  }
}

/// Collects the numbers of messages to webhooks.
private struct WebhookCollector: MetricsCollector {
  static let deliveries = MetricDescription(
    "webhook_deliveries_total", "Attempts to send messages to webhooks, by outcome.")
  static let lag = MetricDescription(
    "webhook_lag_seconds",
    "Age of the oldest message that an enabled webhook has not received; 0 on instances that do not send.")
  static let disabled = MetricDescription(
    "webhooks_disabled", "Webhooks that nothing is sent to; 0 on instances that do not send.")

  private let sender: WebhookSender
  private let sent, failed: TotalFollower
  private let lag, disabled: Meter

  init(_ sender: WebhookSender, factory: any MetricsFactory) {
    self.sender = sender
    sent = TotalFollower(Self.deliveries, [("outcome", "ok")], factory: factory)
    failed = TotalFollower(Self.deliveries, [("outcome", "failed")], factory: factory)
    lag = Meter(label: Self.lag.name, factory: factory)
    disabled = Meter(label: Self.disabled.name, factory: factory)
  }

  func collect() async {
    let counts = sender.counts
    sent.follow(Double(counts.sent))
    failed.follow(Double(counts.failed))
    lag.set(counts.lagSeconds)
    disabled.set(counts.disabled)
  }
}
