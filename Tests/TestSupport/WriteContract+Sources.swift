import Points
import Testing

extension WriteContract {
  static let sources: [WriteContract] = [
    WriteContract("removal of a data set takes all of its places in bounded batches, and no others") { makeStore in
      var rows = try (1...1_203).map { number in
        try ImportRow.sample(
          "\(number)", 1, Double(number % 90), category: "cafe", source: "s", sourceID: "\(number)",
          id: .sample(UInt64(number)))
      }
      rows.append(try .sample("other", 1, 1, source: "t", sourceID: "1", id: .sample(5_000)))
      rows.append(try .sample("none", 1, 1, id: .sample(5_001)))
      let store = try await makeStore(rows)
      let versions = try await store.allPoints().reduce(into: [PointID: Int64]()) { $0[$1.id] = $1.version }
      let start = try await store.allChanges().last?.sequence ?? 0

      var batches: [DeletedBatch] = []
      repeat {
        batches.append(try await store.deleteBatch(ofSource: "s", after: batches.last?.next))
      } while batches.last?.next != nil

      #expect(batches.reduce(0) { $0 + $1.count } == 1_203)
      #expect(batches.count > 1)
      #expect(batches.allSatisfy { $0.count <= 1_000 })
      #expect(try await store.names(PointQuery()) == ["other", "none"])
      #expect(try await store.categoryCounts() == [])
      let changes = try await store.allChanges(after: start)
      #expect(changes.count == 1_203)
      #expect(Set(changes.map(\.id)).count == 1_203)
      #expect(changes.allSatisfy { $0.kind == .deleted && $0.version == versions[$0.id] })
      #expect(try await store.deleteBatch(ofSource: "s", after: nil) == DeletedBatch(count: 0, next: nil))
      let (again, wasCreated) = try await store.put(try .sample("again", sourceID: "7"), id: .sample(7), if: .none)
      #expect(wasCreated)
      #expect(again.version > versions.values.max() ?? 0)
    },
    WriteContract("no version repeats for an id whose data set is removed while it is put") { makeStore in
      let store = try await makeStore([])
      let places = try (1...12).map { try Place.sample("\($0)", sourceID: "\($0)") }

      let given = try await withThrowingTaskGroup(of: [(id: PointID, version: Int64)].self) { group in
        for _ in 0..<3 {
          group.addTask {
            var given: [(id: PointID, version: Int64)] = []
            for round in 0..<8 {
              for number in places.indices {
                let id = PointID.sample(UInt64((number * 5 + round) % 12 + 1))
                let place = try Place.sample("\(number) \(round)", sourceID: "\(id)")
                let (point, wasCreated) = try await store.put(place, id: id, if: .none)
                if wasCreated { given.append((id, point.version)) }
              }
            }
            return given
          }
          group.addTask {
            for _ in 0..<25 { _ = try await store.deleteBatch(ofSource: "s", after: nil) }
            return []
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }

      for (_, creations) in Dictionary(grouping: given, by: \.id) {
        #expect(Set(creations.map(\.version)).count == creations.count)
      }
      #expect(try await store.allChanges().filter { $0.kind == .deleted }.count > 0)
    },
  ]
}
