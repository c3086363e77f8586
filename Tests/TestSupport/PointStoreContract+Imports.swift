import Basics
import Geo
import JSONText
import Points
import SyntheticData
import Testing

extension PointStoreContract {
  static let imports: [PointStoreContract] = [
    PointStoreContract("import creates, updates and leaves alone, by origin") { makeStore in
      let store = try await makeStore([
        .sample("same", 1, 1, tags: ["b": "2", "a": "1"], source: "s", sourceID: "1"),
        .sample("old", 1, 2, source: "s", sourceID: "2"),
      ])
      let before = try await store.allPoints().keyedByName

      let report = try await store.importRows([
        .sample("same", 1, 1, tags: ["a": "1", "b": "2"], source: "s", sourceID: "1", number: 1),
        .sample("changed", 1, 2, source: "s", sourceID: "2", number: 2),
        .sample("new", 1, 3, source: "s", sourceID: "3", number: 3),
      ])

      let after = try await store.allPoints().keyedByName
      #expect((report.created, report.updated, report.unchanged, report.rejected) == (1, 1, 1, 0))
      #expect(after["same"] == before["same"])
      let (old, changed) = (try #require(before["old"]), try #require(after["changed"]))
      #expect(changed.id == old.id)
      #expect(changed.version > old.version)
      #expect(changed.createdAt == old.createdAt)
      #expect(changed.updatedAt >= old.updatedAt)
      #expect(try #require(after["new"]).version >= 1)
      #expect(after.count == 3)
    },
    PointStoreContract("exact duplicates of a row are unchanged, and others are rejected") { makeStore in
      let store = try await makeStore([])

      let report = try await store.importRows([
        .sample("a", 1, 1, tags: ["k": "v"], source: "s", sourceID: "1", number: 1),
        .sample("b", 1, 1, category: "cafe", source: "s", sourceID: "2", number: 2),
        .sample("a", 1, 1, tags: ["k": "v"], source: "s", sourceID: "1", number: 3),
        .sample("b", 1, 1, source: "s", sourceID: "2", number: 4),
        .sample("a", 1, 1, tags: ["k": "v"], source: "s", sourceID: "1", number: 5),
        .sample("c", 1, 1, number: 6), .sample("c", 1, 1, number: 7),
      ])

      #expect((report.created, report.updated, report.unchanged, report.rejected) == (4, 0, 2, 1))
      #expect(report.rejections.map(\.number) == [2])
      #expect(try await store.allPoints().map(\.draft.name).sorted() == ["a", "b", "c", "c"])
    },
    PointStoreContract("import replaces or creates by id") { makeStore in
      let store = try await makeStore([.sample("old", 1, 1, category: "cafe", id: .sample(1))])
      let before = try #require(try await store.point(id: .sample(1)))

      let report = try await store.importRows([
        .sample("changed", 2, 2, category: "bar", source: "s", sourceID: "1", id: .sample(1), number: 1),
        .sample("new", 1, 3, id: .sample(2), number: 2),
      ])

      #expect((report.created, report.updated) == (1, 1))
      #expect(try await store.point(id: .sample(1))?.draft.name == "changed")
      #expect(try #require(try await store.point(id: .sample(1))).version > before.version)
      #expect(try await store.point(id: .sample(2))?.draft.name == "new")
    },
    PointStoreContract("texts of another normal form are another place's texts, keys and values") { makeStore in
      let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
      func row(_ text: String, _ sourceID: String) throws -> ImportRow {
        // A dictionary considers both the same key.
        let tags: KeyValuePairs = ["caf\u{E9}": "composed", "cafe\u{301}": "decomposed", "k": text]
        return try .sample(text, 1, 1, category: text, tags: tags, source: text, sourceID: sourceID, number: 1)
      }
      let store = try await makeStore([try row(composed, composed)])

      let same = try await store.importRows([row(composed, composed)])
      let other = try await store.importRows([row(decomposed, composed)])
      let third = try await store.importRows([row(composed, decomposed)])

      #expect((same.unchanged, other.created, third.created) == (1, 1, 1))
      let places = try await store.allPoints().map(\.draft)
      let expected = [try row(composed, composed), try row(decomposed, composed), try row(composed, decomposed)]
      #expect(Set(places) == Set(expected.map(\.draft)))
      #expect(places.allSatisfy { $0.tags.pairs.map(\.value).prefix(2) == ["decomposed", "composed"] })
    },
    PointStoreContract("replaced place is found at its new coordinate only") { makeStore in
      var rows = try (0..<30).map { try ImportRow.sample("other \($0)", 40, Double($0), category: "other") }
      rows.append(try .sample("before", 1, 1, category: "cafe", source: "s", sourceID: "1", id: .sample(1)))
      let store = try await makeStore(rows)

      try await store.importRows([
        .sample("after", -30, 100, category: "bar", source: "s", sourceID: "2", id: .sample(1))
      ])

      let oldBox = try BoundingBox(west: 0, south: 0, east: 2, north: 2)
      let newBox = try BoundingBox(west: 99, south: -31, east: 101, north: -29)
      #expect(try await store.names(try .near(1, 1, radiusMetres: 100)) == [])
      #expect(try await store.names(try .near(-30, 100, radiusMetres: 100)) == ["after"])
      #expect(try await store.names(PointQuery(box: oldBox)) == [])
      #expect(try await store.names(PointQuery(box: newBox)) == ["after"])
      #expect(try await store.names(PointQuery(categories: ["cafe"])) == [])
      #expect(try await store.names(PointQuery(categories: ["bar"])) == ["after"])
      let counts = try await store.categoryCounts()
      #expect(counts == [.init(category: "other", count: 30), .init(category: "bar", count: 1)])
      // Its former origin is available again.
      let report = try await store.importRows([.sample("again", 1, 1, source: "s", sourceID: "1")])
      #expect(report.created == 1)
    },
    PointStoreContract("row without id or origin creates a place each time") { makeStore in
      let row = try ImportRow.sample("twin", 1, 1)
      let store = try await makeStore([row, row])

      let report = try await store.importRows([row])

      #expect(report.created == 1)
      let points = try await store.allPoints()
      #expect(points.count == 3)
      #expect(Set(points.map(\.id)).count == 3)
    },
    PointStoreContract("last of several rows for the same place is used") { makeStore in
      let store = try await makeStore([.sample("known", 1, 1, source: "s", sourceID: "known", id: .sample(1))])

      let report = try await store.importRows([
        .sample("id first", 1, 1, id: .sample(5), number: 1),
        .sample("origin first", 1, 1, source: "s", sourceID: "5", number: 2),
        .sample("id last", 1, 1, id: .sample(5), number: 3),
        .sample("known by id", 1, 1, id: .sample(1), number: 4),
        .sample("origin last", 1, 1, source: "s", sourceID: "5", number: 5),
        .sample("known by origin", 1, 1, source: "s", sourceID: "known", number: 6),
      ])

      #expect((report.created, report.updated, report.unchanged, report.rejected) == (2, 1, 0, 3))
      #expect(report.rejections.map(\.number) == [1, 2, 4])
      #expect(report.rejections.allSatisfy { !$0.detail.isEmpty })
      let names = try await store.allPoints().map(\.draft.name)
      #expect(Set(names) == ["id last", "origin last", "known by origin"])
      #expect(names.count == 3)
    },
    PointStoreContract("row whose id and origin belong to two places is rejected") { makeStore in
      let store = try await makeStore([
        .sample("one", 1, 1, source: "s", sourceID: "1", id: .sample(1)),
        .sample("two", 1, 2, source: "s", sourceID: "2", id: .sample(2)),
      ])
      let before = try await store.allPoints()

      let report = try await store.importRows([
        .sample("mixed", 1, 3, source: "s", sourceID: "2", id: .sample(1), number: 11),
        .sample("stolen", 1, 3, source: "s", sourceID: "1", id: .sample(3), number: 12),
      ])

      #expect((report.created, report.updated, report.rejected) == (0, 0, 2))
      #expect(report.rejections.map(\.number) == [11, 12])
      #expect(try await store.allPoints() == before)
    },
    PointStoreContract("origins are compared to the byte") { makeStore in
      let store = try await makeStore([
        .sample("composed", 1, 1, source: "s", sourceID: "caf\u{E9}"),
        .sample("decomposed", 1, 2, source: "s", sourceID: "cafe\u{301}"),
      ])

      let report = try await store.importRows([.sample("capital", 1, 3, source: "S", sourceID: "caf\u{E9}")])

      #expect(report.created == 1)
      #expect(try await store.allPoints().count == 3)
    },
    PointStoreContract("text that differs in its bytes alone is a change") { makeStore in
      let store = try await makeStore([.sample("caf\u{E9}", 1, 1, source: "s", sourceID: "1")])

      let report = try await store.importRows([.sample("cafe\u{301}", 1, 1, source: "s", sourceID: "1")])

      #expect(report.updated == 1)
    },
    PointStoreContract("dry run reports what an import would do and changes nothing") { makeStore in
      let store = try await makeStore([.sample("old", 1, 1, source: "s", sourceID: "1")])
      let before = try await store.allPoints()
      let rows = [
        try ImportRow.sample("changed", 1, 1, source: "s", sourceID: "1", number: 1),
        try .sample("new", 1, 2, source: "s", sourceID: "2", number: 2),
        try .sample("newer", 1, 2, source: "s", sourceID: "2", number: 3),
      ]

      let dryRun = try await store.importRows(rows, dryRun: true)

      #expect((dryRun.created, dryRun.updated, dryRun.rejected) == (1, 1, 1))
      #expect(try await store.allPoints() == before)
      #expect(try await store.importRows(rows) == dryRun)
    },
    PointStoreContract("import that fails half-way leaves nothing") { makeStore in
      let store = try await makeStore([.sample("old", 1, 1, source: "s", sourceID: "1")])
      let before = try await store.allPoints()
      let batches = AsyncThrowingStream<[ImportRow], any Error> { continuation in
        continuation.yield([try? .sample("changed", 1, 1, source: "s", sourceID: "1")].compactMap(\.self))
        continuation.finish(throwing: BrokenOff())
      }

      await #expect(throws: BrokenOff.self) { try await store.importRows(batches, dryRun: false) }

      #expect(try await store.allPoints() == before)
    },
    PointStoreContract("batches of one import are one import") { makeStore in
      let store = try await makeStore([])
      var places = try SyntheticPoints(seed: 6, townCount: 4)
      let rows = try places.rows(count: 500)
      let last = try ImportRow.sample("last", 1, 1, source: "synthetic", sourceID: "node/1", number: 501)
      let batches = AsyncStream<[ImportRow]> { continuation in
        continuation.yield([])
        for start in stride(from: 0, to: 500, by: 100) { continuation.yield(Array(rows[start..<start + 100])) }
        continuation.yield([last])
        continuation.finish()
      }

      let report = try await store.importRows(batches, dryRun: false)

      #expect((report.created, report.rejected) == (500, 1))
      #expect(report.rejections.map(\.number) == [1])
      #expect(try await store.allPoints().count == 500)
    },
  ]

  private struct BrokenOff: Error {}
}

extension [PointOfInterest] {
  fileprivate var keyedByName: [String: PointOfInterest] {
    Dictionary(map { ($0.draft.name, $0) }, uniquingKeysWith: { first, _ in first })
  }
}
