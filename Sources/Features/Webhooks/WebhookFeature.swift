package import ArgumentParser
import LocationsAPI
import Points
package import PrometheusMetrics
package import ServerFeatures

/// Webhooks: their calls, the messages to them, and the metrics of these.
package struct WebhookFeature: ServerFeature {
  private static let allowedNetworks = Setting.Key(
    "WEBHOOK_ALLOWED_NETWORKS", .list("networks"), affects: .operation, default: .described("none: the Internet alone"),
    "Private addresses and networks, separated by commas, that webhooks may be sent to, such as 10.1.0.0/16.",
    details: "Without TLS too. See [Webhooks](webhooks.md#addresses).")

  package static let settings = [allowedNetworks.setting]
  package static let needsKeptPlaces = true
  package static let metrics = collected.map(\.description)
  package static let command: (any ParsableCommand.Type)? = WebhooksCommand.self

  private static let collected: [CollectedMetric<WebhookSender.Counts>] = [
    .total(
      "webhook_deliveries_total", "Attempts to send messages to webhooks, by outcome.", by: "outcome",
      ["ok": { Double($0.sent) }, "failed": { Double($0.failed) }]),
    .gauge(
      "webhook_lag_seconds",
      "Age of the oldest message that an enabled webhook has not received; 0 on instances that do not send."
    ) { $0.lagSeconds },
    .gauge("webhooks_disabled", "Webhooks that nothing is sent to; 0 on instances that do not send.") {
      Double($0.disabled)
    },
  ]

  private let networks: WebhookNetworks

  /// The file of the authorities that may have signed the certificates of webhooks.
  private let authorities: AuthorityFile?

  package init(_ settings: Settings) throws(ConfigurationError) {
    networks = WebhookNetworks(allowed: try settings.networks(Self.allowedNetworks))
    let authorities = Setting.client.authorities
    self.authorities = settings[authorities].map { AuthorityFile(variable: authorities.setting.name, path: $0) }
  }

  /// Adds calls that are 501 if the store does not keep records.
  package func parts(of core: Core) -> FeatureParts {
    let sources = core.messageSources
    guard core.keepsRecords else {
      return FeatureParts { WebhookCalls($0, sender: nil, sources: sources).endpoints }
    }
    let sender = WebhookSender(
      store: WebhookRecords(core.records), changes: core.changes,
      sources: sources, transport: WebhookRequests(networks: networks, authorities: authorities),
      conditions: { [filtering = core.filtering, areas = core.areas] filter in
        try await WebhookFilter.conditions(of: filter, filtering, areas)
      },
      placeURL: { [address = core.address] id in address.target(path: "/locations/\(id)") },
      logger: core.logger)
    return FeatureParts(
      endpoints: { WebhookCalls($0, sender: sender, sources: sources).endpoints },
      collectors: [ValueCollector(Self.collected, factory: core.metrics) { sender.counts }],
      services: [BackgroundService { await sender.run() }])
  }
}
