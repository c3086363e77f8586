import Basics
import Geo
import JSONText
import MemoryStore
import Points
import TestSupport
import Testing

@Suite struct MemoryStoreTests {
  private struct StoppedClock: WallClock {
    let time: Timestamp
    func now() -> Timestamp { time }
  }

  private struct GivenIDs: ImportIDSource {
    func id(for place: PointDraft, attempt: Int) -> PointID { .sample(UInt64(place.name.utf8.count + attempt)) }
  }

  @Test func timesComeFromTheClock() async throws {
    let time = Timestamp(microsecondsSinceEpoch: 1_790_000_000_123_456)
    let store = MemoryStore(clock: StoppedClock(time: time))

    try await store.importRows([.sample("a", 1, 1)])

    let point = try #require(try await store.allPoints().first)
    #expect(point.createdAt == time)
    #expect(point.updatedAt == time)
  }

  @Test func idsComeFromTheGivenSource() async throws {
    let store = MemoryStore()

    _ = try await store.load([.sample("abc", 1, 1), .sample("xyz", 2, 2)].inOneBatch, ids: GivenIDs())

    #expect(try await store.allPoints().map(\.id) == [.sample(3), .sample(4)])
  }

  @Test func thousandsAtOnePositionArePagedByID() async throws {
    let rows = try (0..<10_000).map { try ImportRow.sample("\($0)", 48.2, 16.37, category: "spot") }
    let store = MemoryStore()
    try await store.importRows(rows + [.sample("near", 48.200_1, 16.37), .sample("far", -48.2, -163.63)])

    let nearest = try await store.page(matching: try .near(48.2, 16.37)).points
    let beside = try await store.page(matching: try .near(48.200_1, 16.37, limit: 3)).points
    let all = try await store.allMatches(of: try .near(48.3, 16.37, limit: 1000))

    let ids = try await store.allMatches(of: PointQuery(categories: ["spot"], limit: 1000)).map(\.point.id)
    #expect(nearest.map(\.point.id) == Array(ids.prefix(20)))
    #expect(beside.map(\.point.id).suffix(2) == Array(ids.prefix(2)))
    #expect(all.map(\.point.id).dropFirst().dropLast() == ids[...])
    #expect(all.first?.point.draft.name == "near")
    #expect(all.last?.point.draft.name == "far")
  }

  @Test func readsDuringWritesSeeOneSnapshotEach() async throws {
    let store = MemoryStore()
    // Every import replaces all places with others of one name.
    func rows(_ round: Int) throws -> [ImportRow] {
      try (0..<50).map {
        try .sample("round \(round)", Double($0), Double(round), source: "s", sourceID: "\($0)", number: $0 + 1)
      }
    }
    try await store.importRows(try rows(0))
    let before = try await store.allPoints().reduce(into: [PointID: Int64]()) { $0[$1.id] = $1.version }

    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        for round in 1...40 { try await store.importRows(try rows(round)) }
      }
      for _ in 0..<2 {
        group.addTask {
          for _ in 0..<200 {
            let found = try await store.page(matching: try .near(25, 20, limit: 100)).points
            #expect(found.count == 50)
            #expect(Set(found.map(\.point.draft.name)).count == 1)
            await Task.yield()
          }
        }
      }
      try await group.waitForAll()
    }

    let points = try await store.allPoints()
    #expect(points.map(\.draft.name) == Array(repeating: "round 40", count: 50))
    #expect(points.allSatisfy { $0.version > before[$0.id] ?? .max })
  }

  @Test func concurrentImportsAreAppliedOneAfterAnother() async throws {
    let store = MemoryStore()

    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<8 {
        group.addTask {
          var last: Int64 = 0
          for round in 0..<10 {
            try await store.importRows([
              .sample("shared", 1, Double(writer), source: "s", sourceID: "shared"),
              .sample("own", 2, Double(round), source: "writer \(writer)", sourceID: "\(round)"),
            ])
            let shared = try #require(try await store.allMatches(of: PointQuery(source: .init(name: "s"))).first)
            #expect(shared.point.version >= last)
            last = shared.point.version
          }
        }
      }
      try await group.waitForAll()
    }

    let points = try await store.allPoints()
    #expect(points.count == 81)
    #expect(points.count { $0.draft.name == "shared" } == 1)
  }
}
