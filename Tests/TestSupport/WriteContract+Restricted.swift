import Points
import Testing

extension WriteContract {
  /// Imports by a caller who may not know of the places with the category `internal`.
  static let restrictedImports: [WriteContract] = [
    WriteContract("rows of places that the caller may not know of are rejected, and the others imported") { makeStore in
      let store = try await makeStore(try places())
      let before = try await store.allPoints()
      let rows = [
        try ImportRow.sample("by id", 1, 1, id: .sample(11), number: 1),
        try .sample("by origin", 1, 1, source: "s", sourceID: "12", number: 2),
        try .sample("by both", 1, 1, source: "s", sourceID: "13", id: .sample(13), number: 3),
        try .sample("two places", 1, 1, source: "s", sourceID: "14", id: .sample(1), number: 4),
        try .sample("leaves", 1, 1, category: "internal", source: "s", sourceID: "2", number: 5),
        try .sample("outside", 1, 1, category: "internal", source: "t", sourceID: "1", number: 6),
        try .sample("outside", 1, 1, category: "internal", number: 7),
        try .sample("changed", 1, 1, category: "bar", source: "s", sourceID: "3", number: 8),
        try .sample("new", 1, 1, source: "s", sourceID: "new", number: 9),
        try .sample("visible 4", 1, 1, source: "s", sourceID: "4", id: .sample(4), number: 10),
      ]
      let expected = [
        (1, ForbiddenChange.takenID), (2, ForbiddenChange.hiddenOwner), (3, ForbiddenChange.takenID),
        (4, ForbiddenChange.hiddenOwner), (5, ForbiddenChange.outside), (6, ForbiddenChange.outside),
        (7, ForbiddenChange.outside),
      ].map { RejectedRow(number: $0, detail: $1) }

      let atomic = try await store.importRows(rows.inOneBatch, options: restricted { $0.mode = .atomic })
      let dry = try await store.importRows(rows.inOneBatch, options: restricted { $0.dryRun = true })
      #expect(try await store.allPoints() == before)
      let report = try await store.importRows(rows.inOneBatch, options: restricted())

      #expect(report.rejections == expected)
      #expect((report.created, report.updated, report.unchanged, report.rejected) == (1, 1, 1, 7))
      #expect(dry == report)
      #expect(atomic.rejections == report.rejections && atomic.accepted == 0)
      let names = try await store.allPoints().map(\.draft.name)
      #expect(Set(names).isSuperset(of: ["new", "changed", "visible 1", "visible 2", "hidden 11", "hidden 14"]))
      #expect(names.count == before.count + 1)
    },
    WriteContract("rejections do not tell that an id and an origin belong to one hidden place") { makeStore in
      let store = try await makeStore(try places())
      func rows(_ id: UInt64, _ sourceID: String) throws -> [ImportRow] {
        [
          try .sample("by id", 1, 1, id: .sample(id), number: 1),
          try .sample("by origin", 1, 1, source: "s", sourceID: sourceID, number: 2),
        ]
      }

      let same = try await store.importRows(try rows(11, "11").inOneBatch, options: restricted())
      let different = try await store.importRows(try rows(11, "12").inOneBatch, options: restricted())

      #expect(same == different)
      #expect(same.rejections.map(\.detail) == [ForbiddenChange.takenID, ForbiddenChange.hiddenOwner])
    },
    WriteContract("import of a caller who may not know of some places is as if there were none") { makeStore in
      func row(_ number: Int) throws -> ImportRow {
        let key = number % 23
        // Every third one has an id, and every fourth one no origin.
        return try .sample(
          "row \(number % 5)", 1, 1, category: number % 7 == 0 ? "cafe" : nil, source: number % 4 == 0 ? nil : "s",
          sourceID: number % 4 == 0 ? nil : "\(key)", id: number % 3 == 0 ? .sample(UInt64(key)) : nil, number: number)
      }
      let known = try (1...9).map { try place($0, "visible") }
      let hidden = try (101...400).map { try place($0, "hidden", category: "internal", tags: ["s:records": "b\($0)"]) }
      let rows = try (1...120).map { try row($0) }
      let moved = try (0..<4).map {
        try ImportRow.sample(
          "moved", 1, 1, tags: ["s:records": "b\(200 + $0)"], source: "s", sourceID: "m\($0)", number: 121 + $0)
      }
      let (store, other) = (try await makeStore(known + hidden), try await makeStore(known))

      for removal in [ImportRemoval.others(source: "s", limit: .percentage(100)), nil] {
        let options = restricted { $0.removal = removal }
        let report = try await store.importRows((rows + moved).inOneBatch, options: options)
        let expected = try await other.importRows((rows + moved).inOneBatch, options: options)

        #expect(report == expected)
        let places = try await store.allPoints().filter { !isInternal($0) }.map(\.draft)
        #expect(Set(places) == Set(try await other.allPoints().map(\.draft)))
      }
      #expect(try await store.allPoints().filter(isInternal).count == hidden.count)
    },
    WriteContract("limit of deletions counts the places that the caller may know of") { makeStore in
      let known = try (1...60).map { try place($0, "visible") }
      let hidden = try (101...400).map { try place($0, "hidden", category: "internal") }
      let store = try await makeStore(known + hidden)
      let options = restricted { $0.removal = .others(source: "s") }

      let error = await #expect(throws: TooManyDeletions.self) {
        try await store.importRows(Array(known[..<40]).inOneBatch, options: options)
      }
      let outside = try ImportRow.sample("x", 1, 1, category: "internal", source: "s", sourceID: "1")
      await #expect(throws: EmptyReplacement.self) {
        try await store.importRows([outside].inOneBatch, options: options)
      }
      let report = try await store.importRows(Array(known[..<50]).inOneBatch, options: options)

      #expect((error?.total, error?.maximum, error?.report.deleted) == (60, 12, 20))
      #expect((report.unchanged, report.deleted) == (50, 10))
      #expect(try await store.allPoints().count == 350)
    },
    WriteContract("places whose rows are rejected for where they would be stay in a replaced source") { makeStore in
      let store = try await makeStore(try places())
      let rows = [
        try ImportRow.sample("leaves", 1, 1, category: "internal", source: "s", sourceID: "1", number: 1),
        try .sample("visible 2", 1, 1, source: "s", sourceID: "2", number: 2),
      ]

      let report = try await store.importRows(
        rows.inOneBatch, options: restricted { $0.removal = .others(source: "s") })

      #expect((report.unchanged, report.rejected, report.deleted) == (1, 1, 2))
      let names = try await store.allPoints().map(\.draft.name).sorted()
      #expect(names == ["hidden 11", "hidden 12", "hidden 13", "hidden 14", "visible 1", "visible 2"])
    },
    WriteContract("removal by ids leaves places that the caller may not know of") { makeStore in
      let store = try await makeStore(try places())

      let report = try await store.importRows(
        [try ImportRow.sample("new", 1, 1)].inOneBatch,
        options: restricted { $0.removal = .places(source: "s") { ["1", "11", "14", "2"] } })

      #expect((report.created, report.deleted) == (1, 2))
      let names = try await store.allPoints().map(\.draft.name).sorted()
      #expect(names == ["hidden 11", "hidden 12", "hidden 13", "hidden 14", "new", "visible 3", "visible 4"])
    },
    WriteContract("places are judged as the rows would leave them, with their id and time of creation") { makeStore in
      let store = try await makeStore(try places())
      let latest = try #require(try await store.allPoints().map(\.createdAt).max())
      var options = ImportOptions()
      options.admits = { points in points.map { $0.createdAt <= latest } }

      let report = try await store.importRows(
        [
          try ImportRow.sample("changed", 1, 1, source: "s", sourceID: "1", number: 1),
          try .sample("changed too", 1, 1, id: .sample(2), number: 2),
        ].inOneBatch, options: options)

      #expect((report.updated, report.rejected) == (2, 0))
    },
    WriteContract("error of the judgement ends the import") { makeStore in
      let store = try await makeStore(try places())
      let before = try await store.allPoints()
      var options = ImportOptions()
      options.admits = { _ throws(PointStoreError) in throw .filterTimeout }

      for row in [try ImportRow.sample("x", 1, 1, id: .sample(1)), try .sample("x", 1, 1)] {
        await #expect(throws: PointStoreError.filterTimeout) {
          try await store.importRows([row].inOneBatch, options: options)
        }
      }

      #expect(try await store.allPoints() == before)
    },
    WriteContract("place that leaves during an import is neither replaced nor deleted") { makeStore in
      let store = try await makeStore([try place(1, "start"), try place(2, "other")])
      let kept = try place(2, "other")
      let importing = Task {
        for number in 1...30 {
          let row = try ImportRow.sample("import \(number)", 1, 1, source: "s", sourceID: "1", number: 3)
          _ = try await store.importRows(
            (number.isMultiple(of: 2) ? [kept, row] : [kept]).inOneBatch,
            options: restricted { $0.removal = .others(source: "s", limit: .percentage(100)) })
        }
      }

      for number in 1...60 {
        let draft = try place(1, "writer \(number)", category: "internal").draft
        let hidden = try await store.put(draft, id: .sample(1), if: .none).point
        await Task.yield()
        // It is as it was written.
        let visible = try place(1, "writer \(number)").draft
        _ = try await store.put(visible, id: .sample(1), if: .versions([hidden.version]))
      }
      try await importing.value
    },
  ]

  private static func isInternal(_ point: PointOfInterest) -> Bool { point.draft.category == "internal" }

  private static func restricted(_ change: (inout ImportOptions) -> Void = { _ in }) -> ImportOptions {
    var options = ImportOptions()
    options.admits = { points in points.map { !isInternal($0) } }
    change(&options)
    return options
  }

  private static func place(
    _ number: Int, _ name: String, category: String? = nil, tags: KeyValuePairs<String, String> = [:]
  ) throws -> ImportRow {
    try .sample(
      name, 1, 1, category: category, tags: tags, source: "s", sourceID: "\(number)", id: .sample(UInt64(number)),
      number: number)
  }

  /// Four places that the caller may know of, and four others, of one data set.
  private static func places() throws -> [ImportRow] {
    try (1...4).map { try place($0, "visible \($0)") }
      + (11...14).map { try place($0, "hidden \($0)", category: "internal") }
  }
}
