package import Points
import PostgresClient

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension PostgresStore: PointImporter {
  /// Imports all rows, or none; see ``Points/PointImporter/importRows(_:mode:dryRun:once:)``.
  ///
  /// It uses a dedicated connection without a statement timeout; the number of these is limited. It acquires one when
  /// the first rows have arrived, so that an upload that has not begun holds none. Rows are staged as they arrive;
  /// imports are merged one after the other. The memory used doesn't depend on the number of rows.
  ///
  /// - Throws: ``PointStoreError``, including ``PointStoreError/overloaded`` where no connection became free in time,
  ///   ``PointWriteError``, or the error of the sequence. Nothing has been imported then, except that the outcome is
  ///   unknown after ``PointStoreError/outcomeUnknown(reason:)``: the connection broke during the commit, or the server
  ///   committed without its synchronous standby or did not confirm the commit in time.
  package func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, options: ImportOptions
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    var rows = try await PeekedBatches(batches.makeAsyncIterator())
    do {
      let report = try await pool.withSession(for: .import) { session in
        do throws(DatabaseError) {
          try await session.run(VersionStatements.followClock.sql)
        } catch .rejected {
          // Versions still grow from the sequence's current value; see ``followClock(again:)``.
        }
        return try await run(&rows, options, once: options.dryRun ? nil : options.key, session)
      }
      if let report { return report }
    } catch DatabaseError.cancelled {
      throw CancellationError()
    } catch let error as DatabaseError {
      throw await pool.storeError(error)
    }
    guard let key = options.key else {
      throw PointStoreError.unexpected(reason: "an import without an idempotency key was found to be a retry")
    }
    // The request hash covers the whole body.
    while try await rows.next() != nil {}
    return try await storedReport(key.hashed())
  }

  /// Stages and merges the rows.
  ///
  /// - Returns: the report; `nil` where the idempotency key belongs to an earlier request.
  private func run<Rows: AsyncIteratorProtocol>(
    _ rows: inout PeekedBatches<Rows>,
    _ options: ImportOptions,
    once key: ImportKey?,
    _ session: Session
  ) async throws -> ImportReport? where Rows.Element == [ImportRow] {
    // Nearly all origins differ, and sorting their hashes finds duplicates in a third of the time of a hash table.
    try await session.run(
      script: """
        BEGIN; \(BulkSettings.script); SET LOCAL work_mem = '64MB'; SET LOCAL enable_hashagg = off; \
        \(StatementSettings.durability(isLocal: true))
        """
    )
    if let key, try await claim(key, session) { return nil }
    try await session.run(script: ImportStatements.createStage)
    try await stage(&rows, session)
    try await session.run(script: ImportStatements.lock)
    let (report, isDone) = try await merge(options, session)
    if isDone { return report }
    if let key { try await storeReport(key.hashed(), report, session) }
    do {
      try await session.commit(within: .milliseconds(configuration.commitTimeoutMilliseconds))
    } catch .outcomeUnknown(let reason) {
      throw PointStoreError.outcomeUnknown(reason: "the import may have been committed: \(reason)")
    }
    notifyOfChanges()
    if report.changedRows >= Self.minimumRowsToAnalyze {
      // The planner would otherwise learn of the new rows only after a minute. The role may lack the privilege, and
      // nothing depends on it.
      _ = try? await session.run(script: "BEGIN; \(BulkSettings.script); ANALYZE points; COMMIT")
    }
    return report
  }

  private static let minimumRowsToAnalyze = 1000

  /// Merges the staged rows, and registers the data sets unless nothing is imported.
  private func merge(_ options: ImportOptions, _ session: Session) async throws -> (report: ImportReport, isDone: Bool)
  {
    if let removal = options.removal { try await stage(removal, session) }
    let isAtomic = options.mode == .atomic
    let merge = ImportMerge(
      session: session, dryRun: options.dryRun, isAtomic: isAtomic, removal: options.removal)
    let report = try await merge.report()
    let takesNothing = options.dryRun || (isAtomic && report.rejected > 0)
    if !takesNothing {
      try await register(options.sources, session)
      try await recordImport(session)
    }
    return (report, takesNothing)
  }

  /// Stages the places to delete as far as they are known before the merge.
  private func stage(_ removal: ImportRemoval, _ session: Session) async throws {
    guard let sourceIDs = removal.sourceIDs else { return }
    let source = removal.source
    try await session.run(script: ImportStatements.createRemovals)
    var rest = sourceIDs[...]
    while !rest.isEmpty {
      let part = Array(rest.prefix(10_000))
      rest = rest.dropFirst(part.count)
      try await session.run(
        ImportStatements.stageRemovals,
        Parameters {
          $0.add(source)
          $0.add(part)
        })
    }
  }

  private func stage<Rows: AsyncIteratorProtocol>(
    _ source: inout PeekedBatches<Rows>,
    _ session: Session
  ) async throws where Rows.Element == [ImportRow] {
    try await session.startCopy(ImportStatements.stage)
    var rows = CopyRows(time: .now)
    while let batch = try await source.next() {
      for row in batch {
        rows.append(row)
        if rows.bytes.count >= Self.chunkLength {
          try await session.put(copy: rows.bytes)
          rows.removeAll()
        }
      }
    }
    rows.appendEnd()
    try await session.put(copy: rows.bytes)
    try await session.endCopy()
  }

  /// The number of bytes of rows that are sent at a time.
  private static let chunkLength = 1 << 18
}

/// An iterator over batches of rows whose first batch has already arrived.
private struct PeekedBatches<Rows: AsyncIteratorProtocol> where Rows.Element == [ImportRow] {
  private var first: [ImportRow]?
  private var rows: Rows

  /// Creates an iterator and waits for the first batch.
  ///
  /// - Throws: the error of the sequence.
  init(_ rows: Rows) async throws {
    self.rows = rows
    first = try await self.rows.next()
  }

  /// Returns the next batch; `nil` at the end.
  ///
  /// - Throws: the error of the sequence.
  mutating func next() async throws -> [ImportRow]? {
    if let batch = first.take() { return batch }
    return try await rows.next()
  }
}

/// The merge of staged rows into the places.
private struct ImportMerge {
  let session: Session
  let dryRun: Bool
  let isAtomic: Bool
  let removal: ImportRemoval?

  /// The maximum number of attempts at a merge that conflicts with concurrent writes; the last one locks out other
  /// writers.
  private static let attempts = 5

  /// The maximum number of places that are deleted under a lock on the id of each, as the server has room for some
  /// thousands of locks; more are deleted while other writers are locked out.
  private static let maximumLocks = 1000

  /// The maximum number of rounds for chains of rows of which each shares a key with the next.
  private static let rounds = 100

  /// Merges the rows and returns the report.
  func report() async throws -> ImportReport {
    for attempt in 1..<Self.attempts {
      try await session.run(script: "SAVEPOINT merge")
      do {
        return try await merge()
      } catch DatabaseError.rejected(let error) where Self.isConflict(error) && attempt < Self.attempts {
        try await session.run(script: "ROLLBACK TO SAVEPOINT merge")
      }
    }
    try await session.run(script: "LOCK TABLE points IN SHARE ROW EXCLUSIVE MODE")
    return try await merge()
  }

  /// Returns whether the error is due to a concurrent write: a unique violation, a deadlock or a serialization failure.
  private static func isConflict(_ error: ServerError) -> Bool {
    ["23505", "40P01", "40001"].contains(error.sqlState)
  }

  private func merge() async throws -> ImportReport {
    try await session.run(script: ImportStatements.findOwners)
    let conflicting = try await session.run(script: ImportStatements.findConflicting).affectedRows
    if conflicting > 0 { try await resolveConflicts() }
    try await session.run(script: ImportStatements.findRejected)
    try await session.run(script: ImportStatements.findMatches)
    var report = try await rejections()
    guard let counts = try await session.run(ImportStatements.countMatches).rows.first else {
      throw PointStoreError.unexpected(reason: "a count returned no row")
    }
    let (matches, unchanged, all) = (try counts.integer(0), try counts.integer(1), try counts.integer(2))
    report.unchanged = Int(unchanged)
    report.updated = Int(matches - unchanged)
    report.created = Int(all - matches) - report.rejected
    if isAtomic, report.rejected > 0 {
      report.takeNothing()
      return report
    }
    if let removal { report.deleted = try await remove(removal) }
    if dryRun { return report }
    guard let drawn = try await session.run(ImportStatements.drawVersion).rows.first else {
      throw PointStoreError.unexpected(reason: "the query for the version returned no row")
    }
    let (version, oldestTransaction) = (try drawn.integer(0), try drawn.text(1))
    if report.updated > 0 {
      report.updated = try await session.run(script: ImportStatements.update(version: version)).affectedRows
    }
    if report.created > 0 {
      report.created = try await session.run(script: ImportStatements.insert(version: version)).affectedRows
      try await session.run(script: ImportStatements.renewVersions(version, since: oldestTransaction))
    }
    return report
  }

  /// Deletes the places that are to be deleted, and returns their number; in a dry run it only counts them.
  private func remove(_ removal: ImportRemoval) async throws -> Int {
    let source = Parameters { $0.add(removal.source) }
    switch removal {
    case .others:
      let found = try await session.run(ImportStatements.hasRowOfSource, source).rows.first?.boolean(0)
      guard found == true else { throw EmptyReplacement(source: removal.source) }
      try await session.run(script: ImportStatements.createRemovals)
      try await session.run(ImportStatements.stageOthers, source)
    case .places:
      try await session.run(script: ImportStatements.dropMeantRemovals)
    }
    if dryRun { return Int(try await session.run(ImportStatements.countRemovals).rows.first?.integer(0) ?? 0) }
    let count = Int(try await session.run(ImportStatements.countRemovals).rows.first?.integer(0) ?? 0)
    if count <= Self.maximumLocks {
      try await session.run(script: ImportStatements.lockRemovals)
    } else {
      try await session.run(script: "LOCK TABLE points IN SHARE ROW EXCLUSIVE MODE")
    }
    try await session.run(script: ImportStatements.passVersions)
    return try await session.run(script: ImportStatements.remove).affectedRows
  }

  private func resolveConflicts() async throws {
    for _ in 0..<Self.rounds {
      try await session.run(script: ImportStatements.keepLast)
      try await session.run(script: ImportStatements.supersede)
      let unresolved = try await session.run(ImportStatements.countUnresolved).rows.first?.integer(0) ?? 0
      if unresolved == 0 { return }
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
  /// The current time of the system clock.
  fileprivate static var now: Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(microsecondsSinceEpoch: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
  }
}
