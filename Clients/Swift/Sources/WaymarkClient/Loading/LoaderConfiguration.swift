public import Foundation

/// The configuration of a ``Waymark`` client or of an ``APIRequestLoader``. It includes the clocks and the random
/// numbers, so that tests can replace them.
///
/// ```swift
/// var configuration = LoaderConfiguration(credentials: .apiKey(key), retries: .none)
/// configuration.totalTimeout = .seconds(5)
/// let waymark = Waymark(baseURL: baseURL, configuration: configuration)
/// ```
public struct LoaderConfiguration: Sendable {
  /// The credentials; `nil` for none.
  public var credentials: Credentials?

  /// The policy for retries.
  public var retries: APIRetryPolicy

  /// The cache of responses to GET requests, which are returned, marked as stale, while the service is unreachable;
  /// `nil` for no cache. Entity tags are used either way.
  public var cache: OnDiskCache? {
    get { storage as? OnDiskCache }
    set { storage = newValue }
  }

  /// ``cache``, or another one in tests.
  package var storage: (any ResponseCache)?

  /// A Boolean value that indicates whether every request that needs the network fails.
  var sendsNothing = false

  /// A Boolean value that indicates whether responses are stored; not those of a bulk read.
  var storesResponses = true

  /// The choice between the network and the cache.
  public var offlinePolicy: OfflinePolicy

  /// The interceptors. They prepare a request in this order, and observe its outcome in the reverse order.
  public var interceptors: [any APIInterceptor] = []

  /// The maximum time of a request with all its attempts, redirects and delays; `nil` for any. It bounds slow bodies,
  /// too.
  public var totalTimeout: Duration? = .seconds(30)

  /// The maximum time in seconds without any progress of an attempt.
  public var idleTimeout: TimeInterval = 15

  /// The maximum size of a response's body, decompressed. The transfer of a larger one is cancelled.
  public var maximumResponseBytes = 32 << 20

  /// The position of a write, ``APIResponse/position``, that responses must include; `nil` for any. It matters with
  /// several instances of the service.
  public var minimumPosition: String?

  /// The clock for the delays between attempts.
  public var clock: any Clock<Duration>

  /// The clock for ``totalTimeout`` and the deadline of ``offlinePolicy``.
  public var timeoutClock: any Clock<Duration> = ContinuousClock()

  /// Returns random numbers from 0 to 1, for the jitter of retries.
  public var random: @Sendable () -> Double

  /// Returns the current time.
  public var now: @Sendable () -> Date

  /// Creates a configuration. Properties that are not parameters have their default values.
  public init(
    credentials: Credentials? = nil,
    retries: APIRetryPolicy = .standard,
    cache: OnDiskCache? = nil,
    offlinePolicy: OfflinePolicy = .networkFirst,
    clock: any Clock<Duration> = ContinuousClock(),
    random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
    now: @escaping @Sendable () -> Date = { Date() }
  ) {
    self.credentials = credentials
    self.retries = retries
    storage = cache
    self.offlinePolicy = offlinePolicy
    self.clock = clock
    self.random = random
    self.now = now
  }
}
