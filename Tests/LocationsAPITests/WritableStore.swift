import Points
import Synchronization

/// Places in a dictionary, which keep to the rules of every store's writing side.
final class WritableStore: WritablePointStore {
  private struct State {
    var points: [PointID: PointOfInterest] = [:]
    var answers: [String: (hash: UInt64, point: PointOfInterest)] = [:]
  }

  private let state = Mutex(State())

  /// The keys whose first request is never answered.
  private let keysInFlight: Set<String>

  /// Whether another change comes before each one that asks for a version.
  private let isContended: Bool

  init(keysInFlight: Set<String> = [], isContended: Bool = false) {
    self.keysInFlight = keysInFlight
    self.isContended = isContended
  }

  /// The places, by id.
  var points: [PointOfInterest] { state.withLock { $0.points.values.sorted { $0.id < $1.id } } }

  // MARK: Writing

  func create(_ place: Place, once key: IdempotencyKey?) async throws(PointWriteError) -> PointOfInterest {
    if let key, keysInFlight.contains(key.text) { throw .keyInFlight }
    return try state.withLock { state throws(PointWriteError) in
      if let key, let answer = state.answers[key.text] {
        guard answer.hash == key.requestHash else { throw .keyReused }
        return answer.point
      }
      var generator = SystemRandomNumberGenerator()
      let point = try Self.put(
        place, id: PointID(at: SystemClock().now(), using: &generator), if: .none, in: &state.points
      ).point
      if let key { state.answers[key.text] = (key.requestHash, point) }
      return point
    }
  }

  func put(
    _ place: Place, id: PointID, if condition: WriteCondition
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    if isContended, case .versions(let versions) = condition {
      throw .conditionFailed(currentVersion: versions.max().map { $0 + 1 })
    }
    return try state.withLock { state throws(PointWriteError) in
      try Self.put(place, id: id, if: condition, in: &state.points)
    }
  }

  func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError) {
    try state.withLock { state throws(PointWriteError) in
      let version = state.points[id]?.version
      guard condition.holds(of: version) else { throw .conditionFailed(currentVersion: version) }
      guard state.points.removeValue(forKey: id) != nil else { throw .notFound }
    }
  }

  private static func put(
    _ place: Place, id: PointID, if condition: WriteCondition, in points: inout [PointID: PointOfInterest]
  ) throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    let old = points[id]
    guard condition.holds(of: old?.version) else { throw .conditionFailed(currentVersion: old?.version) }
    if let origin = place.origin, points.values.contains(where: { $0.place.origin == origin && $0.id != id }) {
      throw .originTaken
    }
    if let old, old.place == place { return (old, false) }
    let now = Timestamp(microsecondsSinceEpoch: 0)
    let point = PointOfInterest(
      id: id, place: place, version: (old?.version ?? 0) + 1, createdAt: old?.createdAt ?? now, updatedAt: now)
    points[id] = point
    return (point, old == nil)
  }

  // MARK: Bulk

  func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, mode: ImportMode, dryRun: Bool
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    var points = state.withLock { $0.points }
    var report = ImportReport()
    for try await batch in batches {
      for row in batch {
        let known = row.place.origin.flatMap { origin in points.values.first { $0.place.origin == origin }?.id }
        var generator = SystemRandomNumberGenerator()
        let id = row.id ?? known ?? PointID(at: SystemClock().now(), using: &generator)
        let old = points[id]?.version
        let (point, wasCreated) = try Self.put(row.place, id: id, if: .none, in: &points)
        if wasCreated {
          report.created += 1
        } else if point.version == old {
          report.unchanged += 1
        } else {
          report.updated += 1
        }
      }
    }
    if !dryRun { state.withLock { [points] state in state.points = points } }
    return report
  }

  func exportPoints(
    matching query: PointQuery, to consume: @Sendable ([PointOfInterest]) async throws -> Void
  ) async throws {
    for point in points where query.categories.isEmpty || query.categories.contains(point.place.category ?? "") {
      try await consume([point])
    }
  }

  // MARK: Reading

  func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage {
    PointPage(points: points.map { FoundPoint(point: $0, distanceMetres: nil) }, hasMore: false)
  }

  func summaries(matching query: PointQuery) async throws(PointStoreError) -> SummaryPage {
    SummaryPage(try await page(matching: query))
  }

  func point(id: PointID) async throws(PointStoreError) -> PointOfInterest? { state.withLock { $0.points[id] } }

  func categoryCounts() async throws(PointStoreError) -> [CategoryCount] { [] }

  func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? { points.first }

  func checkReadiness() async throws(PointStoreError) {}
}
