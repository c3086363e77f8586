import Foundation

/// The choice between the network and stored responses.
///
/// A policy applies to a client with an ``OnDiskCache``. The service is unreachable if there is no connection, if
/// something else responds in its place, such as the sign-in page of a network, or if the provider of the
/// ``Credentials`` has no token yet and fails. Whatever the policy is, a rejection such as status 403 is never replaced
/// by a stored response.
///
/// ```swift
/// var waymark = Waymark(baseURL: baseURL, cache: OnDiskCache(named: "Waymark"))
/// waymark.configuration.offlinePolicy = .staleIfError
/// waymark.configuration.offlinePolicy.deadline = .seconds(2)
/// ```
public struct OfflinePolicy: Hashable, Sendable {
  /// The order in which network and cache are used.
  package enum Strategy: Hashable, Sendable {
    /// The network, and a stored response while the service is unreachable.
    case networkFirst

    /// The network, and a stored response while the service is unreachable or fails with status 500, 502, 503 or 504
    /// (RFC 5861, section 4).
    case staleIfError

    /// A stored response up to the given age, or up to its own freshness lifetime if that is shorter, and else
    /// as with ``networkFirst``.
    case cacheFirst(maximumAge: Duration)

    /// A stored response, and never the network.
    case cacheOnly
  }

  /// The order in which network and cache are used.
  package var strategy: Strategy

  /// The maximum age of a stored response; older ones are not used.
  public var maximumAge: Duration

  /// The maximum distance in metres between the coordinates of a request and of the stored response that is used for
  /// it. The places of that response are sorted by their distance from the request's coordinate.
  public var maximumDistanceMetres: Double

  /// The time that the network has, with all retries and the provider of the ``Credentials``, if there is a stored
  /// response. Without one, a request may take longer.
  public var deadline: Duration

  package init(
    _ strategy: Strategy = .networkFirst,
    maximumAge: Duration = .seconds(30 * 24 * 60 * 60),
    maximumDistanceMetres: Double = 1000,
    deadline: Duration = .seconds(10)
  ) {
    self.strategy = strategy
    self.maximumAge = maximumAge
    self.maximumDistanceMetres = maximumDistanceMetres
    self.deadline = deadline
  }

  /// The network, and a stored response while the service is unreachable.
  public static let networkFirst = OfflinePolicy(.networkFirst)

  /// The network, and a stored response while the service is unreachable or fails.
  public static let staleIfError = OfflinePolicy(.staleIfError)

  /// Stored responses only.
  public static let cacheOnly = OfflinePolicy(.cacheOnly)

  /// Returns the policy that uses the network only if there is no stored response up to an age.
  ///
  /// ```swift
  /// var waymark = Waymark(baseURL: baseURL, cache: OnDiskCache(named: "Waymark"))
  /// waymark.configuration.offlinePolicy = .cacheFirst(maximumAge: .seconds(3600))
  /// ```
  public static func cacheFirst(maximumAge: Duration) -> OfflinePolicy {
    OfflinePolicy(.cacheFirst(maximumAge: maximumAge))
  }

  /// The policy that asks the network before it uses a stored response, if it uses the network at all.
  var confirming: OfflinePolicy {
    guard case .cacheFirst = strategy else { return self }
    var policy = self
    policy.strategy = .networkFirst
    return policy
  }

  /// Returns whether a stored response may be used instead of an error.
  func covers(_ error: WaymarkError) -> Bool {
    switch error {
    case .unreachable(let code, _): Self.isUnreachable(code)
    case .notReached: true
    case .problem(let problem): coversStatus(problem.status)
    case .unexpectedStatus(let status, _): coversStatus(status)
    case .unreadable, .tooLarge, .untrustedLink, .repeatedPage, .untrustedRedirect: false
    }
  }

  private func coversStatus(_ status: Int) -> Bool {
    strategy == .staleIfError && [500, 502, 503, 504].contains(status)
  }

  /// Returns whether an error means that there was no connection.
  private static func isUnreachable(_ code: URLError.Code) -> Bool {
    switch code {
    case .notConnectedToInternet, .networkConnectionLost, .timedOut, .cannotFindHost, .cannotConnectToHost,
      .dnsLookupFailed, .internationalRoamingOff, .callIsActive, .dataNotAllowed:
      true
    default: false
    }
  }
}
