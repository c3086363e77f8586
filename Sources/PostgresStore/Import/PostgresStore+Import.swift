public import Points

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension PostgresStore: PointImporter {
  /// Takes all the rows, or none; see ``Points/PointImporter/importRows(_:mode:dryRun:)``.
  ///
  /// It has a connection of its own, to which the statement time-out doesn't apply. Rows are staged as they come;
  /// imports take turns to merge theirs. The memory used doesn't depend on how many there are.
  ///
  /// - Throws: ``PointStoreError``, or what the sequence throws; nothing has been taken then, unless the connection
  ///   broke off just when the server was to commit, which the reason says.
  public func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches,
    mode: ImportMode,
    dryRun: Bool
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    let connector = Connector(
      connectionInfo: configuration.connectionInfo,
      setUp: """
        SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; SET jit = off; \(Self.durability)
        """
    )
    do {
      let session = try await Session.open(on: thread, connector: connector)
      do {
        do throws(DatabaseError) {
          try await session.run(VersionStatements.followClock.sql)
        } catch .refused {
          // Versions still grow, from where their sequence is; see ``followClock()``.
        }
        let report = try await run(batches, mode: mode, dryRun: dryRun, session)
        await session.close()
        return report
      } catch {
        // Whatever was done is undone with the connection.
        await session.close()
        throw error
      }
    } catch DatabaseError.cancelled {
      throw CancellationError()
    } catch let error as DatabaseError {
      throw PointStoreError(error)
    }
  }

  private func run<Batches: AsyncSequence & Sendable>(
    _ batches: Batches,
    mode: ImportMode,
    dryRun: Bool,
    _ session: Session
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    // Nearly all origins differ, and sorting their hashes shows those that don't in a third of the time that a hash table
    // of all of them takes.
    try await session.run(script: "BEGIN; SET LOCAL work_mem = '64MB'; SET LOCAL enable_hashagg = off")
    try await session.run(script: ImportStatements.createStage)
    try await stage(batches, session)
    try await session.run(script: ImportStatements.lock)
    var report = try await ImportMerge(session: session, dryRun: dryRun).report()
    if mode == .atomic, report.rejected > 0 {
      report.takeNothing()
      return report
    }
    if dryRun { return report }
    do {
      try await session.run(script: "COMMIT")
    } catch .lost(let reason) {
      throw PointStoreError.outcomeUnknown(reason: "the import may have been taken or not: \(reason)")
    }
    if report.created + report.updated >= Self.manyRows {
      // So that the planner knows of them now rather than in a minute. Not everyone may do it, and nothing depends on
      // it.
      _ = try? await session.run(script: "ANALYZE points")
    }
    return report
  }

  private static let manyRows = 1000

  private func stage<Batches: AsyncSequence & Sendable>(
    _ batches: Batches,
    _ session: Session
  ) async throws where Batches.Element == [ImportRow] {
    try await session.startCopy(ImportStatements.stage)
    var rows = CopyRows(time: .now)
    for try await batch in batches {
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
