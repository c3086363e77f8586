import Points
import TestSupport
import Testing

@testable import MemoryStore

@Suite struct IdempotencyKeyCacheTests {
  private static let day: Int64 = 24 * 60 * 60 * 1_000_000

  @Test func recordIsKeptForADay() throws {
    var keys = IdempotencyKeyCache(bytes: 100_000)
    keys.insert(.sample("a", at: 1000))

    #expect(keys.record(of: "a", at: .init(microsecondsSinceEpoch: 1000 + Self.day - 1)) != nil)
    #expect(keys.record(of: "a", at: .init(microsecondsSinceEpoch: 1000 + Self.day)) == nil)
    #expect(keys.record(of: "b", at: .init(microsecondsSinceEpoch: 1000)) == nil)
  }

  @Test func expiredRecordsAreRemovedAndLeaveRoom() throws {
    var keys = IdempotencyKeyCache(bytes: 5_000)
    for (text, time) in [("a:1", 0), ("a:2", 5), ("a:3", 6)] as [(String, Int64)] {
      keys.insert(.sample(text, at: time, bytes: 1_000))
    }
    #expect(!keys.hasRoom(for: 0, of: "b"))

    keys.removeExpired(at: .init(microsecondsSinceEpoch: Self.day + 5))
    let (count, rest) = (keys.count, keys.record(of: "a:3", at: .init(microsecondsSinceEpoch: Self.day + 5)))
    keys.removeExpired(at: .init(microsecondsSinceEpoch: Self.day + 6))

    #expect(count == 1 && rest != nil)
    #expect(keys.count == 0 && keys.hasRoom(for: 0, of: "b"))
  }

  @Test func keyThatIsUsedAgainDelaysNoExpiry() throws {
    var keys = IdempotencyKeyCache(bytes: 100_000)
    keys.insert(.sample("a", at: 0))
    keys.insert(.sample("b", at: 1))
    keys.insert(.sample("a", at: Self.day))

    keys.removeExpired(at: .init(microsecondsSinceEpoch: Self.day + 1))

    #expect(
      keys.record(of: "a", at: .init(microsecondsSinceEpoch: Self.day + 1))?.time.microsecondsSinceEpoch == Self.day)
    #expect(keys.count == 1)
  }

  @Test func clientThatTakesAllItCanGetLeavesRoomForOthers() throws {
    var keys = IdempotencyKeyCache(bytes: 1_000_000)
    func fill(_ client: String) -> Int {
      var count = 0
      while keys.hasRoom(for: 1_000, of: client) {
        keys.insert(.sample("\(client):\(count)", at: Int64(count), bytes: 1_000))
        count += 1
      }
      return count
    }

    let counts = (0..<10).map { fill("client \($0)") }

    #expect(counts[0] > 100 && counts[0] < 200)
    #expect(counts.allSatisfy { $0 > 5 })
    #expect(keys.hasRoom(for: 1_000, of: "another"))
    #expect(!keys.hasRoom(for: 1_000, of: "client 0"))
    #expect(keys.count == counts.reduce(0, +))
  }

  @Test func keysOfAddressesCountToTheAddress() throws {
    let key = IdempotencyKey(text: ":k", requestHash: 1, client: ":7f000001")

    #expect(key.client == ":7f000001")
    #expect(IdempotencyKey(text: "user:a:b", requestHash: 1).client == "user")
    #expect(ImportKey(text: "user:a", client: nil) { 1 }.hashed().client == "user")
    #expect(ImportKey(text: ":k", client: ":7f000001") { 1 }.hashed() == key)
  }
}

@Suite struct IdempotencyKeyShareTests {
  private func store() -> MemoryStore {
    MemoryStore(JournalContents(), journal: nil, keyBytes: 40_000, clock: SystemClock())
  }

  private func key(_ text: String, _ hash: UInt64 = 1) -> IdempotencyKey {
    IdempotencyKey(text: text, requestHash: hash)
  }

  @Test func aClientsKeysNeitherPushOutNorRefuseThoseOfAnother() async throws {
    let store = store()
    let rows = [try ImportRow.sample("row", 1, 1)]
    func report(_ text: String) async throws -> ImportReport {
      try await store.importRows(rows.inOneBatch, options: ImportOptions(key: ImportKey(text: text) { 1 }))
    }
    let small = MemoryStore(JournalContents(), journal: nil, keyBytes: 400_000, clock: SystemClock())
    let imported = try await small.importRows(
      rows.inOneBatch, options: ImportOptions(key: ImportKey(text: "b:import") { 1 }))
    let place = try await store.create(try .sample("kept"), once: key("b:1"))

    var count = 0
    await #expect(throws: PointWriteError.store(.keysExhausted)) {
      while count < 1_000 {
        let operations: [PointOperation] = [
          .put(try .sample("\(count)"), id: .sample(1), if: .none), .rejected(RejectedOperation(text: "long")),
        ]
        _ = try await store.apply(PointBatch(operations, once: key("a:\(count)")))
        count += 1
      }
    }
    // A creation takes less than a batch.
    await #expect(throws: PointWriteError.store(.keysExhausted)) {
      for number in 0..<1_000 { _ = try await store.create(try .sample("x"), once: key("a:new \(number)")) }
    }
    await #expect(throws: PointStoreError.keysExhausted) { try await report("a:import") }

    #expect((5..<100).contains(count))
    #expect(try await store.create(try .sample("kept"), once: key("b:1")) == place)
    #expect(try await store.create(try .sample("other"), once: key("b:2")).draft.name == "other")
    // Repeats of the client's own requests, and requests without a key, are served.
    let repeated = try await store.apply(
      PointBatch(
        [.put(try .sample("0"), id: .sample(1), if: .none), .rejected(RejectedOperation(text: "long"))],
        once: key("a:0")))
    #expect(repeated.count == 2 && !repeated[0].isFailure)
    #expect(try await store.create(try .sample("unkeyed"), once: nil).draft.name == "unkeyed")
    #expect(imported.created == 1)
    let again = try await small.importRows(
      rows.inOneBatch, options: ImportOptions(key: ImportKey(text: "b:import") { 1 }))
    #expect(again == imported && small.count == 1)
  }

  @Test func batchesOfFailuresTakeNoMemory() async throws {
    let store = store()
    let failing = (0..<1_000).map { _ in PointOperation.rejected(RejectedOperation(text: "long")) }
    let place = try await store.create(try .sample("kept"), once: key("b:1"))

    for number in 0..<100 {
      _ = try await store.apply(PointBatch(Array(failing.prefix(10)), once: key("a:\(number)")))
    }

    #expect(try await store.create(try .sample("kept"), once: key("b:1")) == place)
    #expect(try await store.create(try .sample("own"), once: key("a:0")).draft.name == "own")
  }

  @Test func writesOfOneGroupShareTheRoom() async throws {
    let store = store()

    let results = await withTaskGroup(of: Bool.self) { group in
      for number in 0..<200 {
        group.addTask {
          (try? await store.create(try .sample("\(number)"), once: IdempotencyKey(text: "a:\(number)", requestHash: 1)))
            != nil
        }
      }
      return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }

    #expect((5..<60).contains(results))
    #expect(store.count == results)
  }

  @Test func placeAndAreaMayHaveTheSameKey() async throws {
    let store = MemoryStore()
    let editor = AreaEditor(store)
    let place = try await store.create(try .sample("a"), once: key("a:1", 1))

    let area = try await editor.create(.sample("a"), once: key("a:1", 2))

    #expect(try await store.create(try .sample("a"), once: key("a:1", 1)) == place)
    #expect(try await editor.create(.sample("a"), once: key("a:1", 2)) == area)
    #expect(store.count == 1)
  }

  @Test func keysOfPlacesAndAreasShareTheRoom() async throws {
    let store = MemoryStore(JournalContents(), journal: nil, keyBytes: 200_000, clock: SystemClock())

    await #expect(throws: PointWriteError.store(.keysExhausted)) {
      for number in 0..<1_000 { _ = try await store.create(try .sample("x"), once: key("a:\(number)")) }
    }

    await #expect(throws: PointWriteError.store(.keysExhausted)) {
      try await AreaEditor(store).create(.sample("a"), once: key("a:area"))
    }
  }

  @Test func keysOfAreasAreBoundedForEachClientToo() async throws {
    let store = MemoryStore(JournalContents(), journal: nil, keyBytes: 200_000, clock: SystemClock())
    let editor = AreaEditor(store)
    let first = try await editor.create(.sample("b"), once: key("b:1"))

    var count = 0
    await #expect(throws: PointWriteError.store(.keysExhausted)) {
      while count < 1_000 {
        let area = try await editor.create(.sample("a"), once: key("a:\(count)"))
        try await editor.delete(id: area.id, if: .none)
        count += 1
      }
    }

    #expect((5..<500).contains(count))
    #expect(try await editor.create(.sample("b"), once: key("b:1")).id == first.id)
    #expect(try await editor.create(.sample("c"), once: key("b:2")).id != first.id)
  }
}

extension IdempotencyRecord {
  fileprivate static func sample(_ text: String, at microseconds: Int64, bytes: Int = 0) -> Self {
    let result = PointOperationResult.rejected(RejectedOperation(text: String(repeating: "x", count: bytes)))
    return IdempotencyRecord(
      key: IdempotencyKey(text: text, requestHash: 1), time: Timestamp(microsecondsSinceEpoch: microseconds),
      outcome: .applied([result]))
  }
}
