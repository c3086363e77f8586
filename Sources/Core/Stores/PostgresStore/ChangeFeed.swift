import Basics
package import Points
import PostgresClient
import Synchronization

/// The SQL of the change log, which triggers write in the transactions of the changes.
///
/// An entry has the number of its transaction. Transactions become visible in another order than that of their numbers,
/// so a reader compares snapshots: PostgreSQL's snapshot states exactly which transactions it sees. The entries that a
/// new snapshot sees and an old one did not are those of transactions that began after the old one (`xmax` and above)
/// or were in progress in it (`xip`). Each is read once, whatever the order of the commits, and a transaction that is
/// open for hours delays no other. A statement returns its own snapshot together with the entries that it sees, so that
/// both are of the same moment.
///
/// The numbers of entries that were copied from another server, as by `pg_restore`, mean nothing here. Therefore an
/// entry counts only if the new snapshot sees the transaction of its number, as it does for every entry that was
/// written here. Other entries are ignored until the numbers of this server have passed theirs; each then has a place
/// read once in vain.
enum ChangeStatements {
  /// The triggers without which changes, or deletions of their entries, would not be logged.
  private static let triggers = [
    "points_log_insert", "points_log_update", "points_log_delete", "points_log_truncate", "points_log_id_change",
    "changes_log_delete", "changes_log_truncate", "changes_pruned_log_delete",
  ]

  private static let tables = "('points'::regclass, 'changes'::regclass, 'changes_pruned'::regclass)"

  /// The SQL expression of a text that differs between servers, between their starts and recoveries, between databases
  /// and tables, and after each rewriting of the table and each change of the triggers, since changes may have been
  /// made without them. Transaction numbers are only compared where it is the same.
  static let life = """
    concat_ws(
      ' ', (SELECT concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()), extract(epoch FROM stats_reset))
        FROM pg_stat_bgwriter),
      \(table)
    )
    """

  /// The SQL expressions of what differs between databases and tables, and after each rewriting of the table and each
  /// change of the triggers.
  private static let table = """
    (SELECT oid FROM pg_database WHERE datname = current_database()), 'points'::regclass::oid,
      (SELECT relfilenode FROM pg_class WHERE oid = 'points'::regclass),
      (SELECT string_agg(concat_ws(':', tgrelid, oid, tgenabled, xmin), ' ' ORDER BY oid)
        FROM pg_trigger WHERE tgrelid IN \(tables))
    """

  /// The SQL expression of a text that stays the same when the server restarts, or is replaced by a standby or a
  /// physical backup, and differs otherwise as ``life`` does.
  static let origin = "concat_ws(' ', (SELECT system_identifier FROM pg_control_system()), \(table))"

  /// The statement that commits an anchor, and returns the ``life`` and the ``origin``. Values: the anchor's id, the ids
  /// of those to remove, and the age in seconds from which on others are removed.
  static let anchor = Statement(
    "index_anchor",
    """
    WITH added AS (INSERT INTO index_anchors (id) VALUES ($1::text)),
      removed AS (
        DELETE FROM index_anchors
        WHERE id = ANY ($2::text[]) OR created_at < now() - make_interval(secs => $3::float8)
      )
    SELECT \(life), \(origin)
    """
  )

  /// The statement for the current position, in the columns of ``position``, the origin of the table, and whether an
  /// anchor was committed. Value: the anchor's id.
  static let positionOfAnchor = Statement(
    "index_anchor_position",
    "SELECT \(position), \(origin), EXISTS (SELECT FROM index_anchors WHERE id = $1::text)"
  )

  /// The columns of the current position: the life, the snapshot as text, whether the server is a standby, and whether
  /// changes are logged.
  static let position = """
    \(life), pg_current_snapshot()::text, pg_is_in_recovery(),
      (SELECT count(*) = \(triggers.count) FROM pg_trigger
        WHERE tgrelid IN \(tables) AND tgenabled IN ('O', 'A')
          AND tgname IN (\(triggers.map { "'\($0)'" }.joined(separator: ", "))))
    """

  /// The query for the position of a transaction's snapshot, in the columns of ``position``.
  static let currentPosition = "SELECT \(position)"

  /// The same query as a prepared statement.
  static let currentPositionStatement = Statement("changes_position", currentPosition)

  /// Returns the query for the position of a transaction's snapshot, and two columns that indicate whether the changes
  /// after another one can't be read: whether entries were pruned, and whether all places were removed at once.
  static func currentPosition(after snapshot: TransactionSnapshot) -> String {
    """
    SELECT \(position), \(isPruned(after: "'\(snapshot.text)'::pg_snapshot")),
      EXISTS (SELECT FROM changes WHERE point_id IS NULL AND \(isMissing(from: snapshot)))
    """
  }

  /// Returns the condition, as SQL, that an entry was deleted which a former snapshot does not see.
  ///
  /// A deletion that the former snapshot sees has deleted no such entry, so each deletion counts once at most. Of the
  /// others only those of unseen transactions count, however long a transaction stays open.
  static func isPruned(after former: String) -> String {
    """
    EXISTS (
        SELECT FROM changes_pruned
        WHERE NOT pg_visible_in_snapshot(pruned_by, \(former))
          AND pg_visible_in_snapshot(pruned_by, pg_current_snapshot())
          AND (
            settled >= pg_snapshot_xmin(\(former))
            OR EXISTS (
              SELECT FROM unnest(recent) AS number WHERE NOT pg_visible_in_snapshot(number, \(former))))
      )
    """
  }

  /// Returns the condition of the entries that a snapshot does not see and the present one does, as SQL. The text is
  /// made from numbers.
  private static func isMissing(from snapshot: TransactionSnapshot) -> String {
    let inProgress = snapshot.inProgress.map { "'\($0)'" }.joined(separator: ", ")
    return """
      (transaction >= '\(snapshot.end)'::xid8 OR transaction = ANY (ARRAY[\(inProgress)]::xid8[]))
        AND pg_visible_in_snapshot(transaction, pg_current_snapshot())
      """
  }

  /// The statement for the current position and the places that were changed after another one. Values: the snapshot of
  /// the other position as text, the maximum number of entries, the maximum number of bytes of all tags.
  ///
  /// One row has null in the columns of a place and an id; then the columns of ``position``, whether entries were
  /// pruned, whether all places were removed at once, the number of entries, and whether the tags fit. If the entries
  /// and the tags are not more than the maximum, there is also a row for each changed place: the columns of the place,
  /// where it was deleted all null but the version, and its id.
  ///
  /// Each index scan stops at the maximum, so that the statement is short however many entries there are. Tags are
  /// measured only where their stored sizes do not tell, because measuring reads them completely, and only up to the
  /// first that do not fit: PostgreSQL computes a window over preceding rows one row at a time. The planner would use
  /// the values of the snapshot and the maximum to plan each execution anew, which takes five times as long as the
  /// execution; it does not look into subqueries. `OFFSET 0` has it look each place up, instead of reading a small
  /// table as a whole.
  static let feed = Statement(
    "changes_feed",
    """
    WITH logged AS MATERIALIZED (
      (
        SELECT point_id FROM changes
        WHERE transaction >= pg_snapshot_xmax(\(former))
          AND transaction < (SELECT pg_snapshot_xmax(pg_current_snapshot()))
          AND pg_visible_in_snapshot(transaction, (SELECT pg_current_snapshot()))
        ORDER BY transaction LIMIT (SELECT $2::int8 + 1)
      )
      UNION ALL
      (
        SELECT point_id FROM changes
        WHERE transaction = ANY (ARRAY(
          SELECT number FROM pg_snapshot_xip(\(former)) AS former (number)
          WHERE pg_visible_in_snapshot(number, pg_current_snapshot())))
        ORDER BY transaction LIMIT (SELECT $2::int8 + 1)
      )
    ), total AS MATERIALIZED (
      SELECT count(*) AS count, bool_or(point_id IS NULL) IS TRUE AS is_reset FROM logged
    ), changed AS MATERIALIZED (
      SELECT point_id, point.*,
        CASE WHEN point.id IS NULL
          THEN (SELECT max(changes.version) FROM changes WHERE changes.point_id = ids.point_id) ELSE point.version
        END AS last_version
      FROM (
        SELECT DISTINCT point_id FROM logged WHERE (SELECT count <= $2::int8 AND NOT is_reset FROM total)
      ) AS ids
      LEFT JOIN LATERAL (
        SELECT \(PointColumns.all) FROM points WHERE points.id = ids.point_id OFFSET 0
      ) AS point ON true
    ), size AS MATERIALIZED (
      SELECT CASE
          WHEN stored <= (SELECT $3::int8 / \(LongTags.maximumCompression)) THEN true
          WHEN stored > (SELECT $3::int8) THEN false
          ELSE NOT EXISTS (
            SELECT FROM (
              SELECT sum(octet_length(tags::text)) OVER (ROWS UNBOUNDED PRECEDING) AS bytes FROM changed
            ) AS measured
            WHERE bytes > (SELECT $3::int8))
        END AS fits
      FROM (SELECT coalesce(sum(pg_column_size(tags)), 0) AS stored FROM changed) AS total
    )
    SELECT \(PointColumns.nulls), NULL::uuid, \(position),
      \(isPruned(after: former)), is_reset, count, fits
    FROM total, size
    UNION ALL
    SELECT \(PointColumns.list(replacing: [.version: "last_version"])), point_id,
      NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM changed WHERE (SELECT fits FROM size)
    """
  )

  private static let former = "((SELECT $1::text)::pg_snapshot)"

  /// The statement for the estimated numbers of places and of bytes of their texts.
  ///
  /// It reads some pages of the table at random, with about a thousand places, however many there are. Of these it
  /// takes the stored size of the tags, which costs nothing, and of a hundred also their length, which reads them
  /// completely. Statistics do not tell: the width of a value that is stored outside of its row is given as 18 bytes.
  static let estimate = Statement(
    "changes_estimate",
    """
    WITH size AS MATERIALIZED (
      SELECT relpages > 0 AND reltuples >= 0 AS is_known, greatest(1, CASE
          WHEN relpages > 0 AND reltuples >= 0
            THEN reltuples * pg_relation_size(oid) / current_setting('block_size')::int8 / relpages
          ELSE pg_relation_size(oid) / 200
        END)::float8 AS places
      FROM pg_class WHERE oid = 'points'::regclass
    ), sample AS MATERIALIZED (
      SELECT octet_length(name) + coalesce(octet_length(source_id), 0) AS others, pg_column_size(tags) AS stored, tags
      FROM points TABLESAMPLE SYSTEM ((SELECT \(samplePercent) FROM size))
    ), total AS MATERIALIZED (
      SELECT CASE WHEN is_known THEN places ELSE (SELECT count(*) FROM sample) * 100 / (\(samplePercent)) END AS places
      FROM size
    ), compression AS MATERIALIZED (
      SELECT sum(octet_length(tags::text)) / sum(stored)::float8 AS ratio
      FROM (SELECT stored, tags FROM sample ORDER BY random() LIMIT 100) AS few
    )
    SELECT places::int8, (places * coalesce((
        SELECT avg(others) + avg(stored) * (SELECT ratio FROM compression) FROM sample
      ), 100))::int8
    FROM total
    """
  )

  /// The SQL expression of the part of the pages that ``estimate`` reads, from the number of places.
  private static let samplePercent = "least(100, 100 * 1000 / places)"

  /// The query that copies all places in binary, in the order in which they are stored.
  static let copyPoints = "COPY (SELECT \(PointColumns.all) FROM points) TO STDOUT (FORMAT binary)"

  /// Returns the query that copies the places that were changed after a snapshot in binary: the id, and the columns of
  /// the place, all null where it was deleted. Entries that the transaction's snapshot does not see are not included.
  static func copyChanges(after snapshot: TransactionSnapshot) -> String {
    """
    COPY (
      SELECT point_id, \(PointColumns.all)
      FROM (SELECT DISTINCT point_id FROM changes WHERE \(isMissing(from: snapshot))) AS changed
      LEFT JOIN points ON points.id = changed.point_id
    ) TO STDOUT (FORMAT binary)
    """
  }

  /// Returns the query for the number of entries after a snapshot, and whether they are so many that reading all places
  /// is faster than looking each of the changed ones up.
  static func countMissing(from snapshot: TransactionSnapshot) -> String {
    """
    SELECT count, 20 * count > (SELECT reltuples FROM pg_class WHERE oid = 'points'::regclass)
    FROM (SELECT count(*) FROM changes WHERE \(isMissing(from: snapshot))) AS missing
    """
  }

  /// The script that has the rest of a transaction read all places once, and find the changed ones in memory. By itself
  /// the planner looks each of them up and sorts their ids on disk: it does not know yet how long the log has become.
  static let planManyChanges = """
    SET LOCAL enable_nestloop = off; SET LOCAL enable_sort = off; SET LOCAL work_mem = '64MB'
    """

  /// The channel on which changes are notified.
  static let channel = "waymark_changes"

  /// The statement that wakes up all readers. In the transaction of a write it would make the commits of all writers
  /// wait for each other, so it follows the commit.
  static let notify = Statement("changes_notify", "SELECT pg_notify('\(channel)', '')")

  /// The statement that deletes a batch of the entries of transactions that had ended before a time, in a fraction of a
  /// second. An entry's own time would not do: it may be hours before the commit that makes it visible. Numbers that no
  /// transaction has reached were copied from another server, and their entries are deleted too.
  static let prune = Statement(
    "changes_prune",
    """
    DELETE FROM changes
    WHERE ctid = ANY (ARRAY(
      SELECT ctid
      FROM changes
      WHERE transaction < (
        SELECT horizon FROM changes_pruned
        WHERE horizon_time <= $1::timestamptz AND horizon <= pg_snapshot_xmin(pg_current_snapshot())
        ORDER BY horizon LIMIT 1)
      ORDER BY transaction
      LIMIT \(prunedAtOnce)
    ) || ARRAY(
      SELECT ctid
      FROM changes
      WHERE transaction >= (SELECT pg_snapshot_xmax(pg_current_snapshot()))
      LIMIT \(prunedAtOnce)
    ))
    """
  )

  static let prunedAtOnce = 20_000

  /// The statement that sets the transactions below which entries are pruned: those that had ended at the newest anchor
  /// from before a time.
  static let advanceHorizon = Statement(
    "changes_horizon",
    """
    UPDATE changes_pruned
    SET horizon = anchor.horizon, horizon_time = anchor.time
    FROM (
      SELECT pg_snapshot_xmin(snapshot) AS horizon, time
      FROM change_anchors
      WHERE origin = \(origin) AND time <= $1::timestamptz
      ORDER BY time DESC LIMIT 1
    ) AS anchor
    WHERE changes_pruned.horizon_time < anchor.time
    """
  )
}

/// The changes of a database's places, for an index that follows them.
///
/// It has a thread and up to two connections of its own, beside the store's pool: one that waits for notifications, and
/// one that copies places while an index is built or catches up.
package final class ChangeFeed: Sendable {
  /// The result of a question for changes.
  package enum Answer: Sendable {
    /// The changes between the given position and another one. Reading the places at the other position gives the same
    /// as applying the changes.
    case changes(puts: ContiguousArray<PointOfInterest>, removals: [PointRemoval], to: ChangePosition)
    /// There are changes that do not fit into one response: see ``ChangeFeed/copyChanges(after:_:)``.
    case manyChanges
    /// The changes after the given position are not known: all places must be copied.
    case lost(reason: String)
  }

  /// A place that was changed, as a copy passes it.
  package enum Change {
    /// A place that exists, with its present fields.
    case put(BorrowedPoint)
    /// The id of a place that does not exist.
    case removal(PointID)
  }

  /// The maximum number of entries of the log that are read at once.
  private static let maximumEntries = 1000

  /// The maximum number of bytes of the tags of the places that are read at once. libpq buffers all rows of a result.
  private static let maximumTagBytes = 8 << 20

  /// The shortest time for which the anchors of indexes are kept. Without changes they are of use for longer than the
  /// change log is kept.
  private static let leastAnchorRetention = Duration.seconds(30 * 86_400)

  let store: PostgresStore
  private let thread: PollingThread

  /// The time for which the anchors of indexes are kept, by whichever instance.
  private let anchorRetention: Duration

  /// The last life of the server that positions were given of, as text.
  let anchoredLife = Mutex<String?>(nil)

  /// Creates a feed of the places of a store, which connects on the first call.
  ///
  /// - Parameter retention: the time for which changes are kept.
  /// - Throws: ``PointStoreError`` when the system can't create a thread.
  package init(_ store: PostgresStore, changesKeptFor retention: Duration = .zero) throws(PointStoreError) {
    guard let thread = PollingThread() else { throw .unavailable(reason: "the system could not create a thread") }
    self.store = store
    self.thread = thread
    anchorRetention = max(ChangeFeed.leastAnchorRetention, retention)
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
    var (puts, removals): (ContiguousArray<PointOfInterest>, [PointRemoval]) = ([], [])
    for row in result.rows where !row.isNull(column) {
      if row.isNull(0) {
        removals.append(try row.removal(column))
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

  /// Returns an anchor of a position: a write that was committed after it; `nil` if the server has restarted since the
  /// position, or is another one, so that the write says nothing about the position.
  ///
  /// - Parameters:
  ///   - position: a position.
  ///   - obsolete: the anchors that are needed no more.
  /// - Throws: ``PointStoreError``.
  package func anchor(
    _ position: ChangePosition, removing obsolete: [ChangeAnchor]
  ) async throws(PointStoreError) -> ChangeAnchor? {
    let id = ChangeAnchor.newID()
    let result = try await store.write(
      ChangeStatements.anchor,
      Parameters {
        $0.add(id)
        $0.add(obsolete.map(\.id))
        $0.add(anchorRetention / .seconds(1))
      })
    guard let row = result.rows.first else { throw .unexpected(reason: "the statement of an anchor returned no row") }
    guard position == ChangePosition(life: try row.text(0), snapshot: position.snapshot) else { return nil }
    return ChangeAnchor(id: id, origin: try row.text(1), snapshot: position.snapshot)
  }

  /// Returns the position of an anchor on the present server; `nil` if the server does not have everything that was
  /// committed before the anchor, or is another one.
  ///
  /// - Throws: ``PointStoreError``; `.readOnly` from a standby.
  package func position(of anchor: ChangeAnchor) async throws(PointStoreError) -> ChangePosition? {
    let result = try await store.pool.query(
      ChangeStatements.positionOfAnchor, Parameters { $0.add(anchor.id) }, isRead: true, isUrgent: true)
    let current = try Self.position(result.rows.first, from: 0)
    guard let row = result.rows.first, anchor.isOf(origin: try row.text(4)), try row.boolean(5),
      anchor.snapshot.end <= current.snapshot.end
    else { return nil }
    return current.of(anchor.snapshot)
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
    _ body: @escaping @Sendable (BorrowedPoint) -> Void
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
  /// - Parameters:
  ///   - maximum: the number of changes above which none is copied, because copying all places is faster.
  ///   - body: called with each place, on a thread of the feed.
  /// - Throws: ``PointStoreError``; some places may have been passed then.
  package func copyChanges(
    after position: ChangePosition, upTo maximum: Int, _ body: @escaping @Sendable (Change) -> Void
  ) async throws(PointStoreError) -> CopyResult {
    let decoder = Mutex(CopiedPoints(hasLeadingID: true))
    let (row, count) = try await withSnapshot { session throws(DatabaseError) -> (QueryResult.Row?, Int64) in
      let row = try await session.run(ChangeStatements.currentPosition(after: position.snapshot)).rows.first
      guard let row, (try? Self.loss(row, from: 0, to: Self.position(row, from: 0), after: position)) == .some(nil)
      else { return (row, 0) }
      let missing = try await session.run(ChangeStatements.countMissing(from: position.snapshot)).rows.first
      let count = (try? missing?.integer(0)) ?? 0
      if count > maximum { return (row, count) }
      if (try? missing?.boolean(1)) == true {
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
      return (row, count)
    }
    guard let row else { throw .unexpected(reason: "the query for the position returned no row") }
    let current = try Self.position(row, from: 0)
    if let loss = try Self.loss(row, from: 0, to: current, after: position) { return .lost(reason: loss) }
    if count > maximum { return .lost(reason: "most places were changed") }
    if let failure = decoder.withLock({ $0.failure }) { throw .unexpected(reason: failure) }
    return .copied(to: current)
  }

  /// The result of a copy of changes.
  package enum CopyResult: Sendable {
    /// All changes up to the position were passed.
    case copied(to: ChangePosition)
    /// All places must be copied, because the changes are not known or too many.
    case lost(reason: String)
  }

  /// Waits for the notification of a change, and calls a closure whenever some have arrived, until the connection ends
  /// or the task is cancelled.
  ///
  /// - Returns: `false` where the connection leads to a pooler, through which no notification arrives.
  /// - Throws: ``PointStoreError`` when the connection ends; `.readOnly` if the database is a standby, on which LISTEN is
  ///   an error.
  package func listen(_ onChange: @Sendable () -> Void) async throws(PointStoreError) -> Bool {
    // On a connection of the pool, so that none is opened to a standby.
    _ = try await currentPosition()
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
  static func position(
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
  static func loss(
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

/// Sends notifications of changes after they were committed, one for all changes of a short time.
///
/// A notification in the transaction of a write would make the commits of all writers wait for each other (PostgreSQL's
/// documentation, "NOTIFY").
final class ChangeNotifier: Sendable {
  private enum State {
    case idle
    case sending
    /// There was a change since the notification that is being sent.
    case mustSendAgain
  }

  /// The time between two notifications.
  private static let interval = Duration.milliseconds(2)

  private let state = Mutex(State.idle)

  /// Notes a change that was committed, and returns at once.
  ///
  /// - Parameter send: sends a notification; a failure is ignored, because readers also poll.
  func changed(_ send: @escaping @Sendable () async -> Void) {
    let isFirst = state.withLock { state in
      let isFirst = state == .idle
      state = isFirst ? .sending : .mustSendAgain
      return isFirst
    }
    guard isFirst else { return }
    Task {
      repeat {
        await send()
        try? await Task.sleep(for: Self.interval)
      } while mustSendAgain()
    }
  }

  /// A Boolean value that indicates whether all changes so far were notified.
  var isIdle: Bool { state.withLock { $0 == .idle } }

  private func mustSendAgain() -> Bool {
    state.withLock { state in
      let isNeeded = state == .mustSendAgain
      state = isNeeded ? .sending : .idle
      return isNeeded
    }
  }
}

extension PostgresStore {
  /// Wakes up the readers of the change log, some time after the call.
  func notifyOfChanges() {
    changeNotifier.changed { [pool] in
      _ = try? await pool.query(ChangeStatements.notify, Parameters(), isRead: true)
    }
  }
}

extension PostgresStore {
  /// Deletes the entries of the change log of transactions that had ended at the last anchor before a time, some
  /// thousands in each transaction, and returns their number.
  ///
  /// - Throws: ``PointStoreError``; some entries may have been deleted then.
  package func pruneChanges(before time: Timestamp) async throws(PointStoreError) -> Int {
    _ = try await write(ChangeStatements.advanceHorizon, Parameters { $0.add(time) })
    var pruned = 0
    while true {
      let count = try await write(ChangeStatements.prune, Parameters { $0.add(time) }).affectedRows
      pruned += count
      if count < ChangeStatements.prunedAtOnce { break }
    }
    _ = try await write(ChangeStatements.pruneAnchors, Parameters { $0.add(time) })
    return pruned
  }
}

/// A snapshot of PostgreSQL: the transactions whose effects it sees.
///
/// It sees the committed transactions below `end`, except those in progress (PostgreSQL's documentation, "Transaction
/// ID and Snapshot Information Functions").
struct TransactionSnapshot: Hashable, Sendable {
  /// The number below which all transactions had ended (`xmin`).
  let start: UInt64

  /// The number that no transaction had reached (`xmax`).
  let end: UInt64

  /// The transactions from `start` to `end` that were in progress, ascending (`xip_list`).
  let inProgress: [UInt64]

  /// Creates a snapshot from PostgreSQL's text, such as `10:20:10,14,15`; `nil` for any other text.
  init?(_ text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 3, let start = UInt64(parts[0]), let end = UInt64(parts[1]) else { return nil }
    let numbers = parts[2].split(separator: ",").map { UInt64($0) }
    let inProgress = numbers.compactMap(\.self)
    guard inProgress.count == numbers.count else { return nil }
    self.init(start: start, end: end, inProgress: inProgress)
  }

  /// Creates a snapshot; `nil` if the numbers are not in order, or PostgreSQL has no such snapshot: it begins with 1.
  init?(start: UInt64, end: UInt64, inProgress: [UInt64]) {
    guard start > 0, start <= end, inProgress.allSatisfy({ start <= $0 && $0 < end }), inProgress == inProgress.sorted()
    else {
      return nil
    }
    (self.start, self.end, self.inProgress) = (start, end, inProgress)
  }

  /// Creates a snapshot from its ``numbers``; `nil` if they are none.
  init?(numbers: ArraySlice<UInt64>) {
    guard numbers.count >= 2 else { return nil }
    let first = numbers.startIndex
    self.init(start: numbers[first], end: numbers[first + 1], inProgress: Array(numbers[(first + 2)...]))
  }

  /// The snapshot that sees nothing.
  static let empty = TransactionSnapshot(start: 0, end: 0)

  private init(start: UInt64, end: UInt64) {
    (self.start, self.end, inProgress) = (start, end, [])
  }

  /// The start, the end and the transactions in progress.
  var numbers: [UInt64] { [start, end] + inProgress }

  /// PostgreSQL's text of the snapshot.
  var text: String { "\(start):\(end):\(inProgress.map(String.init).joined(separator: ","))" }

  /// Returns a Boolean value that indicates whether the snapshot sees everything that another one sees.
  func includes(_ other: TransactionSnapshot) -> Bool {
    end >= other.end && inProgress.allSatisfy { $0 >= other.end || !other.contains($0) }
  }

  /// Returns the snapshot that sees what both see.
  func intersection(_ other: TransactionSnapshot) -> TransactionSnapshot {
    let end = min(end, other.end)
    let inProgress = Set(self.inProgress + other.inProgress).filter { $0 < end }.sorted()
    return TransactionSnapshot(start: inProgress.first ?? end, end: end, inProgress: inProgress) ?? .empty
  }

  /// Returns a Boolean value that indicates whether the snapshot sees a transaction that was committed. O(log n) for n
  /// transactions in progress.
  func contains(_ transaction: UInt64) -> Bool {
    if transaction < start { return true }
    if transaction >= end { return false }
    let position = inProgress.partitioningIndex { $0 >= transaction }
    return position == inProgress.endIndex || inProgress[position] != transaction
  }
}

/// A position in the history of a database's places: everything that one snapshot of one server sees, and a part of what
/// a later snapshot sees, if a reader is in between.
package struct ChangePosition: Hashable, Sendable {
  /// The part of the changes between two snapshots that was read, in the order of the transactions and the ids.
  struct Progress: Hashable, Sendable {
    /// The snapshot up to which changes are read.
    let upper: TransactionSnapshot

    /// The transaction and the place of the last entry that was read.
    let lastTransaction: UInt64
    let lastID: PointID
  }

  /// A hash of what identifies the server, the start or recovery that it runs since, the database and the table.
  /// Snapshots of different lives are not comparable.
  let life: UInt64

  let snapshot: TransactionSnapshot

  /// The part of later changes that was read; `nil` if there is none.
  let progress: Progress?

  /// Creates a position from the text of ``ChangeStatements/life``.
  init(life: String, snapshot: TransactionSnapshot) {
    var hash = FNV1a()
    hash.combine(bytes: life.utf8)
    self.life = hash.value
    self.snapshot = snapshot
    progress = nil
  }

  /// Returns the position of another snapshot of the same life.
  func of(_ snapshot: TransactionSnapshot, _ progress: Progress? = nil) -> ChangePosition {
    ChangePosition(life: life, snapshot: snapshot, progress: progress)
  }

  private init(life: UInt64, snapshot: TransactionSnapshot, progress: Progress?) {
    (self.life, self.snapshot, self.progress) = (life, snapshot, progress)
  }

  /// A text of letters, digits, dots and hyphens that is the same for equal positions, and differs for others.
  package var text: String {
    let start = Self.text([life] + snapshot.numbers)
    guard let progress else { return start }
    return [
      start, Self.text(progress.upper.numbers),
      Self.text([progress.lastTransaction, progress.lastID.high, progress.lastID.low]),
    ].joined(separator: "-")
  }

  /// Creates a position from its ``text``; `nil` for any other text.
  package init?(text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { Self.numbers($0) }
    guard let start = parts[0], let life = start.first,
      let snapshot = TransactionSnapshot(numbers: start.dropFirst())
    else { return nil }
    (self.life, self.snapshot) = (life, snapshot)
    switch parts.count {
    case 1: progress = nil
    case 3:
      guard let numbers = parts[1], let upper = TransactionSnapshot(numbers: numbers[...]), let last = parts[2],
        last.count == 3, upper.includes(snapshot)
      else { return nil }
      progress = Progress(
        upper: upper, lastTransaction: last[0], lastID: PointID(high: last[1], low: last[2]))
    default: return nil
    }
    // Of several spellings of a number only one is ours.
    guard self.text.hasSameBytes(as: text) else { return nil }
  }

  private static func text(_ numbers: [UInt64]) -> String {
    numbers.map { String($0, radix: 36) }.joined(separator: ".")
  }

  /// Returns the numbers of a text; `nil` if one is none.
  private static func numbers(_ text: Substring) -> [UInt64]? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    let numbers = parts.compactMap { UInt64($0, radix: 36) }
    return numbers.count == parts.count ? numbers : nil
  }

  /// Returns a Boolean value that indicates whether everything that another position has is certainly in this one.
  package func contains(_ other: ChangePosition) -> Bool {
    life == other.life && snapshot.includes(other.progress?.upper ?? other.snapshot)
  }
}

/// A position that is found again after a restart, a crash or a promotion of the server.
///
/// It is a snapshot and a row that was committed after the snapshot was taken. PostgreSQL recovers its write-ahead log
/// from the beginning up to some point, on any server. So a server that has the row has every commit that precedes the
/// row's in the log, among them all that the snapshot sees; and it gives out no transaction number again that is not
/// greater than the row's, so that the numbers of the snapshot mean the same as before. A server without the row has
/// lost some of it, and the snapshot means nothing there.
package struct ChangeAnchor: Sendable {
  let id: String

  /// A hash of what differs between databases and tables.
  private let originHash: UInt64

  let snapshot: TransactionSnapshot

  init(id: String, origin: String, snapshot: TransactionSnapshot) {
    self.id = id
    originHash = Self.hash(origin)
    self.snapshot = snapshot
  }

  /// Returns an id that no other anchor has.
  static func newID() -> String {
    var generator = SystemRandomNumberGenerator()
    return "\(String(generator.next(), radix: 36))\(String(generator.next(), radix: 36))"
  }

  /// Returns a Boolean value that indicates whether the anchor is of the table with an origin.
  func isOf(origin: String) -> Bool { Self.hash(origin) == originHash }

  private static func hash(_ text: String) -> UInt64 {
    var hash = FNV1a()
    hash.combine(bytes: text.utf8)
    return hash.value
  }

  /// A text from which ``init(text:)`` creates the same anchor.
  package var text: String { "\(id) \(String(originHash, radix: 36)) \(snapshot.text)" }

  /// Creates an anchor from its ``text``; `nil` for any other text.
  package init?(text: String) {
    let parts = text.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 3, let origin = UInt64(parts[1], radix: 36),
      let snapshot = TransactionSnapshot(String(parts[2]))
    else { return nil }
    (id, originHash, self.snapshot) = (String(parts[0]), origin, snapshot)
  }
}
