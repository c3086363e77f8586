import Points
import Testing

extension WriteContract {
  static let replacing: [WriteContract] = [
    WriteContract("replacing a source makes it equal to the rows and leaves equal places untouched") { makeStore in
      let store = try await makeStore([
        .sample("same", 1, 1, source: "s", sourceID: "1"), .sample("old", 1, 1, source: "s", sourceID: "2"),
        .sample("gone", 1, 1, source: "s", sourceID: "3"), .sample("other", 1, 1, source: "t", sourceID: "3"),
        .sample("none", 1, 1),
      ])
      let before = try await store.pointsByName()
      let rows = [
        try ImportRow.sample("same", 1, 1, source: "s", sourceID: "1", number: 1),
        try .sample("new", 1, 1, source: "s", sourceID: "2", number: 2),
        try .sample("added", 1, 1, source: "s", sourceID: "4", number: 3),
      ]
      let options = ImportOptions(removal: .others(source: "s"))
      var dry = options
      dry.dryRun = true

      let difference = try await store.importRows(rows.inOneBatch, options: dry)
      let untouched = try await store.pointsByName()
      let report = try await store.importRows(rows.inOneBatch, options: options)
      let after = try await store.pointsByName()
      let again = try await store.importRows(rows.inOneBatch, options: options)

      #expect(difference == report && untouched == before)
      #expect((report.created, report.updated, report.unchanged, report.deleted) == (1, 1, 1, 1))
      #expect(Set(after.keys) == ["same", "new", "added", "other", "none"])
      #expect(after["same"] == before["same"] && after["other"] == before["other"])
      #expect(after["new"]?.id == before["old"]?.id)
      #expect((again.created, again.updated, again.unchanged, again.deleted) == (0, 0, 3, 0))
      #expect(try await store.pointsByName() == after)
    },
    WriteContract("replacing a source by no row of it is an error that changes nothing") { makeStore in
      let store = try await makeStore([.sample("here", 1, 1, source: "s", sourceID: "1")])
      let rows = [try ImportRow.sample("new", 1, 1, source: "t", sourceID: "1")]

      for rows in [[], rows] {
        for dryRun in [false, true] {
          let options = ImportOptions(dryRun: dryRun, removal: .others(source: "s"))
          await #expect(throws: EmptyReplacement(source: "s")) {
            try await store.importRows(rows.inOneBatch, options: options)
          }
        }
      }

      #expect(try await store.names(PointQuery()) == ["here"])
    },
    WriteContract("a place whose records are in one row with another id of the source keeps its id") { makeStore in
      func place(_ name: String, _ sourceID: String, _ records: String) throws -> ImportRow {
        try .sample(name, 1, 1, tags: ["s:records": records], source: "s", sourceID: sourceID)
      }
      let store = try await makeStore([
        try place("moved", "1", "a;b"), try place("same", "2", "c"), try place("split", "3", "d;e"),
        try place("joined", "4", "f"), try place("joined too", "5", "g"),
        .sample("without records", 1, 1, source: "s", sourceID: "6"),
        .sample("of another source", 1, 1, tags: ["s:records": "h", "t:records": "h"], source: "t", sourceID: "7"),
      ])
      let before = try await store.pointsByName()
      let places = [
        try place("new name", "1b", ";x;b"), try place("same", "2", "c"), try place("one half", "3b", "d"),
        try place("other half", "3c", "e"), try place("both", "4b", "f;g"), try place("like same", "8", "c;"),
        try place("like another", "9", "h"),
      ]
      // A row that repeats another one changes nothing.
      let rows = (places + [places[0]]).enumerated().map { ImportRow(number: $0 + 1, id: nil, draft: $1.draft) }
      let options = ImportOptions(removal: .others(source: "s", limit: .percentage(100)))
      var dry = options
      dry.dryRun = true

      let difference = try await store.importRows(rows.inOneBatch, options: dry)
      let report = try await store.importRows(rows.inOneBatch, options: options)
      let after = try await store.pointsByName()
      let again = try await store.importRows(rows.inOneBatch, options: options)

      #expect(difference == report)
      #expect((report.created, report.updated, report.unchanged, report.deleted) == (5, 1, 2, 4))
      #expect(after["new name"]?.id == before["moved"]?.id)
      #expect(after["new name"]?.draft.origin?.sourceID == "1b")
      #expect(after["new name"]?.version ?? 0 > before["moved"]?.version ?? .max)
      #expect(after["new name"]?.createdAt == before["moved"]?.createdAt)
      #expect(after["same"] == before["same"] && after["of another source"] == before["of another source"])
      #expect(Set(after.values.map(\.id)).intersection(before.values.map(\.id)).count == 3)
      #expect((again.created, again.updated, again.unchanged, again.deleted) == (0, 0, 8, 0))
    },
    WriteContract("records of a row that is superseded or rejected move no place, and such a row means none") {
      makeStore in
      let options = ImportOptions(removal: .others(source: "s", limit: .percentage(100)))
      func row(_ name: String, _ sourceID: String, _ records: String, id: PointID? = nil) throws -> ImportRow {
        try .sample(name, 1, 1, tags: ["s:records": records], source: "s", sourceID: sourceID, id: id)
      }
      let cases = [
        // The first row is superseded: its place is deleted, and another created.
        (rows: [try row("first", "5", "b"), try row("last", "5", "x")], kept: 0),
        (rows: [try row("first", "5", "b"), try row("last", "5", "x", id: .sample(7))], kept: 0),
        // The first row is superseded, or its id is not that of its place, which has a record of the last row.
        (rows: [try row("first", "9", "x", id: .sample(1)), try row("last", "9", "a")], kept: 1),
        (rows: [try row("first", "1", "x", id: .sample(9)), try row("last", "4", "a")], kept: 1),
      ]

      for (rows, kept) in cases {
        let store = try await makeStore([try row("old", "1", "a;b", id: .sample(1))])
        let numbered = rows.enumerated().map { ImportRow(number: $0 + 1, id: $1.id, draft: $1.draft) }

        let report = try await store.importRows(numbered.inOneBatch, options: options)

        #expect(report.rejections.map(\.number) == [1])
        #expect((report.created, report.updated, report.deleted) == (1 - kept, kept, 1 - kept))
        let places = try await store.allPoints()
        #expect(places.map(\.draft.name) == ["last"])
        #expect(places.count { $0.id == .sample(1) } == kept)
      }
    },
    WriteContract("a place that a row moves to another id of the source is not deleted") { makeStore in
      let store = try await makeStore([.sample("here", 1, 1, source: "s", sourceID: "1", id: .sample(1))])
      let rows = [try ImportRow.sample("here", 1, 1, source: "s", sourceID: "2", id: .sample(1))]

      let report = try await store.importRows(
        rows.inOneBatch, options: ImportOptions(removal: .others(source: "s")))

      #expect((report.updated, report.deleted) == (1, 0))
      #expect(try await store.point(id: .sample(1))?.draft.origin?.sourceID == "2")
    },
    WriteContract("an atomic replacement with a rejected row changes nothing") { makeStore in
      let store = try await makeStore([
        .sample("one", 1, 1, source: "s", sourceID: "1"), .sample("two", 1, 1, source: "s", sourceID: "2"),
      ])
      let rows = [
        try ImportRow.sample("a", 1, 1, source: "s", sourceID: "1", number: 1),
        try .sample("b", 1, 1, source: "s", sourceID: "1", number: 2),
      ]

      let report = try await store.importRows(
        rows.inOneBatch, options: ImportOptions(mode: .atomic, removal: .others(source: "s")))

      #expect(report.rejected == 1 && report.deleted ?? 0 == 0)
      #expect(try await store.names(PointQuery()).sorted() == ["one", "two"])
    },
    WriteContract("deleted ids of a source are removed unless a row has them") { makeStore in
      let store = try await makeStore([
        .sample("one", 1, 1, source: "s", sourceID: "1"), .sample("two", 1, 1, source: "s", sourceID: "2"),
        .sample("three", 1, 1, source: "t", sourceID: "1"),
      ])
      let rows = [try ImportRow.sample("two again", 1, 1, source: "s", sourceID: "2")]

      let report = try await store.importRows(
        rows.inOneBatch,
        options: ImportOptions(removal: .places(source: "s") { ["1", "2", "3", "1"] }))

      #expect((report.updated, report.deleted) == (1, 1))
      #expect(try await store.names(PointQuery()).sorted() == ["three", "two again"])
    },
    WriteContract("many places of a source are replaced") { makeStore in
      let rows = try (0..<3_000).map {
        try ImportRow.sample("\($0)", 1, 1, source: "s", sourceID: "\($0)", number: $0 + 1)
      }
      let store = try await makeStore(rows)

      let report = try await store.importRows(
        Array(rows[..<700]).inOneBatch,
        options: ImportOptions(removal: .others(source: "s", limit: .percentage(100))))

      #expect((report.unchanged, report.deleted) == (700, 2_300))
      #expect(try await store.allPoints().count == 700)
    },
    WriteContract("places are put with growing versions while a replacement deletes thousands") { makeStore in
      let rows = try (1...1_500).map {
        try ImportRow.sample("\($0)", 1, 1, source: "s", sourceID: "\($0)", id: .sample(UInt64($0)), number: $0)
      }
      let store = try await makeStore(rows)

      try await withThrowingTaskGroup { group in
        group.addTask {
          _ = try await store.importRows(
            Array(rows[..<1]).inOneBatch,
            options: ImportOptions(removal: .others(source: "s", limit: .percentage(100))))
        }
        // Places that are deleted, and others.
        for number in 1_481...1_520 as ClosedRange<UInt64> {
          group.addTask {
            var version: Int64 = 0
            for round in 0..<5 {
              let point = try await store.put(try .sample("put \(round)"), id: .sample(number), if: .none).point
              #expect(point.version > version)
              version = point.version
            }
          }
        }
        try await group.waitForAll()
      }

      let places = try await store.allPoints()
      #expect(places.contains { $0.draft.name == "1" })
      #expect(places.count { $0.id > .sample(1_500) } == 20)
      #expect(places.allSatisfy { $0.id == .sample(1) || $0.draft.name == "put 4" })
    },
    WriteContract("a replacement that deletes more places than its limit changes nothing") { makeStore in
      func row(_ number: Int, _ source: String = "s", name: String = "old") throws -> ImportRow {
        try .sample(name, 1, 1, source: source, sourceID: "\(number)", number: number)
      }
      let store = try await makeStore(try (1...60).map { try row($0) } + [try row(1, "t")])
      let before = try await store.allPoints()
      let cut = try (1...47).map { try row($0, name: $0 < 3 ? "new" : "old") }

      for dryRun in [true, false] {
        let error = await #expect(throws: TooManyDeletions.self) {
          try await store.importRows(
            cut.inOneBatch, options: ImportOptions(dryRun: dryRun, removal: .others(source: "s")))
        }
        #expect((error?.total, error?.maximum, error?.report.deleted) == (60, 12, 13))
        #expect((error?.report.updated, error?.report.unchanged) == (2, 45))
      }
      #expect(try await store.allPoints() == before)
      let report = try await store.importRows(
        cut.inOneBatch, options: ImportOptions(removal: .others(source: "s", limit: .count(13))))
      #expect((report.updated, report.unchanged, report.deleted) == (2, 45, 13))
    },
    WriteContract("the place of a rejected row is kept, and a rejected row without an id counts as a deletion") {
      makeStore in
      func row(_ number: Int, _ name: String = "old", _ source: String = "s") throws -> ImportRow {
        try .sample(
          name, 1, 1, source: source, sourceID: "\(number)", id: .sample(UInt64(number) + (source == "s" ? 0 : 90)),
          number: number)
      }
      let store = try await makeStore(try (1...6).map { try row($0) } + [try row(1, "old", "t")])
      let before = try await store.allPoints()
      var rejected = RejectedPlaces()
      func reject(id: PointID? = nil, _ source: String = "s", _ sourceID: String? = nil) {
        let origin = sourceID.map { SourceReference(source: source, sourceID: $0) }
        _ = rejected.add(RejectedRow(number: 9, detail: "", id: id, origin: origin))
      }
      // Of one place twice, of an accepted one, of none, of another source, and two without an id.
      reject("s", "1")
      reject(id: .sample(1))
      reject(id: .sample(2), "s", "2")
      reject("s", "3")
      reject("s", "7")
      reject("t", "1")
      reject(id: nil)
      reject(id: nil)
      let rows = [try row(3, "new"), try row(4)]

      func options(_ limit: Int, mode: ImportMode = .partial, dryRun: Bool = false) -> ImportOptions {
        var options = ImportOptions(mode: mode, dryRun: dryRun, removal: .others(source: "s", limit: .count(limit)))
        options.rejected = { [rejected] in rejected }
        return options
      }
      for dryRun in [true, false] {
        let error = await #expect(throws: TooManyDeletions.self) {
          try await store.importRows(rows.inOneBatch, options: options(3, dryRun: dryRun))
        }
        #expect((error?.total, error?.maximum, error?.unknownRows, error?.report.deleted) == (6, 3, 2, 2))
      }
      #expect(try await store.allPoints() == before)
      let difference = try await store.importRows(rows.inOneBatch, options: options(4, dryRun: true))
      let report = try await store.importRows(rows.inOneBatch, options: options(4, mode: .atomic))
      let after = try await store.allPoints()
      // Nothing is deleted any more, so that no row can be the reason for it.
      let again = try await store.importRows(rows.inOneBatch, options: options(0))

      #expect(difference == report)
      #expect((report.created, report.updated, report.unchanged, report.rejected) == (0, 1, 1, 0))
      #expect((report.deleted, report.kept) == (2, 2))
      let kept = Set([1, 2, 3, 4, 91].map { PointID.sample($0) })
      #expect(Set(after.map(\.id)) == kept)
      #expect(after.filter { $0.id != .sample(3) } == before.filter { kept.contains($0.id) && $0.id != .sample(3) })
      #expect((again.deleted, again.kept) == (0, 2))
    },
    WriteContract("a row that the store rejects keeps the places that it means, unless another row counts instead") {
      makeStore in
      let store = try await makeStore(
        try (1...5).map { try .sample("old", 1, 1, source: "s", sourceID: "\($0)", id: .sample($0)) })
      let rows = [
        // Its id is that of one place, its origin that of another.
        try ImportRow.sample("both", 1, 1, source: "s", sourceID: "1", id: .sample(2), number: 1),
        try .sample("first", 1, 1, source: "s", sourceID: "3", number: 2),
        try .sample("last", 1, 1, source: "s", sourceID: "3", number: 3),
      ]

      let report = try await store.importRows(
        rows.inOneBatch, options: ImportOptions(removal: .others(source: "s", limit: .count(2))))

      #expect((report.updated, report.deleted, report.kept, report.rejected) == (1, 2, 2, 2))
      #expect(try await Set(store.allPoints().map(\.id)) == [.sample(1), .sample(2), .sample(3)])
    },
    WriteContract("the place of a rejected row is not moved to a row with a record of it") { makeStore in
      func row(_ name: String, _ sourceID: String, _ records: String) throws -> ImportRow {
        try .sample(name, 1, 1, tags: ["s:records": records], source: "s", sourceID: sourceID)
      }
      let store = try await makeStore([try row("old", "1", "a")])
      var options = ImportOptions(removal: .others(source: "s"))
      options.rejected = {
        var rejected = RejectedPlaces()
        _ = rejected.add(
          RejectedRow(number: 1, detail: "", id: nil, origin: SourceReference(source: "s", sourceID: "1")))
        return rejected
      }

      let report = try await store.importRows([try row("new", "2", "a")].inOneBatch, options: options)

      #expect((report.created, report.updated, report.deleted, report.kept) == (1, 0, 0, 1))
      #expect(try await Set(store.allPoints().map(\.draft.name)) == ["new", "old"])
    },
    WriteContract("a place whose source and sourceId come back has its former id and a greater version") { makeStore in
      let store = try await makeStore([])
      let options = ImportOptions(removal: .others(source: "s", limit: .percentage(100)))
      func rows(_ range: ClosedRange<Int>) throws -> [ImportRow] {
        try range.map { try .sample("\($0)", 1, 1, source: "s", sourceID: "\($0)", number: $0) }
      }
      func places() async throws -> [String: PointOfInterest] { try await store.pointsByName() }
      _ = try await store.importRows(try rows(1...6).inOneBatch, options: options)
      let first = try await places()
      let ids = first.mapValues(\.id)

      _ = try await store.importRows(try rows(1...2).inOneBatch, options: options)
      _ = try await store.importRows(try rows(1...6).inOneBatch, options: options)
      let replaced = try await places()
      for point in replaced.values { try await store.delete(id: point.id, if: .none) }
      let created = try await store.create(try .sample("1", sourceID: "1"), once: nil)
      let keyed = try await store.create(
        try .sample("2", sourceID: "2"), once: IdempotencyKey(text: "client/7", requestHash: 1))
      for number in 3...6 { _ = try await store.forgetEdits(of: try #require(ids["\(number)"])) }
      _ = try await store.importRows(try rows(3...6).inOneBatch, options: ImportOptions())
      let imported = try await places()
      _ = try await store.deleteBatch(ofSource: "s", after: nil)
      _ = try await store.importRows(try rows(1...6).inOneBatch, options: ImportOptions())
      let last = try await places()

      #expect(replaced.mapValues(\.id) == ids && imported.mapValues(\.id) == ids && last.mapValues(\.id) == ids)
      #expect(created.id == ids["1"] && keyed.id == ids["2"])
      for (name, point) in last {
        let versions = [first, replaced, imported].map { $0[name]?.version ?? .max } + [point.version]
        #expect(versions == versions.sorted())
        #expect(versions[2] > versions[1] && versions[3] > versions[2])
      }
    },
    WriteContract("writers of a source at once give each place its former id") { makeStore in
      let store = try await makeStore([])
      let all = try (1...40).map { try ImportRow.sample("\($0)", 1, 1, source: "s", sourceID: "\($0)", number: $0) }
      _ = try await store.importRows(all.inOneBatch, options: ImportOptions())
      let ids = try await store.pointsByName().mapValues(\.id)
      let whole = ImportOptions(removal: .others(source: "s", limit: .percentage(100)))

      for _ in 0..<5 {
        _ = try await store.deleteBatch(ofSource: "s", after: nil)
        try await withThrowingTaskGroup { group in
          for rows in [all, all.reversed(), Array(all[..<20]), Array(all[20...])] {
            group.addTask { _ = try await store.importRows(rows.inOneBatch, options: ImportOptions()) }
          }
          for rows in [all, Array(all[10...])] {
            group.addTask { _ = try await store.importRows(rows.inOneBatch, options: whole) }
          }
          for number in [1, 15, 30] {
            group.addTask {
              do {
                _ = try await store.create(try .sample("\(number)", sourceID: "\(number)"), once: nil)
              } catch PointWriteError.originTaken {
                // An import was faster.
              }
            }
          }
          try await group.waitForAll()
        }
        _ = try await store.importRows(all.inOneBatch, options: ImportOptions())

        #expect(try await store.pointsByName().mapValues(\.id) == ids)
        #expect(try await store.allPoints().count == all.count)
      }
    },
    WriteContract("the id of a deleted place stays with the place that has it now") { makeStore in
      let store = try await makeStore([.sample("old", 1, 1, source: "s", sourceID: "1", id: .sample(1))])
      try await store.delete(id: .sample(1), if: .none)
      _ = try await store.put(try .sample("other"), id: .sample(1), if: .none)
      let named = try ImportRow.sample("named", 1, 1, id: .sample(2), number: 2)

      let created = try await store.create(try .sample("new", sourceID: "1"), once: nil)
      try await store.delete(id: created.id, if: .none)
      try await store.delete(id: .sample(1), if: .none)
      _ = try await store.put(try .sample("again", sourceID: "2"), id: .sample(2), if: .none)
      try await store.delete(id: .sample(2), if: .none)
      _ = try await store.forgetEdits(of: .sample(2))
      let report = try await store.importRows(
        [try .sample("two", 1, 1, source: "s", sourceID: "2", number: 1), named].inOneBatch, options: ImportOptions())

      #expect(created.id != .sample(1))
      #expect(report.created == 2)
      #expect(try await store.point(id: .sample(2))?.draft.name == "named")
      #expect(try await store.pointsByName()["two"] != nil)
    },
    WriteContract("an import registers its sources, and a value that is not given stays") { makeStore in
      let store = try await makeStore([])
      let whole = DataSource(name: "s", licence: "L", attribution: "A", url: "https://example.org")
      let rows = [try ImportRow.sample("a", 1, 1, source: "s", sourceID: "1")]

      _ = try await store.importRows(rows.inOneBatch, options: ImportOptions(dryRun: true, sources: [whole]))
      #expect(try await store.sources().isEmpty)
      _ = try await store.importRows(
        rows.inOneBatch, options: ImportOptions(sources: [whole, DataSource(name: "a")]))
      _ = try await store.importRows(
        rows.inOneBatch, options: ImportOptions(sources: [DataSource(name: "s", attribution: "B")]))

      #expect(
        try await store.sources() == [
          DataSource(name: "a"), DataSource(name: "s", licence: "L", attribution: "B", url: "https://example.org"),
        ])
    },
    WriteContract("an import registers the source that it replaces, and none that only rows name") { makeStore in
      let store = try await makeStore([])
      let rows = [try ImportRow.sample("a", 1, 1, source: "s", sourceID: "1")]

      _ = try await store.importRows(rows.inOneBatch, options: ImportOptions())
      let before = try await store.sources()
      _ = try await store.importRows(rows.inOneBatch, options: ImportOptions(removal: .others(source: "s")))
      let replaced = try await store.sources()
      _ = try await store.importRows(
        rows.inOneBatch,
        options: ImportOptions(removal: .others(source: "s"), sources: [DataSource(name: "s", licence: "L")]))

      #expect(before.isEmpty)
      #expect(replaced == [DataSource(name: "s")])
      #expect(try await store.sources() == [DataSource(name: "s", licence: "L")])
    },
    WriteContract("the report of a replacement is returned again for its key") { makeStore in
      let store = try await makeStore([.sample("gone", 1, 1, source: "s", sourceID: "1")])
      let rows = [try ImportRow.sample("new", 1, 1, source: "s", sourceID: "2")]
      let options = ImportOptions(key: ImportKey(text: "k") { 1 }, removal: .others(source: "s"))

      let first = try await store.importRows(rows.inOneBatch, options: options)
      let repeated = try await store.importRows(rows.inOneBatch, options: options)

      #expect(first.deleted == 1 && repeated == first)
    },
  ]
}

extension PointStore {
  fileprivate func pointsByName() async throws -> [String: PointOfInterest] {
    Dictionary(try await allPoints().map { ($0.draft.name, $0) }) { $1 }
  }
}
