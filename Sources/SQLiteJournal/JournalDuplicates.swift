import Foundation
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
    try await reportingErrors { database in
      try await database.read { database in
        var states: [PlacePair: DuplicateState] = [:]
        let rows = try Row.fetchCursor(database, sql: DuplicateRows.select)
        while let row = try rows.next() {
          let (first, second): (Data, Data) = (row[0], row[1])
          guard let lower = PointID(first), let upper = PointID(second),
            let pair = PlacePair(lower, upper)
          else { continue }
          states[pair] = DuplicateState(rawValue: row[2])
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

extension PointID {
  /// Creates an id of its bytes; `nil` for another number of them.
  fileprivate init?(_ data: Data) {
    guard data.count == Self.byteCount else { return nil }
    let (high, low) = data.withUnsafeBytes {
      ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }
    self.init(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low))
  }
}
