public import Geo

/// What the service does with places, whoever asks and wherever the places are kept.
public struct PointsService: Sendable {
  private let store: any PointStore
  private let analytics: any Analytics
  private let clock: any WallClock
  private let uptime: @Sendable () -> Duration

  /// Creates a service over a store.
  ///
  /// - Parameters:
  ///   - store: where the places are kept.
  ///   - analytics: what is told of each search.
  ///   - clock: the time of day, which decides the featured place.
  ///   - uptime: a time that never jumps, which searches are timed by.
  public init(
    store: any PointStore,
    analytics: any Analytics = NoAnalytics(),
    clock: any WallClock = SystemClock(),
    uptime: @escaping @Sendable () -> Duration = monotonicTime
  ) {
    self.store = store
    self.analytics = analytics
    self.clock = clock
    self.uptime = uptime
  }

  /// One page of the places that match, in the query's order.
  ///
  /// - Throws: ``PointStoreError``.
  public func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage {
    let start = uptime()
    let page = try await store.page(matching: query)
    analytics.record(Search(query, found: page.points.count, took: uptime() - start))
    return page
  }

  /// The same page as ``page(matching:)``, of each place only what answers carry unless asked for more.
  ///
  /// - Throws: ``PointStoreError``.
  public func summaries(matching query: PointQuery) async throws(PointStoreError) -> SummaryPage {
    let start = uptime()
    let page = try await store.summaries(matching: query)
    analytics.record(Search(query, found: page.summaries.count, took: uptime() - start))
    return page
  }

  /// The place of that id, or `nil`.
  ///
  /// - Throws: ``PointStoreError``.
  public func point(id: PointID) async throws(PointStoreError) -> PointOfInterest? {
    try await store.point(id: id)
  }

  /// The nearest place within a distance of a coordinate, or `nil`: whether who stands there is at a point of interest.
  ///
  /// - Throws: ``PointStoreError``.
  public func nearestPoint(
    to coordinate: Coordinate, withinMetres radius: Double
  ) async throws(PointStoreError) -> FoundPoint? {
    let proximity = PointQuery.Proximity(center: coordinate, radiusMetres: radius)
    return try await page(matching: PointQuery(proximity: proximity, limit: 1)).points.first
  }

  /// The featured place of the moment and for how many more seconds it stays, 1 to 10; `nil` when there are no places.
  ///
  /// - Throws: ``PointStoreError``.
  public func featuredPoint() async throws(PointStoreError) -> (point: PointOfInterest, remainingSeconds: Int64)? {
    let now = clock.now()
    let slot = FeaturedPlace.Slot(at: now)
    guard let point = try await store.point(shuffledAtOrAfter: FeaturedPlace.choice(at: slot)) else { return nil }
    return (point, slot.remainingSeconds(at: now))
  }

  /// Every category and how many places have it, most frequent first.
  ///
  /// - Parameter box: the box whose places count; `nil` for all places.
  /// - Throws: ``PointStoreError``.
  public func categoryCounts(in box: BoundingBox? = nil) async throws(PointStoreError) -> [CategoryCount] {
    try await store.categoryCounts(in: box)
  }

  /// The version of the places as they are at some moment of the call; see ``PointStore/dataVersion()``.
  ///
  /// - Throws: ``PointStoreError``.
  public func dataVersion() async throws(PointStoreError) -> DataVersion? {
    try await store.dataVersion()
  }

  /// A version from before now; see ``PointStore/knownDataVersion()``.
  public func knownDataVersion() -> DataVersion? {
    store.knownDataVersion()
  }

  /// Returns when the store can answer and its schema is current.
  ///
  /// - Throws: ``PointStoreError`` with the reason it can't.
  public func checkReadiness() async throws(PointStoreError) {
    try await store.checkReadiness()
  }
}

/// A time that never jumps: how long ago an arbitrary moment in the past was.
@Sendable
public func monotonicTime() -> Duration {
  monotonicOrigin.duration(to: .now)
}

private let monotonicOrigin = ContinuousClock.now
