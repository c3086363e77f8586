import Basics
package import Points
import PostgresClient

/// The SQL of suggested edits.
private enum SuggestionStatements {
  static let select = Statement("suggestion", "SELECT id, document::text FROM suggestions WHERE id = $1::uuid")

  static let selectForUpdate = "SELECT document::text FROM suggestions WHERE id = $1::uuid FOR UPDATE"

  /// The statement for a page. Values: the state or null, the place or null, the id before, the time, the limit,
  /// the idempotency key or null, and the number of bytes above which the page ends.
  static let page = Statement(
    "suggestions", planning: .eachTime,
    """
    SELECT id, document
    FROM (
      SELECT id, document::text AS document,
        sum(octet_length(document::text)) OVER (ORDER BY id) - octet_length(document::text) AS bytes_before
      FROM (
        SELECT id, document
        FROM suggestions
        WHERE ($1::text IS NULL OR state = $1::text AND expires_at > $4::timestamptz
            OR $1::text = 'expired' AND state = 'open' AND expires_at <= $4::timestamptz
            OR $1::text = state AND state <> 'open')
          AND ($2::uuid IS NULL OR place_id = $2::uuid)
          AND ($3::uuid IS NULL OR id > $3::uuid)
          AND ($6::text IS NULL OR request_key = $6::text AND expires_at > $4::timestamptz)
        ORDER BY id
        LIMIT $5::int8
      ) AS page
    ) AS sized
    WHERE bytes_before <= $7::int8
    ORDER BY id
    """)

  /// Value: the time.
  static let open = Statement(
    "suggestions_open", planning: .eachTime,
    """
    SELECT count(*), md5(coalesce(string_agg(id::text, ' ' ORDER BY id), ''))
    FROM suggestions
    WHERE state = 'open' AND expires_at > $1::timestamptz
    """)

  /// The statement that adds a suggestion. Values: the id, the place or null, the key, the address, the idempotency key,
  /// the times of creation and expiry, the document, and the maximum numbers of open suggestions: of all, of the key and
  /// from the address.
  ///
  /// It returns the numbers before, the document of the suggestion with the same idempotency key or null, and whether
  /// the new one was added. The key of one that has expired is free, and is taken from it before it is unique again.
  /// Concurrent additions may exceed a maximum by their number.
  static let insert = Statement(
    "suggestion_insert", planning: .eachTime,
    """
    WITH known AS (
      SELECT document::text AS document FROM suggestions
      WHERE request_key = $5::text AND expires_at > $6::timestamptz
    ), freed AS (
      UPDATE suggestions SET request_key = NULL
      WHERE request_key = $5::text AND expires_at <= $6::timestamptz
      RETURNING id
    ), numbers AS (
      SELECT count(*) AS total, count(*) FILTER (WHERE key = $3::text) AS of_key,
        count(*) FILTER (WHERE address = $4::text) AS of_address
      FROM suggestions
      WHERE state = 'open' AND expires_at > $6::timestamptz
    ), inserted AS (
      INSERT INTO suggestions (id, place_id, state, key, address, request_key, created_at, expires_at, document)
      SELECT $1::uuid, $2::uuid, 'open', $3::text, $4::text, $5::text, $6::timestamptz, $7::timestamptz,
        $8::text::json
      FROM numbers
      WHERE total < $9::int8 AND of_key < $10::int8 AND of_address < $11::int8 AND NOT EXISTS (SELECT FROM known)
        AND (SELECT count(*) FROM freed) >= 0
      ON CONFLICT DO NOTHING
      RETURNING id
    )
    SELECT total, of_key, of_address, (SELECT document FROM known), EXISTS (SELECT FROM inserted) FROM numbers
    """)

  /// Values: the id, the state and the document.
  static let decide = "UPDATE suggestions SET state = $2::text, document = $3::text::json WHERE id = $1::uuid"

  /// Value: the time.
  static let remove = Statement(
    "suggestions_remove",
    "DELETE FROM suggestions WHERE expires_at + (expires_at - created_at) <= $1::timestamptz")

  /// The maximum number of suggestions that are erased in one transaction.
  static let eraseCount = 500

  static let selectExpired = """
    SELECT id, document::text
    FROM suggestions
    WHERE expires_at <= $1::timestamptz AND NOT is_erased
    ORDER BY id
    LIMIT \(eraseCount)
    FOR UPDATE
    """

  /// Values: the ids and the documents.
  static let erase = """
    UPDATE suggestions
    SET key = NULL, address = NULL, request_key = NULL, is_erased = true, document = erased.document::json
    FROM unnest($1::uuid[], $2::text[]) AS erased (id, document)
    WHERE suggestions.id = erased.id
    """
}

extension PostgresStore: SuggestionStore {
  package func suggestion(id: PointID) async throws(PointStoreError) -> Suggestion? {
    guard let row = try await read(SuggestionStatements.select, Parameters { $0.add(id) }).rows.first else {
      return nil
    }
    return try suggestion(of: row)
  }

  package func suggestions(matching query: SuggestionQuery) async throws(PointStoreError) -> [Suggestion] {
    var (query, found) = (query, [Suggestion]())
    let limit = query.limit
    while true {
      let result = try await read(
        SuggestionStatements.page,
        Parameters {
          $0.add(query.state?.rawValue)
          $0.add(optional: query.place)
          $0.add(optional: query.after)
          $0.add(query.now)
          $0.add(Int64(query.limit))
          $0.add(query.requestKey)
          $0.add(Int64(query.maximumTextBytes))
        })
      found += try await suggestions(of: result)
      // In place of rows that can't be decoded come others.
      guard found.count < limit, result.count == query.limit, let last = result.rows.last else { return found }
      query.after = try last.id(0)
      query.limit = limit - found.count
    }
  }

  package func openSuggestions(at now: Timestamp) async throws(PointStoreError) -> OpenSuggestions {
    let result = try await read(SuggestionStatements.open, Parameters { $0.add(now) })
    guard let row = result.rows.first else { throw .unexpected(reason: "a count of suggestions returned no row") }
    return OpenSuggestions(count: Int(try row.integer(0)), mark: try row.text(1))
  }

  private func suggestions(of result: QueryResult) async throws(PointStoreError) -> [Suggestion] {
    try await offThreadPool {
      Result { () throws(PointStoreError) -> [Suggestion] in
        var suggestions: [Suggestion] = []
        for row in result.rows {
          if let suggestion = try self.suggestion(of: row) { suggestions.append(suggestion) }
        }
        return suggestions
      }
    }.get()
  }

  /// Returns the ids of rows, and their documents without data of the senders. A document that can't be decoded stays as
  /// it is until it is removed.
  private func erased(_ result: QueryResult) async throws(PointStoreError) -> (ids: [PointID], documents: [String]) {
    try await offThreadPool {
      Result { () throws(PointStoreError) -> (ids: [PointID], documents: [String]) in
        var (ids, documents): ([PointID], [String]) = ([], [])
        for row in result.rows {
          ids.append(try row.id(0))
          if let suggestion = try self.suggestion(of: row) {
            documents.append(try suggestion.erased.document)
          } else {
            documents.append(try row.text(1))
          }
        }
        return (ids, documents)
      }
    }.get()
  }

  /// Returns the suggestion of a row of an id and a document; `nil` if it can't be decoded, after a line in the log.
  private func suggestion(of row: QueryResult.Row) throws(PointStoreError) -> Suggestion? {
    let (id, document) = (try row.id(0), try row.text(1))
    do throws(PointStoreError) {
      let suggestion = try Suggestion(document: document)
      if suggestion.id == id { return suggestion }
      damagedRows?.note(id, in: "suggestions", reason: "its document has the id \(suggestion.id)")
    } catch {
      damagedRows?.note(id, in: "suggestions", reason: "\(error)")
    }
    return nil
  }

  package func add(_ suggestion: Suggestion) async throws(PointStoreError) -> SuggestionAddition {
    let document = try suggestion.document
    let parameters = Parameters {
      $0.add(suggestion.id)
      $0.add(optional: suggestion.place)
      $0.add(suggestion.key)
      $0.add(suggestion.address)
      $0.add(suggestion.requestKey)
      $0.add(suggestion.createdAt)
      $0.add(suggestion.expiresAt)
      $0.add(document)
      $0.add(Int64(Suggestion.maximumOpenCount))
      $0.add(Int64(Suggestion.maximumOpenCountOfKey))
      $0.add(Int64(Suggestion.maximumOpenCountOfAddress))
    }
    // A request with the same idempotency key that was committed in between is found by the next attempt.
    for _ in 0..<2 {
      guard let row = try await write(SuggestionStatements.insert, parameters).rows.first else { break }
      if try row.boolean(4) { return .added }
      if let known = row.optionalText(3) {
        return (try? Suggestion(document: known)).map { .repeated($0) } ?? .unreadable
      }
      let refusal = SuggestionRefusal(
        total: Int(try row.integer(0)), ofKey: Int(try row.integer(1)), ofAddress: Int(try row.integer(2)))
      if let refusal { return .refused(refusal) }
    }
    throw .overloaded
  }

  /// Decides a suggestion; see ``Points/SuggestionStore/decide(_:_:changing:)``. Of concurrent decisions the later ones
  /// wait for the lock of the row, and find the first.
  package func decide(
    _ id: PointID, _ decision: Suggestion.Decision, changing change: PointOperation?
  ) async throws(PointWriteError) -> SuggestionOutcome {
    try await retrying { () async throws(PointWriteError) -> SuggestionOutcome? in
      do {
        return try await withTransaction { session -> SuggestionOutcome? in
          let found = try await session.run(SuggestionStatements.selectForUpdate, Parameters { $0.add(id) })
          // One that can't be decoded is not found by its id either.
          guard let row = found.rows.first, let suggestion = try? Suggestion(document: try row.text(0)) else {
            return .unknown
          }
          guard suggestion.state(at: decision.time) == .open else { return .closed(suggestion) }
          var result: PointOperationResult?
          if let change {
            guard let results = try await apply(PointBatch([change], isAtomic: true), in: session) else { return nil }
            result = results.first
          }
          if let result, result.isFailure { return .failed(result) }
          let decided = suggestion.decided(decision, result)
          let document = try decided.document
          try await session.run(
            SuggestionStatements.decide,
            Parameters {
              $0.add(id)
              $0.add(decided.state(at: decision.time).rawValue)
              $0.add(document)
            })
          try await commit(session)
          return .decided(decided)
        }
      } catch {
        if Self.isConflict(error) { return nil }
        throw await writeError(error)
      }
    }
  }

  package func pruneSuggestions(at now: Timestamp) async throws(PointStoreError) -> Int {
    var count = try await write(SuggestionStatements.remove, Parameters { $0.add(now) }).affectedRows
    var erased: Int
    repeat {
      erased = try await eraseSuggestions(at: now)
      count += erased
    } while erased == SuggestionStatements.eraseCount
    return count
  }

  private func eraseSuggestions(at now: Timestamp) async throws(PointStoreError) -> Int {
    do {
      return try await withTransaction { session -> Int in
        let result = try await session.run(SuggestionStatements.selectExpired, Parameters { $0.add(now) })
        if result.count == 0 { return 0 }
        let (ids, documents) = try await erased(result)
        try await session.run(
          SuggestionStatements.erase,
          Parameters {
            $0.add(ids)
            $0.add(documents)
          })
        try await commit(session)
        return result.count
      }
    } catch {
      guard case .store(let storeError) = await writeError(error) else { throw .unexpected(reason: "\(error)") }
      throw storeError
    }
  }
}
