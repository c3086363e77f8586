public import JSONText
public import Points

extension PostgresStore: PointWriter {
  /// Creates a place under a new id; see ``Points/PointWriter/create(_:once:)``.
  ///
  /// - Throws: ``PointWriteError``.
  public func create(_ place: Place, once key: IdempotencyKey?) async throws(PointWriteError) -> PointOfInterest {
    try await repeating { () async throws(PointWriteError) in
      var generator = SystemRandomNumberGenerator()
      var parameters = Parameters()
      parameters.add(PointID(at: SystemClock().now(), using: &generator))
      parameters.add(place)
      guard let key else {
        guard let row = try await change(WriteStatements.create, parameters)?.rows.first else { return nil }
        return try Self.reading { () throws(PointStoreError) in try row.point() }
      }
      let hash = Int64(bitPattern: key.requestHash)
      parameters.add(key.text)
      parameters.add(hash)
      guard let row = try await change(WriteStatements.createOnce, parameters)?.rows.first else { return nil }
      if row.isNull(PointColumns.count) { throw .keyInFlight }
      // The key may be an import's, which has no place.
      let firstHash = try Self.reading { () throws(PointStoreError) in try row.integer(PointColumns.count) }
      if firstHash != hash { throw .keyReused }
      return try Self.reading { () throws(PointStoreError) in try row.point() }
    }
  }

  /// Replaces the place of that id, or creates it; see ``Points/PointWriter/put(_:id:if:)``.
  ///
  /// - Throws: ``PointWriteError``.
  public func put(
    _ place: Place,
    id: PointID,
    if condition: WriteCondition
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    let mayCreate = condition.holds(of: nil)
    var parameters = Parameters()
    parameters.add(id)
    parameters.add(place)
    parameters.add(mayCreate)
    parameters.addVersions(condition)
    return try await repeating { () async throws(PointWriteError) in
      guard let result = try await change(WriteStatements.put, parameters) else { return nil }
      guard let row = result.rows.first else {
        if mayCreate { return nil }
        throw .conditionFailed(currentVersion: nil)
      }
      let (point, outcome) = try Self.reading { () throws(PointStoreError) in
        (try row.point(), try row.text(PointColumns.count))
      }
      if outcome == "kept", !condition.holds(of: point.version) {
        throw .conditionFailed(currentVersion: point.version)
      }
      return (point, outcome == "created")
    }
  }

  /// Removes the place of that id; see ``Points/PointWriter/delete(id:if:)``.
  ///
  /// - Throws: ``PointWriteError``.
  public func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError) {
    var parameters = Parameters()
    parameters.add(id)
    parameters.addVersions(condition)
    try await repeating { () async throws(PointWriteError) -> Void? in
      guard let result = try await change(WriteStatements.delete, parameters) else { return nil }
      guard let row = result.rows.first, !row.isNull(0) else { throw .notFound }
      let (version, wasDeleted) = try Self.reading { () throws(PointStoreError) in
        (try row.integer(0), try row.boolean(1))
      }
      if !wasDeleted { throw .conditionFailed(currentVersion: version) }
      return ()
    }
  }

  /// Removes a batch of a data set's places, up to 250; see ``Points/PointWriter/deleteBatch(ofSource:after:)``.
  ///
  /// - Throws: ``PointWriteError``.
  public func deleteBatch(
    ofSource source: String, after position: ExactText?
  ) async throws(PointWriteError) -> DeletedBatch {
    var parameters = Parameters()
    parameters.add(source)
    parameters.add(position?.text)
    return try await repeating { () async throws(PointWriteError) in
      guard let row = try await change(WriteStatements.deleteBatch, parameters)?.rows.first else { return nil }
      return try Self.reading { () throws(PointStoreError) in
        DeletedBatch(count: Int(try row.integer(0)), next: row.isNull(1) ? nil : ExactText(try row.text(1)))
      }
    }
  }

  /// How often a change is tried that another one at the same time gets in the way of.
  private static let attempts = 20

  /// Tries until something was done or refused. Each attempt that gives `nil` is known to have done nothing.
  private func repeating<Outcome>(
    _ attempt: () async throws(PointWriteError) -> Outcome?
  ) async throws(PointWriteError) -> Outcome {
    for _ in 0..<Self.attempts {
      if let outcome = try await attempt() { return outcome }
    }
    throw .store(.overloaded)
  }

  /// Runs a statement that changes something, once.
  ///
  /// - Returns: its answer, given after the commit; `nil` where the server undid it because of another transaction, so
  ///   that it may be run again.
  /// - Throws: ``PointWriteError``; of ``PointStoreError/outcomeUnknown(reason:)`` where the change may have been made.
  private func change(
    _ statement: Statement,
    _ parameters: Parameters
  ) async throws(PointWriteError) -> QueryResult? {
    var answer: ConnectionPool.Answer
    do {
      let server = try await followClock(again: false)
      answer = try await pool.answer(to: statement, parameters, isRead: false, onlyOn: server)
      if case .failure(.elsewhere) = answer {
        _ = try await followClock(again: true)
        answer = try await pool.answer(to: statement, parameters, isRead: false)
      }
    } catch {
      throw .store(error)
    }
    switch answer {
    case .success(let result): return result
    case .failure(let error) where error.constraint == WriteStatements.originConstraint: throw .originTaken
    // Deadlock, serialisation failure.
    case .failure(let error) where ["40P01", "40001"].contains(error.sqlState): return nil
    case .failure(let error): throw .store(PointStoreError(error))
    }
  }

  private static func reading<Value>(_ body: () throws(PointStoreError) -> Value) throws(PointWriteError) -> Value {
    do {
      return try body()
    } catch {
      throw .store(error)
    }
  }
}
