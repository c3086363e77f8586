import Points
import PostgresClient

/// The SQL by which an import keeps the edits of places. The rows are staged and matched with places before.
///
/// The matches were found before the edits are read, with the version of each place. An edit that is committed later
/// changes the version, and the import then begins its merge again. The places with edits are locked, and their matches
/// are renewed. They are copied into a small table with their rows, which are found again by their addresses (`ctid`),
/// because each scan of all rows takes a hundredth of the time of an import.
enum EditMergeStatements {
  /// The query for whether there are edits of fields, and deletions.
  static let kinds = """
    SELECT EXISTS (SELECT FROM edits WHERE field <> \(EditStatements.deletion)),
      EXISTS (SELECT FROM edits WHERE field = \(EditStatements.deletion))
    """

  // MARK: Edits of fields

  // The columns of places, as those of the table of rows with edits, and these as those of a place again.
  private static let placeColumns = (PointColumns.draft + ", version, updated_at").split(separator: ", ")
  private static let columnsOfPlaces = placeColumns.map { "points.\($0) AS place_\($0)" }.joined(separator: ", ")
  private static let place = """
    LATERAL (SELECT r.id, \(placeColumns.map { "r.place_\($0) AS \($0)" }.joined(separator: ", "))) AS place
    """

  /// Returns the query for the rows of matches with their places, which stay as they are until the transaction ends.
  ///
  /// - Parameters:
  ///   - matches: a condition of the matches.
  ///   - condition: a condition of the rows `r` and the places.
  ///   - locks: whether the places are locked.
  private static func edited(_ matches: String, _ condition: String = "true", locking locks: Bool) -> String {
    """
    SELECT match.row_number, points.id, match_tid, row_tid, false AS is_merged, given,
      \(PointColumns.qualified(PointColumns.draft, by: "r")), \(columnsOfPlaces)
    FROM (SELECT ctid AS match_tid, row_number, row_tid, target FROM import_matches WHERE \(matches)) AS match
    JOIN import_rows AS r ON r.ctid = row_tid
    JOIN points ON points.id = target
    WHERE \(condition)
    ORDER BY points.id
    \(locks ? "FOR UPDATE OF points" : "")
    """
  }

  /// Returns the statement that finds the places with edits, and locks them. A few rows are found by their addresses and
  /// keys, rather than by a scan.
  static func findEdited(locking locks: Bool) -> String {
    """
    SET LOCAL random_page_cost = 0.25;
    CREATE TEMPORARY TABLE import_edited ON COMMIT DROP AS
    \(edited("target IN (SELECT id FROM edits)", locking: locks))
    """
  }

  /// Returns the condition that the differences of a place from its row `r` are taken for edits. Value: a time.
  private static func isAssumed(_ place: String) -> String {
    """
    \(place).updated_at >= $1::timestamptz AND (\(place).source, \(place).source_id) = (r.source, r.source_id)
      AND NOT EXISTS (SELECT FROM edits WHERE edits.id = \(place).id)
    """
  }

  /// Returns the statement that adds the places that were changed since a time, and locks them. Value: the time.
  static func addAssumed(locking locks: Bool) -> String {
    """
    INSERT INTO import_edited
    \(edited("NOT is_unchanged", isAssumed("points"), locking: locks))
    """
  }

  static let analyzeEdited = "ANALYZE import_edited"

  /// Returns the query for the value of the field of an edit, as the columns `value`, `lat` and `long`.
  ///
  /// - Parameter row: the name of a row with the columns of a draft.
  private static func value(in row: String) -> String {
    """
    SELECT \(row).lat, \(row).long,
      CASE edit.field
        WHEN 'name' THEN \(row).name
        WHEN 'category' THEN \(row).category
        WHEN 'position' THEN NULL
        ELSE (\(EditStatements.readable("\(row).tags"))) ->> substr(edit.field, \(EditStatements.tagPrefixLength + 1))
      END AS value
    """
  }

  /// Returns the statement that decides which edits stay. See ``Points/PlaceEdits/merging(_:onto:given:conflicts:)``.
  /// `base` is the new base of an edit that the data set has changed its value since.
  ///
  /// A place that has the base has been changed by other programs, and is not edited.
  static func findEdits(keepingConflicts keepsConflicts: Bool) -> String {
    """
    CREATE TEMPORARY TABLE import_edits ON COMMIT DROP AS
    SELECT row_number, id, field, base, CASE field WHEN 'position' THEN lat END AS base_lat,
      CASE field WHEN 'position' THEN long END AS base_long,
      keeps_origin AND CASE
        WHEN NOT is_given THEN true
        WHEN is_place OR is_undone THEN false
        WHEN is_base THEN \(keepsConflicts) OR NOT is_conflict
        ELSE \(keepsConflicts)
      END AS is_kept,
      \(keepsConflicts) AND is_given AND NOT is_place AND NOT is_undone AND NOT is_base AS is_new_conflict,
      false AS is_assumed
    FROM (
      SELECT r.row_number, edit.id, edit.field, edit.is_conflict, next.value AS base, next.lat, next.long,
        edit.field <> \(EditStatements.deletion)
          AND (edit.source, edit.source_id) IS NOT DISTINCT FROM (r.place_source, r.place_source_id)
          AND (edit.source, edit.source_id) IS NOT DISTINCT FROM (r.source, r.source_id) AS keeps_origin,
        CASE edit.field
          WHEN 'position' THEN \(EditStatements.isSamePosition(("next.lat", "next.long"), ("present.lat", "present.long")))
          ELSE next.value IS NOT DISTINCT FROM present.value
        END AS is_place,
        \(EditStatements.isBase(of: "edit", "next")) AS is_base,
        \(EditStatements.isBase(of: "edit", "present")) AS is_undone,
        given.number IS NULL OR CASE
          WHEN edit.field = 'category' THEN has_category
          WHEN starts_with(edit.field, \(EditStatements.tagPrefix)) THEN
            tag_keys IS NULL OR substr(edit.field, \(EditStatements.tagPrefixLength + 1)) = ANY (tag_keys)
          ELSE true
        END AS is_given
      FROM import_edited AS r
      JOIN edits AS edit ON edit.id = r.id
      LEFT JOIN import_given AS given ON given.number = r.given
      CROSS JOIN LATERAL (\(value(in: "r"))) AS next
      CROSS JOIN \(place)
      CROSS JOIN LATERAL (\(value(in: "place"))) AS present
    ) AS merged
    """
  }

  /// The statement that takes the differences of places that were changed since a time for edits. Value: the time.
  static let assume = """
    INSERT INTO import_edits (row_number, id, field, base, base_lat, base_long, is_kept, is_new_conflict, is_assumed)
    SELECT r.row_number, r.id, difference.field, base, base_lat, base_long, true, false, true
    FROM import_edited AS r
    CROSS JOIN \(place)
    CROSS JOIN LATERAL (\(EditStatements.differences(of: "place", from: "r"))) AS difference
    WHERE \(isAssumed("place"))
    """

  /// The rows whose places keep edits, with the fields.
  private static let kept = """
    SELECT row_number, array_agg(field) AS fields,
      bool_or(starts_with(field, \(EditStatements.tagPrefix))) AS keeps_tags
    FROM import_edits
    WHERE is_kept
    GROUP BY row_number
    """

  /// The tags of a row, with those that its place keeps.
  private static let mergedTags = """
    SELECT key, value FROM json_each(r.tags) WHERE \(EditStatements.tagPrefix) || key <> ALL (kept.fields)
    UNION ALL
    SELECT key, value FROM json_each(\(EditStatements.readable("r.place_tags"))) WHERE \(EditStatements.tagPrefix) || key = ANY (kept.fields)
    """

  /// The statement that forgets the edits of the tags of places that would have too many tags. A tag has six bytes at
  /// least.
  static let forgetTags = """
    UPDATE import_edits AS edit
    SET is_kept = false
    FROM (\(kept)) AS kept
    JOIN import_edited AS r ON r.row_number = kept.row_number
    WHERE edit.row_number = kept.row_number AND keeps_tags AND starts_with(edit.field, \(EditStatements.tagPrefix))
      AND octet_length(r.tags::text) + octet_length(r.place_tags::text) > 6 * \(Tags.maximumCount)
      AND (SELECT count(*) FROM (\(mergedTags)) AS tag) > \(Tags.maximumCount)
    """

  /// Returns the SQL expression of a text as a JSON string, as the program writes it: PostgreSQL has short escapes of two
  /// more characters.
  private static func jsonText(of text: String) -> String {
    let escapes = [("b", "0008"), ("f", "000c")]
    return escapes.reduce("to_json(\(text))::text") { json, escape in
      // Not after an escaped backslash.
      #"regexp_replace(\#(json), '(?<!\\)((\\\\)*)\\\#(escape.0)', '\1\\u\#(escape.1)', 'g')"#
    }
  }

  /// The statement that gives rows the values that their places keep.
  static let merge = """
    UPDATE import_edited AS r
    SET is_merged = true,
      name = CASE WHEN 'name' = ANY (fields) THEN r.place_name ELSE r.name END,
      category = CASE WHEN 'category' = ANY (fields) THEN r.place_category ELSE r.category END,
      lat = CASE WHEN 'position' = ANY (fields) THEN r.place_lat ELSE r.lat END,
      long = CASE WHEN 'position' = ANY (fields) THEN r.place_long ELSE r.long END,
      tags = CASE WHEN keeps_tags THEN
        (
          SELECT (
            '{' || coalesce(string_agg(\(jsonText(of: "key")) || ':' || value::text, ',' ORDER BY key COLLATE "C"), '') || '}'
          )::json
          FROM (\(mergedTags)) AS tag
        )
        ELSE r.tags END
    FROM (\(kept)) AS kept
    WHERE r.row_number = kept.row_number
    """

  /// The statement that writes the merged rows to those of the import, where their places change.
  static let writeRows = """
    UPDATE import_rows
    SET (\(PointColumns.draft)) = ROW (\(PointColumns.qualified(PointColumns.draft, by: "r")))
    FROM import_edited AS r CROSS JOIN \(place)
    WHERE import_rows.ctid = row_tid AND is_merged AND NOT (\(ImportStatements.isUnchanged("place")))
    """

  /// The statement that compares the places with the merged rows.
  static let renewMatches = """
    UPDATE import_matches AS match
    SET version = place.version, is_unchanged = \(ImportStatements.isUnchanged("place"))
    FROM import_edited AS r CROSS JOIN \(place)
    WHERE match.ctid = match_tid;
    SET LOCAL random_page_cost TO DEFAULT
    """

  static let dropRejected = """
    DELETE FROM import_edits USING import_rejected WHERE import_edits.row_number = import_rejected.row_number
    """

  /// The query for the numbers of places that keep edits and of those with a new conflict, and for the numbers of edits
  /// that are new and that are forgotten.
  static let count = """
    SELECT count(DISTINCT id) FILTER (WHERE is_kept), count(DISTINCT id) FILTER (WHERE is_kept AND is_new_conflict),
      count(*) FILTER (WHERE is_assumed AND is_kept), count(*) FILTER (WHERE NOT is_assumed AND NOT is_kept)
    FROM import_edits
    """

  static let countAll = "SELECT count(*) FROM edits"

  static let forget = """
    DELETE FROM edits
    USING import_edits AS merged
    WHERE edits.id = merged.id AND edits.field = merged.field AND NOT is_kept
    """

  static let noteConflicts = """
    UPDATE edits
    SET base = merged.base, base_lat = merged.base_lat, base_long = merged.base_long, is_conflict = true
    FROM import_edits AS merged
    WHERE edits.id = merged.id AND edits.field = merged.field AND is_kept AND is_new_conflict
    """

  static let noteAssumed = """
    INSERT INTO edits (id, field, source, source_id, base, base_lat, base_long, since)
    SELECT merged.id, field, source, source_id, base, base_lat, base_long, updated_at
    FROM import_edits AS merged JOIN points ON points.id = merged.id
    WHERE is_assumed AND is_kept
    """

  // MARK: Deletions

  /// The statement that finds the rows with the origins of deleted places. Those that mean no place are left out.
  static let findDeletions = """
    CREATE TEMPORARY TABLE import_deletions ON COMMIT DROP AS
    SELECT r.row_number, r.ctid AS row_tid, edits.id, edits.source, match.row_number IS NULL AS is_kept
    FROM edits
    JOIN import_rows AS r ON r.source = edits.source AND r.source_id = edits.source_id
    LEFT JOIN import_matches AS match ON match.row_number = r.row_number
    WHERE field = \(EditStatements.deletion) AND \(ImportStatements.isNotRejected)
    """

  static let leaveOut = """
    DELETE FROM import_rows USING import_deletions WHERE import_rows.ctid = row_tid AND is_kept
    """

  static let countDeletions = "SELECT count(DISTINCT id) FROM import_deletions WHERE is_kept"

  static let sourcesOfLeftOut = "SELECT DISTINCT source FROM import_deletions WHERE is_kept"

  /// The statement that forgets the deletions whose origins other places have now.
  static let forgetDeletions = """
    DELETE FROM edits
    USING import_deletions AS r
    WHERE edits.id = r.id AND field = \(EditStatements.deletion) AND NOT is_kept
      AND \(ImportStatements.isNotRejected)
    """

  /// The statement that forgets what was known of the ids of places that the import has created, and the deletions whose
  /// ids places have now.
  static let forgetEditsOfIDs = """
    DELETE FROM edits
    USING import_rows AS r
    WHERE edits.id = coalesce(r.id, former_id)
      AND EXISTS (SELECT FROM points WHERE points.id = edits.id)
      AND (field = \(EditStatements.deletion) OR NOT EXISTS (
        SELECT FROM import_matches WHERE import_matches.row_number = r.row_number))
      AND \(ImportStatements.isNotRejected)
    """

  /// The statement that forgets the deletions of a data set that no row means. Value: its name.
  static let forgetOtherDeletions = """
    DELETE FROM edits
    WHERE field = \(EditStatements.deletion) AND source = $1::text
      AND NOT EXISTS (
        SELECT FROM import_rows AS r WHERE r.source = edits.source AND r.source_id = edits.source_id)
      AND NOT EXISTS (SELECT FROM import_deletions WHERE import_deletions.id = edits.id)
      AND NOT EXISTS (SELECT FROM import_kept WHERE import_kept.id = edits.id)
    """

  /// The statement that forgets the deletions of origins that a file names as deleted, unless a row means them. Values:
  /// the data set's name, and the ids in it.
  static let forgetNamedDeletions = """
    DELETE FROM edits
    WHERE field = \(EditStatements.deletion) AND source = $1::text AND source_id = ANY ($2::text[])
      AND NOT EXISTS (
        SELECT FROM import_rows AS r WHERE r.source = edits.source AND r.source_id = edits.source_id)
    """

  /// The statement that forgets the edits of the places that the import has deleted.
  static let forgetRemoved = """
    DELETE FROM edits
    USING import_removals AS removal
    WHERE edits.id = removal.id AND field <> \(EditStatements.deletion)
    """
}

/// The merge of the rows of an import with the edits of their places.
struct EditMerge {
  /// The number of rows that were left out, because their places were deleted.
  private(set) var leftOut = 0

  private let session: Session
  private let options: ImportOptions

  /// A Boolean value that indicates whether there are edits of fields, or differences that are taken for them.
  let hasEdits: Bool
  private let hasDeletions: Bool

  /// Merges the rows that match places with edits, and leaves out those of deleted places. Without edits it is one cheap
  /// query.
  ///
  /// - Throws: the error of the database.
  init(_ session: Session, _ options: ImportOptions) async throws {
    self.session = session
    self.options = options
    guard let kinds = try await session.run(EditMergeStatements.kinds).rows.first else {
      throw PointStoreError.unexpected(reason: "the query for edits returned no row")
    }
    hasEdits = try kinds.boolean(0) || options.assumeEditedSince != nil
    hasDeletions = try kinds.boolean(1)
    if hasEdits { try await mergeEdits() }
    if hasDeletions {
      try await session.run(script: EditMergeStatements.findDeletions)
      leftOut = try await session.run(script: EditMergeStatements.leaveOut).affectedRows
    }
  }

  private func mergeEdits() async throws {
    let time = options.assumeEditedSince.map { time in Parameters { $0.add(time) } }
    let locks = !options.dryRun
    try await session.run(script: EditMergeStatements.findEdited(locking: locks))
    if let time { try await session.run(EditMergeStatements.addAssumed(locking: locks), time) }
    try await session.run(script: EditMergeStatements.analyzeEdited)
    try await session.run(script: EditMergeStatements.findEdits(keepingConflicts: options.conflicts == .edits))
    if let time { try await session.run(EditMergeStatements.assume, time) }
    try await session.run(script: EditMergeStatements.forgetTags)
    try await session.run(script: EditMergeStatements.merge)
    try await session.run(script: EditMergeStatements.writeRows)
    try await session.run(script: EditMergeStatements.renewMatches)
  }

  /// Counts the places that keep edits or stay deleted, and those with a new conflict.
  ///
  /// - Throws: ``PointStoreError/editsExhausted`` if the import would add too many edits, or the error of the database.
  func count(in report: inout ImportReport, maximumEdits: Int) async throws {
    if hasEdits {
      if options.admits != nil { try await session.run(script: EditMergeStatements.dropRejected) }
      guard let row = try await session.run(EditMergeStatements.count).rows.first else {
        throw PointStoreError.unexpected(reason: "a count of edits returned no row")
      }
      report.keptEdits = Int(try row.integer(0))
      report.conflicts = Int(try row.integer(1))
      let (added, forgotten) = (try row.integer(2), try row.integer(3))
      if added > 0 {
        let count = try await session.run(EditMergeStatements.countAll).rows.first?.integer(0) ?? 0
        if count + added - forgotten > maximumEdits { throw PointStoreError.editsExhausted }
      }
    }
    if hasDeletions {
      let kept = try await session.run(EditMergeStatements.countDeletions).rows.first?.integer(0) ?? 0
      report.keptEdits += Int(kept)
    }
  }

  /// Returns the names of the data sets of the rows that were left out.
  func sourcesOfLeftOut() async throws -> [String] {
    guard leftOut > 0 else { return [] }
    return try await session.run(EditMergeStatements.sourcesOfLeftOut).rows.map { try $0.text(0) }
  }

  /// Changes the edits, before the places are changed.
  func apply() async throws {
    guard hasEdits else { return }
    try await session.run(script: EditMergeStatements.forget)
    try await session.run(script: EditMergeStatements.noteConflicts)
    if options.assumeEditedSince != nil { try await session.run(script: EditMergeStatements.noteAssumed) }
  }

  /// Forgets the deletions whose places are back or that the data set no longer has, and what was known of the ids of new
  /// places, after the places were changed.
  ///
  /// - Parameters:
  ///   - created: the number of places that the import has created.
  ///   - rejected: the rows that were rejected before the store got them.
  func forgetDeletions(created: Int, rejected: RejectedPlaces?) async throws {
    if hasEdits || hasDeletions, created > 0 { try await session.run(script: EditMergeStatements.forgetEditsOfIDs) }
    guard hasDeletions else { return }
    try await session.run(script: EditMergeStatements.forgetDeletions)
    if case .others(let source, _)? = options.removal, options.admits == nil, rejected?.unknown ?? 0 == 0 {
      try await session.run(EditMergeStatements.forgetOtherDeletions, Parameters { $0.add(source) })
    }
  }
}
