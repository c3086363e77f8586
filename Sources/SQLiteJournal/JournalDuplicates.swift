import GRDB
package import Points

/// The table of the opinions on pairs of places.
enum DuplicateRows {
  static let createTable = """
    -- The opinions on whether two places are the same. The ids may be those of places that were removed.
    CREATE TABLE duplicate_decision (
      first_id BLOB NOT NULL CHECK (length(first_id) = 16),
      second_id BLOB NOT NULL CHECK (length(second_id) = 16),
      state TEXT NOT NULL CHECK (state IN ('confirmed', 'refuted')),
      PRIMARY KEY (first_id, second_id), CHECK (first_id < second_id)
    ) STRICT, WITHOUT ROWID;
    """

  fileprivate static let select = "SELECT state FROM duplicate_decision WHERE first_id = ? AND second_id = ?"

  fileprivate static let put = """
    INSERT INTO duplicate_decision (first_id, second_id, state) VALUES (?, ?, ?)
    ON CONFLICT (first_id, second_id) DO UPDATE SET state = excluded.state
    """

  fileprivate static let delete = "DELETE FROM duplicate_decision WHERE first_id = ? AND second_id = ?"
}

extension SQLiteJournal: DuplicateStore {
  package func decisions(of pairs: [PlacePair]) async throws(PointStoreError) -> [PlacePair: DuplicateState] {
    try await reportingErrors { database in
      try await database.read { database in
        guard try Bool.fetchOne(database, sql: "SELECT EXISTS (SELECT 1 FROM duplicate_decision)") == true else {
          return [:]
        }
        let statement = try database.cachedStatement(sql: DuplicateRows.select)
        var states: [PlacePair: DuplicateState] = [:]
        for pair in pairs {
          let text = try String.fetchOne(statement, arguments: [pair.lower.bytes, pair.upper.bytes])
          states[pair] = text.flatMap { DuplicateState(rawValue: $0) }
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
