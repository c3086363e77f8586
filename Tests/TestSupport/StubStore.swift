public import Geo
public import Points
import Testing

/// A store with closures for its methods, which fails the test on an unexpected call.
public struct StubStore: PointStore {
  /// Returns a page.
  public var onPage: @Sendable (PointQuery) async throws(PointStoreError) -> PointPage = { _ in
    Issue.record("unexpected request for a page")
    return PointPage(points: [], hasMore: false)
  }

  /// Returns a place by its id.
  public var onPoint: @Sendable (PointID) async throws(PointStoreError) -> PointOfInterest? = { _ in
    Issue.record("unexpected request for a place")
    return nil
  }

  /// Returns a place by its shuffle key.
  public var onShuffled: @Sendable (UInt64) async throws(PointStoreError) -> PointOfInterest? = { _ in
    Issue.record("unexpected request for a shuffled place")
    return nil
  }

  /// Returns the categories.
  public var onCategories: @Sendable () async throws(PointStoreError) -> [CategoryCount] = {
    Issue.record("unexpected request for categories")
    return []
  }

  /// Returns the number of places that match.
  public var onCount: @Sendable (PointQuery) async throws(PointStoreError) -> Int = { _ in
    Issue.record("unexpected count")
    return 0
  }

  /// Returns the data version; `nil` by default.
  public var onDataVersion: @Sendable () async throws(PointStoreError) -> DataVersion? = { nil }

  /// Returns the known data version; `nil` by default.
  public var onKnownDataVersion: @Sendable () -> DataVersion? = { nil }

  /// Checks the readiness.
  public var onReadiness: @Sendable () async throws(PointStoreError) -> StoreReadiness = {
    Issue.record("unexpected readiness check")
    return .ready
  }

  /// Creates a store that expects no calls.
  public init() {}

  /// Creates a store that expects calls for pages.
  public init(onPage: @escaping @Sendable (PointQuery) async throws(PointStoreError) -> PointPage) {
    self.onPage = onPage
  }

  /// Creates a store that expects calls for places by their shuffle keys.
  public init(onShuffled: @escaping @Sendable (UInt64) async throws(PointStoreError) -> PointOfInterest?) {
    self.onShuffled = onShuffled
  }

  /// Creates a store that fails all calls.
  public init(failing error: PointStoreError) {
    onPage = { _ throws(PointStoreError) in throw error }
    onCount = { _ throws(PointStoreError) in throw error }
    onPoint = { _ throws(PointStoreError) in throw error }
    onShuffled = { _ throws(PointStoreError) in throw error }
    onCategories = { () throws(PointStoreError) in throw error }
    onDataVersion = { () throws(PointStoreError) in throw error }
    onReadiness = { () throws(PointStoreError) in throw error }
  }

  /// Calls ``onPage``.
  public func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage { try await onPage(query) }

  /// Calls ``onPage`` and summarizes the page.
  public func summaries(matching query: PointQuery) async throws(PointStoreError) -> SummaryPage {
    SummaryPage(try await onPage(query))
  }

  /// Calls ``onCount``.
  public func count(matching query: PointQuery) async throws(PointStoreError) -> Int { try await onCount(query) }

  /// Calls ``onPoint``.
  public func point(id: PointID) async throws(PointStoreError) -> PointOfInterest? { try await onPoint(id) }

  /// Calls ``onShuffled``.
  public func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? {
    try await onShuffled(pivot)
  }

  /// Calls ``onCategories``.
  public func categoryCounts(in box: BoundingBox?) async throws(PointStoreError) -> [CategoryCount] {
    try await onCategories()
  }

  /// Calls ``onDataVersion``.
  public func dataVersion() async throws(PointStoreError) -> DataVersion? { try await onDataVersion() }

  /// Calls ``onKnownDataVersion``.
  public func knownDataVersion() -> DataVersion? { onKnownDataVersion() }

  /// Calls ``onReadiness``.
  public func checkReadiness() async throws(PointStoreError) -> StoreReadiness { try await onReadiness() }
}
