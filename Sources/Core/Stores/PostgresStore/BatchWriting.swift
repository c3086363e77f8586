import Basics
import Geo
package import Points
import PostgresClient

/// The SQL of batches. A batch is decided on the places that were read before, and written if they are still the same:
/// by one statement, unless an operation depends on the effect of another one; see ``BatchWave``.
enum BatchStatements {
  /// The statement that returns places by their ids, each with a Boolean value that indicates whether the names and tags
  /// of all together exceed ``Points/PointBatch/maximumBytes``. If they do, only one place is returned. Value: ids.
  ///
  /// Tags are measured up to the first that exceed it; see ``ChangeStatements/page``.
  static let points = Statement(
    "batch_points", planning: .eachTime,
    """
    WITH found AS MATERIALIZED (
      SELECT \(PointColumns.all) FROM points WHERE id = ANY ($1::uuid[])
    ), excess AS MATERIALIZED (
      SELECT id
      FROM (
        SELECT id,
          sum(octet_length(name) + octet_length(tags::text)) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS bytes
        FROM found
      ) AS measured
      WHERE bytes > \(PointBatch.maximumBytes)
      ORDER BY id LIMIT 1
    )
    SELECT \(PointColumns.all), EXISTS (SELECT FROM excess)
    FROM found
    WHERE id = (SELECT id FROM excess) OR NOT EXISTS (SELECT FROM excess)
    """)

  /// The query for the owner of each origin, and for the id of the deleted place that had it last.
  static let origins = Statement(
    "batch_origins", planning: .eachTime,
    """
    SELECT origin.source, origin.source_id, points.id, former_ids.id
    FROM unnest($1::text[], $2::text[]) AS origin (source, source_id)
    LEFT JOIN points USING (source, source_id)
    LEFT JOIN former_ids USING (source, source_id)
    """)

  /// The number of locks on ids above which batches are written one after the other, as the server has room for some
  /// thousands of locks.
  private static let manyLocks = WriteStatements.deleteBatchLength

  /// The statement that writes a wave, if the places that it depends on are as they were read. Values: the ids that were
  /// read and their versions, 0 for no place; the places to create or replace; the ids to delete; the key or null, the
  /// hash of the request, the texts of the results of all operations, and for each the number of the place whose version
  /// follows, counted from 1, 0 for none; whether deletions are edits, the maximum number of edits, and the ids of places
  /// whose edits were confirmed.
  ///
  /// It returns whether the places were as they were read, whether there is room for the edits, and the versions of those
  /// that were created or replaced.
  ///
  /// Creations under ids that may have existed before, and deletions, take the locks of ``VersionStatements``. A place
  /// that was created after it was looked for violates a constraint, so that the statement is rolled back and retried.
  static let write = Statement(
    "batch_write", planning: .eachTime,
    """
    WITH expected AS MATERIALIZED (
      SELECT id, version FROM unnest($1::uuid[], $2::int8[]) AS expected (id, version)
    ), puts AS MATERIALIZED (
      SELECT id, lat, long, name, nullif(category, '') AS category, tags::json AS tags, nullif(source, '') AS source,
        nullif(source_id, '') AS source_id
      FROM unnest(
        $3::uuid[], $4::float8[], $5::float8[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[]
      ) AS puts (id, \(PointColumns.draft))
    ), to_lock AS MATERIALIZED (
      SELECT id, count(*) OVER () AS count
      FROM expected
      WHERE id = ANY ($11::uuid[]) OR version = 0 AND id IN (SELECT id FROM puts)
    ), turn AS MATERIALIZED (
      SELECT pg_advisory_xact_lock(8602447712365544708)
      WHERE EXISTS (SELECT FROM to_lock WHERE count > \(manyLocks))
    ), locked AS MATERIALIZED (
      SELECT count(\(VersionStatements.lock(of: "id"))::text)
      FROM (SELECT id FROM to_lock WHERE (SELECT count(*) FROM turn) >= 0 ORDER BY uuid_hash(id)) AS sorted
    ), old AS MATERIALIZED (
      SELECT id, version, updated_at, \(PointColumns.draft)
      FROM points
      WHERE id = ANY ($1::uuid[]) AND (SELECT count FROM locked) >= 0
      ORDER BY id
      FOR UPDATE
    ), fields AS MATERIALIZED (
      SELECT puts.id, puts.source, puts.source_id, difference.*
      FROM puts JOIN old USING (id)
      CROSS JOIN LATERAL (\(EditStatements.differences(of: "puts", from: "old"))) AS difference
      WHERE (old.source, old.source_id) = (puts.source, puts.source_id)
    ), deletions AS MATERIALIZED (
      SELECT id, source, source_id FROM old WHERE $16::bool AND id = ANY ($11::uuid[]) AND source IS NOT NULL
    ), state AS MATERIALIZED (
      SELECT is_current, has_room, may_note_deletions, is_current AND has_room AS may_write
      FROM (
        SELECT
          NOT EXISTS (
            SELECT FROM expected LEFT JOIN old USING (id) WHERE coalesce(old.version, 0) <> expected.version
          ) AS is_current,
          \(EditStatements.hasRoom(for: nil, "count", maximum: "$17::int8")) AS has_room,
          \(EditStatements.hasRoom(for: nil, "(count + deletions)", maximum: "$17::int8")) AS may_note_deletions
        FROM (
          SELECT count(*) FILTER (WHERE NOT is_deletion) AS count, count(*) FILTER (WHERE is_deletion) AS deletions
          FROM (SELECT id, false AS is_deletion FROM fields UNION ALL SELECT id, true FROM deletions) AS edited
          WHERE NOT EXISTS (SELECT FROM edits WHERE edits.id = edited.id)
        ) AS added
      ) AS checked
    ), deleted AS (
      DELETE FROM points
      USING old CROSS JOIN state
      WHERE points.id = old.id AND old.id = ANY ($11::uuid[]) AND may_write
    ), updated AS (
      UPDATE points
      SET (\(PointColumns.draft)) = ROW (\(PointColumns.qualified(PointColumns.draft, by: "puts"))),
        version = \(VersionStatements.next(after: "old.version")), updated_at = greatest(now(), old.updated_at)
      FROM puts JOIN old USING (id) CROSS JOIN state
      WHERE points.id = old.id AND may_write
      RETURNING points.id, points.version
    ), inserted AS (
      INSERT INTO points (id, \(PointColumns.draft), version)
      SELECT id, \(PointColumns.draft), \(VersionStatements.next)
      FROM puts CROSS JOIN state
      WHERE may_write AND NOT EXISTS (SELECT FROM old WHERE old.id = puts.id)
      RETURNING id, version
    ), undone AS (
      -- Not an edit that an import has forgotten while the statement waited: the new value is an edit then.
      DELETE FROM edits
      USING fields CROSS JOIN state
      WHERE edits.id = fields.id AND edits.field = fields.field AND may_write
        AND \(EditStatements.isBase(of: "edits", "fields"))
      RETURNING edits.id, edits.field
    ), noted AS (
      INSERT INTO edits (id, field, source, source_id, base, base_lat, base_long, since)
      SELECT fields.id, fields.field, source, source_id, base, base_lat, base_long, now()
      FROM fields CROSS JOIN state
      WHERE may_write AND (id, field) NOT IN (SELECT id, field FROM undone)
      ON CONFLICT (id, field) DO UPDATE SET since = excluded.since, is_conflict = false
    ), noted_deletions AS (
      \(WriteStatements.noteDeletions) SELECT id, \(EditStatements.deletion), source, source_id, now()
      FROM deletions CROSS JOIN state
      WHERE may_write AND (may_note_deletions OR EXISTS (SELECT FROM edits WHERE edits.id = deletions.id))
      \(WriteStatements.replacingDeletions)
    ), confirmed_edits AS (
      UPDATE edits SET since = now(), is_conflict = false
      FROM state
      WHERE may_write AND id = ANY ($18::uuid[]) AND is_conflict
    ), ended AS (
      DELETE FROM edits
      USING old CROSS JOIN state
      WHERE edits.id = old.id AND may_write AND (
        old.id = ANY ($11::uuid[]) AND (edits.field <> \(EditStatements.deletion) OR NOT $16::bool)
        OR EXISTS (
          SELECT FROM puts
          WHERE puts.id = old.id AND (
            edits.field = \(EditStatements.deletion)
            OR (old.source, old.source_id) IS DISTINCT FROM (puts.source, puts.source_id))))
    ), forgotten AS (
      DELETE FROM edits
      USING puts CROSS JOIN state
      WHERE may_write AND edits.field = \(EditStatements.deletion)
        AND edits.source = puts.source AND edits.source_id = puts.source_id
    ), forgotten_of_ids AS (
      DELETE FROM edits
      USING puts CROSS JOIN state
      WHERE may_write AND edits.id = puts.id AND NOT EXISTS (SELECT FROM old WHERE old.id = puts.id)
    ), written AS (
      SELECT id, version FROM updated UNION ALL SELECT id, version FROM inserted
    ), kept AS (
      INSERT INTO idempotency_keys (key, request_hash, outcome)
      SELECT $12::text, $13::int8,
        (
          SELECT json_build_object(
            'applied', coalesce(json_agg(text || coalesce(' ' || version::text, '') ORDER BY number), '[]'))
          FROM unnest($14::text[], $15::int8[]) WITH ORDINALITY AS result (text, put, number)
          LEFT JOIN written ON written.id = ($3::uuid[])[put]
        )
      FROM state
      WHERE may_write AND $12::text IS NOT NULL
    ), greatest_version AS (
      SELECT coalesce(max(version), 0) AS version
      FROM old
      WHERE id = ANY ($11::uuid[]) AND version < \(PointOfInterest.maximumCountedVersion)
    ), confirmed AS MATERIALIZED (
      \(WriteStatements.confirmation) WHERE NOT EXISTS (SELECT FROM old)
    )
    SELECT is_current, has_room, written.id, written.version,
      (SELECT (\(VersionStatements.pass("version"))) FROM greatest_version), (SELECT position FROM confirmed)
    FROM state LEFT JOIN written ON true
    """)
}

extension PostgresStore {
  /// Applies several operations in one transaction; see ``Points/PointStore/apply(_:)``.
  ///
  /// - Throws: ``PointWriteError``.
  package func apply(_ batch: PointBatch) async throws(PointWriteError) -> [PointOperationResult] {
    try await retrying(orThrow: .store(.overloaded)) { () async throws(PointWriteError) -> [PointOperationResult]? in
      do {
        if let key = batch.key {
          let known = try await write(WriteStatements.outcome, Parameters { $0.add(key.text) })
          if let row = known.rows.first {
            return try repeated(key, row) { $0.results.flatMap { try? batch.repeated($0) } }
          }
          let outcomeBytes = batch.operations.count * IdempotencyRecord.Outcome.resultBytes
          guard hasRoom(forKey: key.text, of: key.client, outcome: outcomeBytes) else {
            throw PointWriteError.store(.keysExhausted)
          }
        }
        var plan = BatchPlan(batch, maximumEdits: maximumEdits)
        try await prepare(&plan) { try await self.read($0, $1) }
        if plan.isRefused { return plan.results }
        guard plan.reachesEnd else {
          guard let results = try await applyInSession(batch) else { return nil }
          countKey(of: batch, results)
          return results
        }
        guard try plan.finishWave(try await runOnFollowedServer(BatchStatements.write, plan.parameters)) else {
          return nil
        }
        notifyOfChanges()
        countKey(of: batch, plan.results)
        return plan.results
      } catch {
        if Self.isConflict(error) { return nil }
        throw await writeError(error)
      }
    }
  }

  /// Counts the key of a batch that was applied, if its results were kept.
  private func countKey(of batch: PointBatch, _ results: [PointOperationResult]) {
    guard let key = batch.key, let kept = batch.kept(results) else { return }
    count(key: key.text, of: key.client, outcome: kept.reduce(0) { $0 + $1.text.utf8.count + 4 })
  }

  /// Applies a batch some of whose operations depend on the effects of others, which takes several statements.
  ///
  /// - Returns: `nil` if concurrent writes came between; nothing was changed then.
  private func applyInSession(_ batch: PointBatch) async throws -> [PointOperationResult]? {
    try await withTransaction(for: batch.client) { session -> [PointOperationResult]? in
      guard let results = try await apply(batch, in: session) else { return nil }
      if batch.isAtomic, results.last?.isFailure == true { return results }
      try await commit(session)
      return results
    }
  }

  /// Runs a transaction of several statements, which is rolled back unless the closure calls ``commit(_:)``. It takes a
  /// connection of imports for a moment, also while its client's imports have all that the client may have.
  func withTransaction<Outcome: Sendable>(
    for client: String?, _ body: (Session) async throws -> Outcome
  ) async throws -> Outcome {
    _ = try await followClock(again: false)
    return try await pool.withSession(for: .import, of: client, isShort: true) { session in
      try await session.run(script: "BEGIN; \(BulkSettings.script); \(StatementSettings.durability(isLocal: true))")
      return try await body(session)
    }
  }

  /// Commits a transaction that changes places.
  func commit(_ session: Session) async throws {
    try await session.commit(within: .milliseconds(configuration.commitTimeoutMilliseconds))
    notifyOfChanges()
  }

  /// Applies the operations of a batch in a transaction.
  ///
  /// - Returns: the results; `nil` if concurrent writes came between.
  func apply(_ batch: PointBatch, in session: Session) async throws -> [PointOperationResult]? {
    var plan = BatchPlan(batch, maximumEdits: maximumEdits)
    repeat {
      try await prepare(&plan) { try await session.run($0.sql, $1) }
      if plan.isRefused { return plan.results }
      guard try plan.finishWave(try await session.run(BatchStatements.write.sql, plan.parameters)) else { return nil }
    } while !plan.isComplete
    return plan.results
  }

  /// Returns a Boolean value that indicates whether an error is due to a concurrent write: a unique violation, a
  /// deadlock or a serialization failure.
  static func isConflict(_ error: any Error) -> Bool {
    guard case DatabaseError.rejected(let error) = error else { return false }
    return ["23505", "40P01", "40001"].contains(error.sqlState)
  }

  func writeError(_ error: any Error) async -> PointWriteError {
    switch error {
    case let error as PointWriteError: error
    case let error as PointStoreError: .store(error)
    case let error as DatabaseError: .store(await pool.storeError(error))
    default: .store(.unexpected(reason: "\(error)"))
    }
  }

  /// Reads what the next operations of a plan depend on, and decides them.
  private func prepare(
    _ plan: inout BatchPlan, _ run: (Statement, Parameters) async throws -> QueryResult
  ) async throws {
    repeat {
      let (ids, origins) = plan.wanted
      if !origins.isEmpty {
        let parameters = Parameters {
          $0.add(origins.map(\.source))
          $0.add(origins.map(\.sourceID))
        }
        try plan.take(origins, from: try await run(BatchStatements.origins, parameters))
      }
      if !ids.isEmpty {
        try plan.take(ids, from: try await run(BatchStatements.points, Parameters { $0.add(ids) }))
      }
      if plan.lacksPlaces { throw PointWriteError.tooLarge }
      if !plan.isAdmitted {
        // The judge evaluates filters and areas.
        let isTooLarge = plan.isJudged ? await offThreadPool { [plan] in plan.isTooLarge } : plan.isTooLarge
        if isTooLarge { throw PointWriteError.tooLarge }
        plan.isAdmitted = true
      }
      if plan.isJudged {
        // The judge evaluates filters and areas.
        plan = try await offThreadPool { [plan] in
          Result { () throws(PointStoreError) -> BatchPlan in
            var decided = plan
            try decided.decide()
            return decided
          }
        }.get()
      } else {
        try plan.decide()
      }
    } while plan.needsMore
  }
}

extension PointOperationResult {
  /// Returns the result with another version, if it has one.
  fileprivate func with(version: Int64) -> PointOperationResult {
    switch self {
    case .created(let id, _): .created(id, version: version)
    case .changed(let id, _): .changed(id, version: version)
    case .deleted, .originTaken, .notFound, .conditionFailed, .forbidden, .rejected: self
    }
  }

  /// The text without the version, which is its last part.
  fileprivate var textBeforeVersion: String { String(text.prefix(upTo: text.lastIndex(of: " ") ?? text.endIndex)) }
}

/// The places that the operations of a batch depend on, as far as they were looked up.
private struct BatchPlaces {
  var points: [PointID: PointOfInterest?] = [:]
  var owners: [SourceReference: PointID?] = [:]
  var formerIDs: [SourceReference: PointID] = [:]
}

/// Operations that one statement writes: none depends on the effect of another one.
private struct BatchWave: PointTransaction {
  let now: Timestamp
  private let places: BatchPlaces

  /// The places to create or replace.
  private(set) var puts: [(id: PointID, draft: PointDraft)] = []

  /// The ids of the places to delete.
  private(set) var removals: [PointID] = []

  /// The ids of the places whose edits are confirmed.
  private(set) var confirmations: [PointID] = []

  /// The versions of the places that were read, 0 for none.
  private(set) var expected: [PointID: Int64] = [:]

  /// A Boolean value that indicates whether the last operation depends on the effect of another one, so that it begins
  /// the next wave.
  private(set) var hasEnded = false

  // The ids and source references that are looked up before anything is decided.
  private(set) var unknownIDs: Set<PointID> = []
  private(set) var unknownOrigins: Set<SourceReference> = []

  private var changedIDs: Set<PointID> = []
  private var changedOrigins: Set<SourceReference> = []

  init(_ places: BatchPlaces, now: Timestamp) {
    self.places = places
    self.now = now
  }

  /// A Boolean value that indicates whether something has to be looked up.
  var needsMore: Bool { !unknownIDs.isEmpty || !unknownOrigins.isEmpty }

  mutating func point(id: PointID) -> PointOfInterest? {
    if changedIDs.contains(id) { hasEnded = true }
    guard let known = places.points[id] else {
      unknownIDs.insert(id)
      return nil
    }
    if !hasEnded { expected[id] = known?.version ?? 0 }
    return known
  }

  mutating func owner(of origin: SourceReference) -> PointID? {
    if changedOrigins.contains(origin) { hasEnded = true }
    guard let known = places.owners[origin] else {
      unknownOrigins.insert(origin)
      return nil
    }
    return known
  }

  mutating func formerID(of origin: SourceReference) -> PointID? {
    guard let id = places.formerIDs[origin], point(id: id) == nil else { return nil }
    return id
  }

  mutating func put(_ draft: PointDraft, id: PointID) -> PointOfInterest {
    // The version is known when the place is written.
    let point = PointOfInterest(id: id, draft: draft, version: 1, createdAt: now, updatedAt: now)
    guard !hasEnded, !needsMore else { return point }
    puts.append((id, draft))
    noteChange(of: id, draft.origin)
    return point
  }

  mutating func remove(_ point: PointOfInterest) {
    guard !hasEnded, !needsMore else { return }
    removals.append(point.id)
    noteChange(of: point.id, nil)
  }

  // The statement notes the edits, as it sees those that there are.

  mutating func edits(of id: PointID) -> PlaceEdits? { nil }

  mutating func deletion(of origin: SourceReference) -> PointID? { nil }

  mutating func hasRoom(forEdits count: Int) -> Bool { true }

  mutating func setEdits(_ edits: PlaceEdits?, of id: PointID) {}

  mutating func confirm(_ point: PointOfInterest) {
    guard !hasEnded, !needsMore else { return }
    confirmations.append(point.id)
    changedIDs.insert(point.id)
  }

  private mutating func noteChange(of id: PointID, _ origin: SourceReference?) {
    changedIDs.insert(id)
    for origin in [(places.points[id] ?? nil)?.draft.origin, origin].compactMap(\.self) {
      changedOrigins.insert(origin)
    }
  }
}

/// The decisions about the operations of a batch, wave by wave.
private struct BatchPlan {
  private let batch: PointBatch
  private let maximumEdits: Int
  private let now = SystemClock().now()
  private var places = BatchPlaces()
  private var wave: BatchWave

  /// The number of operations of the waves before.
  private var start = 0

  /// The indices of the results whose versions are known when the wave is written, in the order of ``BatchWave/puts``.
  private var written: [Int] = []

  /// The results of the operations that are decided.
  private(set) var results: [PointOperationResult] = []

  /// A Boolean value that indicates whether the batch is known not to be too large.
  var isAdmitted = false

  /// A Boolean value that indicates whether places were left out because all together are too large.
  private(set) var lacksPlaces = false

  init(_ batch: PointBatch, maximumEdits: Int) {
    self.batch = batch
    self.maximumEdits = maximumEdits
    wave = BatchWave(places, now: now)
  }

  /// A Boolean value that indicates whether the batch is too large, by the places of all operations.
  var isTooLarge: Bool { batch.isTooLarge { places.points[$0] ?? nil } }

  /// A Boolean value that indicates whether places are judged, which may take long.
  var isJudged: Bool { batch.admits != nil }

  /// A Boolean value that indicates whether nothing is written because an operation of an atomic batch fails.
  var isRefused: Bool { batch.isAtomic && results.last?.isFailure == true }

  /// A Boolean value that indicates whether the wave has the last operation.
  var reachesEnd: Bool { results.count == batch.operations.count }

  /// A Boolean value that indicates whether all waves are written.
  var isComplete: Bool { start == batch.operations.count }

  /// A Boolean value that indicates whether something has to be looked up before the wave is decided.
  var needsMore: Bool { wave.needsMore }

  /// The ids and source references to look up.
  var wanted: (ids: [PointID], origins: [SourceReference]) {
    if wave.needsMore { return (wave.unknownIDs.sorted(), Array(wave.unknownOrigins)) }
    // Those of all operations, before the first wave.
    guard start == 0 else { return ([], []) }
    return (Set(batch.operations.compactMap(\.id)).sorted(), Array(Set(batch.operations.compactMap(\.origin))))
  }

  /// Takes the owners of source references, and the ids that deleted places with them had.
  ///
  /// - Throws: ``PointStoreError``.
  mutating func take(_ origins: [SourceReference], from result: QueryResult) throws {
    for origin in origins { places.owners[origin] = .some(nil) }
    for row in result.rows {
      let origin = SourceReference(source: try row.text(0), sourceID: try row.text(1))
      if !row.isNull(2) { places.owners[origin] = try row.id(2) }
      if !row.isNull(3) { places.formerIDs[origin] = try row.id(3) }
    }
  }

  /// Takes the places of ids.
  ///
  /// - Throws: ``PointStoreError``.
  mutating func take(_ ids: [PointID], from result: QueryResult) throws {
    for id in ids { places.points[id] = .some(nil) }
    for row in result.rows {
      let point = try row.point()
      places.points[point.id] = point
      if try row.boolean(PointColumns.count) { lacksPlaces = true }
    }
  }

  /// Decides the operations up to the first that depends on the effect of another one, or that fails an atomic batch.
  ///
  /// - Throws: ``PointStoreError``.
  mutating func decide() throws(PointStoreError) {
    wave = BatchWave(places, now: now)
    written = []
    results.removeSubrange(start...)
    for operation in batch.operations[start...] {
      let count = wave.puts.count
      let result = try wave.apply(
        operation, admitting: batch.admits, forgettingDeletions: batch.forgetsDeletions)
      if wave.hasEnded { return }
      if wave.puts.count > count { written.append(results.count) }
      results.append(result)
      if isRefused, !wave.needsMore { return }
    }
  }

  /// The values of ``BatchStatements/write``.
  var parameters: Parameters {
    Parameters {
      let expected = wave.expected.sorted { $0.key < $1.key }
      let drafts = wave.puts.map(\.draft)
      $0.add(expected.map(\.key))
      $0.add(expected.map(\.value))
      $0.add(wave.puts.map(\.id))
      $0.add(drafts.map(\.coordinate.latitude))
      $0.add(drafts.map(\.coordinate.longitude))
      $0.add(drafts.map(\.name))
      $0.add(drafts.map { $0.category ?? "" })
      $0.add(drafts.map(\.tags.json))
      $0.add(drafts.map { $0.origin?.source ?? "" })
      $0.add(drafts.map { $0.origin?.sourceID ?? "" })
      $0.add(wave.removals)
      let kept = reachesEnd && batch.key != nil ? batch.kept(results) : nil
      let key = kept == nil ? nil : batch.key
      var texts = (kept ?? []).map(\.text)
      var puts = texts.map { _ in Int64(0) }
      if let kept {
        for (number, index) in written.enumerated() {
          texts[index] = kept[index].textBeforeVersion
          puts[index] = Int64(number) + 1
        }
      }
      $0.add(key?.text)
      $0.add(optional: (key?.requestHash).map { Int64(bitPattern: $0) })
      $0.add(texts)
      $0.add(puts)
      $0.add(!batch.forgetsDeletions)
      $0.add(Int64(maximumEdits))
      $0.add(wave.confirmations)
    }
  }

  /// Takes the versions of the places that the wave has written.
  ///
  /// - Returns: `false` if other places were found than those that the wave was decided on, and nothing was written.
  /// - Throws: ``PointStoreError``.
  mutating func finishWave(_ result: QueryResult) throws -> Bool {
    guard let first = result.rows.first, try first.boolean(0) else { return false }
    guard try first.boolean(1) else { throw PointStoreError.editsExhausted }
    var versions: [PointID: Int64] = [:]
    for row in result.rows where !row.isNull(2) { versions[try row.id(2)] = try row.integer(3) }
    for id in wave.removals { noteRemoval(of: id) }
    for (index, put) in zip(written, wave.puts) {
      guard let version = versions[put.id] else {
        throw PointStoreError.unexpected(reason: "a place of a batch was not written")
      }
      results[index] = results[index].with(version: version)
      if let former = places.points[put.id] ?? nil, let origin = former.draft.origin {
        places.owners[origin] = .some(nil)
      }
      places.points[put.id] = PointOfInterest(
        id: put.id, draft: put.draft, version: version, createdAt: now, updatedAt: now)
      if let origin = put.draft.origin { places.owners[origin] = put.id }
    }
    start = results.count
    return true
  }

  private mutating func noteRemoval(of id: PointID) {
    if let origin = (places.points[id] ?? nil)?.draft.origin {
      places.owners[origin] = .some(nil)
      places.formerIDs[origin] = id
    }
    places.points[id] = .some(nil)
  }
}
