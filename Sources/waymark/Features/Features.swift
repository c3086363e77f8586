import ArgumentParser
import Basics
import CoreMetrics
import LocationsAPI
import Logging
import PrometheusMetrics

/// The features that the server can do without, in the order of the documentation. Those that offer what messages tell
/// come before those that send messages, and pages before others in HTML.
enum Features {
  static let all: [any ServerFeature.Type] = [
    MCPFeature.self, MapsFeature.self, PagesFeature.self,
    ChangesFeature.self, AreasFeature.self, DuplicatesFeature.self, SuggestedEditsFeature.self, WebhookFeature.self,
    SearchAnalyticsFeature.self, BackupFeature.self, OGCFeature.self, PhotonFeature.self,
  ]
}

/// The values of a feature's settings, and what the feature adds to the server.
///
/// The settings, the metrics and the commands of the program are collected from here. In the program, only the feature's
/// own files and ``Features`` name it.
protocol ServerFeature: Sendable {
  /// The settings, which the documentation shows among those of places.
  static var settings: [Setting] { get }

  /// A Boolean value that indicates whether the settings have an effect only if places are kept.
  static var needsKeptPlaces: Bool { get }

  /// The metrics that its collectors update.
  static var metrics: [MetricDescription] { get }

  /// A command that calls a running server.
  static var command: (any ParsableCommand.Type)? { get }

  init(_ settings: Settings) throws(ConfigurationError)

  /// Returns what the feature adds to the server. The configuration has the addresses and the filters.
  ///
  /// - Throws: ``ConfigurationError`` for a file that can't be used.
  func add(
    to api: inout LocationsAPI.Configuration, store: RunningStore, metrics: any MetricsFactory, logger: Logger
  ) throws(ConfigurationError) -> FeatureParts
}

extension ServerFeature {
  static var needsKeptPlaces: Bool { false }
  static var metrics: [MetricDescription] { [] }
  static var command: (any ParsableCommand.Type)? { nil }
}

/// What a feature adds to the server.
struct FeatureParts {
  /// Returns the calls to places: to all, or to those that a key with a filter sees.
  var endpoints: @Sendable (LocationsAPI) -> [Endpoint] = { _ in [] }
  var collectors: [any MetricsCollector] = []
  var services: [BackgroundService] = []

  /// Records ``StatusTotals``, the time between two records.
  var totals: (interval: Duration, record: @Sendable ([ExactText: Double]) -> Void)?
}
