import Basics
import Geo
package import Points
import PostgresClient
import Synchronization

/// The SQL of the named areas.
private enum AreaStatements {
  static let version = Statement("area_version", "SELECT version FROM area_state")

  /// The statement for the ids of all areas, and the other columns of those that have changed since a version. Value:
  /// the version. Without areas there is one row, of the version alone.
  static let changed = Statement(
    "areas_changed", planning: .eachTime,
    """
    SELECT state.version, found.id, found.version, found.name, found.names, found.kind, found.level::int8,
      found.importance, found.tags, found.source, found.source_id, found.shape, found.created_at, found.updated_at
    FROM area_state AS state
    LEFT JOIN (
      SELECT id, NULL::int8 AS version, NULL::text AS name, NULL::json AS names, NULL::text AS kind,
        NULL::smallint AS level, NULL::float8 AS importance, NULL::json AS tags, NULL::text AS source,
        NULL::text AS source_id, NULL::bytea AS shape, NULL::timestamptz AS created_at, NULL::timestamptz AS updated_at
      FROM areas WHERE version <= $1::int8
      UNION ALL
      SELECT id, version, name, names, kind, level, importance, tags, source, source_id, ST_AsBinary(shape),
        created_at, updated_at
      FROM areas WHERE version > $1::int8
    ) AS found ON true
    """
  )

  /// The statement that commits a change if the areas have a version. Values: the version; the ids to remove; the ids,
  /// names, names by language, kinds, levels (-1 for none), importances, tags, sources, source ids (empty for none) and
  /// shapes of the areas to put; key, hash and outcome to keep, or nulls. It returns whether the areas had the version.
  static let commit = """
    WITH state AS MATERIALIZED (
      SELECT version FROM area_state WHERE version = $1::int8 FOR UPDATE
    ), removed AS (
      DELETE FROM areas WHERE id = ANY ($2::uuid[]) AND EXISTS (SELECT FROM state)
    ), put AS (
      INSERT INTO areas AS former
        (id, name, names, kind, level, importance, tags, source, source_id, shape)
      SELECT id, name, names::json, kind, nullif(level, -1)::smallint, importance, tags::json, nullif(source, ''),
        nullif(source_id, ''), ST_GeogFromWKB(decode(shape, 'hex'))
      FROM state, unnest(
        $3::uuid[], $4::text[], $5::text[], $6::text[], $7::int8[], $8::float8[], $9::text[], $10::text[],
        $11::text[], $12::text[]
      ) AS new (id, name, names, kind, level, importance, tags, source, source_id, shape)
      ON CONFLICT (id) DO UPDATE
      SET name = excluded.name, names = excluded.names, kind = excluded.kind, level = excluded.level,
        importance = excluded.importance, tags = excluded.tags, source = excluded.source,
        source_id = excluded.source_id, shape = excluded.shape
    ), pruned AS (
      \(WriteStatements.prune(besides: "$13::text"))
    ), kept AS (
      INSERT INTO idempotency_keys (key, request_hash, outcome)
      SELECT $13::text, $14::int8, $15::json FROM state WHERE $13::text IS NOT NULL
      \(WriteStatements.replacingExpired)
    )
    SELECT EXISTS (SELECT FROM state)
    """

  /// The statement after which others wait with their changes until the end of the transaction.
  static let lock = "SELECT FROM area_state FOR UPDATE"

  static let commitStatement = Statement("areas_commit", planning: .eachTime, commit)

  static let record = Statement("area_record", WriteStatements.knownOutcome(of: "$1::text"))
}

/// The named areas of a database, held in memory.
///
/// A *round* compares the version of the areas in memory with the database's, in one short statement, and reads what has
/// changed. A read waits for a round that began after it, shared by all that wait at one time, or takes areas that a
/// round has confirmed lately enough.
package final class PostgresAreas: AreaStore {
  private struct State {
    var areas = Areas()

    /// The start of the last round that succeeded; `nil` before the first.
    var confirmedAt: ContinuousClock.Instant?

    /// A Boolean value that indicates whether a round has succeeded, or failed for a reason that waiting does not end.
    var isDecided = false

    /// The round that has not begun.
    var pending: Task<Result<Areas, PointStoreError>, Never>?

    /// The round that was asked for last.
    var last: Task<Result<Areas, PointStoreError>, Never>?
  }

  private let store: PostgresStore
  private let maximumAge: Duration?
  private let staleLifetime: Duration
  private let awaitedUntil: ContinuousClock.Instant
  private let state = Mutex(State())

  /// Creates the areas of a store, which are read on the first call.
  ///
  /// - Parameters:
  ///   - maximumAge: the age up to which areas are read without a round; `nil` for none.
  ///   - staleLifetime: the age up to which they are read while the database is unavailable.
  ///   - readinessLimit: the longest time from now for which the server is not ready because they were not read yet.
  package init(
    _ store: PostgresStore, maximumAge: Duration? = nil, staleLifetime: Duration = .zero,
    readinessLimit: Duration = .zero
  ) {
    self.store = store
    self.maximumAge = maximumAge
    self.staleLifetime = staleLifetime
    awaitedUntil = .now + readinessLimit
  }

  /// A Boolean value that indicates whether the server should wait for the areas. The first reading begins then, if none
  /// is in progress.
  package var isAwaited: Bool {
    guard ContinuousClock.now < awaitedUntil, !state.withLock({ $0.isDecided }) else { return false }
    _ = round()
    return true
  }

  package func areas(isCurrent: Bool, notBefore position: String?) async throws(PointStoreError) -> Areas {
    if !isCurrent, position == nil, let maximumAge, let areas = areas(confirmedWithin: maximumAge) {
      return areas
    }
    do throws(PointStoreError) {
      return try await round().value.get()
    } catch {
      guard !isCurrent, case .unavailable = error, let areas = areas(confirmedWithin: staleLifetime) else {
        throw error
      }
      return areas
    }
  }

  /// The age from which on areas that are read without waiting are read again.
  private static let recentAge = Duration.seconds(1)

  package func recentAreas() -> Areas? {
    let (areas, confirmedAt) = state.withLock { ($0.areas, $0.confirmedAt) }
    guard let confirmedAt else { return nil }
    if ContinuousClock.now - confirmedAt > Self.recentAge { _ = round() }
    return areas
  }

  private func areas(confirmedWithin age: Duration) -> Areas? {
    state.withLock { state in
      state.confirmedAt.flatMap { ContinuousClock.now - $0 <= age ? state.areas : nil }
    }
  }

  /// Returns a round that begins after the call.
  private func round() -> Task<Result<Areas, PointStoreError>, Never> {
    state.withLock { state in
      if let pending = state.pending { return pending }
      let former = state.last
      let task = Task { () -> Result<Areas, PointStoreError> in
        _ = await former?.value
        let known = self.state.withLock { state in
          state.pending = nil
          return state.areas
        }
        let start = ContinuousClock.now
        do throws(PointStoreError) {
          let areas = try await self.current(after: known)
          self.state.withLock { state in
            state.areas = areas
            state.confirmedAt = start
            state.isDecided = true
          }
          return .success(areas)
        } catch {
          switch error {
          case .unavailable, .overloaded, .timeout: break
          default: self.state.withLock { $0.isDecided = true }
          }
          return .failure(error)
        }
      }
      state.pending = task
      state.last = task
      return task
    }
  }

  /// Returns the areas of the database, of which those of a former moment are known.
  private func current(after known: Areas) async throws(PointStoreError) -> Areas {
    guard let row = try await store.read(AreaStatements.version, Parameters()).rows.first else {
      throw .schemaMismatch(reason: "the table area_state has no row")
    }
    let version = try row.integer(0)
    if version == known.version { return known }
    // Another server, or one that was restored, may be behind.
    let base = version > known.version ? known : Areas()
    if let areas = try await changed(after: base) { return areas }
    return try await changed(after: Areas()) ?? known
  }

  /// Returns the areas of the database; `nil` if one that has not changed since is not known.
  private func changed(after known: Areas) async throws(PointStoreError) -> Areas? {
    let result = try await store.read(AreaStatements.changed, Parameters { $0.add(known.version) })
    let decoded = await offThreadPool { () -> Result<Areas?, PointStoreError> in
      do throws(PointStoreError) {
        var (areas, version): ([Area], Int64) = ([], 0)
        for row in result.rows {
          version = try row.integer(0)
          guard !row.isNull(1) else { continue }
          if row.isNull(2) {
            guard let area = known[try row.id(1)] else { return .success(nil) }
            areas.append(area)
          } else if let area = try row.area(from: 1) {
            areas.append(area)
          } else {
            self.store.damagedRows?.note(try row.id(1), in: "areas", reason: "it breaks the rules of areas")
          }
        }
        return .success(Areas(areas, version: version, after: known))
      } catch {
        return .failure(error)
      }
    }
    return try decoded.get()
  }

  package func record(of key: IdempotencyKey) async throws(PointWriteError) -> IdempotencyRecord? {
    let known = try await PointWriteError.wrapping(
      await store.read(AreaStatements.record, Parameters { $0.add(key.text) }))
    if let row = known.rows.first { return try store.repeated(key, row) { $0 } }
    guard store.hasRoom(forKey: key.text, of: key.client, outcome: IdempotencyRecord.Outcome.reportBytes) else {
      throw .store(.keysExhausted)
    }
    return nil
  }

  /// The number of bytes of a change up to which it is committed within the timeout of statements.
  private static let shortBytes = 1 << 20

  package func commit(
    _ change: AreaChange, onto version: Int64, for client: String?
  ) async throws(PointStoreError) -> Areas? {
    let parameters = await offThreadPool { Parameters { $0.add(change, onto: version) } }
    let isCommitted: Bool
    do {
      if parameters.bytes.count <= Self.shortBytes {
        let result = try await store.pool.run(AreaStatements.commitStatement, parameters, isRead: false)
        isCommitted = try Self.isCommitted(result)
      } else {
        isCommitted = try await store.pool.withSession(for: .import, of: client) { session in
          try await session.run(script: Self.begin)
          return try await commit(parameters, in: session)
        }
      }
    } catch DatabaseError.rejected(let error) where ["40P01", "40001"].contains(error.sqlState) {
      // Deadlock or serialization failure.
      return nil
    } catch {
      throw await storeError(error)
    }
    guard isCommitted else { return nil }
    countKey(of: change)
    return try await areasAfterCommit()
  }

  /// Counts the key of a change that was committed.
  private func countKey(of change: AreaChange) {
    guard let (key, outcome) = change.record else { return }
    store.count(key: key.text, of: key.client, outcome: outcome.json.utf8.count)
  }

  package func commitDespiteOthers(
    for client: String?, _ decide: (Areas) async throws(PointWriteError) -> AreaChange
  ) async throws(PointWriteError) -> Areas {
    do {
      let unchanged: Areas? = try await store.pool.withSession(for: .import, of: client) { session in
        try await session.run(script: "\(Self.begin); \(AreaStatements.lock)")
        let areas = try await areas(isCurrent: true)
        let change = try await decide(areas)
        if change.isEmpty { return areas }
        let parameters = await offThreadPool { Parameters { $0.add(change, onto: areas.version) } }
        guard try await commit(parameters, in: session) else {
          throw PointStoreError.unexpected(reason: "areas were changed while they were locked")
        }
        countKey(of: change)
        return nil
      }
      if let unchanged { return unchanged }
      return try await areasAfterCommit()
    } catch let error as PointWriteError {
      throw error
    } catch {
      throw .store(await storeError(error))
    }
  }

  /// The statements at the start of a transaction that may take long.
  private static let begin = "BEGIN; \(BulkSettings.script); \(StatementSettings.durability(isLocal: true))"

  private func commit(_ parameters: Parameters, in session: Session) async throws -> Bool {
    let result = try await session.run(AreaStatements.commit, parameters)
    try await session.commit(within: .milliseconds(store.configuration.commitTimeoutMilliseconds))
    return try Self.isCommitted(result)
  }

  /// Returns the value of ``AreaStatements/commit``.
  private static func isCommitted(_ result: QueryResult) throws(PointStoreError) -> Bool {
    guard let row = result.rows.first else { throw .unexpected(reason: "the commit of areas returned no row") }
    return try row.boolean(0)
  }

  private func areasAfterCommit() async throws(PointStoreError) -> Areas {
    do throws(PointStoreError) {
      return try await areas(isCurrent: true)
    } catch {
      throw .outcomeUnknown(reason: "the areas were changed, and could not be read again: \(error)")
    }
  }

  private func storeError(_ error: any Error) async -> PointStoreError {
    switch error {
    case let error as PointStoreError: error
    case let error as DatabaseError: await store.pool.storeError(error)
    default: .unexpected(reason: "\(error)")
    }
  }
}

extension Parameters {
  /// Adds the values of ``AreaStatements/commit``.
  fileprivate mutating func add(_ change: AreaChange, onto version: Int64) {
    let drafts = change.puts.map(\.draft)
    add(version)
    add(change.removals)
    add(change.puts.map(\.id))
    add(drafts.map(\.name))
    add(drafts.map(\.names.json))
    add(drafts.map(\.kind.rawValue))
    add(drafts.map { Int64($0.level ?? -1) })
    add(drafts.map(\.importance))
    add(drafts.map(\.tags.json))
    add(drafts.map { $0.origin?.source ?? "" })
    add(drafts.map { $0.origin?.sourceID ?? "" })
    add(drafts.map { Hexadecimal.encode($0.outline.wkb) })
    add(change.record?.key.text)
    add(optional: (change.record?.key.requestHash).map { Int64(bitPattern: $0) })
    add(change.record?.outcome.json)
  }
}

extension QueryResult.Row {
  /// Returns an area from the columns of ``AreaStatements/changed``; `nil` if a statement by hand has written what the
  /// rules of areas do not allow. Such an area is not served, and the others are.
  fileprivate func area(from column: Int32) throws(PointStoreError) -> Area? {
    let (name, names, tags) = (try text(column + 2), try tags(column + 3), try tags(column + 7))
    let importance = try double(column + 6)
    guard let kind = AreaKind(rawValue: try text(column + 4)),
      let outline = bytes(column + 10).flatMap({ AreaOutline(wkb: UnsafeRawBufferPointer($0)) }),
      let draft = try? AreaDraft(
        name: name, names: names, kind: kind, level: optionalInteger(column + 5).map { Int($0) },
        importance: importance, outline: outline, tags: tags, source: optionalText(column + 8),
        sourceID: optionalText(column + 9))
    else { return nil }
    return Area(
      id: try id(column), draft: draft, version: try integer(column + 1), createdAt: try timestamp(column + 11),
      updatedAt: try timestamp(column + 12))
  }
}
