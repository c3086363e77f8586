import GRDB
package import Points

/// The table of the decisions on pairs of places.
enum DuplicateRows {
  static let createTable = """
    -- The decisions on whether two places are the same. The ids may be those of places that were removed.
    CREATE TABLE duplicate_decision (
      first_id BLOB NOT NULL CHECK (length(first_id) = 16),
      second_id BLOB NOT NULL CHECK (length(second_id) = 16),
      state TEXT NOT NULL CHECK (state IN ('confirmed', 'refuted')),
      PRIMARY KEY (first_id, second_id), CHECK (first_id < second_id)
    ) STRICT, WITHOUT ROWID;
    """

  fileprivate static let select = "SELECT first_id, second_id, state FROM duplicate_decision"

  fileprivate static let put = """
    INSERT INTO duplicate_decision (first_id, second_id, state) VALUES (?, ?, ?)
    ON CONFLICT (first_id, second_id) DO UPDATE SET state = excluded.state
    """

  fileprivate static let delete = "DELETE FROM duplicate_decision WHERE first_id = ? AND second_id = ?"
}

extension SQLiteJournal: DuplicateStore {
  package func decisions() async throws(PointStoreError) -> [PlacePair: DuplicateState] {
    try await reportingErrors { [damagedRows] database in
      try await database.read { database in
        var states: [PlacePair: DuplicateState] = [:]
        try StoredRow.forEach(database, DuplicateRows.select) { row in
          do throws(RowDamage) {
            let (pair, state) = try row.decision()
            states[pair] = state
          } catch {
            damagedRows?.note(try? row.id(0), in: "duplicate_decision", reason: error.reason)
          }
        }
        return states
      }
    }
  }

  package func decide(_ state: DuplicateState, on pair: PlacePair) async throws(PointStoreError) {
    let (first, second) = (pair.lower.bytes, pair.upper.bytes)
    if state == .open {
      _ = try await write(DuplicateRows.delete, [first, second])
    } else {
      _ = try await write(DuplicateRows.put, [first, second, state.rawValue])
    }
  }
}

extension SQLiteJournal {
  /// Runs a statement, and returns a Boolean value that indicates whether it changed a row. On return the change is on
  /// the disk.
  private func write(_ sql: String, _ arguments: StatementArguments) async throws(PointStoreError) -> Bool {
    try checkFiles()
    let isChanged = try await reportingErrors { database in
      try await database.write { database in
        try database.execute(sql: sql, arguments: arguments)
        return database.changesCount == 1
      }
    }
    try checkFiles()
    return isChanged
  }
}

extension StoredRow {
  /// Returns a decision, from the columns of ``DuplicateRows/select``.
  fileprivate func decision() throws(RowDamage) -> (PlacePair, DuplicateState) {
    let (first, second, name) = (try id(0), try id(1), try text(2, "state"))
    guard let pair = PlacePair(first, second), let state = DuplicateState(rawValue: name) else {
      throw RowDamage("it is no decision on two places")
    }
    return (pair, state)
  }
}
