import Basics
import GRDB
import Geo
import MemoryStore
import Points

/// The table of the edits of places.
enum EditRows {
  static let createTable = """
    -- The edited fields of places, with the values that their data sets gave last, and the deletions of places.
    CREATE TABLE edit (
      id BLOB NOT NULL CHECK (length(id) = 16),
      -- name, category, position, tags.KEY or deleted.
      field TEXT NOT NULL,
      -- The origin of the place, with which the edits end.
      source TEXT NOT NULL,
      source_id TEXT NOT NULL,
      -- NULL if the data set gave no value.
      base TEXT,
      -- Of a position.
      base_latitude REAL,
      base_longitude REAL,
      since INTEGER NOT NULL,
      is_conflict INTEGER NOT NULL,
      PRIMARY KEY (id, field)
    ) STRICT;
    """

  private static let all = """
    SELECT id, field, source, source_id, base, base_latitude, base_longitude, since, is_conflict, rowid
    FROM edit
    ORDER BY id
    """

  private static let remove = "DELETE FROM edit WHERE id = ?"

  private static let put = """
    INSERT INTO edit (id, field, source, source_id, base, base_latitude, base_longitude, since, is_conflict)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    """

  /// The statement that removes the edits of places that do not exist or have another origin, and the deletions of
  /// places that exist. Only changes by hand leave such rows.
  private static let removeStale = """
    DELETE FROM edit
    WHERE (field = 'deleted') = EXISTS (
      SELECT 1 FROM place
      WHERE place.id = edit.id
        AND (edit.field = 'deleted' OR (place.source, place.source_id) = (edit.source, edit.source_id)))
    """

  static func removeStale(_ database: Database) throws { try database.execute(sql: removeStale) }

  /// Commits edits, or removes those that are `nil`.
  static func commit(_ changes: EditChanges, to database: Database) throws {
    for (id, edits) in changes {
      try database.cachedStatement(sql: remove).execute(arguments: [id.bytes])
      for edit in edits?.edits ?? [] {
        try database.cachedStatement(sql: put).execute(arguments: values(of: edit, id, edits?.origin))
      }
    }
  }

  private static func values(of edit: FieldEdit, _ id: PointID, _ origin: SourceReference?) -> StatementArguments {
    var (text, position): (String?, Coordinate?)
    switch edit.base {
    case .none: break
    case .text(let base): text = base.text
    case .position(let base): position = base
    }
    return [
      id.bytes, edit.field.text, origin?.source, origin?.sourceID, text, position?.latitude, position?.longitude,
      edit.since.microsecondsSinceEpoch, edit.isConflict,
    ]
  }

  /// Passes all edits of each place to a closure, and the damage and the number of each damaged row to another one.
  static func load(
    _ database: Database, _ body: (PlaceEdits) -> Void, onDamage: (RowDamage, Int64?) -> Void
  ) throws {
    var current: (id: PointID, origin: SourceReference, edits: [FieldEdit])?
    func pass() {
      if let current { body(PlaceEdits(id: current.id, origin: current.origin, edits: current.edits)) }
      current = nil
    }
    try StoredRow.forEach(database, all) { row in
      do throws(RowDamage) {
        let (id, origin, edit) = try row.edit()
        if current?.id != id {
          pass()
          current = (id, origin, [])
        }
        guard origin == current?.origin else { throw RowDamage("source and source_id differ from those of its id") }
        current?.edits.append(edit)
      } catch {
        onDamage(error, try? row.integer(9, "rowid"))
      }
    }
    pass()
  }
}

extension StoredRow {
  /// Returns an edit, from the columns of its table.
  fileprivate func edit() throws(RowDamage) -> (PointID, SourceReference, FieldEdit) {
    let (id, name) = (try id(0), try text(1, "field"))
    guard let field = EditedField(text: name) else { throw RowDamage("field is '\(name)'") }
    let text = try optionalText(4, "base")
    let base: FieldValue =
      field == .position ? .position(try coordinate(5)) : text.map { .text(ExactText($0)) } ?? FieldValue.none
    let edit = FieldEdit(
      field: field, base: base, since: try time(7, "since"), isConflict: try integer(8, "is_conflict") != 0)
    guard edit.isValid else { throw RowDamage("base is missing, or of another type than the field") }
    let origin = SourceReference(source: try self.text(2, "source"), sourceID: try self.text(3, "source_id"))
    do {
      // The place may get the base again.
      var tags: [(key: String, value: String)] = []
      if case .tag(let key) = field { tags = [(key.text, text ?? "")] }
      _ = try PointDraft(
        verifyingName: field == .name ? text ?? "" : "-", category: field == .category ? text : nil,
        coordinate: try Coordinate(latitude: 0, longitude: 0), tags: try Tags(tags), source: origin.source,
        sourceID: origin.sourceID)
    } catch {
      throw RowDamage("\(error)")
    }
    return (id, origin, edit)
  }
}
