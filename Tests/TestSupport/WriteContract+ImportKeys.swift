import Points
import Testing

extension WriteContract {
  static let importKeys: [WriteContract] = [
    WriteContract("import with a key runs once, and its retry returns the same report") { makeStore in
      let store = try await makeStore([.sample("old", 1, 1, id: .sample(1)), .sample("same", 1, 1, id: .sample(2))])
      let rows = [
        try ImportRow.sample("new", 1, 1, id: .sample(1), number: 1),
        try .sample("same", 1, 1, id: .sample(2), number: 2),
        try .sample("third, which the next supersedes", 1, 1, source: "s", sourceID: "1", number: 3),
        try .sample("third \u{10FFFD}", 1, 1, source: "s", sourceID: "1", number: 4),
      ]

      let first = try await store.importRows(rows, once: "k", hash: 1)
      try await store.delete(id: .sample(1), if: .none)
      let before = try await store.allPoints()
      let repeated = try await store.importRows(rows, once: "k", hash: 1)
      let after = try await store.allPoints()
      let another = try await store.importRows(rows, once: "other", hash: 1)

      #expect((first.created, first.updated, first.unchanged, first.rejected) == (1, 1, 1, 1))
      #expect(repeated == first)
      #expect(after == before)
      #expect((another.created, another.unchanged) == (1, 2))
    },
    WriteContract("import with the key of another request is rejected and changes nothing") { makeStore in
      let store = try await makeStore([])
      _ = try await store.importRows([.sample("a", 1, 1)], once: "import", hash: 1)
      _ = try await store.create(try .sample("b"), once: IdempotencyKey(text: "creation", requestHash: 2))
      let before = try await store.allPoints()

      for (key, hash) in [("import", UInt64(2)), ("creation", 1)] {
        await #expect(throws: PointWriteError.keyReused) {
          try await store.importRows([.sample("c", 1, 1)], once: key, hash: hash)
        }
      }
      await #expect(throws: PointWriteError.keyReused) {
        try await store.create(try .sample("d"), once: IdempotencyKey(text: "import", requestHash: 3))
      }

      #expect(try await store.allPoints() == before)
    },
    WriteContract("import that fails, imports nothing or is a dry run leaves its key unused") { makeStore in
      struct BrokenOff: Error {}
      let store = try await makeStore([])
      let row = try ImportRow.sample("a", 1, 1, source: "s", sourceID: "1", number: 1)
      let twice = [row, try .sample("b", 1, 1, source: "s", sourceID: "1", number: 2)]
      let broken = AsyncThrowingStream<[ImportRow], any Error> { continuation in
        continuation.yield([row])
        continuation.finish(throwing: BrokenOff())
      }

      await #expect(throws: BrokenOff.self) {
        try await store.importRows(broken, mode: .partial, dryRun: false, once: ImportKey(text: "k") { 1 })
      }
      let rejected = try await store.importRows(twice, mode: .atomic, once: "k", hash: 2)
      let dry = try await store.importRows([row], dryRun: true, once: "k", hash: 3)
      let taken = try await store.importRows([row], once: "k", hash: 4)

      #expect((rejected.created, rejected.rejected) == (0, 1))
      #expect((dry.created, taken.created) == (1, 1))
    },
    WriteContract("key of an import all of whose rows are rejected is not kept") { makeStore in
      let store = try await makeStore([
        .sample("a", 1, 1, source: "s", sourceID: "1", id: .sample(1)),
        .sample("b", 1, 1, source: "s", sourceID: "2", id: .sample(2)),
      ])
      let contradicting = try ImportRow.sample("c", 1, 1, source: "s", sourceID: "2", id: .sample(1))

      let rejected = try await store.importRows([contradicting], once: "k", hash: 1)
      let taken = try await store.importRows([.sample("new", 1, 1)], once: "k", hash: 2)
      // As if a parser had rejected all.
      _ = try await store.importRows([], once: "l", hash: 1)
      let later = try await store.importRows([.sample("newer", 1, 1)], once: "l", hash: 2)

      #expect((rejected.accepted, rejected.rejected, taken.created, later.created) == (0, 1, 1, 1))
    },
    WriteContract("key of an import that changes nothing is stored too") { makeStore in
      let store = try await makeStore([.sample("a", 1, 1, id: .sample(1))])
      let rows = [try ImportRow.sample("a", 1, 1, id: .sample(1))]

      let first = try await store.importRows(rows, once: "k", hash: 1)
      try await store.delete(id: .sample(1), if: .none)
      let repeated = try await store.importRows(rows, once: "k", hash: 1)
      let empty = try await store.importRows([], once: "nothing", hash: 1)

      #expect(first.unchanged == 1)
      #expect(repeated == first)
      #expect(try await store.point(id: .sample(1)) == nil)
      #expect(try await store.importRows([], once: "nothing", hash: 1) == empty)
    },
  ]
}

extension PointStore {
  fileprivate func importRows(
    _ rows: [ImportRow], mode: ImportMode = .partial, dryRun: Bool = false, once key: String, hash: UInt64
  ) async throws -> ImportReport {
    try await importRows(rows.inOneBatch, mode: mode, dryRun: dryRun, once: ImportKey(text: key) { hash })
  }
}
