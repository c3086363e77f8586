import Basics
import Geo
package import Points
import PostgresClient

/// The SQL of the edits of places.
///
/// Who changes the edits of a place has locked the place, in the same transaction. A statement that waits for that lock
/// finds the place as it is then, and its edits as they were when the statement began: it inserts edits in place of
/// those that it may not see, and does nothing, to be retried, if the place has another version than when it began.
enum EditStatements {
  /// The field of a deletion, as SQL.
  static let deletion = "'\(EditedField.deletion.text)'"

  /// The beginning of the texts of the fields that are tags, as SQL, and the number of its characters.
  static let tagPrefix = "'\(tagField.text)'"
  static let tagPrefixLength = tagField.text.count
  private static let tagField = EditedField.tag(ExactText(""))

  /// The columns, in the order in which ``QueryResult/Row/edit()`` reads them.
  private static let columns = "id, source, source_id, field, base, base_lat, base_long, since, is_conflict"

  // MARK: Values

  /// Returns the SQL condition that two positions are the same.
  static func isSamePosition(_ left: (lat: String, long: String), _ right: (lat: String, long: String)) -> String {
    let tolerance = FieldValue.positionTolerance
    return "(abs(\(left.lat) - \(right.lat)) <= \(tolerance) AND abs(\(left.long) - \(right.long)) <= \(tolerance))"
  }

  /// Returns the SQL condition that the value of a field is the base of its edit.
  ///
  /// - Parameters:
  ///   - edit: the name of a row with the columns of an edit.
  ///   - row: the name of a row with the columns of ``differences(of:from:)``.
  static func isBase(of edit: String, _ row: String) -> String {
    """
    CASE WHEN \(edit).base_lat IS NULL THEN \(edit).base IS NOT DISTINCT FROM \(row).value
    ELSE \(isSamePosition(("\(edit).base_lat", "\(edit).base_long"), ("\(row).lat", "\(row).long"))) END
    """
  }

  /// Returns the query for the fields of a place whose values differ from those that it had before. The columns `base`,
  /// `base_lat` and `base_long` have the former value, and `value`, `lat` and `long` the new one.
  ///
  /// - Parameters:
  ///   - next: the name of a row with the columns of a draft.
  ///   - former: the name of another one.
  static func differences(of next: String, from former: String) -> String {
    """
    SELECT 'name' AS field, \(former).name AS base, NULL::float8 AS base_lat, NULL::float8 AS base_long,
      \(next).name AS value, NULL::float8 AS lat, NULL::float8 AS long
    WHERE \(former).name <> \(next).name
    UNION ALL
    SELECT 'category', \(former).category, NULL, NULL, \(next).category, NULL, NULL
    WHERE \(former).category IS DISTINCT FROM \(next).category
    UNION ALL
    SELECT 'position', NULL, \(former).lat, \(former).long, NULL, \(next).lat, \(next).long
    WHERE NOT \(isSamePosition(("\(former).lat", "\(former).long"), ("\(next).lat", "\(next).long")))
    UNION ALL
    SELECT \(tagPrefix) || coalesce(former_tag.key, next_tag.key), former_tag.value, NULL, NULL, next_tag.value, NULL, NULL
    FROM (\(eachTag(of: "\(former).tags"))) AS former_tag
    FULL JOIN (\(eachTag(of: "\(next).tags"))) AS next_tag ON next_tag.key = former_tag.key
    WHERE \(former).tags::text <> \(next).tags::text AND former_tag.value IS DISTINCT FROM next_tag.value
    """
  }

  /// Returns the SQL expression of tags that can be read, `{}` in place of those with an escape that is no text of
  /// PostgreSQL: a null character, or half a pair of surrogates. Only other programs write these.
  ///
  /// - Parameter tags: an SQL expression of `json`.
  static func readable(_ tags: String) -> String {
    // Without escaped backslashes, and without pairs of surrogates.
    let rest = #"regexp_replace(replace(\#(tags)::text, '\\', ''), '\\u[dD][89abAB]..\\u[dD][c-fC-F]..', '', 'g')"#
    return
      #"CASE WHEN \#(tags)::text LIKE '%\\u%' AND \#(rest) ~ '\\u(0000|[dD][89a-fA-F])' THEN '{}' ELSE \#(tags) END"#
  }

  /// Returns the query for the keys and the values of tags. Of a key that stands twice the last value counts, and values
  /// that are not texts are left out, as ``Points/Tags`` does.
  ///
  /// - Parameter tags: an SQL expression of `json`.
  static func eachTag(of tags: String) -> String {
    """
    SELECT DISTINCT ON (key) key COLLATE "C" AS key, value #>> '{}' AS value
    FROM json_each(\(readable(tags))) WITH ORDINALITY AS tag (key, value, number)
    WHERE json_typeof(value) = 'string'
    ORDER BY key COLLATE "C", number DESC
    """
  }

  /// Returns the SQL condition that there is room for more edits.
  ///
  /// The rows are only counted where an estimate comes near the maximum: by the number of rows in a page when the table
  /// was last analyzed, as that of the planner, with a quarter more; before, by the fewest bytes that a row takes.
  ///
  /// - Parameters:
  ///   - id: the id of a place, which may have more edits if it has some; `nil` for the edits of places without any.
  ///   - count: the number of rows to add.
  ///   - maximum: the maximum number of rows.
  static func hasRoom(for id: String?, _ count: String, maximum: String) -> String {
    """
    CASE WHEN \(count) = 0 THEN true
      \(id.map { "WHEN EXISTS (SELECT FROM edits WHERE edits.id = \($0)) THEN true" } ?? "")
      WHEN (
        SELECT CASE
          WHEN relpages > 0 AND reltuples > 0 THEN 1.25 * reltuples / relpages * pg_relation_size(oid) / 8192
          ELSE pg_relation_size(oid) / 64
        END
        FROM pg_class
        WHERE oid = 'edits'::regclass
      ) + \(count) <= \(maximum) THEN true
      ELSE (SELECT count(*) FROM edits) + \(count) <= \(maximum)
    END
    """
  }

  // MARK: Reading

  /// The query for the edits of a place. Value: its id.
  static let ofPlace = Statement(
    "edits_of_place", "SELECT \(columns) FROM edits WHERE id = $1::uuid ORDER BY field")

  /// The query for a page of places with edits, which ends before the first place whose edits exceed a number of bytes.
  /// Values: the data set or null, whether only places with a conflict match, the id before or null, the number of
  /// places, and the number of bytes. It returns whether places follow with each edit.
  static let page = Statement(
    "edits_page", planning: .eachTime,
    """
    WITH found AS MATERIALIZED (
      SELECT DISTINCT id
      FROM edits
      WHERE ($1::text IS NULL OR source = $1::text) AND (NOT $2::bool OR is_conflict)
        AND ($3::uuid IS NULL OR id > $3::uuid)
      ORDER BY id
      LIMIT $4::int8 + 1
    ), sized AS (
      SELECT id, row_number() OVER (ORDER BY id) AS number, sum(bytes) OVER (ORDER BY id) AS bytes
      FROM (
        SELECT id, sum(octet_length(field) + coalesce(octet_length(base), 0)) AS bytes
        FROM edits
        WHERE id IN (SELECT id FROM found)
        GROUP BY id
      ) AS place
    ), page AS MATERIALIZED (
      SELECT id FROM sized WHERE number = 1 OR number <= $4::int8 AND bytes <= $5::int8
    )
    SELECT \(columns), (SELECT count(*) FROM found) > (SELECT count(*) FROM page)
    FROM edits
    WHERE id IN (SELECT id FROM page)
    ORDER BY id, field
    """)

  // MARK: Changes of one place

  /// The query for a place, which stays as it is until the transaction ends. Value: its id.
  static let lockPlace = "SELECT \(PointColumns.all) FROM points WHERE id = $1::uuid FOR UPDATE"

  /// The statement that removes the edits of a place. Value: its id.
  static let remove = "DELETE FROM edits WHERE id = $1::uuid"

  /// The statement that replaces the edits of a place by some of them, with other bases. Values: its id, and for each
  /// edit that stays the field, the base or an empty text, the latitude and the longitude of the base, whether the base
  /// is 0 none, 1 a text or 2 a position, and whether the edit is a conflict, 0 or 1.
  static let replace = """
    WITH kept AS MATERIALIZED (
      SELECT * FROM unnest($2::text[], $3::text[], $4::float8[], $5::float8[], $6::int8[], $7::int8[])
        AS kept (field, base, lat, long, kind, is_conflict)
    ), removed AS (
      DELETE FROM edits WHERE id = $1::uuid AND field NOT IN (SELECT field FROM kept)
    )
    UPDATE edits
    SET base = CASE kind WHEN 1 THEN kept.base END, base_lat = CASE kind WHEN 2 THEN lat END,
      base_long = CASE kind WHEN 2 THEN long END, is_conflict = kept.is_conflict = 1
    FROM kept
    WHERE id = $1::uuid AND edits.field = kept.field
    """
}

extension PostgresStore {
  /// The number of bytes of texts above which a page of places with edits ends.
  private static let maximumPageBytes = Int64(PointPage.maximumTextBytes)

  package func edits(of id: PointID) async throws(PointStoreError) -> PlaceEdits? {
    try places(in: try await read(EditStatements.ofPlace, Parameters { $0.add(id) })).first
  }

  package func edits(matching query: EditQuery) async throws(PointStoreError) -> EditPage {
    let result = try await read(
      EditStatements.page,
      Parameters {
        $0.add(query.source?.text)
        $0.add(query.onlyConflicts)
        $0.add(optional: query.after)
        $0.add(Int64(query.limit))
        $0.add(Self.maximumPageBytes)
      })
    let hasMore = try result.rows.first?.boolean(9) ?? false
    return EditPage(places: try places(in: result), hasMore: hasMore)
  }

  /// Forgets the edits of a place; see ``Points/PointStore/forgetEdits(of:)``.
  ///
  /// - Throws: ``PointWriteError``.
  package func forgetEdits(of id: PointID) async throws(PointWriteError) -> PointOfInterest? {
    try await changeEdited(id) { session, point, edits -> PointOfInterest?? in
      guard let edits else { throw PointWriteError.notFound }
      try await session.run(EditStatements.remove, Parameters { $0.add(id) })
      guard let point else { return .some(nil) }
      let draft = edits.undone(in: point.draft)
      return .some(try await replace(id, by: draft, if: .exists, in: session)?.point)
    }
  }

  /// Replaces the place of an id, which has edits, by the values of its data set, or creates it; see
  /// ``Points/PointStore/put(_:id:if:as:)``.
  ///
  /// - Throws: ``PointWriteError``.
  func putMerging(
    _ draft: PointDraft, id: PointID, if condition: WriteCondition
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    try await changeEdited(id) { session, point, edits -> (point: PointOfInterest, wasCreated: Bool)? in
      guard let point, draft.origin != nil, draft.hasSameOrigin(as: point.draft) else {
        return try await replace(id, by: draft, if: condition, as: .source, in: session)
      }
      guard let edits else { return try await replace(id, by: draft, if: condition, in: session) }
      let merge = edits.merging(draft, onto: point.draft)
      let result = try await replace(id, by: merge.draft, if: condition, in: session)
      if merge.edits != edits { try await session.run(EditStatements.replace, Parameters(id, merge.edits)) }
      return result
    }
  }

  /// Changes a place and its edits in a transaction, which commits what the closure does unless it returns `nil`.
  private func changeEdited<Outcome: Sendable>(
    _ id: PointID,
    _ change: @Sendable (Session, PointOfInterest?, PlaceEdits?) async throws -> Outcome?
  ) async throws(PointWriteError) -> Outcome {
    try await retrying(orThrow: .store(.overloaded)) { () async throws(PointWriteError) -> Outcome? in
      do {
        return try await withTransaction(for: nil) { session -> Outcome? in
          let parameters = Parameters { $0.add(id) }
          let point = try await session.run(EditStatements.lockPlace, parameters).rows.first?.point()
          // A later statement, which sees the edits that were committed before the lock was acquired.
          let edits = try places(in: try await session.run(EditStatements.ofPlace.sql, parameters)).first
          guard let outcome = try await change(session, point, edits) else { return nil }
          try await commit(session)
          return outcome
        }
      } catch DatabaseError.rejected(let error) where error.constraint == WriteStatements.originConstraint {
        throw .originTaken
      } catch {
        if Self.isConflict(error) { return nil }
        throw await writeError(error)
      }
    }
  }

  /// Replaces or creates a place in a transaction, without noting edits.
  ///
  /// - Parameter author: `nil` for values that are merged with the edits already.
  /// - Returns: `nil` if another transaction has just created it.
  /// - Throws: ``PointWriteError/conditionFailed(currentVersion:)``, or the error of the database.
  private func replace(
    _ id: PointID, by draft: PointDraft, if condition: WriteCondition, as author: WriteAuthor? = nil,
    in session: Session
  ) async throws -> (point: PointOfInterest, wasCreated: Bool)? {
    let parameters = putParameters(draft, id: id, if: condition, by: author)
    let result = try await session.run(WriteStatements.put.sql, parameters)
    guard case .put(let point, let wasCreated)? = try Self.outcome(ofPut: result, condition) else { return nil }
    return (point, wasCreated)
  }

  /// Returns the places with edits of rows that are ordered by place. Rows that can't be decoded are left out.
  private func places(in result: QueryResult) throws(PointStoreError) -> [PlaceEdits] {
    var places: [PlaceEdits] = []
    var (origin, edits): (SourceReference?, [FieldEdit]) = (nil, [])
    var last: PointID?
    func endPlace() {
      // Beside a deletion there may be edits that were made while the place was deleted.
      let deletion = edits.filter { $0.field == .deletion }
      if let last, let origin, !edits.isEmpty {
        places.append(PlaceEdits(id: last, origin: origin, edits: deletion.isEmpty ? edits : deletion))
      }
      edits = []
    }
    for row in result.rows {
      let id = try row.id(0)
      if id != last { endPlace() }
      (last, origin) = (id, SourceReference(source: try row.text(1), sourceID: try row.text(2)))
      if let edit = try row.edit() {
        edits.append(edit)
      } else {
        damagedRows?.note(id, in: "edits", reason: "the field or its base is not that of an edit")
      }
    }
    endPlace()
    return places
  }
}

extension QueryResult.Row {
  /// Returns an edit, from columns 3 to 8; `nil` if it is damaged.
  fileprivate func edit() throws(PointStoreError) -> FieldEdit? {
    let base: FieldValue
    if let text = optionalText(4) {
      base = .text(ExactText(text))
    } else if isNull(5) {
      base = .none
    } else {
      guard let position = try? Coordinate(latitude: try double(5), longitude: try double(6)) else { return nil }
      base = .position(position)
    }
    guard let field = EditedField(text: try text(3)) else { return nil }
    let edit = FieldEdit(field: field, base: base, since: try timestamp(7), isConflict: try boolean(8))
    return edit.isValid ? edit : nil
  }
}

extension Parameters {
  /// Creates the values of ``EditStatements/replace``.
  fileprivate init(_ id: PointID, _ edits: PlaceEdits?) {
    let edits = edits?.edits ?? []
    var (texts, latitudes, longitudes, kinds): ([String], [Double], [Double], [Int64]) = ([], [], [], [])
    for edit in edits {
      var (text, latitude, longitude, kind) = ("", 0.0, 0.0, Int64(0))
      switch edit.base {
      case .none: break
      case .text(let base): (text, kind) = (base.text, 1)
      case .position(let base): (latitude, longitude, kind) = (base.latitude, base.longitude, 2)
      }
      texts.append(text)
      latitudes.append(latitude)
      longitudes.append(longitude)
      kinds.append(kind)
    }
    self.init()
    add(id)
    add(edits.map(\.field.text))
    add(texts)
    add(latitudes)
    add(longitudes)
    add(kinds)
    add(edits.map { $0.isConflict ? Int64(1) : 0 })
  }
}
