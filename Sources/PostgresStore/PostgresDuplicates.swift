package import Points
import PostgresClient

/// The SQL of the decisions on pairs of places.
private enum DuplicateStatements {
  static let select = Statement("duplicate_decisions", "SELECT first_id, second_id, state FROM duplicate_decisions")

  /// Values: the lesser id, the greater id and the state.
  static let put = Statement(
    "duplicate_decide",
    """
    INSERT INTO duplicate_decisions (first_id, second_id, state) VALUES ($1::uuid, $2::uuid, $3::text)
    ON CONFLICT (first_id, second_id) DO UPDATE SET state = excluded.state, decided_at = now()
    WHERE duplicate_decisions.state <> excluded.state
    """)

  static let delete = Statement(
    "duplicate_open", "DELETE FROM duplicate_decisions WHERE first_id = $1::uuid AND second_id = $2::uuid")
}

extension PostgresStore: DuplicateStore {
  package func decisions() async throws(PointStoreError) -> [PlacePair: DuplicateState] {
    var states: [PlacePair: DuplicateState] = [:]
    for row in try await read(DuplicateStatements.select, Parameters()).rows {
      guard let pair = PlacePair(try row.id(0), try row.id(1)) else { continue }
      states[pair] = DuplicateState(rawValue: try row.text(2))
    }
    return states
  }

  package func decide(_ state: DuplicateState, on pair: PlacePair) async throws(PointStoreError) {
    _ = try await write(
      state == .open ? DuplicateStatements.delete : DuplicateStatements.put,
      Parameters {
        $0.add(pair.lower)
        $0.add(pair.upper)
        if state != .open { $0.add(state.rawValue) }
      })
  }
}
