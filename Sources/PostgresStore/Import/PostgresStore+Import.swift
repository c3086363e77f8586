public import Points

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension PostgresStore: PointImporter {
  /// Takes all the rows, or none; see ``Points/PointImporter/importRows(_:mode:dryRun:once:)``.
  ///
  /// It has a connection of its own, one of a few, to which the statement time-out doesn't apply; it takes it when the first
  /// rows have come, so that an upload that has not begun holds none. Rows are staged as they come; imports take turns to
  /// merge theirs. The memory used doesn't depend on how many there are.
  ///
  /// - Throws: ``PointStoreError``, of which ``PointStoreError/overloaded`` where no connection became free in time,
  ///   ``PointWriteError``, or what the sequence throws; nothing has been taken then, but after
  ///   ``PointStoreError/outcomeUnknown(reason:)`` that is not known: the connection broke off while the server was to
  ///   commit, or the server committed without its synchronous standby, or took too long to confirm the commit.
  public func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches,
    mode: ImportMode,
    dryRun: Bool,
    once key: ImportKey?
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    let connector = Connector(connectionInfo: configuration.connectionInfo)
    var rows = try await RowsAhead(batches.makeAsyncIterator())
    do {
      let report = try await bulk.withSession(for: .import, connector: connector) { session in
        do throws(DatabaseError) {
          try await session.run(VersionStatements.followClock.sql)
        } catch .refused {
          // Versions still grow, from where their sequence is; see ``followClock(again:)``.
        }
        return try await run(&rows, mode: mode, dryRun: dryRun, once: dryRun ? nil : key, session)
      }
      if let report { return report }
    } catch DatabaseError.cancelled {
      throw CancellationError()
    } catch DatabaseError.refused(let error) where error.isDenial {
      throw PointStoreError(await pool.explained(error))
    } catch let error as DatabaseError {
      throw PointStoreError(error)
    }
    guard let key else { throw PointStoreError.unexpected(reason: "an import without a key was found to be a repeat") }
    // What tells a repeat from another request is its whole body.
    while try await rows.next() != nil {}
    return try await repeated(key.hashed())
  }

  /// Imports.
  ///
  /// - Returns: the report; `nil` where the key is that of an earlier request.
  private func run<Rows: AsyncIteratorProtocol>(
    _ rows: inout RowsAhead<Rows>,
    mode: ImportMode,
    dryRun: Bool,
    once key: ImportKey?,
    _ session: Session
  ) async throws -> ImportReport? where Rows.Element == [ImportRow] {
    // Nearly all origins differ, and sorting their hashes shows those that don't in a third of the time that a hash table
    // of all of them takes.
    try await session.run(
      script: """
        BEGIN; \(BulkSettings.script); SET LOCAL work_mem = '64MB'; SET LOCAL enable_hashagg = off; \
        \(StatementSettings.durability(isLocal: true))
        """
    )
    if let key, try await isKnown(key, session) { return nil }
    try await session.run(script: ImportStatements.createStage)
    try await stage(&rows, session)
    try await session.run(script: ImportStatements.lock)
    var report = try await ImportMerge(session: session, dryRun: dryRun).report()
    if mode == .atomic, report.rejected > 0 {
      report.takeNothing()
      return report
    }
    if dryRun { return report }
    if let key { try await remember(key.hashed(), report, session) }
    do {
      try await session.commit(within: .milliseconds(configuration.commitTimeoutMilliseconds))
    } catch .lost(let reason) {
      throw PointStoreError.outcomeUnknown(reason: "the import may have been taken or not: \(reason)")
    }
    if report.created + report.updated >= Self.manyRows {
      // So that the planner knows of them now rather than in a minute. Not everyone may do it, and nothing depends on
      // it.
      _ = try? await session.run(script: "BEGIN; \(BulkSettings.script); ANALYZE points; COMMIT")
    }
    return report
  }

  private static let manyRows = 1000

  private func stage<Rows: AsyncIteratorProtocol>(
    _ source: inout RowsAhead<Rows>,
    _ session: Session
  ) async throws where Rows.Element == [ImportRow] {
    try await session.startCopy(ImportStatements.stage)
    var rows = CopyRows(time: .now)
    while let batch = try await source.next() {
      for row in batch {
        rows.append(row)
        if rows.bytes.count >= Self.sentAtOnce {
          try await session.put(copy: rows.bytes)
          rows.removeAll()
        }
      }
    }
    rows.appendEnd()
    try await session.put(copy: rows.bytes)
    try await session.endCopy()
  }

  /// So many bytes of rows are sent at once.
  private static let sentAtOnce = 1 << 18
}

/// Batches of rows of which the first has come.
private struct RowsAhead<Rows: AsyncIteratorProtocol> where Rows.Element == [ImportRow] {
  private var first: [ImportRow]?
  private var rows: Rows

  /// Waits for the first batch.
  ///
  /// - Throws: what the sequence throws.
  init(_ rows: Rows) async throws {
    self.rows = rows
    first = try await self.rows.next()
  }

  /// Returns the next batch; `nil` at the end.
  ///
  /// - Throws: what the sequence throws.
  mutating func next() async throws -> [ImportRow]? {
    if let batch = first.take() { return batch }
    return try await rows.next()
  }
}

/// The decisions on staged rows, and what they do to the places.
private struct ImportMerge {
  let session: Session
  let dryRun: Bool

  /// A merge that meets another's write is tried so often; the last time, nobody else may write.
  private static let attempts = 5

  /// Rows that share one thing with one row and another with the next, and so on, are followed so far.
  private static let rounds = 100

  /// Merges.
  func report() async throws -> ImportReport {
    for attempt in 1..<Self.attempts {
      try await session.run(script: "SAVEPOINT merge")
      do {
        return try await merge()
      } catch DatabaseError.refused(let error) where Self.isConflict(error) && attempt < Self.attempts {
        try await session.run(script: "ROLLBACK TO SAVEPOINT merge")
      }
    }
    try await session.run(script: "LOCK TABLE points IN SHARE ROW EXCLUSIVE MODE")
    return try await merge()
  }

  /// Whether someone wrote at the same time: a unique violation, a deadlock, a serialisation failure.
  private static func isConflict(_ error: ServerError) -> Bool {
    ["23505", "40P01", "40001"].contains(error.sqlState)
  }

  private func merge() async throws -> ImportReport {
    try await session.run(script: ImportStatements.findOwners)
    let contested = try await session.run(script: ImportStatements.findContested).affectedRows
    if contested > 0 { try await decideContested() }
    try await session.run(script: ImportStatements.findRejected)
    try await session.run(script: ImportStatements.findMatches)
    var report = try await rejections()
    guard let counts = try await session.run(ImportStatements.countMatches).rows.first else {
      throw PointStoreError.unexpected(reason: "a count gave no row")
    }
    let (matches, unchanged, all) = (try counts.integer(0), try counts.integer(1), try counts.integer(2))
    report.unchanged = Int(unchanged)
    report.updated = Int(matches - unchanged)
    report.created = Int(all - matches) - report.rejected
    if dryRun { return report }
    try await session.run(ImportStatements.announce)
    guard let drawn = try await session.run(ImportStatements.drawVersion).rows.first else {
      throw PointStoreError.unexpected(reason: "a version gave no row")
    }
    let (version, sequence) = (try drawn.integer(0), try drawn.integer(1))
    if report.updated > 0 {
      report.updated = try await session.run(script: ImportStatements.update(version: version)).affectedRows
    }
    if report.created > 0 {
      report.created = try await session.run(script: ImportStatements.insert(version: version)).affectedRows
      try await session.run(script: ImportStatements.renewVersions(version, since: sequence))
    }
    return report
  }

  private func decideContested() async throws {
    for _ in 0..<Self.rounds {
      try await session.run(script: ImportStatements.keepLast)
      try await session.run(script: ImportStatements.supersede)
      let undecided = try await session.run(ImportStatements.countUndecided).rows.first?.integer(0) ?? 0
      if undecided == 0 { return }
    }
  }

  private func rejections() async throws -> ImportReport {
    var report = ImportReport()
    let count = Int(try await session.run(ImportStatements.countRejected).rows.first?.integer(0) ?? 0)
    let first = try await session.run(
      ImportStatements.firstRejected,
      Parameters { $0.add(Int64(ImportReport.maximumRejections)) }
    )
    for row in first.rows {
      let detail =
        row.isNull(1)
        ? "its id belongs to one place, its source and sourceId to another"
        : "means the same place as row \(try row.integer(1)), which counts instead"
      report.reject(RejectedRow(number: Int(try row.integer(0)), detail: detail))
    }
    report.reject(count: count - report.rejected)
    return report
  }
}

extension Timestamp {
  /// What the system's clock says.
  fileprivate static var now: Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(microsecondsSinceEpoch: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
  }
}
