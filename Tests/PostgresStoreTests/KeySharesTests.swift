import Points
import PostgresTestSupport
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore

@Suite struct KeySharesTests {
  @Test func clientHasAQuarterOfWhatIsFreeAndLeavesRoomToOthers() {
    let start = ContinuousClock.now
    var shares = KeyShares(bytes: 4_000, at: start)
    shares.add(900, of: "a", at: start)

    let (more, others) = (shares.hasRoom(for: 10, of: "a", at: start), shares.hasRoom(for: 775, of: "b", at: start))
    let tooMuch = shares.hasRoom(for: 776, of: "b", at: start)

    #expect(!more && others && !tooMuch)
  }

  @Test(arguments: [36, 40, 1_000]) func bytesCountForADayAndNotMuchLonger(hours: Int) {
    let start = ContinuousClock.now
    var shares = KeyShares(bytes: 4_000, at: start)
    shares.add(900, of: "a", at: start + .seconds(11 * 3600))

    let before = shares.hasRoom(for: 10, of: "a", at: start + .seconds(35 * 3600))
    let after = shares.hasRoom(for: 1_000, of: "a", at: start + .seconds(hours * 3600))

    #expect(!before && after)
  }

  @Test func newKeysOfAClientAreRejectedOnceItsShareIsFull() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    store.keyShares.withLock { $0 = KeyShares(bytes: 8_000) }
    let editor = AreaEditor(PostgresAreas(store))
    @Sendable func create(_ key: String) async throws -> PointOfInterest {
      try await store.create(try .sample("place"), once: IdempotencyKey(text: key, requestHash: 1))
    }
    let first = try await create("a:0")
    let exhausted = PointWriteError.store(.keysExhausted)

    await #expect(throws: exhausted) { for number in 1..<40 { _ = try await create("a:\(number)") } }
    await #expect(throws: exhausted) {
      let key = IdempotencyKey(text: "a:batch", requestHash: 1)
      _ = try await store.apply(PointBatch([.create(try .sample("place"))], once: key))
    }
    await #expect(throws: PointStoreError.keysExhausted) {
      let rows = [try ImportRow.sample("place", 1, 1)].inOneBatch
      _ = try await store.importRows(rows, mode: .partial, dryRun: false, once: ImportKey(text: "a:import") { 1 })
    }
    await #expect(throws: exhausted) {
      _ = try await editor.create(.sample("A"), once: IdempotencyKey(text: "a:area", requestHash: 1))
    }

    let counts = try await database.run(
      "SELECT (SELECT count(*) FROM points) = (SELECT count(*) FROM idempotency_keys), (SELECT count(*) FROM areas)")
    #expect(counts == "t|0")
    #expect(try await create("a:0") == first)
    #expect(try await create("b:0").id != first.id)
    _ = try await store.create(try .sample("place"), once: nil)
  }
}
