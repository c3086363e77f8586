package import Geo
package import Points
import Testing

/// A store with closures for its methods, which fails the test on an unexpected call.
package struct StubStore: PointStore {
  /// Returns a page.
  package var onPage: @Sendable (PointQuery) async throws(PointStoreError) -> PointPage = { _ in
    Issue.record("unexpected request for a page")
    return PointPage(points: [], hasMore: false)
  }

  /// Returns a place by its id.
  package var onPoint: @Sendable (PointID) async throws(PointStoreError) -> PointOfInterest? = { _ in
    Issue.record("unexpected request for a place")
    return nil
  }

  /// Returns a place by its shuffle key.
  package var onShuffled: @Sendable (UInt64) async throws(PointStoreError) -> PointOfInterest? = { _ in
    Issue.record("unexpected request for a shuffled place")
    return nil
  }

  /// Returns the categories.
  package var onCategories: @Sendable () async throws(PointStoreError) -> [CategoryCount] = {
    Issue.record("unexpected request for categories")
    return []
  }

  /// Returns the number of places that match.
  package var onCount: @Sendable (PointQuery) async throws(PointStoreError) -> Int = { _ in
    Issue.record("unexpected count")
    return 0
  }

  /// Returns the data version; `nil` by default.
  package var onDataVersion: @Sendable () async throws(PointStoreError) -> DataVersion? = { nil }

  /// Returns the known data version; `nil` by default.
  package var onKnownDataVersion: @Sendable () -> DataVersion? = { nil }

  /// Checks the readiness.
  package var onReadiness: @Sendable () async throws(PointStoreError) -> StoreReadiness = {
    Issue.record("unexpected readiness check")
    return .ready
  }

  /// Creates a store that expects no calls.
  package init() {}

  /// Creates a store that expects calls for pages.
  package init(onPage: @escaping @Sendable (PointQuery) async throws(PointStoreError) -> PointPage) {
    self.onPage = onPage
  }

  /// Creates a store that expects calls for places by their shuffle keys.
  package init(onShuffled: @escaping @Sendable (UInt64) async throws(PointStoreError) -> PointOfInterest?) {
    self.onShuffled = onShuffled
  }

  /// Creates a store that fails all calls.
  package init(failing error: PointStoreError) {
    onPage = { _ throws(PointStoreError) in throw error }
    onCount = { _ throws(PointStoreError) in throw error }
    onPoint = { _ throws(PointStoreError) in throw error }
    onShuffled = { _ throws(PointStoreError) in throw error }
    onCategories = { () throws(PointStoreError) in throw error }
    onDataVersion = { () throws(PointStoreError) in throw error }
    onReadiness = { () throws(PointStoreError) in throw error }
  }

  /// Calls ``onPage``.
  package func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage { try await onPage(query) }

  /// Calls ``onPage`` and summarizes the page.
  package func summaries(matching query: PointQuery) async throws(PointStoreError) -> SummaryPage {
    SummaryPage(try await onPage(query))
  }

  /// Calls ``onCount``.
  package func count(matching query: PointQuery) async throws(PointStoreError) -> Int { try await onCount(query) }

  /// Calls ``onPoint``.
  package func point(id: PointID) async throws(PointStoreError) -> PointOfInterest? { try await onPoint(id) }

  /// Calls ``onShuffled``.
  package func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? {
    try await onShuffled(pivot)
  }

  /// Calls ``onCategories``.
  package func categoryCounts(in box: BoundingBox?) async throws(PointStoreError) -> [CategoryCount] {
    try await onCategories()
  }

  /// Calls ``onDataVersion``.
  package func dataVersion() async throws(PointStoreError) -> DataVersion? { try await onDataVersion() }

  /// Calls ``onKnownDataVersion``.
  package func knownDataVersion() -> DataVersion? { onKnownDataVersion() }

  /// Calls ``onReadiness``.
  package func checkReadiness() async throws(PointStoreError) -> StoreReadiness { try await onReadiness() }
}
