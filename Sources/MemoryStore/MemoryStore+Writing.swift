package import Basics
import PointIndex
package import Points

extension MemoryStore: PointWriter {
  /// Creates a place under a new id; see ``Points/PointWriter/create(_:once:)``.
  ///
  /// Concurrent requests with one key return the same place: none fails as being in flight.
  package func create(_ place: PointDraft, once key: IdempotencyKey?) async throws(PointWriteError) -> PointOfInterest {
    try await write { transaction throws(PointWriteError) in
      if let key, let record = transaction.record(of: key) {
        guard record.key.requestHash == key.requestHash, case .created(let point) = record.outcome else {
          throw .keyReused
        }
        return point
      }
      if let origin = place.origin, transaction.owner(of: origin) != nil { throw .originTaken }
      var generator = SystemRandomNumberGenerator()
      let point = transaction.put(place, id: PointID(at: transaction.now, using: &generator))
      if let key { transaction.record(.created(point), of: key) }
      return point
    }
  }

  /// Replaces the place with that id, or creates it; see ``Points/PointWriter/put(_:id:if:)``.
  package func put(
    _ place: PointDraft,
    id: PointID,
    if condition: WriteCondition
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    try await write { transaction throws(PointWriteError) in
      let former = transaction.point(id: id)
      guard condition.holds(of: former?.version) else { throw .conditionFailed(currentVersion: former?.version) }
      if let former, former.draft == place { return (former, false) }
      if let origin = place.origin, let owner = transaction.owner(of: origin), owner != id { throw .originTaken }
      return (transaction.put(place, id: id), former == nil)
    }
  }

  /// Removes the place with that id; see ``Points/PointWriter/delete(id:if:)``.
  package func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError) {
    try await write { transaction throws(PointWriteError) in
      guard let point = transaction.point(id: id) else { throw .notFound }
      guard condition.holds(of: point.version) else { throw .conditionFailed(currentVersion: point.version) }
      transaction.remove(point)
    }
  }

  /// Removes a batch of the places of a source, up to 1,000, in the order of their ids; see
  /// ``Points/PointWriter/deleteBatch(ofSource:after:)``.
  ///
  /// The places are searched outside the writer, so that other writes do not wait for the search.
  package func deleteBatch(
    ofSource source: String, after position: ExactText?
  ) async throws(PointWriteError) -> DeletedBatch {
    let last = position.flatMap { PointID($0.text) }
    let query = PointQuery(
      source: .init(name: source), limit: PointQuery.limits.upperBound, after: last.map { .init(id: $0) })
    let (ids, hasMore) = snapshot.ids(matching: query)
    guard !ids.isEmpty else { return DeletedBatch(count: 0, next: nil) }
    let count = try await write { transaction throws(PointWriteError) in
      var count = 0
      for id in ids {
        // The place may have changed since the search.
        guard let point = transaction.point(id: id), let origin = point.draft.origin,
          origin.source.hasSameBytes(as: source)
        else { continue }
        transaction.remove(point)
        count += 1
      }
      return count
    }
    return DeletedBatch(count: count, next: hasMore ? ids.last.map { ExactText($0.description) } : nil)
  }

  private func write<Outcome: Sendable>(
    _ write: @escaping @Sendable (inout WriteTransaction) throws(PointWriteError) -> Outcome
  ) async throws(PointWriteError) -> Outcome {
    let result: Result<Outcome, PointWriteError>
    do throws(PointStoreError) {
      result = try await writer.commit { transaction in
        Result { () throws(PointWriteError) in try write(&transaction) }
      }
    } catch {
      throw .store(error)
    }
    return try result.get()
  }
}
