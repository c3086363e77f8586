import GRDB
import Points

/// The table of suggested edits.
enum SuggestionRows {
  static let createTable = """
    -- The edits that were suggested, with their decisions.
    CREATE TABLE suggestion (
      id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
      -- All of a suggestion as JSON.
      document TEXT NOT NULL
    ) STRICT;
    """

  static let all = "SELECT document, rowid FROM suggestion"

  static let put = """
    INSERT INTO suggestion (id, document) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET document = excluded.document
    """

  static let remove = "DELETE FROM suggestion WHERE id = ?"
}

extension StoredRow {
  /// Returns a suggestion, from the columns of ``SuggestionRows/all``.
  func suggestion() throws(RowDamage) -> Suggestion {
    let document = try text(0, "document")
    do throws(PointStoreError) {
      return try Suggestion(document: document)
    } catch {
      throw RowDamage("document is not that of a suggestion")
    }
  }
}
