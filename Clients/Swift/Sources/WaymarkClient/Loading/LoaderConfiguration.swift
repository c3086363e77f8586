public import Foundation

/// The configuration of an ``APIRequestLoader``, usually shared by all loaders of an app. It includes the clock and the
/// random numbers, so that tests can replace them.
public struct LoaderConfiguration: Sendable {
  /// The API key, sent as `Authorization: Bearer`; `nil` for none.
  public var apiKey: String?

  /// The policy for retries.
  public var retries: APIRetryPolicy

  /// The cache of responses to GET requests, which are returned, marked as stale, while the service is unreachable;
  /// `nil` for no cache. Entity tags are used either way.
  public var cache: (any ResponseCache)?

  /// The choice between the network and the cache.
  public var offlinePolicy: OfflinePolicy

  /// The clock for the delays between attempts.
  public var clock: any Clock<Duration>

  /// Returns random numbers from 0 to 1, for the jitter of retries.
  public var random: @Sendable () -> Double

  /// Returns the current time.
  public var now: @Sendable () -> Date

  /// Creates a configuration.
  public init(
    apiKey: String? = nil,
    retries: APIRetryPolicy = .standard,
    cache: (any ResponseCache)? = nil,
    offlinePolicy: OfflinePolicy = .networkFirst,
    clock: any Clock<Duration> = ContinuousClock(),
    random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
    now: @escaping @Sendable () -> Date = { Date() }
  ) {
    self.apiKey = apiKey
    self.retries = retries
    self.cache = cache
    self.offlinePolicy = offlinePolicy
    self.clock = clock
    self.random = random
    self.now = now
  }
}
