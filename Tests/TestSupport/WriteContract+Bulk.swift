import Basics
import Geo
import JSONText
import Points
import Synchronization
import SyntheticData
import Testing

extension WriteContract {
  static let bulk: [WriteContract] = [
    WriteContract("atomic import without an invalid row is complete") { makeStore in
      let store = try await makeStore([.sample("old", 1, 1, id: .sample(1))])

      let report = try await store.importRows(
        [.sample("changed", 1, 1, id: .sample(1), number: 1), .sample("new", 1, 1, id: .sample(2), number: 2)],
        mode: .atomic
      )

      #expect((report.created, report.updated, report.rejected) == (1, 1, 0))
      #expect(try await store.names(PointQuery()) == ["changed", "new"])
    },
    WriteContract("atomic import with an invalid row imports nothing and reports it") { makeStore in
      let store = try await makeStore([
        .sample("one", 1, 1, source: "s", sourceID: "1", id: .sample(1)),
        .sample("two", 1, 1, source: "s", sourceID: "2", id: .sample(2)),
      ])
      let before = try await store.allPoints()
      let rows = [
        try ImportRow.sample("changed", 1, 1, id: .sample(1), number: 7),
        try .sample("mixed", 1, 1, source: "s", sourceID: "1", id: .sample(2), number: 8),
        try .sample("new", 1, 1, id: .sample(3), number: 9),
      ]

      for dryRun in [true, false] {
        let report = try await store.importRows(rows, mode: .atomic, dryRun: dryRun)

        #expect((report.created, report.updated, report.unchanged) == (0, 0, 0))
        #expect(report.rejections.map(\.number).contains(8))
      }
      #expect(try await store.allPoints() == before)
    },
    WriteContract("atomic import whose source fails imports nothing") { makeStore in
      let store = try await makeStore([])
      let batches = AsyncThrowingStream<[ImportRow], any Error> { continuation in
        continuation.yield([try? .sample("good", 1, 1)].compactMap(\.self))
        continuation.finish(throwing: RejectedRow(number: 2, detail: "no name"))
      }

      await #expect(throws: RejectedRow.self) {
        try await store.importRows(batches, mode: .atomic, dryRun: false)
      }

      #expect(try await store.allPoints().isEmpty)
    },
    WriteContract("export gives every place once, whole, by id, in batches") { makeStore in
      var places = try SyntheticPoints(seed: 8, townCount: 5)
      let store = try await makeStore(try places.rows(count: 2_500))
      _ = try await store.put(
        try .sample("\u{10FFFD}, \" \u{E000}", 1, 1, tags: ["": "", "\u{1F9ED}": "\r\n\t\\"]),
        id: .sample(1),
        if: .none
      )
      try await store.delete(id: try #require(try await store.point(shuffledAtOrAfter: 1)).id, if: .none)

      let batches = try await store.exported(PointQuery(limit: 1, after: .init(id: .sample(.max))))

      #expect(batches.joined().elementsEqual(try await store.allPoints().sorted { $0.id < $1.id }))
      #expect(batches.allSatisfy { !$0.isEmpty })
      #expect(batches.count > 1)
    },
    WriteContract("export gives what matches, by id") { makeStore in
      let store = try await makeStore([
        .sample("c", 1, 1, category: "cafe", id: .sample(3)), .sample("a", 1.001, 1, category: "bar", id: .sample(1)),
        .sample("far", 50, 1, category: "cafe", id: .sample(2)), .sample("b", 1, 1.001, id: .sample(4)),
      ])
      let box = try BoundingBox(west: 0, south: 0, east: 2, north: 2)
      func names(_ query: PointQuery) async throws -> [String] {
        try await store.exported(query).joined().map(\.draft.name)
      }

      #expect(try await names(PointQuery(box: box)) == ["a", "c", "b"])
      #expect(try await names(PointQuery(categories: ["cafe", "bar"])) == ["a", "far", "c"])
      #expect(try await names(PointQuery(box: box, categories: ["cafe"])) == ["c"])
      #expect(try await names(try .near(1, 1, radiusMetres: 120)) == ["a", "c", "b"])
      #expect(try await names(try .near(1, 1, radiusMetres: 0)) == ["c"])
      #expect(try await names(PointQuery(categories: ["none"])) == [])
    },
    WriteContract("export is a snapshot despite concurrent writes") { makeStore in
      let store = try await makeStore(
        try (0..<5_000).map { try .sample("\($0)", 1, 1, id: .sample(UInt64($0)), number: $0 + 1) }
      )
      let names = Mutex<[String]>([])

      try await store.exportPoints(matching: PointQuery()) { batch in
        if names.withLock({ $0.isEmpty }) {
          _ = try await store.put(try .sample("changed"), id: .sample(4_999), if: .none)
          try await store.delete(id: .sample(4_998), if: .none)
          _ = try await store.put(try .sample("new"), id: .sample(9_999), if: .none)
        }
        names.withLock { $0 += batch.map(\.draft.name) }
      }

      #expect(names.withLock { $0 } == (0..<5_000).map(String.init))
    },
    WriteContract("export ends with the error of its consumer, and the store continues") { makeStore in
      let store = try await makeStore([.sample("there", 1, 1)])

      await #expect(throws: ConsumerError.self) {
        try await store.exportPoints(matching: PointQuery()) { _ in throw ConsumerError() }
      }

      #expect(try await store.exported(PointQuery()).joined().count == 1)
    },
  ]

  private struct ConsumerError: Error {}
}

extension PointStore {
  /// Returns the batches of an export.
  fileprivate func exported(_ query: PointQuery) async throws -> [[PointOfInterest]] {
    let batches = Mutex<[[PointOfInterest]]>([])
    try await exportPoints(matching: query) { batch in batches.withLock { $0.append(batch) } }
    return batches.withLock { $0 }
  }
}
