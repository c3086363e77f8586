public import Foundation

/// What an ``APIRequestLoader`` goes by, the same for all loaders of an app. Time and chance are in it too, so that a test
/// gives its own and waits for nothing.
public struct LoaderConfiguration: Sendable {
  /// The key that is sent as `Authorization: Bearer`; `nil` sends none.
  public var apiKey: String?

  /// When calls that failed are made again.
  public var retries: RetryPolicy

  /// Where answers to reading calls are kept, to be served, marked stale, while the service can't be reached; `nil` keeps
  /// and serves none. Entity tags are remembered either way.
  public var cache: (any AnswerCache)?

  /// What waiting between tries goes by.
  public var clock: any Clock<Duration>

  /// Gives random numbers from 0 to 1, which spread the tries.
  public var random: @Sendable () -> Double

  /// Tells what time it is.
  public var now: @Sendable () -> Date

  /// Creates a configuration.
  public init(
    apiKey: String? = nil,
    retries: RetryPolicy = .standard,
    cache: (any AnswerCache)? = nil,
    clock: any Clock<Duration> = ContinuousClock(),
    random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
    now: @escaping @Sendable () -> Date = { Date() }
  ) {
    self.apiKey = apiKey
    self.retries = retries
    self.cache = cache
    self.clock = clock
    self.random = random
    self.now = now
  }
}
