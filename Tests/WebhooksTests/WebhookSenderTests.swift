import Basics
import Foundation
import Geo
import Points
import Synchronization
import TestSupport
import Testing

@testable import Webhooks

@Suite(.serialized) struct WebhookSenderTests {
  private let clock = SimulatedClock()
  private let endpoint: RecordingEndpoint

  init() { endpoint = RecordingEndpoint(clock) }

  private func sender(_ store: TestedStore.Parts) -> WebhookSender {
    .testing(store.webhooks, store.changes, endpoint, clock)
  }

  private struct Body: Decodable {
    struct Change: Decodable {
      struct Place: Decodable { let name: String }

      let id: String
      let version: Int64
      let place: Place?
      let url: String?
      let deleted: Bool?
      let outside: Bool?
    }

    struct Content: Decodable {
      let changes: [Change]
      let openSuggestions: Int?
      let position: String
    }

    let type: String
    let data: Content
  }

  private func bodies() throws -> [Body] {
    try endpoint.requests.map { try JSONDecoder().decode(Body.self, from: Data($0.body.utf8)) }
  }

  // MARK: Messages

  @Test(arguments: TestedStore.allCases)
  func changesAreSentOnceAndThePositionIsKept(_ kind: TestedStore) async throws {
    try await kind.with { store in
      _ = try await store.webhooks.add(1, at: try await store.changes.presentPosition(), clock)
      let place = try await store.places.create(.sample("a"), once: nil)
      let sender = sender(store)

      await sender.runOnce()
      await sender.runOnce()
      try await store.places.delete(id: place.id, if: .none)
      await sender.runOnce()

      let bodies = try bodies()
      #expect(bodies.map(\.data.changes.count) == [1, 1] && bodies.allSatisfy { $0.type == "places.changed" })
      #expect(bodies[0].data.changes[0].place?.name == "a" && bodies[1].data.changes[0].deleted == true)
      #expect(Set(endpoint.requests.map(\.id)).count == 2)
      #expect(try await store.webhooks.stored(1).position == bodies[1].data.position)
      #expect(sender.counts.sent == 2 && sender.counts.failed == 0)
    }
  }

  @Test(arguments: TestedStore.allCases)
  func changedAreaIsAMessageOfItsOwn(_ kind: TestedStore) async throws {
    try await kind.with { store in
      let mark = Mutex("a")
      let sender = WebhookSender.testing(
        store.webhooks, store.changes, endpoint, clock, areaMark: { mark.withLock { $0 } })
      var webhook = try await store.webhooks.add(
        1, at: try await store.changes.presentPosition(), filter: "category=cafe", clock)
      webhook.note(areaMark: "a")
      #expect(try await store.webhooks.replace(webhook))

      await sender.runOnce()
      mark.withLock { $0 = "b" }
      await sender.runOnce()
      await sender.runOnce()
      _ = try await store.places.create(.sample("a", category: "cafe"), once: nil)
      await sender.runOnce()

      #expect(try bodies().map(\.type) == ["places.reset", "places.changed"])
      #expect(try bodies()[0].data.changes.isEmpty)
    }
  }

  @Test func numberOfOpenSuggestionsIsSentWheneverTheyChange() async throws {
    let open = RecordCollection("open")
    let expiry = clock.now().adding(.seconds(30 * 86_400))
    try await TestedStore.memory.with { store in
      let source = MessageSource(
        name: "suggestion", member: "suggestions", messageType: "suggestions.changed", countMember: "openSuggestions",
        description: ""
      ) { [records = store.records] now throws(PointStoreError) in
        try await records.summary(of: RecordQuery(open, .unexpired(at: now)))
      }
      let sender = WebhookSender.testing(store.webhooks, store.changes, endpoint, clock, sources: [source])
      let position = try await store.changes.presentPosition()
      _ = try await store.webhooks.add(1, at: position, clock)
      var webhook = try await store.webhooks.add(2, at: position, clock)
      webhook.follow(source, true)
      #expect(try await store.webhooks.replace(webhook))
      let kept = try await store.records.records(matching: RecordQuery(RecordCollection("webhooks")))
      #expect(kept.count { $0.document.contains(#""suggestionMark":"""#) } == 1)

      await sender.runOnce()
      for id: ExactText in ["1", "2"] {
        _ = try await store.records.commit([.insert(Record(open, id: id, expiresAt: expiry, document: "1"))])
      }
      await sender.runOnce()
      await sender.runOnce()
      _ = try await store.records.commit([.remove(open, id: "1")])
      await sender.runOnce()
      clock.advance(by: .seconds(30 * 86_400))
      await sender.runOnce()

      let bodies = try bodies()
      #expect(bodies.map(\.data.openSuggestions) == [0, 2, 1, 0])
      #expect(bodies.allSatisfy { $0.type == "suggestions.changed" && $0.data.changes.isEmpty })
      #expect(try await store.webhooks.stored(2).position == bodies[3].data.position)
    }
  }

  @Test(arguments: TestedStore.allCases)
  func manyChangesAreSentInOrderInMessagesThatContinueEachOther(_ kind: TestedStore) async throws {
    try await kind.with { store in
      let start = try await store.changes.presentPosition()
      _ = try await store.webhooks.add(1, at: start, clock)
      let rows = try (1...350).map { try ImportRow.sample("place \($0)", 1, 2, id: .sample(UInt64($0)), number: $0) }
      let batches = AsyncStream { continuation in
        continuation.yield(rows)
        continuation.finish()
      }
      _ = try await store.places.importRows(batches)

      await sender(store).runOnce()

      let bodies = try bodies()
      #expect(endpoint.requests.allSatisfy { $0.body.utf8.count < 20_000 })
      let ids = bodies.flatMap(\.data.changes).map(\.id)
      #expect(ids.count == 350 && Set(ids).count == 350)
      // From the position of each message on, exactly the rest comes.
      var rest = 350
      for body in bodies {
        rest -= body.data.changes.count
        let page = try await store.changes.page(after: body.data.position, limit: 10_000)
        #expect(page.changes.count == rest)
      }
    }
  }

  /// A feed that notes how much is read.
  private final class ObservedFeed: PointFeed {
    private struct Reads {
      var current = 0
      var concurrentMaximum = 0
      var changeCount = 0
    }

    private let feed: any PointFeed
    private let afterPage: @Sendable () async -> Void
    private let reads = Mutex(Reads())

    /// - Parameter afterPage: called before each page is returned.
    init(_ feed: any PointFeed, afterPage: @escaping @Sendable () async -> Void = {}) {
      self.feed = feed
      self.afterPage = afterPage
    }

    /// The maximum number of pages that were read at a time.
    var concurrentMaximum: Int { reads.withLock { $0.concurrentMaximum } }

    /// The number of changes of all pages.
    var changeCount: Int { reads.withLock { $0.changeCount } }

    func presentPosition() async throws(PointStoreError) -> String { try await feed.presentPosition() }

    func page(after position: String, limit: Int) async throws(ChangeReadError) -> ChangePage {
      reads.withLock { reads in
        reads.current += 1
        reads.concurrentMaximum = max(reads.concurrentMaximum, reads.current)
      }
      defer { reads.withLock { $0.current -= 1 } }
      let page = try await feed.page(after: position, limit: limit)
      await afterPage()
      reads.withLock { $0.changeCount += page.changes.count }
      return page
    }

    func includes(_ position: String, in other: String) -> Bool { feed.includes(position, in: other) }

    func changes(
      _ changes: [PointChange], matching query: PointQuery
    ) throws(PointStoreError) -> [PointChange] { try feed.changes(changes, matching: query) }

    func subscribe(matching query: PointQuery, for reader: ChangeReader) -> ChangeSubscription {
      feed.subscribe(matching: query, for: reader)
    }

    func close() { feed.close() }
  }

  /// Imports places with texts of about the lengths, in the order of their ids.
  private func importPlaces(ofLengths lengths: [Int], _ places: any PointStore) async throws {
    let rows = try lengths.enumerated().map { number, length in
      let tags = (0..<(length / 1000)).map { ("k\($0)", String(repeating: "x", count: 1000)) }
      let draft = try PointDraft(
        name: "place \(number)", category: nil, coordinate: .init(latitude: 1, longitude: 2), tags: Tags(tags),
        source: nil, sourceID: nil)
      return ImportRow(number: number + 1, id: .sample(UInt64(number)), draft: draft)
    }
    let batches = AsyncStream { continuation in
      continuation.yield(rows)
      continuation.finish()
    }
    _ = try await places.importRows(batches)
  }

  @Test(arguments: TestedStore.allCases)
  func longPlacesShareAMessageWithOthersAndAreReadOnce(_ kind: TestedStore) async throws {
    try await kind.with { store in
      let feed = ObservedFeed(store.changes)
      _ = try await store.webhooks.add(1, at: try await feed.presentPosition(), clock)
      try await importPlaces(ofLengths: (0..<45).map { $0.isMultiple(of: 3) ? 60_000 : 0 }, store.places)

      await WebhookSender.testing(store.webhooks, feed, endpoint, clock).runOnce()

      let bodies = try bodies()
      #expect(bodies.count == 1 && endpoint.requests.allSatisfy { $0.body.utf8.count < 20_000 })
      let changes = try #require(bodies.first?.data.changes)
      #expect(Set(changes.map(\.id)) == Set((0..<45).map { PointID.sample($0).description }))
      let long = Set(stride(from: 0, to: 45, by: 3).map { PointID.sample(UInt64($0)).description })
      for change in changes {
        #expect(change.url == (long.contains(change.id) ? "/locations/\(change.id)" : nil))
        #expect((change.place == nil) == (change.url != nil))
      }
      #expect(feed.changeCount == 45)
      #expect(try await feed.page(after: bodies[0].data.position, limit: 10).changes.isEmpty)
    }
  }

  @Test(arguments: TestedStore.allCases)
  func pagesHaveAboutWhatFitsIntoTheMessages(_ kind: TestedStore) async throws {
    try await kind.with { store in
      let feed = ObservedFeed(store.changes)
      _ = try await store.webhooks.add(1, at: try await feed.presentPosition(), clock)
      try await importPlaces(ofLengths: Array(repeating: 12_000, count: 40), store.places)

      await WebhookSender.testing(store.webhooks, feed, endpoint, clock).runOnce()

      let changes = try bodies().flatMap(\.data.changes)
      #expect(changes.count == 40 && Set(changes.map(\.id)).count == 40)
      #expect(changes.allSatisfy { $0.place != nil })
      #expect(feed.changeCount < 3 * 40)
    }
  }

  @Test(arguments: TestedStore.allCases)
  func placeThatChangesWhileItsMessageIsMadeIsInItOnce(_ kind: TestedStore) async throws {
    try await kind.with { store in
      let isChanged = Mutex(false)
      let feed = ObservedFeed(store.changes) {
        let isFirst = isChanged.withLock { isChanged in
          defer { isChanged = true }
          return !isChanged
        }
        if isFirst { _ = try? await store.places.put(.sample("changed"), id: .sample(0), if: .none) }
      }
      _ = try await store.webhooks.add(1, at: try await feed.presentPosition(), clock)
      try await importPlaces(ofLengths: Array(repeating: 0, count: 30), store.places)

      await WebhookSender.testing(store.webhooks, feed, endpoint, clock).runOnce()

      let messages = try bodies().map(\.data.changes)
      for changes in messages { #expect(Set(changes.map(\.id)).count == changes.count) }
      let all = messages.flatMap(\.self)
      #expect(Set(all.map(\.id)).count == 30)
      #expect(all.last { $0.id == PointID.sample(0).description }?.place?.name == "changed")
    }
  }

  @Test func fewWebhooksReadAtATime() async throws {
    try await TestedStore.memory.with { store in
      let feed = ObservedFeed(store.changes) { try? await Task.sleep(for: .milliseconds(20)) }
      let start = try await feed.presentPosition()
      for number: UInt64 in 1...10 { _ = try await store.webhooks.add(number, at: start, clock) }
      _ = try await store.places.create(.sample("a"), once: nil)

      await WebhookSender.testing(store.webhooks, feed, endpoint, clock).runOnce()

      #expect(endpoint.messageCount == 10)
      #expect(feed.concurrentMaximum <= 2)
    }
  }

  @Test(arguments: TestedStore.allCases)
  func placesThatDoNotMatchTheFilterAreOutside(_ kind: TestedStore) async throws {
    try await kind.with { store in
      let start = try await store.changes.presentPosition()
      _ = try await store.webhooks.add(1, at: start, filter: "category=cafe", clock)
      let cafe = try await store.places.create(.sample("a", category: "cafe"), once: nil)
      _ = try await store.places.create(.sample("b", category: "bar"), once: nil)

      await sender(store).runOnce()

      let changes = try bodies().flatMap(\.data.changes)
      #expect(changes.first { $0.id == cafe.id.description }?.place?.name == "a")
      #expect(changes.count { $0.outside == true } == 1 && changes.count == 2)
    }
  }

  @Test func placesThatHaveNeverMatchedTheFilterAreNotSent() async throws {
    try await TestedStore.memory.with { store in
      _ = try await store.webhooks.add(1, at: try await store.changes.presentPosition(), filter: "category=cafe", clock)
      let sender = sender(store)
      await sender.runOnce()
      let bar = try await store.places.create(.sample("b", category: "bar"), once: nil)
      let cafe = try await store.places.create(.sample("a", category: "cafe"), once: nil)
      await sender.runOnce()
      _ = try await store.places.put(.sample("c", category: "bar"), id: bar.id, if: .none)
      await sender.runOnce()
      _ = try await store.places.put(.sample("a", category: "bar"), id: cafe.id, if: .none)
      try await store.places.delete(id: bar.id, if: .none)
      await sender.runOnce()

      let changes = try bodies().flatMap(\.data.changes)
      #expect(changes.map(\.id) == [cafe.id.description, cafe.id.description])
      #expect(changes.first?.place?.name == "a" && changes.last?.outside == true)

      // After an absence it is not known any more.
      _ = try await store.places.create(.sample("d", category: "bar"), once: nil)
      await self.sender(store).runOnce()
      #expect(try bodies().flatMap(\.data.changes).last?.outside == true && endpoint.requests.count == 3)
    }
  }

  @Test func placesThatMatchedBetweenTwoMessagesAreSent() async throws {
    try await TestedStore.memory.with { store in
      _ = try await store.webhooks.add(1, at: try await store.changes.presentPosition(), filter: "category=cafe", clock)
      let sender = sender(store)
      await sender.runOnce()
      let place = try await store.places.create(.sample("a", category: "bar"), once: nil)
      await sender.runOnce()
      _ = try await store.places.put(.sample("a", category: "cafe"), id: place.id, if: .none)
      _ = try await store.places.put(.sample("a", category: "bar"), id: place.id, if: .none)
      let rows = try (1...300).map {
        try ImportRow.sample("place \($0)", 1, 2, category: "bar", id: .sample(UInt64($0)), number: $0)
      }
      let batches = AsyncStream { continuation in
        continuation.yield(rows)
        continuation.finish()
      }
      _ = try await store.places.importRows(batches)
      await sender.runOnce()

      #expect(try bodies().flatMap(\.data.changes).map(\.id) == [place.id.description])
    }
  }

  /// The reasons for which a sender is behind the position from which on it knows what has matched a filter.
  enum Absence: CaseIterable {
    case disabled, replayed, takenOver
  }

  @Test(arguments: TestedStore.allCases, Absence.allCases)
  func copyOfAFilterIsRightAfterAnAbsenceOfMorePages(_ kind: TestedStore, _ absence: Absence) async throws {
    try await kind.with { store in
      _ = try await store.webhooks.add(1, at: try await store.changes.presentPosition(), filter: "category=cafe", clock)
      var sender = sender(store)
      await sender.runOnce()
      try await importPlaces(1...300, category: "cafe", store.places)
      await sender.runOnce()
      let former = try copy()
      #expect(former.count == 300)
      let position = try await store.webhooks.stored(1).position

      func set(_ change: (inout Webhook) -> Void) async throws {
        _ = try await store.webhooks.update(.sample(1)) { webhook in
          change(&webhook)
          return true
        }
      }
      if absence == .disabled {
        try await set { $0.disable(because: "test") }
        await sender.runOnce()
      }
      try await importPlaces(1...150, category: "bar", store.places)
      for number in 151...300 { try await store.places.delete(id: .sample(UInt64(number)), if: .none) }
      var count = endpoint.requests.count
      switch absence {
      case .disabled: try await set { $0.enable(at: clock.now()) }
      case .replayed:
        await sender.runOnce()
        #expect(try copy().isEmpty)
        count = endpoint.requests.count
        try await set { $0.replay(from: position, at: clock.now()) }
      case .takenOver:
        clock.advance(by: WebhookSender.leaseDuration)
        sender = self.sender(store)
      }
      await sender.runOnce()

      #expect(try copy(former, after: count).isEmpty)
    }
  }

  private func importPlaces(_ numbers: ClosedRange<Int>, category: String, _ places: any PointStore) async throws {
    let rows = try numbers.map {
      try ImportRow.sample("place \($0)", 1, 2, category: category, id: .sample(UInt64($0)), number: $0)
    }
    let batches = AsyncStream { continuation in
      continuation.yield(rows)
      continuation.finish()
    }
    _ = try await places.importRows(batches)
  }

  /// Returns the ids of the places in a receiver's copy after the messages.
  ///
  /// - Parameters:
  ///   - former: the ids before them.
  ///   - count: the number of the messages that are left out.
  private func copy(_ former: Set<String> = [], after count: Int = 0) throws -> Set<String> {
    try bodies().dropFirst(count).flatMap(\.data.changes).reduce(into: former) { copy, change in
      if change.place == nil { copy.remove(change.id) } else { copy.insert(change.id) }
    }
  }

  @Test(arguments: TestedStore.allCases)
  func placeThatHasChangedSeveralTimesIsSentOnce(_ kind: TestedStore) async throws {
    try await kind.with { store in
      let start = try await store.changes.presentPosition()
      let ids = (1...150).map { PointID.sample($0) }
      for round in 1...3 {
        for id in ids.reversed() {
          _ = try await store.places.put(.sample("\(round)"), id: id, if: .none)
        }
      }
      _ = try await store.webhooks.add(1, at: start, clock)
      await sender(store).runOnce()

      let changes = try bodies().flatMap(\.data.changes)
      #expect(changes.count == 150 && Set(changes.map(\.id)).count == 150)
      #expect(changes.allSatisfy { $0.place?.name == "3" })
    }
  }

  @Test func filterThatIsNotValidAnyMoreDisablesTheWebhook() async throws {
    try await TestedStore.memory.with { store in
      _ = try await store.webhooks.add(1, at: try await store.changes.presentPosition(), filter: "?", clock)
      _ = try await store.places.create(.sample("a"), once: nil)
      await sender(store).runOnce()
      #expect(try await store.webhooks.stored(1).disabledReason?.contains("filter") == true)
    }
  }

  @Test func filterThatTakesTooLongIsAppliedToFewerPlacesOrDisablesTheWebhook() async throws {
    try await TestedStore.memory.with { store in
      let start = try await store.changes.presentPosition()
      _ = try await store.webhooks.add(1, at: start, filter: "terms=1", clock)
      _ = try await store.webhooks.add(2, at: start, filter: "terms=1000", clock)
      for number in 1...150 { _ = try await store.places.create(.sample("place \(number)"), once: nil) }

      await sender(store).runOnce()

      #expect(try bodies().flatMap(\.data.changes).count == 150)
      #expect(try await store.webhooks.stored(1).disabledReason == nil)
      #expect(try await store.webhooks.stored(2).disabledReason == "its filter takes too long")
    }
  }

  @Test(arguments: TestedStore.allCases)
  func positionThatIsNotKnownDisablesTheWebhookUntilAReplay(_ kind: TestedStore) async throws {
    try await kind.with { store in
      let start = try await store.changes.presentPosition()
      _ = try await store.webhooks.add(1, at: "1.2.3-4.5-6.7.8", clock)
      _ = try await store.places.create(.sample("a"), once: nil)
      let sender = sender(store)

      await sender.runOnce()
      #expect(try await store.webhooks.stored(1).disabledReason?.contains("not known any more") == true)
      await sender.runOnce()
      #expect(endpoint.requests.isEmpty)

      _ = try await store.webhooks.update(.sample(1)) { webhook in
        webhook.replay(from: start, at: clock.now())
        return true
      }
      await sender.runOnce()
      #expect(try bodies().flatMap(\.data.changes).map(\.place?.name) == ["a"])
    }
  }

  // MARK: Failures

  @Test(arguments: [404, 500, 301, 302, 100, 199, 300])
  func responseThatIsNoSuccessIsRepeatedUnchanged(_ status: Int) async throws {
    try await TestedStore.memory.with { store in
      _ = try await store.webhooks.add(1, at: try await store.changes.presentPosition(), clock)
      let place = try await store.places.create(.sample("a"), once: nil)
      let sender = sender(store)
      endpoint.respond(status: status)
      await sender.runOnce()
      _ = try await store.places.put(.sample("b"), id: place.id, if: .none)
      await sender.runOnce()
      #expect(endpoint.requests.count == 1, "the pause has not passed")

      endpoint.respond(status: 200)
      clock.advance(by: .seconds(6))
      await sender.runOnce()

      let requests = endpoint.requests
      #expect(requests.count == 3 && requests[0].id == requests[1].id && requests[0].body == requests[1].body)
      #expect(requests[0].headers["webhook-timestamp"] != requests[1].headers["webhook-timestamp"])
      #expect(try bodies().map { $0.data.changes[0].place?.name } == ["a", "a", "b"])
      #expect(sender.counts.sent == 2 && sender.counts.failed == 1)
    }
  }

  @Test func goneDisablesAtOnce() async throws {
    try await TestedStore.memory.with { store in
      _ = try await store.webhooks.add(1, at: try await store.changes.presentPosition(), clock)
      _ = try await store.places.create(.sample("a"), once: nil)
      let sender = sender(store)
      endpoint.respond(status: 410)

      await sender.runOnce()
      clock.advance(by: .seconds(86_400))
      await sender.runOnce()

      let webhook = try await store.webhooks.stored(1)
      #expect(webhook.disabledReason == "the endpoint responded with 410 Gone" && endpoint.requests.count == 1)
      #expect(webhook.deliveries.map(\.status) == [410] && sender.counts.disabled == 1)
    }
  }

  @Test func endpointThatNeverRecoversIsDisabledAndContinuesWhenItIsEnabled() async throws {
    try await TestedStore.memory.with { store in
      _ = try await store.webhooks.add(1, at: try await store.changes.presentPosition(), clock)
      _ = try await store.places.create(.sample("a"), once: nil)
      let sender = sender(store)
      endpoint.respond(.failure(reason: "connection refused"))
      let start = clock.now()
      while try await store.webhooks.stored(1).disabledReason == nil {
        await sender.runOnce()
        clock.advance(by: .seconds(600))
        try #require(clock.now() < start.adding(.seconds(200 * 3600)))
      }

      #expect(endpoint.requests.count == 10 && clock.now() > start.adding(.seconds(75 * 3600)))
      let webhook = try await store.webhooks.stored(1)
      #expect(webhook.disabledReason?.contains("10 attempts") == true)
      #expect(webhook.disabledReason?.contains("connection refused") == true)

      endpoint.respond(status: 200)
      _ = try await store.webhooks.update(.sample(1)) { webhook in
        webhook.enable(at: clock.now())
        return true
      }
      await sender.runOnce()
      #expect(endpoint.requests.count == 11 && endpoint.messageCount == 1)
      #expect(try await store.webhooks.stored(1).pending == nil)
    }
  }

  @Test func failingEndpointHoldsUpNoOther() async throws {
    try await TestedStore.memory.with { store in
      let start = try await store.changes.presentPosition()
      _ = try await store.webhooks.add(1, at: start, clock)
      _ = try await store.webhooks.add(2, at: start, clock)
      _ = try await store.places.create(.sample("a"), once: nil)
      endpoint.respond(status: 503, retryAfterSeconds: 3000)
      await sender(store).runOnce()
      endpoint.respond(status: 200)
      clock.advance(by: .seconds(3001))

      await sender(store).runOnce()

      for number: UInt64 in [1, 2] { #expect(try await store.webhooks.stored(number).pending == nil) }
      #expect(endpoint.messageCount == 2)
    }
  }

  @Test func instanceWithoutTheLeaseDoesNotSend() async throws {
    try await TestedStore.postgres.with { store in
      _ = try await store.webhooks.add(1, at: try await store.changes.presentPosition(), clock)
      let (first, second) = (sender(store), sender(store))
      await first.runOnce()
      _ = try await store.places.create(.sample("a"), once: nil)

      await second.runOnce()
      #expect(endpoint.requests.isEmpty)

      clock.advance(by: WebhookSender.leaseDuration)
      await second.runOnce()
      #expect(endpoint.requests.count == 1)
    }
  }

  @Test func testMessageHasNoChangesAndIsNotKept() async throws {
    try await TestedStore.memory.with { store in
      let webhook = try await store.webhooks.add(1, at: try await store.changes.presentPosition(), clock)
      endpoint.respond(status: 401)

      let delivery = await sender(store).sendTest(to: webhook)

      #expect(delivery.status == 401 && !delivery.isSuccess)
      #expect(try bodies().map(\.type) == ["webhook.test"] && bodies()[0].data.changes.isEmpty)
      #expect(try await store.webhooks.stored(1).deliveries.isEmpty)
    }
  }

  // MARK: Three days of failures

  /// A store whose calls fail from some call on, before or after the call has had its effect, as if the process had been
  /// killed there.
  private final class KilledStore: RecordStore {
    private let store: any RecordStore
    private let rest: Mutex<Int>
    private let isAfterEffect: Bool

    init(_ store: any RecordStore, afterCalls count: Int, isAfterEffect: Bool) {
      self.store = store
      rest = Mutex(count)
      self.isAfterEffect = isAfterEffect
    }

    private func call<Value, Failure: Error>(
      orThrow failure: Failure, _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
      let rest = rest.withLock { rest in
        rest -= 1
        return rest
      }
      if rest < 0 {
        if rest == -1, isAfterEffect { _ = try await body() }
        throw failure
      }
      return try await body()
    }

    private static let killed = PointStoreError.unavailable(reason: "killed")

    var isShared: Bool { store.isShared }
    var damagedRows: DamagedRows? { store.damagedRows }

    func records(matching query: RecordQuery) async throws(PointStoreError) -> [Record] {
      try await call(orThrow: Self.killed) { () throws(PointStoreError) in try await store.records(matching: query) }
    }

    func summary(of query: RecordQuery) async throws(PointStoreError) -> RecordSummary {
      try await call(orThrow: Self.killed) { () throws(PointStoreError) in try await store.summary(of: query) }
    }

    func commit(
      applying batch: PointBatch?, within limits: RecordLimits?,
      _ changes: @escaping @Sendable ([PointOperationResult]) throws(PointStoreError) -> [RecordChange]
    ) async throws(PointWriteError) -> RecordOutcome {
      try await call(orThrow: .store(Self.killed)) { () throws(PointWriteError) in
        try await store.commit(applying: batch, within: limits, changes)
      }
    }

    func removeRecords(
      of collection: RecordCollection, keptUntil now: Timestamp
    ) async throws(PointStoreError) -> Int {
      try await call(orThrow: Self.killed) { () throws(PointStoreError) in
        try await store.removeRecords(of: collection, keptUntil: now)
      }
    }
  }

  @Test(arguments: TestedStore.allCases, [1, 2, 3] as [UInt64])
  func everyChangeArrivesAfterThreeDaysOfFailuresAndKilledServers(_ kind: TestedStore, _ seed: UInt64) async throws {
    try await kind.with { store in
      var random = SplitMix(seed)
      let webhook = try await store.webhooks.add(1, at: try await store.changes.presentPosition(), clock)
      let failures: [WebhookOutcome] = [
        .failure(reason: "the connection was refused"), .response(status: 500, retryAfterSeconds: nil),
        .response(status: 302, retryAfterSeconds: nil), .response(status: 429, retryAfterSeconds: 7),
      ]
      // A server that is killed after some calls of the store, and another one once its lease has expired.
      func serveAndKill() async {
        let killed = KilledStore(
          store.records, afterCalls: Int.random(in: 0...8, using: &random),
          isAfterEffect: Bool.random(using: &random))
        let sender = WebhookSender.testing(WebhookRecords(killed), store.changes, endpoint, clock)
        for _ in 0..<3 { await sender.runOnce() }
        clock.advance(by: WebhookSender.leaseDuration)
      }
      let end = clock.now().adding(.seconds(72 * 3600))
      while clock.now() < end {
        endpoint.respond(failures.randomElement(using: &random) ?? failures[0])
        if Int.random(in: 0..<10, using: &random) == 0 { try await change(store.places, &random) }
        await serveAndKill()
        clock.advance(by: .seconds(Int.random(in: 1...1500, using: &random)))
      }
      #expect(endpoint.messageCount == 1, "the first message is the only one so far")
      #expect(endpoint.requests.count >= 9)

      endpoint.respond(status: 200)
      var rounds = 0
      while true {
        await serveAndKill()
        clock.advance(by: .seconds(900))
        let present = try await store.changes.presentPosition()
        let stored = try await store.webhooks.stored(1)
        try #require(stored.disabledReason == nil)
        let page = try await store.changes.page(after: stored.position, limit: 1)
        if stored.pending == nil, page.changes.isEmpty, !page.hasMore { break }
        rounds += 1
        try #require(rounds < 2000, "\(present)")
      }

      try await checkThatAllArrived(store, webhook)
    }
  }

  /// Creates, replaces and deletes some places, one of them of more than a message.
  private func change(_ places: any PointStore, _ random: inout SplitMix) async throws {
    for _ in 0..<Int.random(in: 1...20, using: &random) {
      let number = UInt64.random(in: 0..<80, using: &random)
      if Int.random(in: 0..<4, using: &random) == 0 {
        try? await places.delete(id: .sample(number), if: .none)
      } else {
        let text = String(repeating: "x", count: number == 7 ? 2000 : 10)
        let tags = (0..<15).map { ("k\($0)", text) }
        let draft = try PointDraft(
          name: "name \(random.next())", category: nil, coordinate: .init(latitude: 1, longitude: 2), tags: Tags(tags),
          source: nil, sourceID: nil)
        _ = try await places.put(draft, id: .sample(number), if: .none)
      }
    }
  }

  private func checkThatAllArrived(_ store: TestedStore.Parts, _ webhook: Webhook) async throws {
    var bodiesByID: [String: String] = [:]
    var versions: Set<String> = []
    var states: [String: (version: Int64, exists: Bool)] = [:]
    for request in endpoint.requests {
      // Verified with the secret, at the time of the attempt.
      let message = WebhookMessage(
        id: request.id, body: request.body, position: "", changeCount: 0, createdAt: request.time)
      #expect(
        request.headers["webhook-signature"]
          == webhook.secrets.headers(of: message, at: request.time).first { $0.name == "webhook-signature" }?.value)
      #expect(request.body.utf8.count < 20_000)
      if let former = bodiesByID.updateValue(request.body, forKey: request.id) {
        #expect(former == request.body, "a repeat differs")
        continue
      }
      for change in try JSONDecoder().decode(Body.self, from: Data(request.body.utf8)).data.changes {
        let isNew = versions.insert("\(change.id) \(change.version)").inserted
        #expect(isNew, "a change came in two messages")
        #expect(change.version >= states[change.id]?.version ?? 0, "a change came out of order")
        states[change.id] = (change.version, change.deleted != true)
      }
    }
    let page = try await store.places.page(matching: PointQuery(limit: 1000))
    let received = states.filter(\.value.exists).map { "\($0.key) \($0.value.version)" }
    #expect(Set(received) == Set(page.points.map { "\($0.point.id) \($0.point.version)" }))
    #expect(bodiesByID.count > 2 && states.count > 40)
  }
}

/// A generator of a sequence that a seed determines.
private struct SplitMix: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
