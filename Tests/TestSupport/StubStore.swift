public import Geo
public import Points
import Testing

/// A store that answers what the test gave it, and fails the test when it is asked anything else.
public struct StubStore: PointStore {
  /// Answers for a page.
  public var onPage: @Sendable (PointQuery) async throws(PointStoreError) -> PointPage = { _ in
    Issue.record("no page was expected to be asked for")
    return PointPage(points: [], hasMore: false)
  }

  /// Answers for a point by its id.
  public var onPoint: @Sendable (PointID) async throws(PointStoreError) -> PointOfInterest? = { _ in
    Issue.record("no point was expected to be asked for")
    return nil
  }

  /// Answers for a point by its shuffle key.
  public var onShuffled: @Sendable (UInt64) async throws(PointStoreError) -> PointOfInterest? = { _ in
    Issue.record("no shuffled point was expected to be asked for")
    return nil
  }

  /// Answers for the categories.
  public var onCategories: @Sendable () async throws(PointStoreError) -> [CategoryCount] = {
    Issue.record("no categories were expected to be asked for")
    return []
  }

  /// Answers for the version of the places; without one unless it is given.
  public var onDataVersion: @Sendable () async throws(PointStoreError) -> DataVersion? = { nil }

  /// Answers for a version that is known; without one unless it is given.
  public var onKnownDataVersion: @Sendable () -> DataVersion? = { nil }

  /// Answers for the readiness.
  public var onReadiness: @Sendable () async throws(PointStoreError) -> Void = {
    Issue.record("readiness was not expected to be asked for")
  }

  /// Creates a store that expects to be asked nothing.
  public init() {}

  /// Creates a store that expects to be asked for pages.
  public init(onPage: @escaping @Sendable (PointQuery) async throws(PointStoreError) -> PointPage) {
    self.onPage = onPage
  }

  /// Creates a store that expects to be asked for points by their shuffle keys.
  public init(onShuffled: @escaping @Sendable (UInt64) async throws(PointStoreError) -> PointOfInterest?) {
    self.onShuffled = onShuffled
  }

  /// Creates a store that fails whatever it is asked.
  public init(failing error: PointStoreError) {
    onPage = { _ throws(PointStoreError) in throw error }
    onPoint = { _ throws(PointStoreError) in throw error }
    onShuffled = { _ throws(PointStoreError) in throw error }
    onCategories = { () throws(PointStoreError) in throw error }
    onDataVersion = { () throws(PointStoreError) in throw error }
    onReadiness = { () throws(PointStoreError) in throw error }
  }

  /// What ``onPage`` answers.
  public func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage { try await onPage(query) }

  /// What is said to ``page(matching:)``.
  public func summaries(matching query: PointQuery) async throws(PointStoreError) -> SummaryPage {
    SummaryPage(try await onPage(query))
  }

  /// What ``onPoint`` answers.
  public func point(id: PointID) async throws(PointStoreError) -> PointOfInterest? { try await onPoint(id) }

  /// What ``onShuffled`` answers.
  public func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? {
    try await onShuffled(pivot)
  }

  /// What ``onCategories`` answers.
  public func categoryCounts(in box: BoundingBox?) async throws(PointStoreError) -> [CategoryCount] {
    try await onCategories()
  }

  /// What ``onDataVersion`` answers.
  public func dataVersion() async throws(PointStoreError) -> DataVersion? { try await onDataVersion() }

  /// What ``onKnownDataVersion`` answers.
  public func knownDataVersion() -> DataVersion? { onKnownDataVersion() }

  /// What ``onReadiness`` answers.
  public func checkReadiness() async throws(PointStoreError) { try await onReadiness() }
}
