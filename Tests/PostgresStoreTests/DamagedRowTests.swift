import Foundation
import Points
import PostgresStore
import PostgresTestSupport
import TestSupport
import Testing
import Webhooks

/// Rows of documents that others have written into the tables.
@Suite struct DamagedRowTests {
  private let log = LogRecorder()

  /// Returns a store of a database with the log.
  private func store(_ database: TemporaryDatabase) async throws -> PostgresStore {
    await (try await database.migratedStore()).shutDown()
    return try PostgresStore(
      configuration: try .withLongTimeouts(url: database.url), migrations: [],
      damagedRows: DamagedRows(logger: log.logger))
  }

  @Test(arguments: [
    "'{}'", "'null'", "'1'", "jsonb_set(document::jsonb, '{positionTime}', '\(Int64.max)')::json",
    "(SELECT document FROM records ORDER BY id LIMIT 1)",
  ])
  func webhookThatCannotBeDecodedIsLoggedOnceAndPreventsNoOther(_ document: String) async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await store(database)
    let webhooks = WebhookRecords(store)
    for number: UInt64 in 1...3 {
      let webhook = Webhook(
        id: .sample(number), url: "https://example.com", filter: nil, secrets: WebhookSecrets(.generate()),
        position: "1.2", createdAt: Timestamp(microsecondsSinceEpoch: 1_795_000_000_000_000))
      #expect(try await webhooks.insert(webhook))
    }
    _ = try await database.run("UPDATE records SET document = \(document) WHERE id = '\(PointID.sample(2))'")

    for _ in 0..<2 { #expect(try await webhooks.webhooks(id: nil).map(\.id) == [.sample(1), .sample(3)]) }

    #expect(try await webhooks.webhooks(id: .sample(2)).isEmpty)
    #expect(log.lines.count == 1)
    #expect(log.lines.first?.contains("webhooks") == true && log.lines.first?.contains("\(PointID.sample(2))") == true)
    #expect(try await webhooks.removeWebhook(id: .sample(2)))
    await store.shutDown()
  }

  private let key = IdempotencyKey(text: "client:1", requestHash: 1)

  /// Expects that a repeat is rejected each time, that no place was added, and that the log names the key once.
  private func expectRejections(
    by database: TemporaryDatabase, places: String, _ repeated: () async throws -> Void
  ) async throws {
    for _ in 0..<2 { await #expect(throws: PointWriteError.keyReused) { try await repeated() } }
    #expect(try await database.run("SELECT count(*) FROM points") == places)
    #expect(log.lines.count == 1)
    #expect(log.lines.first?.contains("client:1") == true && log.lines.first?.contains("idempotency_keys") == true)
  }

  @Test(arguments: [
    "outcome = '{}'", "outcome = 'null'", #"outcome = '{"created":"a","version":1}'"#,
    "outcome = json_build_object('created', outcome->>'created')",
    "outcome = json_build_object('created', outcome->>'created', 'version', 0)", #"outcome = '{"applied":[]}'"#,
    "created_at = 'infinity'",
  ])
  func repeatOfACreationWhoseOutcomeIsDamagedIsNotDoneAgain(_ change: String) async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await store(database)
    let place = try PointDraft.sample("one", sourceID: "1")
    _ = try await store.create(place, once: key)
    try await database.run("UPDATE idempotency_keys SET \(change)")

    try await expectRejections(by: database, places: "1") { _ = try await store.create(place, once: key) }
    await store.shutDown()
  }

  @Test(arguments: [
    "{}", #"{"imported":[2,0,0,0],"rejected":[]}"#, #"{"applied":null}"#, #"{"applied":[null,null]}"#,
    #"{"applied":["created","deleted"]}"#, #"{"applied":[]}"#, #"{"applied":["notFound","notFound","notFound"]}"#,
  ])
  func repeatOfABatchWhoseOutcomeIsDamagedIsNotDoneAgain(_ outcome: String) async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await store(database)
    let batch = PointBatch([.create(try .sample("one")), .create(try .sample("two"))], once: key)
    _ = try await store.apply(batch)
    try await database.run("UPDATE idempotency_keys SET outcome = '\(outcome)'")

    try await expectRejections(by: database, places: "2") { _ = try await store.apply(batch) }
    await store.shutDown()
  }

  @Test(arguments: [
    #"{"applied":[]}"#, #"{"imported":[-1,0,0,0],"rejected":[]}"#, #"{"imported":[1,\#(Int64.max),0,0],"rejected":[]}"#,
    #"{"imported":[1,0,0],"rejected":[]}"#, #"{"imported":[1,0,0,null],"rejected":[]}"#, #"{"imported":[1,0,0,0]}"#,
    #"{"imported":[1,0,0,0],"deleted":"a","rejected":[]}"#, #"{"imported":[1,0,0,1],"rejected":[[1]]}"#,
    #"{"imported":[1,0,0,1],"rejected":[["a",1]]}"#,
  ])
  func repeatOfAnImportWhoseOutcomeIsDamagedIsNotDoneAgain(_ outcome: String) async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await store(database)
    let row = try ImportRow.sample("one", 1, 1)
    func importOnce() async throws {
      _ = try await store.importRows(
        [row].inOneBatch, mode: .partial, dryRun: false, once: ImportKey(text: key.text) { 1 })
    }
    try await importOnce()
    try await database.run("UPDATE idempotency_keys SET outcome = '\(outcome)'")

    try await expectRejections(by: database, places: "1") { try await importOnce() }
    await store.shutDown()
  }

  @Test(arguments: ["{}", "null", #"{"created":"a"}"#, #"{"imported":[-1,0,0,0],"rejected":[]}"#])
  func repeatOfAWriteOfAreasWhoseOutcomeIsDamagedIsNotDoneAgain(_ outcome: String) async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await store(database)
    let editor = AreaEditor(PostgresAreas(store))
    _ = try await editor.create(.sample("A"), once: key)
    try await database.run("UPDATE idempotency_keys SET outcome = '\(outcome)'")

    try await expectRejections(by: database, places: "0") {
      _ = try await editor.create(.sample("A"), once: key)
    }
    #expect(try await database.run("SELECT count(*) FROM areas") == "1")
    await store.shutDown()
  }
}
