public import Geo

/// The searches of the service. It adds to a store what does not depend on where the places are: analytics, and the
/// calls that are made of others. All other reads go to ``store`` directly.
public struct PointsService: Sendable {
  /// The store of the places.
  public let store: any PointStore

  /// The store that finds the same places by text; `nil` where there is none.
  public let textStore: (any TextSearchableStore)?

  /// The store that has the same places for maps; `nil` where there is none.
  public let mapStore: (any MappedStore)?

  private let analytics: any Analytics
  private let recordsTexts: Bool
  private let clock: any WallClock
  private let uptime: @Sendable () -> Duration

  /// Creates a service over a store.
  ///
  /// - Parameters:
  ///   - textStore: the store that finds the same places by text; `nil` where there is none.
  ///   - mapStore: the store that has the same places for maps; `nil` where there is none.
  ///   - analytics: the recorder of each search.
  ///   - recordsTexts: a Boolean value that indicates whether texts that found nothing are recorded.
  ///   - clock: the time of day, which decides the featured place.
  ///   - uptime: a monotonic time, which searches are timed by.
  public init(
    store: any PointStore,
    textStore: (any TextSearchableStore)? = nil,
    mapStore: (any MappedStore)? = nil,
    analytics: any Analytics = NoAnalytics(),
    recordsTexts: Bool = false,
    clock: any WallClock = SystemClock(),
    uptime: @escaping @Sendable () -> Duration = monotonicTime
  ) {
    self.store = store
    self.textStore = textStore
    self.mapStore = mapStore
    self.analytics = analytics
    self.recordsTexts = recordsTexts
    self.clock = clock
    self.uptime = uptime
  }

  /// Returns a page of the places that match, in the query's order.
  ///
  /// - Parameter isRecorded: a Boolean value that indicates whether the search counts in analytics.
  /// - Throws: ``PointStoreError``.
  public func page(
    matching query: PointQuery, isRecorded: Bool = true
  ) async throws(PointStoreError) -> PointPage {
    let start = uptime()
    let page = try await store.page(matching: query)
    guard isRecorded else { return page }
    analytics.record(Search(query, found: page.points.count, took: uptime() - start))
    return page
  }

  /// Returns the same page as ``page(matching:)``, with only the fields of list responses.
  ///
  /// - Throws: ``PointStoreError``.
  public func summaries(matching query: PointQuery) async throws(PointStoreError) -> SummaryPage {
    let start = uptime()
    let page = try await store.summaries(matching: query)
    analytics.record(Search(query, found: page.summaries.count, took: uptime() - start))
    return page
  }

  /// Returns a page of the places that match a text, in the query's order.
  ///
  /// - Parameters:
  ///   - store: the store to search in, ``textStore``.
  ///   - isRecorded: a Boolean value that indicates whether the search counts in analytics.
  /// - Throws: ``PointStoreError``.
  public func matches(
    of query: TextQuery, in store: any TextSearchableStore, isRecorded: Bool = true
  ) async throws(PointStoreError) -> TextPage {
    let start = uptime()
    let page = try await store.matches(of: query)
    if isRecorded {
      analytics.record(
        Search(query, found: page.matches.count, took: uptime() - start, recordsText: recordsTexts))
    }
    return page
  }

  // MARK: Long searches

  /// Returns the places of the moment, in which long searches are computed without waiting; `nil` where the store
  /// searches elsewhere.
  ///
  /// - Parameter isRequired: a Boolean value that indicates whether only an index can search.
  /// - Throws: ``PointStoreError`` where an index is required and can't be read.
  public func snapshot(isRequired: Bool) async throws(PointStoreError) -> (any MapSnapshot)? {
    guard let mapStore else { return nil }
    return isRequired ? try await mapStore.mapSnapshot() : await mapStore.currentSnapshot()
  }

  /// Returns a page of the places of a snapshot that match, in the query's order.
  ///
  /// - Parameter isRecorded: a Boolean value that indicates whether the search counts in analytics.
  /// - Throws: ``PointStoreError``.
  public func page(
    matching query: PointQuery, in snapshot: any MapSnapshot, isRecorded: Bool = true
  ) throws(PointStoreError) -> PointPage {
    let start = uptime()
    let page = try snapshot.page(matching: query)
    guard isRecorded else { return page }
    analytics.record(Search(query, found: page.points.count, took: uptime() - start))
    return page
  }

  /// Returns the same page as ``page(matching:in:)``, with only the fields of list responses.
  ///
  /// - Throws: ``PointStoreError``.
  public func summaries(
    matching query: PointQuery, in snapshot: any MapSnapshot
  ) throws(PointStoreError) -> SummaryPage {
    let start = uptime()
    let page = try snapshot.summaries(matching: query)
    analytics.record(Search(query, found: page.summaries.count, took: uptime() - start))
    return page
  }

  /// Returns a page of the places of a snapshot that match a text, in the query's order.
  ///
  /// - Parameter isRecorded: a Boolean value that indicates whether the search counts in analytics.
  /// - Throws: ``PointStoreError``.
  public func matches(
    of query: TextQuery, in snapshot: any MapSnapshot, isRecorded: Bool = true
  ) throws(PointStoreError) -> TextPage {
    let start = uptime()
    let page = try snapshot.page(matching: query)
    if isRecorded {
      analytics.record(
        Search(query, found: page.matches.count, took: uptime() - start, recordsText: recordsTexts))
    }
    return page
  }

  // MARK: Single places

  /// Returns the nearest place within a distance of a coordinate, or `nil`.
  ///
  /// - Throws: ``PointStoreError``.
  public func nearestPoint(
    to coordinate: Coordinate, withinMetres radius: Double
  ) async throws(PointStoreError) -> FoundPoint? {
    let proximity = PointQuery.Proximity(center: coordinate, radiusMetres: radius)
    return try await page(matching: PointQuery(proximity: proximity, limit: 1)).points.first
  }

  /// Returns the featured place of the moment and the number of seconds that it stays, 1 to 10; `nil` when there are no
  /// places.
  ///
  /// - Throws: ``PointStoreError``.
  public func featuredPoint() async throws(PointStoreError) -> (point: PointOfInterest, remainingSeconds: Int64)? {
    let now = clock.now()
    let slot = FeaturedPlace.Slot(at: now)
    guard let point = try await store.point(shuffledAtOrAfter: FeaturedPlace.choice(at: slot)) else { return nil }
    return (point, slot.remainingSeconds(at: now))
  }
}

/// Returns a monotonic time: the duration since an arbitrary moment in the past.
@Sendable
public func monotonicTime() -> Duration {
  monotonicOrigin.duration(to: .now)
}

private let monotonicOrigin = ContinuousClock.now
