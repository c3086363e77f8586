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
    "(SELECT document FROM webhooks ORDER BY id LIMIT 1)",
  ])
  func webhookThatCannotBeDecodedIsLoggedOnceAndPreventsNoOther(_ document: String) async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await store(database)
    for number: UInt64 in 1...3 {
      let webhook = Webhook(
        id: .sample(number), url: "https://example.com", filter: nil, secrets: WebhookSecrets(.generate()),
        position: "1.2", createdAt: Timestamp(microsecondsSinceEpoch: 1_795_000_000_000_000))
      #expect(try await store.insert(webhook))
    }
    _ = try await database.run("UPDATE webhooks SET document = \(document) WHERE id = '\(PointID.sample(2))'")

    for _ in 0..<2 { #expect(try await store.webhooks(id: nil).map(\.id) == [.sample(1), .sample(3)]) }

    #expect(try await store.webhooks(id: .sample(2)).isEmpty)
    #expect(log.lines.count == 1)
    #expect(log.lines.first?.contains("webhooks") == true && log.lines.first?.contains("\(PointID.sample(2))") == true)
    #expect(try await store.removeWebhook(id: .sample(2)))
    await store.shutDown()
  }

  @Test func suggestionsThatCannotBeDecodedAreLoggedOnceAndPreventNoOthers() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await store(database)
    let all = (1...6).map { Suggestion.sample($0) }
    for suggestion in all { _ = try await store.add(suggestion) }
    let damaged = all[1...3].map { "'\($0.id)'" }.joined(separator: ",")
    _ = try await database.run("UPDATE suggestions SET document = '{}' WHERE id IN (\(damaged))")
    let start = Timestamp(microsecondsSinceEpoch: 1_795_000_000_000_000)

    let pages = [
      try await store.suggestions(matching: SuggestionQuery(limit: 3, now: start)),
      try await store.suggestions(matching: SuggestionQuery(limit: 2, after: all[0].id, now: start)),
      try await store.suggestions(matching: SuggestionQuery(limit: 9, now: start)),
    ]

    let rest = [all[0], all[4], all[5]].map(\.id)
    #expect(pages.map { $0.map(\.id) } == [rest, Array(rest.dropFirst()), rest])
    #expect(try await store.suggestion(id: all[1].id) == nil)
    #expect(log.lines.count == 3 && log.lines.allSatisfy { $0.contains("suggestions") })
    // Whoever suggested them is erased with the others.
    #expect(try await store.pruneSuggestions(at: start.adding(.seconds(30 * 86_400))) == 6)
    #expect(try await database.run("SELECT count(*) FROM suggestions WHERE key IS NULL AND is_erased") == "6")
    #expect(try await store.pruneSuggestions(at: start.adding(.seconds(60 * 86_400))) == 6)
    await store.shutDown()
  }
}
