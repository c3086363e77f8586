import CoreMetrics
import LocationsAPI
import Logging
import ServiceLifecycle

/// Keeps the token keys of an address up to date until the process is told to stop.
struct TokenKeyRefreshing: Service {
  let keys: RemoteTokenKeys<ContinuousClock>

  func run() async throws {
    await cancelWhenGracefulShutdown { await keys.run() }
  }
}

extension Reloading.Part {
  /// The keys of an address that tokens are verified with.
  static func tokenKeys(_ keys: RemoteTokenKeys<ContinuousClock>) -> Self {
    Self(name: "the set of token keys") { ["keys": .stringConvertible(try await keys.reload())] }
  }
}

/// The metrics of the token keys of an address.
struct TokenKeyCollector: MetricsCollector {
  private let source: RemoteTokenKeys<ContinuousClock>
  private let keys: Meter
  private let successes, failures: TotalFollower

  init(_ source: RemoteTokenKeys<ContinuousClock>, factory: any MetricsFactory) {
    func fetches(_ outcome: String) -> TotalFollower {
      TotalFollower(
        FloatingPointCounter(
          label: MetricCatalogue.tokenKeyFetches, dimensions: [("outcome", outcome)], factory: factory))
    }
    self.source = source
    keys = Meter(label: MetricCatalogue.tokenKeys, factory: factory)
    successes = fetches("ok")
    failures = fetches("failed")
  }

  func collect() async {
    let counts = await source.counts
    keys.set(counts.keys)
    successes.follow(Double(counts.successes))
    failures.follow(Double(counts.failures))
  }
}
