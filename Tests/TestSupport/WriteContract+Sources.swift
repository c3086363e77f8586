import Points
import Testing

extension WriteContract {
  static let sources: [WriteContract] = [
    WriteContract("removal of a data set takes all of its places in bounded batches, and no others") { makeStore in
      var rows = try (1...1_203).map { number in
        try ImportRow.sample(
          "\(number)", 1, Double(number % 90), category: "cafe", source: "s", sourceID: "\(number)",
          id: .sample(UInt64(number)), number: number)
      }
      rows.append(try .sample("other", 1, 1, source: "t", sourceID: "1", id: .sample(5_000), number: 1_204))
      rows.append(try .sample("none", 1, 1, id: .sample(5_001), number: 1_205))
      let store = try await makeStore(rows)
      let highestVersion = try await store.allPoints().map(\.version).max() ?? 0

      var batches: [DeletedBatch] = []
      repeat {
        batches.append(try await store.deleteBatch(ofSource: "s", after: batches.last?.next))
      } while batches.last?.next != nil

      #expect(batches.reduce(0) { $0 + $1.count } == 1_203)
      #expect(batches.count > 1)
      #expect(batches.allSatisfy { $0.count <= 1_000 })
      #expect(try await store.names(PointQuery()) == ["other", "none"])
      #expect(try await store.categoryCounts() == [])
      #expect(try await store.deleteBatch(ofSource: "s", after: nil) == DeletedBatch(count: 0, next: nil))
      let (again, wasCreated) = try await store.put(try .sample("again", sourceID: "7"), id: .sample(7), if: .none)
      #expect(wasCreated)
      #expect(again.version > highestVersion)
    },
    WriteContract("a data set is registered with its first accepted row, and removed once it has no places") {
      makeStore in
      let store = try await makeStore([])
      let options = ImportOptions(sources: [DataSource(name: "s", licence: "L")])
      func names() async throws -> [String] { try await store.sources().map(\.name) }

      _ = try await store.importRows(([] as [ImportRow]).inOneBatch, options: options)
      let withoutRows = try await names()
      let unknown = try await store.removeSource(named: "s")
      _ = try await store.importRows(
        [try .sample("a", 1, 1, source: "s", sourceID: "1"), try .sample("b", 1, 1, source: "t", sourceID: "1")]
          .inOneBatch, options: options)
      let registered = try await names()
      let withPlaces = try await store.removeSource(named: "s")
      let unregistered = try await store.removeSource(named: "t")
      _ = try await store.deleteBatch(ofSource: "s", after: nil)
      let empty = try await store.removeSource(named: "s")
      let again = try await store.removeSource(named: "s")

      #expect(withoutRows == [] && unknown == .unknown)
      #expect(registered == ["s"] && withPlaces == .hasPlaces && unregistered == .unknown)
      #expect(empty == .removed && again == .unknown)
      #expect(try await names() == [])
      #expect(try await store.allPoints().map(\.draft.name) == ["b"])
    },
    WriteContract("data sets are registered without rows, and values that are not given stay") { makeStore in
      let store = try await makeStore([])
      let whole = DataSource(name: "s", licence: "ODbL-1.0", attribution: "© A", url: "https://a.example")

      try await store.register([whole, DataSource(name: "t")])
      try await store.register([DataSource(name: "s", attribution: "© B")])

      #expect(
        try await store.sources() == [
          DataSource(name: "s", licence: "ODbL-1.0", attribution: "© B", url: "https://a.example"),
          DataSource(name: "t"),
        ])
    },
    WriteContract("removal of a data set while it is imported leaves each place whole or gone") { makeStore in
      let store = try await makeStore([])
      func rows(_ round: Int) throws -> [ImportRow] {
        try (1...600).map { number in
          // The order differs each time, and so does the order of row locks.
          let place = number * 7 * (round + 1) % 601
          return try .sample(
            "\(place) \(round)", 1, Double(place % 90), source: "s", sourceID: "\(place)", number: number)
        }
      }
      let (rounds, finished) = (6, Counter())

      let (created, deleted) = (Counter(), Counter())
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          defer { finished.add() }
          for round in 0..<rounds {
            let report = try await store.importRows(try rows(round))
            #expect(report.rejected == 0)
            created.add(report.created)
          }
        }
        group.addTask {
          var last: DeletedBatch?
          repeat {
            last = try await store.deleteBatch(ofSource: "s", after: last?.next)
            deleted.add(last?.count ?? 0)
            await Task.yield()
          } while finished.value == 0
        }
        try await group.waitForAll()
      }

      let left = try await store.allPoints()
      #expect(created.value == deleted.value + left.count)
      #expect(Set(left.map(\.draft.origin?.sourceID)).count == left.count)
    },
    WriteContract("no version repeats for an id whose data set is removed while it is put") { makeStore in
      let store = try await makeStore([])
      let (writers, rounds, ids) = (3, 8, UInt64(1)...12)
      let (finished, deleted) = (Counter(), Counter())

      let given = try await withThrowingTaskGroup(of: [(id: PointID, version: Int64)].self) { group in
        for writer in 0..<writers {
          group.addTask {
            defer { finished.add() }
            var given: [(id: PointID, version: Int64)] = []
            for round in 0..<rounds {
              for number in ids {
                let id = PointID.sample((number * 5 + UInt64(round)) % 12 + 1)
                let place = try PointDraft.sample("\(writer) \(round)", sourceID: "\(id)")
                let (point, wasCreated) = try await store.put(place, id: id, if: .none)
                if wasCreated { given.append((id, point.version)) }
              }
            }
            return given
          }
          group.addTask {
            repeat {
              deleted.add(try await store.deleteBatch(ofSource: "s", after: nil).count)
              // An operation that finds nothing may never suspend.
              await Task.yield()
            } while finished.value < writers
            return []
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      deleted.add(try await store.deleteBatch(ofSource: "s", after: nil).count)

      for (_, creations) in Dictionary(grouping: given, by: \.id) {
        #expect(Set(creations.map(\.version)).count == creations.count)
      }
      // Nothing is left: each created place was deleted.
      #expect(given.count >= ids.count)
      #expect(deleted.value == given.count)
      #expect(try await store.allPoints() == [])
    },
  ]
}
