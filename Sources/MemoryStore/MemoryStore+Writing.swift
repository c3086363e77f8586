public import JSONText
public import Points

extension MemoryStore: PointWriter {
  /// Creates a place under a new id; see ``Points/PointWriter/create(_:once:)``.
  ///
  /// Requests of one key that come at the same time are answered alike: none fails as being in flight.
  public func create(_ place: Place, once key: IdempotencyKey?) async throws(PointWriteError) -> PointOfInterest {
    try await write { draft throws(PointWriteError) in
      if let key, let answered = draft.answer(to: key) {
        guard answered.key.requestHash == key.requestHash, case .place(let point) = answered.answer else {
          throw .keyReused
        }
        return point
      }
      if let origin = place.origin, draft.owner(of: origin) != nil { throw .originTaken }
      var generator = SystemRandomNumberGenerator()
      let point = draft.put(place, id: PointID(at: draft.now, using: &generator))
      if let key { draft.remember(key, answer: .place(point)) }
      return point
    }
  }

  /// Replaces the place of that id, or creates it; see ``Points/PointWriter/put(_:id:if:)``.
  public func put(
    _ place: Place,
    id: PointID,
    if condition: WriteCondition
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    try await write { draft throws(PointWriteError) in
      let former = draft.point(id: id)
      guard condition.holds(of: former?.version) else { throw .conditionFailed(currentVersion: former?.version) }
      if let former, former.place.isIdentical(to: place) { return (former, false) }
      if let origin = place.origin, let owner = draft.owner(of: origin), owner != id { throw .originTaken }
      return (draft.put(place, id: id), former == nil)
    }
  }

  /// Removes the place of that id; see ``Points/PointWriter/delete(id:if:)``.
  public func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError) {
    try await write { draft throws(PointWriteError) in
      guard let point = draft.point(id: id) else { throw .notFound }
      guard condition.holds(of: point.version) else { throw .conditionFailed(currentVersion: point.version) }
      draft.remove(point)
    }
  }

  /// Removes a batch of a data set's places, up to 1,000, in the order of their ids; see
  /// ``Points/PointWriter/deleteBatch(ofSource:after:)``.
  ///
  /// The batch is looked for outside of the writer, so that other writes do not wait for it.
  public func deleteBatch(
    ofSource source: String, after position: ExactText?
  ) async throws(PointWriteError) -> DeletedBatch {
    let last = position.flatMap { PointID($0.text) }
    let query = PointQuery(
      source: .init(name: source), limit: PointQuery.limits.upperBound, after: last.map { .init(id: $0) })
    let (ids, hasMore) = snapshot.ids(matching: query)
    guard !ids.isEmpty else { return DeletedBatch(count: 0, next: nil) }
    let count = try await write { draft throws(PointWriteError) in
      var count = 0
      for id in ids {
        // It may have changed since.
        guard let point = draft.point(id: id), let origin = point.place.origin, origin.source.hasSameBytes(as: source)
        else { continue }
        draft.remove(point)
        count += 1
      }
      return count
    }
    return DeletedBatch(count: count, next: hasMore ? ids.last.map { ExactText($0.description) } : nil)
  }

  private func write<Outcome: Sendable>(
    _ decide: @escaping @Sendable (inout Draft) throws(PointWriteError) -> Outcome
  ) async throws(PointWriteError) -> Outcome {
    let result: Result<Outcome, PointWriteError>
    do throws(PointStoreError) {
      result = try await writer.run { draft in
        do throws(PointWriteError) {
          return .success(try decide(&draft))
        } catch {
          return .failure(error)
        }
      }
    } catch {
      throw .store(error)
    }
    return try result.get()
  }
}

extension MemoryStore: ChangeLog {
  /// The changes behind a sequence number that the journal still has, in their order.
  public func changes(after sequence: Int64, limit: Int) async throws(PointStoreError) -> [PointChange] {
    try await journal.changes(after: sequence, limit: limit)
  }

  /// Forgets the changes before a time; answers how many.
  public func pruneChanges(before time: Timestamp) async throws(PointStoreError) -> Int {
    try await journal.pruneChanges(before: time)
  }
}
