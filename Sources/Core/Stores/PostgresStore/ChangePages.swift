import Basics
package import Points
import PostgresClient
import Synchronization

/// The SQL of the pages of the change log.
extension ChangeStatements {
  /// The statement for the first changed places after a position, in the order of the transactions and the ids. Values:
  /// the snapshot of the position as text; that up to which changes are read, null for the present one; the transaction
  /// and the id of the last entry that was read; the maximum numbers of entries and of bytes of texts.
  ///
  /// One row has null in the columns of a place; then come the columns of ``position``, whether entries were pruned,
  /// whether all places were removed at once, and the number of entries up to one more than the maximum. There is a row
  /// for each entry that fits: the columns of the place, null but for the version where it does not exist, the id, and
  /// the transaction. An entry with a later one up to the same snapshot has null in the version too, as the place comes
  /// with the later one. Later is what compaction takes for it; see ``compact``.
  ///
  /// Measuring tags reads them completely, so it ends at the first entry that does not fit, however many follow:
  /// PostgreSQL computes a window over preceding rows one row at a time, and the order of `number` needs no sort after
  /// it. See ``feed`` for the way in which values are hidden from the planner.
  static let page = Statement(
    "changes_page",
    """
    WITH upper AS MATERIALIZED (
      SELECT coalesce((SELECT $2::text)::pg_snapshot, pg_current_snapshot()) AS snapshot
    ), logged AS MATERIALIZED (
      SELECT transaction, point_id, version, row_number() OVER (ORDER BY transaction, point_id) AS number
      FROM (
        (
          SELECT transaction, point_id, version FROM changes
          WHERE transaction = ANY (ARRAY(
              SELECT number FROM pg_snapshot_xip(\(pageStart)) AS former (number)
              WHERE pg_visible_in_snapshot(number, (SELECT snapshot FROM upper))))
            AND (transaction, point_id) > (\(lastTransaction), \(lastID))
          ORDER BY transaction, point_id LIMIT (SELECT $5::int8 + 1)
        )
        UNION ALL
        (
          SELECT transaction, point_id, version FROM changes
          WHERE transaction >= pg_snapshot_xmax(\(pageStart))
            AND transaction < (SELECT pg_snapshot_xmax(snapshot) FROM upper)
            AND pg_visible_in_snapshot(transaction, (SELECT snapshot FROM upper))
            AND (transaction, point_id) > (\(lastTransaction), \(lastID))
          ORDER BY transaction, point_id LIMIT (SELECT $5::int8 + 1)
        )
      ) AS both_kinds
      ORDER BY transaction, point_id LIMIT (SELECT $5::int8 + 1)
    ), found AS (
      SELECT transaction, point_id, number, entry.version AS logged_version, point.*,
        CASE WHEN point.id IS NULL
          THEN greatest(entry.version, (SELECT max(version) FROM changes WHERE changes.point_id = entry.point_id))
        END AS removal
      FROM (SELECT * FROM logged WHERE point_id IS NOT NULL LIMIT (SELECT $5::int8)) AS entry
      LEFT JOIN LATERAL (
        SELECT \(PointColumns.all) FROM points WHERE points.id = entry.point_id OFFSET 0
      ) AS point ON true
      OFFSET 0
    ), changed AS MATERIALIZED (
      SELECT *,
        -- Most entries have the present version, and are not looked up.
        CASE WHEN coalesce(version, removal) > logged_version THEN EXISTS (
          SELECT FROM changes AS later
          WHERE later.point_id = found.point_id AND later.version > logged_version
            AND later.transaction > found.transaction
            AND pg_visible_in_snapshot(later.transaction, (SELECT snapshot FROM upper))
            AND NOT pg_visible_in_snapshot(later.transaction, \(pageStart))) ELSE false
        END AS is_superseded
      FROM found
    ), excess AS MATERIALIZED (
      SELECT number
      FROM (
        SELECT number,
          sum(
            CASE WHEN is_superseded THEN 0 ELSE coalesce(octet_length(name) + octet_length(tags::text), 0) END
          ) OVER (ORDER BY number ROWS UNBOUNDED PRECEDING) AS bytes
        FROM changed
      ) AS measured
      WHERE number > 1 AND bytes > (SELECT $6::int8)
      ORDER BY number LIMIT 1
    )
    SELECT \(PointColumns.nulls), NULL::uuid, NULL::text, \(position), \(isPruned(after: pageStart)),
      EXISTS (
        SELECT FROM changes
        WHERE point_id IS NULL AND NOT pg_visible_in_snapshot(transaction, \(pageStart))
          AND pg_visible_in_snapshot(transaction, pg_current_snapshot())),
      (SELECT count(*) FROM logged)
    UNION ALL
    (
      SELECT \(columns), point_id, transaction::text, NULL, NULL, NULL, NULL, NULL, NULL, NULL
      FROM changed WHERE number < (SELECT number FROM excess) OR NOT EXISTS (SELECT FROM excess)
      ORDER BY number
    )
    """
  )

  /// The columns of a place, whose tags and version are null in an entry that a later one supersedes.
  private static let columns = PointColumns.list(replacing: [
    .tags: "CASE WHEN NOT is_superseded THEN tags END",
    .version: "CASE WHEN NOT is_superseded THEN coalesce(version, removal) END",
  ])

  private static let pageStart = "((SELECT $1::text)::pg_snapshot)"
  private static let lastTransaction = "(SELECT $3::text::xid8)"
  private static let lastID = "(SELECT $4::uuid)"

  /// The statement that commits an anchor of the present position, unless there is a recent one or nothing has changed
  /// since the last. Values: the hash of the life, its text, and the least time between two anchors in seconds.
  ///
  /// Of the anchors of one life in one hour, the newest is kept.
  static let addAnchor = Statement(
    "change_anchor",
    """
    WITH added AS (
      INSERT INTO change_anchors (life, origin, snapshot)
      SELECT $1::int8, \(origin), pg_current_snapshot()
      WHERE \(life) = $2::text
        AND NOT EXISTS (
          SELECT FROM change_anchors
          WHERE life = $1::int8
            AND time > now() - CASE
              WHEN EXISTS (SELECT FROM changes WHERE transaction >= pg_snapshot_xmax(snapshot))
                THEN make_interval(secs => $3::float8) ELSE interval '1 hour'
            END)
      RETURNING time
    )
    DELETE FROM change_anchors
    USING added
    WHERE life = $1::int8 AND change_anchors.time < added.time
      AND date_trunc('hour', change_anchors.time) = date_trunc('hour', added.time)
    """
  )

  /// The statement for the snapshot of the newest anchor of a former life, and the present life. Value: the hash of the
  /// former life.
  static let lastAnchor = Statement(
    "change_last_anchor",
    """
    SELECT snapshot::text, \(life)
    FROM change_anchors
    WHERE life = $1::int8 AND origin = \(origin)
    ORDER BY time DESC, pg_snapshot_xmax(snapshot) DESC
    LIMIT 1
    """
  )

  /// The statement that deletes the anchors from before a time, but for the last one.
  static let pruneAnchors = Statement(
    "change_anchors_prune",
    """
    DELETE FROM change_anchors
    WHERE time < (SELECT max(time) FROM change_anchors WHERE time <= $1::timestamptz)
    """
  )

  /// The query for the range of transactions whose entries were not compacted yet, as texts.
  static let uncompacted = Statement(
    "changes_uncompacted",
    """
    SELECT (CASE WHEN compacted <= pg_snapshot_xmin(pg_current_snapshot()) THEN compacted ELSE '0' END)::text,
      pg_snapshot_xmin(pg_current_snapshot())::text
    FROM changes_pruned
    """
  )

  /// The statement that deletes the entries that have a later one, of the places of a batch of entries. Values: the
  /// transaction and the id of the last entry of the former batch, and the transaction at which to end. It returns
  /// those of the last entry of the batch, and the number of deleted entries; nothing at the end.
  ///
  /// Later is what has a greater version, drawn under the place's lock: a transaction with a lower number may have
  /// waited for one with a greater one. Where the numbers say otherwise, both entries stay.
  static let compact = Statement(
    "changes_compact",
    """
    WITH batch AS MATERIALIZED (
      SELECT transaction, point_id FROM changes
      WHERE (transaction, point_id) > ((SELECT $1::text::xid8), (SELECT $2::uuid))
        AND transaction < (SELECT $3::text::xid8)
      ORDER BY transaction, point_id LIMIT \(compactedAtOnce)
    ), deleted AS (
      DELETE FROM changes
      WHERE ctid = ANY (ARRAY(
        SELECT former.ctid
        FROM (SELECT DISTINCT point_id FROM batch WHERE point_id IS NOT NULL) AS ids
        JOIN changes AS former ON former.point_id = ids.point_id
        WHERE EXISTS (
          SELECT FROM changes AS later
          WHERE later.point_id = former.point_id AND later.version > former.version
            AND later.transaction >= former.transaction
            AND pg_visible_in_snapshot(later.transaction, pg_current_snapshot()))))
      RETURNING 1
    )
    SELECT transaction::text, point_id, (SELECT count(*) FROM deleted)
    FROM batch ORDER BY transaction DESC, point_id DESC NULLS FIRST LIMIT 1
    """
  )

  private static let compactedAtOnce = 5_000

  /// The statement that notes up to which transaction entries were compacted.
  static let noteCompacted = Statement(
    "changes_compacted", "UPDATE changes_pruned SET compacted = $1::text::xid8 WHERE compacted <> $1::text::xid8")
}

extension ChangeFeed: ChangeLog {
  package func presentPosition() async throws(PointStoreError) -> String {
    let result = try await store.pool.query(
      ChangeStatements.currentPositionStatement, Parameters(), isRead: true, isUrgent: true)
    let position = try Self.position(result.rows.first, from: 0)
    await anchorOnce(try result.rows.first?.text(0))
    return position.text
  }

  /// Returns the changes after a position, by one statement; by three if the position is of a former life of the server.
  package func page(after position: String, limit: Int) async throws(ChangeReadError) -> ChangePage {
    guard let wanted = ChangePosition(text: position) else {
      throw PositionText.isPosition(position) ? .expired(reason: "it is of another store") : .malformed
    }
    var start = wanted
    // Another server may take over between the statements.
    for _ in 0..<3 {
      switch try await Self.reporting({ () throws(PointStoreError) in try await read(after: start, limit: limit) }) {
      case .page(let page): return page
      case .lost(let reason): throw .expired(reason: reason)
      case .otherLife:
        let proven = try await Self.reporting { () throws(PointStoreError) in try await self.proven(wanted) }
        guard let proven else {
          throw .expired(reason: "it is of another database, or the database can't prove it any more")
        }
        start = proven
      }
    }
    throw .store(.unavailable(reason: "the database server keeps changing"))
  }

  package func includes(_ position: String, in other: String) -> Bool {
    guard let position = ChangePosition(text: position), let other = ChangePosition(text: other) else { return false }
    return other.contains(position)
  }

  private static func reporting<Value>(
    _ call: () async throws(PointStoreError) -> Value
  ) async throws(ChangeReadError) -> Value {
    do {
      return try await call()
    } catch {
      throw .store(error)
    }
  }

  /// The result of a read of the log.
  private enum PageAnswer {
    case page(ChangePage)
    case lost(reason: String)
    /// The position is not of the present life of the server.
    case otherLife
  }

  private func read(after start: ChangePosition, limit: Int) async throws(PointStoreError) -> PageAnswer {
    let progress = start.progress
    let result = try await store.pool.query(
      ChangeStatements.page,
      Parameters {
        $0.add(start.snapshot.text)
        $0.add(progress?.upper.text)
        $0.add("\(progress?.lastTransaction ?? 0)")
        $0.add(progress?.lastID ?? PointID(high: 0, low: 0))
        $0.add(Int64(limit))
        $0.add(Int64(PointPage.maximumTextBytes))
      },
      isRead: true)
    let (id, transaction) = (PointColumns.count, PointColumns.count + 1)
    let versionColumn: Int32 = 6
    let header = PointColumns.count + 2
    guard let first = result.rows.first(where: { $0.isNull(id) }) else {
      throw .unexpected(reason: "the change log returned no position")
    }
    let current = try Self.position(first, from: header)
    await anchorOnce(try first.text(header))
    if current.life != start.life { return .otherLife }
    if (progress?.upper ?? start.snapshot).end > current.snapshot.end { return .lost(reason: "it is of the future") }
    if let loss = try Self.loss(first, from: header, to: current, after: start) { return .lost(reason: loss) }
    var changes: [PointChange] = []
    var ids: Set<PointID> = []
    var last: (transaction: UInt64, id: PointID)?
    var rowCount = 0
    for row in result.rows where !row.isNull(id) {
      rowCount += 1
      let (pointID, text) = (try row.id(id), try row.text(transaction))
      guard let number = UInt64(text) else { throw .unexpected(reason: "'\(text)' is not a transaction") }
      if last.map({ ($0.transaction, $0.id) < (number, pointID) }) ?? true { last = (number, pointID) }
      // The place comes with a later entry.
      if row.isNull(versionColumn) { continue }
      guard ids.insert(pointID).inserted else { continue }
      changes.append(row.isNull(0) ? .removal(try row.removal(id)) : .put(try row.point()))
    }
    let upper = progress?.upper ?? current.snapshot
    guard let last, rowCount < Int(try first.integer(header + 6)) else {
      return .page(ChangePage(changes: changes, position: current.of(upper).text, hasMore: false))
    }
    let next = current.of(
      start.snapshot, .init(upper: upper, lastTransaction: last.transaction, lastID: last.id))
    return .page(ChangePage(changes: changes, position: next.text, hasMore: true))
  }

  // MARK: Anchors

  /// The least time between two anchors, in seconds.
  private static let anchorInterval = 10.0

  /// Returns what a position of a former life means on the present server: everything that it certainly had, as the
  /// newest anchor of that life proves; `nil` if there is no anchor.
  ///
  /// Whatever the position has beyond the anchor is read again.
  private func proven(_ position: ChangePosition) async throws(PointStoreError) -> ChangePosition? {
    let result = try await store.pool.query(
      ChangeStatements.lastAnchor, Parameters { $0.add(Int64(bitPattern: position.life)) }, isRead: true)
    guard let row = result.rows.first, let anchor = TransactionSnapshot(try row.text(0)) else { return nil }
    let here = ChangePosition(life: try row.text(1), snapshot: position.snapshot)
    guard let progress = position.progress, anchor.includes(progress.upper) else {
      return here.of(position.snapshot.intersection(anchor))
    }
    return here.of(position.snapshot, progress)
  }

  /// Commits an anchor at the first position of a life of the server, so that each position can be proven later.
  private func anchorOnce(_ life: String?) async {
    guard let life else { return }
    let isNew = anchoredLife.withLock { former in
      if former?.hasSameBytes(as: life) == true { return false }
      former = life
      return true
    }
    // Without the privilege, positions end with the life of the server.
    if isNew { try? await addAnchor(life) }
  }

  private func addAnchor(_ life: String) async throws(PointStoreError) {
    let position = ChangePosition(life: life, snapshot: .empty)
    _ = try await store.write(
      ChangeStatements.addAnchor,
      Parameters {
        $0.add(Int64(bitPattern: position.life))
        $0.add(life)
        $0.add(Self.anchorInterval)
      })
  }

  /// Commits an anchor of the present position, if something has changed since the last and that is old enough.
  ///
  /// - Throws: ``PointStoreError``; `.readOnly` from a standby.
  package func keepAnchored() async throws(PointStoreError) {
    let result = try await store.pool.query(
      ChangeStatements.currentPositionStatement, Parameters(), isRead: true, isUrgent: true)
    _ = try Self.position(result.rows.first, from: 0)
    if let life = try result.rows.first?.text(0) { try await addAnchor(life) }
  }

  /// The time between two calls of ``keepAnchored()``.
  package static let anchorPeriod = Duration.seconds(anchorInterval)
}

extension QueryResult.Row {
  /// Returns the removal of a place from the version in the columns of a place, and its id.
  func removal(_ idColumn: Int32) throws(PointStoreError) -> PointRemoval {
    PointRemoval(id: try id(idColumn), version: try integer(6))
  }
}

extension PostgresStore {
  /// Deletes the entries of the change log that have a later one of the same place, some thousands in each transaction,
  /// and returns their number.
  ///
  /// - Throws: ``PointStoreError``; some entries may have been deleted then.
  package func compactChanges() async throws(PointStoreError) -> Int {
    guard let range = try await write(ChangeStatements.uncompacted, Parameters()).rows.first else { return 0 }
    let end = try range.text(1)
    var (transaction, id) = (try range.text(0), PointID(high: 0, low: 0))
    var count = 0
    while true {
      let row = try await write(
        ChangeStatements.compact,
        Parameters {
          $0.add(transaction)
          $0.add(id)
          $0.add(end)
        }
      ).rows.first
      guard let row else { break }
      transaction = try row.text(0)
      // Entries without a place come last in their transaction.
      id = row.isNull(1) ? PointID(high: .max, low: .max) : try row.id(1)
      count += Int(try row.integer(2))
    }
    _ = try await write(ChangeStatements.noteCompacted, Parameters { $0.add(end) })
    return count
  }
}
