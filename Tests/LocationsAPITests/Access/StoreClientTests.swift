import HTTPServer
import MemoryStore
import NIOCore
import NIOHTTP1
import Points
import ServiceTestSupport
import Synchronization
import TestSupport
import Testing

@testable import LocationsAPI

/// The clients between which a store divides its connections.
@Suite struct StoreClientTests {
  @Test func storeIsToldWhoseWritesAndExportsItsCallsAre() async throws {
    let store = ObservedClients()
    let driver = ServiceDriver(writing: store)
    let batch = #"{"operations":[{"op":"create","place":{"name":"a","lat":1,"long":2}}]}"#

    for address in ["127.0.0.1", "127.0.0.2"] {
      _ = try await driver.send(
        .POST, "/locations/import", headers: ["content-type": "application/x-ndjson"],
        body: ByteBuffer(string: #"{"name":"a","lat":1,"long":2}"#), from: address)
      _ = try await driver.send(
        .POST, "/locations/batch", headers: ["content-type": "application/json"], body: ByteBuffer(string: batch),
        from: address)
      _ = try await driver.send(.GET, "/locations/export", from: address)
    }

    let clients = store.clients.withLock { $0 }
    try #require(clients.count == 6, "\(clients)")
    #expect(clients[0] != nil && clients[3] != nil && clients[0] != clients[3])
    #expect(clients[1] == clients[0] && clients[2] == clients[0])
    #expect(clients[4] == clients[3] && clients[5] == clients[3])
  }
}

/// A store that notes the clients of calls that may need a connection to themselves.
private final class ObservedClients: ForwardingStore {
  let store = MemoryStore()
  let clients = Mutex<[String?]>([])

  private func note(_ client: String?) { clients.withLock { $0.append(client) } }

  func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, options: ImportOptions
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    note(options.client)
    return try await store.importRows(batches, options: options)
  }

  func apply(_ batch: PointBatch) async throws(PointWriteError) -> [PointOperationResult] {
    note(batch.client)
    return try await store.apply(batch)
  }

  func exportPoints(
    matching query: PointQuery, for client: String?,
    to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    note(client)
    try await store.exportPoints(matching: query, for: client, to: consume)
  }
}
