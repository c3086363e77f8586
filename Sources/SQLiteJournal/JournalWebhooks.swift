import GRDB
package import Points
package import Webhooks

/// The table of webhooks.
enum WebhookRows {
  static let createTable = """
    -- The endpoints that changes of places are sent to.
    CREATE TABLE webhook (
      id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
      revision INTEGER NOT NULL,
      -- All of a webhook as JSON, its secret included.
      document TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    """

  fileprivate static let select = "SELECT id, document, revision FROM webhook WHERE id = coalesce(?, id) ORDER BY id"

  fileprivate static let insert = """
    INSERT INTO webhook (id, revision, document) SELECT ?, 1, ? WHERE (SELECT count(*) FROM webhook) < ?
    ON CONFLICT (id) DO NOTHING
    """

  fileprivate static let replace =
    "UPDATE webhook SET revision = revision + 1, document = ? WHERE id = ? AND revision = ?"

  fileprivate static let delete = "DELETE FROM webhook WHERE id = ?"
}

extension SQLiteJournal: WebhookStore {
  package func webhooks(id: PointID?) async throws(PointStoreError) -> [Webhook] {
    try await reportingErrors { [damagedRows] database in
      try await database.read { database in
        var webhooks: [Webhook] = []
        try StoredRow.forEach(database, WebhookRows.select, [id?.bytes]) { row in
          do throws(RowDamage) {
            webhooks.append(try row.webhook())
          } catch {
            damagedRows?.note(try? row.id(0), in: "webhook", reason: error.reason)
          }
        }
        return webhooks
      }
    }
  }

  package func insert(_ webhook: Webhook) async throws(PointStoreError) -> Bool {
    try await write(WebhookRows.insert, [webhook.id.bytes, webhook.document, Webhook.maximumCount])
  }

  package func replace(_ webhook: Webhook) async throws(PointStoreError) -> Bool {
    try await write(WebhookRows.replace, [webhook.document, webhook.id.bytes, webhook.revision])
  }

  package func removeWebhook(id: PointID) async throws(PointStoreError) -> Bool {
    try await write(WebhookRows.delete, [id.bytes])
  }

  /// Returns `true`: the file belongs to one process.
  package func acquireLease(
    owner: Int64, at now: Timestamp, until expiry: Timestamp
  ) async throws(PointStoreError) -> Bool { true }

  /// Runs a statement, and returns a Boolean value that indicates whether it changed a row. On return the change is on
  /// the disk.
  func write(_ sql: String, _ arguments: StatementArguments) async throws(PointStoreError) -> Bool {
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
  /// Returns a webhook, from the columns of ``WebhookRows/select``.
  fileprivate func webhook() throws(RowDamage) -> Webhook {
    let (id, document, revision) = (try id(0), try text(1, "document"), try integer(2, "revision"))
    do throws(PointStoreError) {
      return try Webhook(document: document, id: id, revision: revision)
    } catch {
      throw RowDamage("\(error)")
    }
  }
}
