package import Basics
package import Points
import PostgresClient

extension PostgresStore: PointWriter {
  /// Creates a place under a new id; see ``Points/PointWriter/create(_:once:)``.
  ///
  /// - Throws: ``PointWriteError``.
  package func create(_ draft: PointDraft, once key: IdempotencyKey?) async throws(PointWriteError) -> PointOfInterest {
    try await retrying { () async throws(PointWriteError) in
      var generator = SystemRandomNumberGenerator()
      var parameters = Parameters()
      parameters.add(PointID(at: SystemClock().now(), using: &generator))
      parameters.add(draft)
      guard let key else {
        guard let row = try await change(WriteStatements.create, parameters)?.rows.first else { return nil }
        return try Self.decoding { () throws(PointStoreError) in try row.point() }
      }
      let hash = Int64(bitPattern: key.requestHash)
      parameters.add(key.text)
      parameters.add(hash)
      guard let row = try await change(WriteStatements.createOnce, parameters)?.rows.first else { return nil }
      if row.isNull(PointColumns.count) { throw .keyInFlight }
      // The key may be an import's, which has no place.
      let firstHash = try Self.decoding { () throws(PointStoreError) in try row.integer(PointColumns.count) }
      if firstHash != hash { throw .keyReused }
      return try Self.decoding { () throws(PointStoreError) in try row.point() }
    }
  }

  /// Replaces the place with an id, or creates it; see ``Points/PointWriter/put(_:id:if:)``.
  ///
  /// - Throws: ``PointWriteError``.
  package func put(
    _ draft: PointDraft,
    id: PointID,
    if condition: WriteCondition
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    let mayCreate = condition.holds(of: nil)
    var parameters = Parameters()
    parameters.add(id)
    parameters.add(draft)
    parameters.add(mayCreate)
    parameters.addVersions(condition)
    return try await retrying { () async throws(PointWriteError) in
      guard let result = try await change(WriteStatements.put, parameters) else { return nil }
      guard let row = result.rows.first else {
        if mayCreate { return nil }
        throw .conditionFailed(currentVersion: nil)
      }
      let (point, outcome) = try Self.decoding { () throws(PointStoreError) in
        (try row.point(), try row.text(PointColumns.count))
      }
      if outcome == "kept", !condition.holds(of: point.version) {
        throw .conditionFailed(currentVersion: point.version)
      }
      return (point, outcome == "created")
    }
  }

  /// Deletes the place with an id; see ``Points/PointWriter/delete(id:if:)``.
  ///
  /// - Throws: ``PointWriteError``.
  package func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError) {
    var parameters = Parameters()
    parameters.add(id)
    parameters.addVersions(condition)
    try await retrying { () async throws(PointWriteError) -> Void? in
      guard let result = try await change(WriteStatements.delete, parameters) else { return nil }
      guard let row = result.rows.first, !row.isNull(0) else { throw .notFound }
      let (version, wasDeleted) = try Self.decoding { () throws(PointStoreError) in
        (try row.integer(0), try row.boolean(1))
      }
      if !wasDeleted { throw .conditionFailed(currentVersion: version) }
      return ()
    }
  }

  /// Deletes a batch of a data set's places, up to 250; see ``Points/PointWriter/deleteBatch(ofSource:after:)``.
  ///
  /// - Throws: ``PointWriteError``.
  package func deleteBatch(
    ofSource source: String, after position: ExactText?
  ) async throws(PointWriteError) -> DeletedBatch {
    var parameters = Parameters()
    parameters.add(source)
    parameters.add(position?.text)
    return try await retrying { () async throws(PointWriteError) in
      guard let row = try await change(WriteStatements.deleteBatch, parameters)?.rows.first else { return nil }
      return try Self.decoding { () throws(PointStoreError) in
        DeletedBatch(count: Int(try row.integer(0)), next: row.isNull(1) ? nil : ExactText(try row.text(1)))
      }
    }
  }

  /// The maximum number of attempts at a write that conflicts with concurrent ones.
  private static let attempts = 20

  /// Retries an attempt until it has an outcome. An attempt that returns `nil` has done nothing.
  private func retrying<Outcome>(
    _ attempt: () async throws(PointWriteError) -> Outcome?
  ) async throws(PointWriteError) -> Outcome {
    for _ in 0..<Self.attempts {
      if let outcome = try await attempt() { return outcome }
    }
    throw .store(.overloaded)
  }

  /// Runs a statement that writes, once.
  ///
  /// - Returns: the result after the commit; `nil` where the server rolled the statement back because of a concurrent
  ///   transaction, so that it may be retried.
  /// - Throws: ``PointWriteError``, including ``PointStoreError/outcomeUnknown(reason:)`` where the change may have
  ///   been committed.
  private func change(
    _ statement: Statement,
    _ parameters: Parameters
  ) async throws(PointWriteError) -> QueryResult? {
    do {
      let result = try await runOnFollowedServer(statement, parameters)
      notifyOfChanges()
      return result
    } catch .rejected(let error) where error.constraint == WriteStatements.originConstraint {
      throw .originTaken
    } catch .rejected(let error) where ["40P01", "40001"].contains(error.sqlState) {
      // Deadlock, serialization failure.
      return nil
    } catch {
      throw .store(await pool.storeError(error))
    }
  }

  private func runOnFollowedServer(
    _ statement: Statement, _ parameters: Parameters
  ) async throws(DatabaseError) -> QueryResult {
    let server = try await followClock(again: false)
    do {
      return try await pool.run(statement, parameters, isRead: false, onlyOn: server)
    } catch .wrongServer {
      _ = try await followClock(again: true)
      return try await pool.run(statement, parameters, isRead: false)
    }
  }

  private static func decoding<Value>(_ body: () throws(PointStoreError) -> Value) throws(PointWriteError) -> Value {
    do {
      return try body()
    } catch {
      throw .store(error)
    }
  }
}
