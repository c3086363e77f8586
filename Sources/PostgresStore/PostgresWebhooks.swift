package import Points
import PostgresClient
package import Webhooks

/// The SQL of webhooks.
private enum WebhookStatements {
  static let select = Statement(
    "webhooks",
    "SELECT id, document::text, revision FROM webhooks WHERE id = coalesce($1::uuid, id) ORDER BY id")

  /// Values: the id, the document and the maximum number of rows.
  static let insert = Statement(
    "webhook_insert",
    """
    INSERT INTO webhooks (id, revision, document)
    SELECT $1::uuid, 1, $2::text::json WHERE (SELECT count(*) FROM webhooks) < $3::int8
    ON CONFLICT (id) DO NOTHING
    """)

  /// Values: the id, the document and the revision that it replaces.
  static let replace = Statement(
    "webhook_replace",
    """
    UPDATE webhooks SET revision = revision + 1, document = $2::text::json WHERE id = $1::uuid AND revision = $3::int8
    """)

  static let delete = Statement("webhook_delete", "DELETE FROM webhooks WHERE id = $1::uuid")

  /// Values: the owner, the time and the expiry. Without webhooks nothing is written.
  static let acquireLease = Statement(
    "webhook_lease",
    """
    UPDATE webhook_lease SET owner = $1::int8, expires_at = $3::timestamptz
    WHERE (owner = $1::int8 OR expires_at <= $2::timestamptz) AND EXISTS (SELECT FROM webhooks)
    """)
}

extension PostgresStore: WebhookStore {
  package func webhooks(id: PointID?) async throws(PointStoreError) -> [Webhook] {
    let result = try await read(WebhookStatements.select, Parameters { $0.add(optional: id) })
    var webhooks: [Webhook] = []
    for row in result.rows {
      let (id, document, revision) = (try row.id(0), try row.text(1), try row.integer(2))
      do throws(PointStoreError) {
        webhooks.append(try Webhook(document: document, id: id, revision: revision))
      } catch {
        damagedRows?.note(id, in: "webhooks", reason: "\(error)")
      }
    }
    return webhooks
  }

  package func insert(_ webhook: Webhook) async throws(PointStoreError) -> Bool {
    let document = try webhook.document
    return try await write(
      WebhookStatements.insert,
      Parameters {
        $0.add(webhook.id)
        $0.add(document)
        $0.add(Int64(Webhook.maximumCount))
      }
    ).affectedRows == 1
  }

  package func replace(_ webhook: Webhook) async throws(PointStoreError) -> Bool {
    let document = try webhook.document
    return try await write(
      WebhookStatements.replace,
      Parameters {
        $0.add(webhook.id)
        $0.add(document)
        $0.add(webhook.revision)
      }
    ).affectedRows == 1
  }

  package func removeWebhook(id: PointID) async throws(PointStoreError) -> Bool {
    try await write(WebhookStatements.delete, Parameters { $0.add(id) }).affectedRows == 1
  }

  package func acquireLease(
    owner: Int64, at now: Timestamp, until expiry: Timestamp
  ) async throws(PointStoreError) -> Bool {
    try await write(
      WebhookStatements.acquireLease,
      Parameters {
        $0.add(owner)
        $0.add(now)
        $0.add(expiry)
      }
    ).affectedRows == 1
  }
}
