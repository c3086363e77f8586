import Points
import TestSupport
import Testing

@testable import Webhooks

@Suite(.serialized) struct WebhookStoreTests {
  private let clock = SimulatedClock()

  @Test(arguments: TestedStore.allCases)
  func webhookIsKeptWithAllThatItHas(_ kind: TestedStore) async throws {
    try await kind.with { store in
      var webhook = try await store.webhooks.add(7, at: "1.2", filter: #"{"category":["café"]}"#, clock)
      webhook.prepare(
        WebhookMessage(id: "msg_1", body: #"{"a":"é\n"}"#, position: "1.3", changeCount: 3, createdAt: clock.now()))
      webhook.note(
        WebhookDelivery(
          messageID: "msg_1", time: clock.now(), milliseconds: 12, .response(status: 503, retryAfterSeconds: 60)),
        jitter: 0)

      #expect(try await store.webhooks.replace(webhook))

      let stored = try await store.webhooks.stored(7)
      #expect(stored.revision == webhook.revision + 1)
      #expect(stored.filter == #"{"category":["café"]}"# && stored.pending?.body == #"{"a":"é\n"}"#)
      #expect(stored.pending?.attempts == 1 && stored.pending?.nextAttemptAt == clock.now().adding(.seconds(60)))
      #expect(stored.deliveries.first?.status == 503 && stored.position == "1.2")
    }
  }

  @Test(arguments: TestedStore.allCases)
  func oneOfTwoReplacementsOfARevisionSucceeds(_ kind: TestedStore) async throws {
    try await kind.with { store in
      let webhook = try await store.webhooks.add(1, at: "1.2", clock)
      let successes = try await withThrowingTaskGroup { group in
        for _ in 0..<8 { group.addTask { try await store.webhooks.replace(webhook) } }
        return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
      }
      #expect(successes == 1)
      #expect(try await store.webhooks.stored(1).revision == webhook.revision + 1)
    }
  }

  @Test(arguments: TestedStore.allCases)
  func concurrentUpdatesAreAllMade(_ kind: TestedStore) async throws {
    try await kind.with { store in
      _ = try await store.webhooks.add(1, at: "1.2", clock)
      try await withThrowingTaskGroup { group in
        for number in 0..<4 {
          group.addTask {
            _ = try await store.webhooks.update(.sample(1)) { webhook in
              webhook.url += "\(number)"
              return true
            }
          }
        }
        try await group.waitForAll()
      }
      let url = try await store.webhooks.stored(1).url
      #expect(url.count == "https://example.com/1".count + 4)
    }
  }

  @Test(arguments: TestedStore.allCases)
  func webhooksAreListedByIDAndRemoved(_ kind: TestedStore) async throws {
    try await kind.with { store in
      for number: UInt64 in [3, 1, 2] { _ = try await store.webhooks.add(number, at: "1.2", clock) }
      #expect(try await store.webhooks.webhooks(id: nil).map(\.id) == [.sample(1), .sample(2), .sample(3)])

      #expect(try await store.webhooks.removeWebhook(id: .sample(2)))
      #expect(try await !store.webhooks.removeWebhook(id: .sample(2)))

      #expect(try await store.webhooks.webhooks(id: nil).map(\.id) == [.sample(1), .sample(3)])
      #expect(try await store.webhooks.webhooks(id: .sample(2)).isEmpty)
    }
  }

  @Test(arguments: TestedStore.allCases)
  func webhookBeyondTheMaximumIsNotAdded(_ kind: TestedStore) async throws {
    try await kind.with { store in
      for number in 0..<UInt64(Webhook.maximumCount) { _ = try await store.webhooks.add(number, at: "1.2", clock) }
      let another = Webhook(
        id: .sample(1000), url: "https://example.com", filter: nil, secrets: WebhookSecrets(.generate()),
        position: "1.2", createdAt: clock.now())
      #expect(try await !store.webhooks.insert(another))
      #expect(try await store.webhooks.webhooks(id: nil).count == Webhook.maximumCount)
    }
  }

  @Test(arguments: TestedStore.allCases)
  func concurrentRequestsWithOneKeyCreateOneWebhook(_ kind: TestedStore) async throws {
    try await kind.with { store in
      @Sendable func create(hash: UInt64 = 1, key: String = "a") async throws -> Webhook? {
        let webhook = Webhook(
          id: .sample(UInt64.random(in: 1 ... .max)), url: "https://example.com", filter: nil,
          secrets: WebhookSecrets(.generate()), position: "1.2", createdAt: clock.now())
        return try await store.webhooks.create(webhook, once: IdempotencyKey(text: key, requestHash: hash))
      }
      let created = try await withThrowingTaskGroup { group in
        for _ in 0..<8 { group.addTask { try await create() } }
        return try await group.reduce(into: []) { $0.append($1) }
      }

      #expect(created.count == 8 && Set(created.map { $0?.id }).count == 1)
      #expect(Set(created.map { $0?.secrets.current.text }).count == 1)
      #expect(try await store.webhooks.webhooks(id: nil).count == 1)
      await #expect(throws: PointWriteError.keyReused) { try await create(hash: 2) }
      #expect(try await create(key: "b")?.id != created[0]?.id)

      clock.advance(by: IdempotencyKey.lifetime)
      let later = try await create(hash: 2)
      #expect(later?.id != created[0]?.id)
      #expect(try await create(hash: 2)?.id == later?.id)
      #expect(try await store.webhooks.webhooks(id: nil).count == 3)
    }
  }

  @Test func leaseBelongsToOneInstanceUntilItExpires() async throws {
    try await TestedStore.postgres.with { store in
      let start = clock.now()
      func acquire(_ owner: Int64, after seconds: Int) async throws -> Bool {
        let now = start.adding(.seconds(seconds))
        return try await store.webhooks.acquireLease(owner: owner, at: now, until: now.adding(.seconds(30)))
      }
      #expect(try await !acquire(1, after: 0), "there is no webhook")
      _ = try await store.webhooks.add(1, at: "1.2", clock)
      #expect(try await acquire(1, after: 0))
      #expect(try await !acquire(2, after: 29))
      #expect(try await acquire(1, after: 29))
      #expect(try await !acquire(2, after: 31))
      #expect(try await acquire(2, after: 59))
      #expect(try await !acquire(1, after: 60))
    }
  }
}
