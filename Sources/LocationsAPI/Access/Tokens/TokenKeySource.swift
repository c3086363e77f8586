/// A source that may have newer token keys than those in force.
public protocol TokenKeySource: Sendable {
  /// Fetches the keys and puts them in force, unless they were fetched a moment ago.
  func refresh() async -> TokenKeyFreshness
}

/// The relation of the keys in force to those that the issuer publishes.
public enum TokenKeyFreshness: Hashable, Sendable {
  /// The keys in force are those that the issuer published a moment ago.
  case current

  /// The keys can't be fetched, so that nobody knows whether there are others.
  case unknown(retryAfterSeconds: Int)
}
