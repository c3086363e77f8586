import Logging
import Points
import Synchronization

/// A store that logs when the one behind it goes away and when it is back: one line each, however many calls fail.
final class OutageLog: PointStore {
  private let store: any PointStore
  private let logger: Logger
  private let isAway = Atomic(false)

  /// Watches a store.
  init(_ store: any PointStore, logger: Logger) {
    self.store = store
    self.logger = logger
  }

  func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage {
    try await watching { () throws(PointStoreError) in try await store.page(matching: query) }
  }

  func summaries(matching query: PointQuery) async throws(PointStoreError) -> SummaryPage {
    try await watching { () throws(PointStoreError) in try await store.summaries(matching: query) }
  }

  func point(id: PointID) async throws(PointStoreError) -> PointOfInterest? {
    try await watching { () throws(PointStoreError) in try await store.point(id: id) }
  }

  func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? {
    try await watching { () throws(PointStoreError) in try await store.point(shuffledAtOrAfter: pivot) }
  }

  func categoryCounts() async throws(PointStoreError) -> [CategoryCount] {
    try await watching { () throws(PointStoreError) in try await store.categoryCounts() }
  }

  func checkReadiness() async throws(PointStoreError) {
    try await watching { () throws(PointStoreError) in try await store.checkReadiness() }
  }

  private func watching<Answer>(
    _ call: () async throws(PointStoreError) -> Answer
  ) async throws(PointStoreError) -> Answer {
    do {
      let answer = try await call()
      if isAway.load(ordering: .relaxed), isAway.exchange(false, ordering: .relaxed) {
        logger.notice("the store answers again")
      }
      return answer
    } catch {
      switch error {
      case .unavailable(let reason), .schemaMismatch(let reason):
        if !isAway.exchange(true, ordering: .relaxed) {
          logger.error("the store does not answer", metadata: ["reason": "\(reason)"])
        }
      case .overloaded, .timeout, .unexpected: break
      }
      throw error
    }
  }
}
