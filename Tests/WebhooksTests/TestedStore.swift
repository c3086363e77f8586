import Basics
import Foundation
import Logging
import MemoryStore
import PointIndex
import Points
import PostgresStore
import PostgresTestSupport
import SQLiteJournal
import SearchWords
import Synchronization
import TestSupport
import Testing

@testable import Webhooks

/// The stores that keep webhooks.
enum TestedStore: CaseIterable {
  case memory
  case postgres

  /// The parts of a store.
  struct Parts: Sendable {
    let places: any PointStore
    let records: any RecordStore
    let changes: any PointFeed

    var webhooks: WebhookRecords { WebhookRecords(records) }
  }

  func with(_ body: (Parts) async throws -> Void) async throws {
    switch self {
    case .memory:
      let folder = FileManager.default.temporaryDirectory.appending(path: "waymark-webhooks-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let journal = try await SQLiteJournal.open(path: folder.appending(path: "places.db").path)
      let store = try await MemoryStore(journal: journal)
      try await body(Parts(places: store, records: store, changes: store.changes))
      await journal.close()
    case .postgres:
      let store = try await TemporaryDatabase.make().migratedStore()
      let changes = ChangeHub(try ChangeFeed(store))
      try await body(Parts(places: store, records: store, changes: changes))
      await store.shutDown()
    }
  }
}

/// A clock that a test sets.
final class SimulatedClock: WallClock {
  private let time = Mutex(Timestamp(microsecondsSinceEpoch: 1_795_000_000_000_000))

  func now() -> Timestamp { time.withLock { $0 } }

  func advance(by duration: Duration) { time.withLock { $0 = $0.adding(duration) } }
}

/// An endpoint that keeps what it receives.
final class RecordingEndpoint: WebhookTransport {
  struct Request {
    let id: String
    let headers: [String: String]
    let body: String
    let time: Timestamp
  }

  private struct State {
    var requests: [Request] = []
    var outcome = WebhookOutcome.response(status: 204, retryAfterSeconds: nil)
  }

  private let clock: SimulatedClock
  private let state = Mutex(State())

  init(_ clock: SimulatedClock) { self.clock = clock }

  var requests: [Request] { state.withLock { $0.requests } }

  /// The number of messages, repeats left out.
  var messageCount: Int { Set(requests.map(\.id)).count }

  func respond(_ outcome: WebhookOutcome) { state.withLock { $0.outcome = outcome } }

  func respond(status: Int, retryAfterSeconds: Int? = nil) {
    respond(.response(status: status, retryAfterSeconds: retryAfterSeconds))
  }

  func rejection(of url: String) async -> String? { nil }

  func send(_ body: String, headers: [(name: String, value: String)], to url: String) async -> WebhookOutcome {
    let headers = Dictionary(uniqueKeysWithValues: headers.map { ($0.name, $0.value) })
    return state.withLock { state in
      state.requests.append(
        Request(id: headers["webhook-id"] ?? "", headers: headers, body: body, time: clock.now()))
      return state.outcome
    }
  }
}

extension WebhookSender {
  /// Creates a sender of a test.
  static func testing(
    _ store: WebhookRecords, _ changes: any PointFeed, _ endpoint: RecordingEndpoint, _ clock: SimulatedClock,
    sources: [MessageSource] = [],
    areaMark: @escaping @Sendable () -> String? = { nil }
  ) -> WebhookSender {
    WebhookSender(
      store: store, changes: changes, sources: sources, transport: endpoint,
      conditions: { filter in
        var query = PointQuery()
        if filter.hasPrefix("terms="), let count = Int(filter.dropFirst(6)) {
          // Of no time at all, which is checked after some thousand steps.
          query.filter = try PropertyFilter((0..<count).map { "name <> '\($0)'" }.joined(separator: " AND "))
          query.timeLimit = .seconds(-1)
          return (query, nil)
        }
        guard filter.hasPrefix("category=") else { throw CancellationError() }
        query.setCategories([.init(String(filter.dropFirst(9)))], without: [], in: .empty)
        return (query, areaMark())
      },
      placeURL: { "/locations/\($0)" }, clock: clock, jitter: { 0.5 }, logger: Logger(label: "test"))
  }
}

extension WebhookRecords {
  /// Adds a webhook and returns it as it is stored.
  func add(
    _ number: UInt64, at position: String, filter: String? = nil, _ clock: SimulatedClock
  ) async throws -> Webhook {
    let webhook = Webhook(
      id: .sample(number), url: "https://example.com/\(number)", filter: filter, secrets: WebhookSecrets(.generate()),
      position: position, createdAt: clock.now())
    #expect(try await insert(webhook))
    return try await stored(number)
  }

  func stored(_ number: UInt64) async throws -> Webhook {
    try #require(try await webhooks(id: .sample(number)).first)
  }
}
