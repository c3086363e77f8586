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
