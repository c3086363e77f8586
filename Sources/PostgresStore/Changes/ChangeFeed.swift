package import Points
import PostgresClient
import Synchronization

/// The changes of a database's places, for an index that follows them.
///
/// It has a thread and up to two connections of its own, beside the store's pool: one that waits for notifications, and
/// one that copies places while an index is built or catches up.
package final class ChangeFeed: Sendable {
  /// The result of a question for changes.
  package enum Answer: Sendable {
    /// The changes between the given position and another one. Reading the places at the other position gives the same
    /// as applying the changes.
    case changes(puts: ContiguousArray<PointOfInterest>, removals: [PointID], to: ChangePosition)
    /// There are changes that do not fit into one response: see ``ChangeFeed/copyChanges(after:_:)``.
    case manyChanges
    /// The changes after the given position are not known: all places must be copied.
    case lost(reason: String)
  }

  /// A place that was changed, as a copy passes it.
  package enum Change {
    /// A place that exists, with its present fields.
    case put(PointFields)
    /// The id of a place that does not exist.
    case removal(PointID)
  }

  /// The maximum number of entries of the log that are read at once.
  private static let maximumEntries = 1000

  /// The maximum number of bytes of the tags of the places that are read at once. libpq buffers all rows of a result.
  private static let maximumTagBytes = 8 << 20

  private let store: PostgresStore
  private let thread: PollingThread

  /// Creates a feed of the places of a store, which connects on the first call.
  ///
  /// - Throws: ``PointStoreError`` when the system can't create a thread.
  package init(_ store: PostgresStore) throws(PointStoreError) {
    guard let thread = PollingThread() else { throw .unavailable(reason: "the system could not create a thread") }
    self.store = store
    self.thread = thread
  }

  deinit {
    thread.stop()
  }

  /// Returns what has changed since a position, as of a moment during the call.
  ///
  /// Everything that was committed before the call is included. It is one short statement.
  ///
  /// - Throws: ``PointStoreError``; `.readOnly` from a standby, which does not know the transactions in progress.
  package func changes(after position: ChangePosition) async throws(PointStoreError) -> Answer {
    let result = try await store.pool.query(
      ChangeStatements.feed,
      Parameters {
        $0.add(position.snapshot.text)
        $0.add(Int64(Self.maximumEntries))
        $0.add(Int64(Self.maximumTagBytes))
      },
      isRead: true, isUrgent: true)
    let column = PointColumns.count
    guard let first = result.rows.first(where: { $0.isNull(column) }) else {
      throw .unexpected(reason: "the change feed returned no position")
    }
    let current = try Self.position(first, from: column + 1)
    if let loss = try Self.loss(first, from: column + 1, to: current, after: position) { return .lost(reason: loss) }
    guard try first.integer(column + 7) <= Self.maximumEntries, try first.boolean(column + 8) else {
      return .manyChanges
    }
    var (puts, removals): (ContiguousArray<PointOfInterest>, [PointID]) = ([], [])
    for row in result.rows where !row.isNull(column) {
      if row.isNull(0) {
        removals.append(try row.id(column))
      } else {
        puts.append(try row.point())
      }
    }
    return .changes(puts: puts, removals: removals, to: current)
  }

  /// Returns the position of everything that was committed before the call.
  ///
  /// - Throws: ``PointStoreError``; `.readOnly` from a standby.
  package func currentPosition() async throws(PointStoreError) -> ChangePosition {
    let result = try await store.pool.query(
      ChangeStatements.currentPositionStatement, Parameters(), isRead: true, isUrgent: true)
    let position = try Self.position(result.rows.first, from: 0)
    await store.pool.foundPrimary()
    return position
  }

  /// Returns an estimate of the number of places and of the bytes of their texts, from a sample of the table.
  ///
  /// - Throws: ``PointStoreError``.
  package func estimatedSize() async throws(PointStoreError) -> (points: Int, textBytes: Int) {
    let result = try await store.read(ChangeStatements.estimate, Parameters())
    guard let row = result.rows.first else { throw .unexpected(reason: "the estimate returned no row") }
    return (Int(try row.integer(0)), Int(try row.integer(1)))
  }

  /// Copies all places of one snapshot, in the order in which they are stored.
  ///
  /// - Parameter body: called with each place, on a thread of the feed.
  /// - Returns: the position of the snapshot, and the number of bytes that the server sent.
  /// - Throws: ``PointStoreError``, `.readOnly` from a standby; some places may have been passed then.
  package func copyPoints(
    _ body: @escaping @Sendable (PointFields) -> Void
  ) async throws(PointStoreError) -> (position: ChangePosition, byteCount: Int) {
    let decoder = Mutex(CopiedPoints())
    let position = try await withSnapshot { session throws(DatabaseError) in
      let row = try await session.run(ChangeStatements.currentPosition).rows.first
      guard let row, (try? row.boolean(3)) == true, (try? row.boolean(2)) == false else { return row }
      try await session.copyOut(ChangeStatements.copyPoints) { message in
        decoder.withLock { $0.decode(message) { if case .point(let point) = $0 { body(point) } } }
      }
      return row
    }
    let (failure, byteCount) = decoder.withLock { ($0.failure, $0.byteCount) }
    if let failure { throw .unexpected(reason: failure) }
    let current = try Self.position(position, from: 0)
    guard let position, try position.boolean(3) else { throw .schemaMismatch(reason: Self.unloggedReason) }
    return (current, byteCount)
  }

  /// Copies the places that have changed since a position, as they are in a newer snapshot, each once.
  ///
  /// - Parameter body: called with each place, on a thread of the feed.
  /// - Throws: ``PointStoreError``; some places may have been passed then.
  package func copyChanges(
    after position: ChangePosition, _ body: @escaping @Sendable (Change) -> Void
  ) async throws(PointStoreError) -> CopyResult {
    let decoder = Mutex(CopiedPoints(hasLeadingID: true))
    let row = try await withSnapshot { session throws(DatabaseError) in
      let row = try await session.run(ChangeStatements.currentPosition(after: position.snapshot)).rows.first
      guard let row, (try? Self.loss(row, from: 0, to: Self.position(row, from: 0), after: position)) == .some(nil)
      else { return row }
      let many = try await session.run(ChangeStatements.hasManyMissing(from: position.snapshot)).rows.first
      if (try? many?.boolean(0)) == true {
        try await session.run(script: ChangeStatements.planManyChanges)
      }
      try await session.copyOut(ChangeStatements.copyChanges(after: position.snapshot)) { message in
        decoder.withLock { decoder in
          decoder.decode(message) { row in
            switch row {
            case .point(let point): body(.put(point))
            case .deleted(let id): body(.removal(id))
            }
          }
        }
      }
      return row
    }
    guard let row else { throw .unexpected(reason: "the query for the position returned no row") }
    let current = try Self.position(row, from: 0)
    if let loss = try Self.loss(row, from: 0, to: current, after: position) { return .lost(reason: loss) }
    if let failure = decoder.withLock({ $0.failure }) { throw .unexpected(reason: failure) }
    return .copied(to: current)
  }

  /// The result of a copy of changes.
  package enum CopyResult: Sendable {
    /// All changes up to the position were passed.
    case copied(to: ChangePosition)
    /// The changes are not known: all places must be copied.
    case lost(reason: String)
  }

  /// Waits for the notification of a change, and calls a closure whenever some have arrived, until the connection ends
  /// or the task is cancelled.
  ///
  /// - Returns: `false` where the connection leads to a pooler, through which no notification arrives.
  /// - Throws: ``PointStoreError`` when the connection ends.
  package func listen(_ onChange: @Sendable () -> Void) async throws(PointStoreError) -> Bool {
    do {
      let session = try await Session.open(on: thread, store.configuration)
      if await session.isPooled {
        await session.close()
        return false
      }
      try await session.run(script: "LISTEN \(ChangeStatements.channel)")
      // No notification has arrived of commits before LISTEN.
      onChange()
      while true {
        try await session.waitForNotification()
        onChange()
      }
    } catch {
      throw PointStoreError(error)
    }
  }

  /// Runs an operation in a read-only transaction with one snapshot, on a connection of its own.
  private func withSnapshot<Value: Sendable>(
    _ body: (Session) async throws(DatabaseError) -> Value
  ) async throws(PointStoreError) -> Value {
    do {
      let session = try await Session.open(on: thread, store.configuration)
      do throws(DatabaseError) {
        try await session.run(script: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \(BulkSettings.script)")
        let value = try await body(session)
        await session.finish()
        return value
      } catch {
        await session.close()
        throw error
      }
    } catch let error as DatabaseError {
      throw PointStoreError(error)
    } catch {
      throw .unexpected(reason: "\(error)")
    }
  }

  /// Returns the position from the columns of ``ChangeStatements/currentPosition``.
  ///
  /// - Throws: ``PointStoreError``; `.readOnly` from a standby.
  private static func position(
    _ row: QueryResult.Row?, from column: Int32
  ) throws(PointStoreError) -> ChangePosition {
    guard let row else { throw .unexpected(reason: "the query for the position returned no row") }
    guard try !row.boolean(column + 2) else {
      throw .readOnly(reason: ServerIdentity.standbyReason)
    }
    let text = try row.text(column + 1)
    guard let snapshot = TransactionSnapshot(text) else {
      throw .unexpected(reason: "'\(text)' is not a snapshot")
    }
    return ChangePosition(life: try row.text(column), snapshot: snapshot)
  }

  /// Returns the reason for which the changes between two positions are not known, from the columns of
  /// ``ChangeStatements/currentPosition(after:)``; `nil` where they are.
  private static func loss(
    _ row: QueryResult.Row, from column: Int32, to current: ChangePosition, after former: ChangePosition
  ) throws(PointStoreError) -> String? {
    if try !row.boolean(column + 3) { return unloggedReason }
    if current.life != former.life {
      return "the server has restarted or is another one, or the table or its triggers were changed"
    }
    if try row.boolean(column + 4) { return "the change log was pruned" }
    if try row.boolean(column + 5) { return "all places were removed at once" }
    return nil
  }

  private static let unloggedReason = "triggers of the tables points and changes are missing or disabled"
}
