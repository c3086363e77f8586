import Basics
import Geo
import Points
import Testing

extension WriteContract {
  /// The behaviours of edits of places of a data set, which imports keep.
  static let edits: [WriteContract] = [
    WriteContract("an import keeps the edited fields of a place, and takes the others") { makeStore in
      let store = try await makeStore([try row("old", category: "cafe")])
      let edited = try await store.put(try draft("mine", category: "cafe"), id: .sample(1), if: .none).point
      let edit = FieldEdit(field: .name, base: .text("old"), since: edited.updatedAt)

      let report = try await store.importRows([try row("old", category: "bar")])

      let point = try #require(try await store.point(id: .sample(1)))
      #expect((report.updated, report.keptEdits, report.conflicts) == (1, 1, 0))
      #expect(point.draft == (try draft("mine", category: "bar")))
      #expect(try await store.edits(of: .sample(1)) == edits([edit]))
    },
    WriteContract("an edit that the data set has changed too is a conflict until a client writes the place") {
      makeStore in
      let store = try await makeStore([try row("old")])
      let edited = try await store.put(try draft("mine"), id: .sample(1), if: .none).point
      let conflict = FieldEdit(field: .name, base: .text("new"), since: edited.updatedAt, isConflict: true)

      let report = try await store.importRows([try row("new")])
      let again = try await store.importRows([try row("new")])
      let found = try await store.edits(of: .sample(1))
      let confirmed = try await store.put(try draft("mine"), id: .sample(1), if: .none).point
      let edit = try #require(try await store.edits(of: .sample(1))?.edits.first)

      #expect((report.unchanged, report.keptEdits, report.conflicts) == (1, 1, 1))
      #expect((again.unchanged, again.keptEdits, again.conflicts) == (1, 1, 0))
      #expect(found == edits([conflict]))
      #expect(confirmed == edited)
      #expect(!edit.isConflict && edit.base == .text("new") && edit.since >= edited.updatedAt)
    },
    WriteContract("an import that takes the values of its source in conflicts keeps the edits that are none") {
      makeStore in
      let store = try await makeStore([try row("old", category: "cafe")])
      _ = try await store.put(try draft("mine", category: "bar"), id: .sample(1), if: .none)
      var options = ImportOptions()
      options.conflicts = .source

      let report = try await store.importRows([try row("new", category: "cafe")].inOneBatch, options: options)

      #expect((report.updated, report.keptEdits, report.conflicts) == (1, 1, 0))
      #expect(try await store.point(id: .sample(1))?.draft == (try draft("new", category: "bar")))
      #expect(try await store.edits(of: .sample(1))?.edits.map(\.field) == [.category])
    },
    WriteContract("a deleted place stays deleted until its deletion is forgotten, and has its id again") { makeStore in
      let store = try await makeStore([try row("old")])
      let former = try #require(try await store.point(id: .sample(1)))
      try await store.delete(id: .sample(1), if: .none)

      let report = try await store.importRows([try row("new")])
      let kept = try await store.edits(matching: EditQuery(limit: 10)).places
      let places = try await store.allPoints()
      let forgotten = try await store.forgetEdits(of: .sample(1))
      let again = try await store.importRows([try ImportRow.sample("new", 1, 1, source: "s", sourceID: "1")])

      #expect((report.created, report.unchanged, report.keptEdits) == (0, 1, 1) && places.isEmpty)
      #expect(kept.map(\.id) == [.sample(1)] && kept.allSatisfy(\.isDeletion))
      #expect(forgotten == nil && again.created == 1 && again.keptEdits == 0)
      let point = try #require(try await store.point(id: .sample(1)))
      #expect(point.draft.name == "new" && point.version > former.version)
    },
    WriteContract("a complete import without a deleted place forgets its deletion, unless a rejected row may mean it") {
      makeStore in
      let store = try await makeStore(try (1...5).map { try row("old", $0) })
      for number in [1, 2, 3, 5] as [UInt64] { try await store.delete(id: .sample(number), if: .none) }
      func deleted() async throws -> [String] {
        try await store.edits(matching: EditQuery(limit: 10)).places.map(\.origin.sourceID)
      }
      func options(_ rejected: RejectedPlaces, _ admits: PointJudge? = nil) -> ImportOptions {
        var options = ImportOptions(removal: .others(source: "s", limit: .percentage(100)))
        options.rejected = { rejected }
        options.admits = admits
        return options
      }
      let rows = [try row("old", 1), try row("old", 4)]
      var (known, unknown) = (RejectedPlaces(), RejectedPlaces())
      _ = known.add(
        RejectedRow(number: 9, detail: "", id: nil, origin: SourceReference(source: "s", sourceID: "2")))
      _ = known.add(RejectedRow(number: 10, detail: "", id: .sample(5), origin: nil))
      _ = unknown.add(RejectedRow(number: 9, detail: "", id: nil, origin: nil))

      var found: [[String]] = []
      _ = try await store.importRows(rows)
      found.append(try await deleted())
      _ = try await store.importRows(rows.inOneBatch, options: options(unknown))
      found.append(try await deleted())
      _ = try await store.importRows(rows.inOneBatch, options: options(RejectedPlaces()) { $0.map { _ in true } })
      found.append(try await deleted())
      _ = try await store.importRows(rows.inOneBatch, options: options(known))
      found.append(try await deleted())
      _ = try await store.importRows(rows.inOneBatch, options: options(RejectedPlaces()))
      found.append(try await deleted())

      let all = ["1", "2", "3", "5"]
      #expect(found == [all, all, all, ["1", "2", "5"], ["1"]])
    },
    WriteContract("a removal of named places forgets their deletions, but for those of its rows") { makeStore in
      let store = try await makeStore(try (1...3).map { try row("old", $0) })
      for number in 1...3 as ClosedRange<UInt64> { try await store.delete(id: .sample(number), if: .none) }
      let removal = ImportRemoval.places(source: "s") { ["1", "2", "9"] }

      let report = try await store.importRows([try row("old", 2)].inOneBatch, options: ImportOptions(removal: removal))

      #expect((report.created, report.keptEdits, report.deleted) == (0, 1, 0))
      let deleted = try await store.edits(matching: EditQuery(limit: 10)).places
      #expect(deleted.map(\.origin.sourceID) == ["2", "3"])
    },
    WriteContract("a data set that is removed has no deletions") { makeStore in
      let other = try ImportRow.sample("other", 1, 1, source: "t", sourceID: "1", id: .sample(3))
      let store = try await makeStore([try row("old"), other])
      try await store.register([DataSource(name: "s")])
      for id in [1, 3] as [UInt64] { try await store.delete(id: .sample(id), if: .none) }

      #expect(try await store.removeSource(named: "s") == .removed)

      #expect(try await store.edits(matching: EditQuery(limit: 10)).places.map(\.id) == [.sample(3)])
      #expect(try await store.importRows([try row("new")]).created == 1)
    },
    WriteContract("fields of forgotten edits have the last values of their source, in a new version") { makeStore in
      let store = try await makeStore([try row("old", category: "cafe", tags: ["a": "1", "b": "1"])])
      let edited = try await store.put(
        try PointDraft.sample("mine", 50, 60, tags: ["b": "2", "c": "3"], sourceID: "1"), id: .sample(1), if: .none
      ).point

      let point = try await store.forgetEdits(of: .sample(1))

      #expect(point?.draft == (try row("old", category: "cafe", tags: ["a": "1", "b": "1"]).draft))
      #expect(point?.version ?? 0 > edited.version)
      #expect(try await store.point(id: .sample(1)) == point)
      #expect(try await store.edits(of: .sample(1)) == nil)
      await #expect(throws: PointWriteError.notFound) { try await store.forgetEdits(of: .sample(1)) }
    },
    WriteContract("a write as the source of a place keeps its edits, and is none") { makeStore in
      let store = try await makeStore([try row("old", category: "cafe")])
      _ = try await store.put(try draft("mine", category: "cafe"), id: .sample(1), if: .none)

      let point = try await store.put(try draft("new", category: "bar"), id: .sample(1), if: .none, as: .source).point

      #expect(point.draft == (try draft("mine", category: "bar")))
      let edit = try #require(try await store.edits(of: .sample(1))?.edits.first)
      #expect((edit.field, edit.base, edit.isConflict) == (.name, .text("new"), true))
      #expect(try await store.edits(of: .sample(1))?.edits.count == 1)
    },
    WriteContract("a write as the source brings no deleted place back, and a repeat has the first outcome") {
      makeStore in
      let store = try await makeStore([try row("old")])
      let key = IdempotencyKey(text: "client:1", requestHash: 1)
      let other = try PointDraft.sample("other", 1, 1, sourceID: "2")
      let created = try await store.create(other, once: key, reusingID: true, as: .source)
      try await store.delete(id: .sample(1), if: .none)
      try await store.delete(id: created.id, if: .none)
      let place = try draft("new")

      let refusal = PointWriteError.deletedByClient(id: .sample(1))
      await #expect(throws: refusal) { try await store.create(place, once: nil, reusingID: true, as: .source) }
      await #expect(throws: refusal) { try await store.put(place, id: .sample(1), if: .none, as: .source) }
      await #expect(throws: refusal) { try await store.put(place, id: .sample(9), if: .absent, as: .source) }
      let repeated = try await store.create(other, once: key, reusingID: true, as: .source)

      #expect(repeated.id == created.id)
      #expect(try await store.allPoints().isEmpty)
      #expect(try await store.edits(matching: EditQuery(limit: 10)).places.map(\.id).contains(.sample(1)))
      #expect(try await store.put(place, id: .sample(1), if: .none).wasCreated)
    },
    WriteContract("a deletion as the source forgets the edits, and an import brings the place back") { makeStore in
      let store = try await makeStore([try row("old")])
      _ = try await store.put(try draft("mine"), id: .sample(1), if: .none)
      var batch = PointBatch([.delete(id: .sample(1), if: .none)])
      batch.forgetsDeletions = true

      #expect(try await store.apply(batch) == [.deleted(.sample(1))])
      let edits = try await store.edits(matching: EditQuery(limit: 10))
      let report = try await store.importRows([try row("new")])

      #expect(edits == EditPage(places: [], hasMore: false))
      #expect(report.created == 1 && report.keptEdits == 0)
    },
    WriteContract("edits end with the origin of the place, by a write and by an import") { makeStore in
      let store = try await makeStore([try row("old", 1), try row("old", 2)])
      for number in 1...2 {
        _ = try await store.put(try draft("mine", number), id: .sample(UInt64(number)), if: .none)
      }

      _ = try await store.put(try .sample("mine"), id: .sample(1), if: .none)
      let report = try await store.importRows([
        .sample("moved", 1, 1, source: "s", sourceID: "3", id: .sample(2))
      ])

      #expect((report.updated, report.keptEdits) == (1, 0))
      #expect(try await store.point(id: .sample(2))?.draft.name == "moved")
      #expect(try await store.edits(matching: EditQuery(limit: 10)).places.isEmpty)
    },
    WriteContract(
      "a row with the id of a place ends the deletion of its origin, and one with a deleted id that of the id"
    ) { makeStore in
      let store = try await makeStore([try row("old", 1), try row("old", 2), .sample("other", 1, 1, id: .sample(9))])
      for number in 1...2 as ClosedRange<UInt64> { try await store.delete(id: .sample(number), if: .none) }

      let report = try await store.importRows([
        .sample("named", 1, 1, source: "s", sourceID: "1", id: .sample(9), number: 1),
        .sample("new", 1, 1, id: .sample(2), number: 2),
      ])

      #expect((report.created, report.updated, report.keptEdits) == (1, 1, 0))
      #expect(try await store.edits(matching: EditQuery(limit: 10)).places.isEmpty)
    },
    WriteContract("places that changed since a time are taken for edited where their rows differ") { makeStore in
      let store = try await makeStore([
        try row("old", 1, category: "cafe"), try row("old", 2, category: "cafe"), try row("same", 3),
      ])
      let before = try await store.allPoints()
      let since = try #require(before.map(\.updatedAt).max())
      let rows = [
        try row("old", 1, category: "bar", tags: ["a": "1"]), try row("old", 2, category: "cafe"), try row("same", 3),
      ]
      var options = ImportOptions()
      (options.dryRun, options.assumeEditedSince) = (true, since.adding(.seconds(3600)))
      let later = try await store.importRows(rows.inOneBatch, options: options)
      (options.dryRun, options.assumeEditedSince) = (false, Timestamp(microsecondsSinceEpoch: 0))

      let report = try await store.importRows(rows.inOneBatch, options: options)

      #expect((later.updated, later.keptEdits) == (1, 0))
      #expect((report.unchanged, report.keptEdits, report.conflicts) == (3, 1, 0))
      #expect(try await store.allPoints() == before)
      let updatedAt = try #require(before.first { $0.id == .sample(1) }).updatedAt
      #expect(
        try await store.edits(of: .sample(1))
          == edits([
            FieldEdit(field: .category, base: .text("bar"), since: updatedAt),
            FieldEdit(field: .tag("a"), base: .text("1"), since: updatedAt),
          ]))
      #expect(try await store.edits(of: .sample(2)) == nil)
    },
    WriteContract("a field that a file does not have is no removal of an edited value") { makeStore in
      let store = try await makeStore([try row("old", tags: ["a": "1", "b": "1"])])
      _ = try await store.put(
        try row("old", category: "cafe", tags: ["a": "2", "b": "1", "c": "3"]).draft, id: .sample(1), if: .none)
      let given = GivenFields(hasCategory: false, tagKeys: ["a"])
      let draft = try row("old", tags: ["a": "1"]).draft

      let report = try await store.importRows([ImportRow(number: 1, id: nil, draft: draft, given: given)])

      #expect((report.updated, report.keptEdits, report.conflicts) == (1, 1, 0))
      let point = try #require(try await store.point(id: .sample(1)))
      #expect(point.draft == (try row("old", category: "cafe", tags: ["a": "2", "c": "3"]).draft))
      #expect(
        try await store.edits(of: .sample(1))?.edits.map(\.field) == [.category, .tag("a"), .tag("c")])
    },
    WriteContract("edited tags that leave no room for those of a row are forgotten, and other edits are not") {
      makeStore in
      func row(_ tags: Int) throws -> ImportRow {
        ImportRow(
          number: 1, id: .sample(1),
          draft: try PointDraft(
            name: "old", coordinate: Coordinate(latitude: 1, longitude: 1),
            tags: try Tags((0..<tags).map { ("t\($0)", "1") }), source: "s", sourceID: "1"))
      }
      let store = try await makeStore([try row(1)])
      _ = try await store.put(
        try .sample("mine", 1, 1, tags: ["mine": "1", "t0": "1"], sourceID: "1"), id: .sample(1), if: .none)

      let full = try await store.importRows([try row(Tags.maximumCount - 1)])
      let kept = try await store.edits(of: .sample(1))?.edits.map(\.field)
      let over = try await store.importRows([try row(Tags.maximumCount)])

      #expect(kept == [.name, .tag("mine")])
      #expect((full.keptEdits, over.keptEdits) == (1, 1))
      #expect(try await store.edits(of: .sample(1))?.edits.map(\.field) == [.name])
      #expect(try await store.point(id: .sample(1))?.draft.tags == (try row(Tags.maximumCount).draft.tags))
    },
    WriteContract("a dry run and an atomic import that is rejected change no edits") { makeStore in
      let store = try await makeStore([try row("old", 1), try row("old", 2)])
      _ = try await store.put(try draft("mine"), id: .sample(1), if: .none)
      try await store.delete(id: .sample(2), if: .none)
      let before = try await store.edits(matching: EditQuery(limit: 10))
      let repeated = ImportRow(number: 2, id: .sample(1), draft: try row("new", tags: ["a": "1"]).draft)
      let rows = [try row("new"), repeated]
      let removal = ImportRemoval.others(source: "s", limit: .percentage(100))

      for options in [ImportOptions(dryRun: true, removal: removal), ImportOptions(mode: .atomic, removal: removal)] {
        let report = try await store.importRows(rows.inOneBatch, options: options)

        #expect(report.keptEdits == (options.dryRun ? 1 : 0) && report.conflicts == report.keptEdits)
        #expect(try await store.edits(matching: EditQuery(limit: 10)) == before)
      }
    },
    WriteContract("the report of an import with edits is returned again for its key") { makeStore in
      let store = try await makeStore([try row("old")])
      _ = try await store.put(try draft("mine"), id: .sample(1), if: .none)
      let options = ImportOptions(key: ImportKey(text: "client/1") { 1 })

      let first = try await store.importRows([try row("new")].inOneBatch, options: options)
      let repeated = try await store.importRows([try row("new")].inOneBatch, options: options)

      #expect((first.keptEdits, first.conflicts) == (1, 1) && repeated == first)
    },
    WriteContract("a removed data set has no edits and no deletions") { makeStore in
      let store = try await makeStore([
        try row("old", 1), try row("old", 2), .sample("other", 1, 1, source: "t", sourceID: "1", id: .sample(3)),
      ])
      _ = try await store.put(try draft("mine"), id: .sample(1), if: .none)
      try await store.delete(id: .sample(2), if: .none)
      try await store.delete(id: .sample(3), if: .none)

      let batch = try await store.deleteBatch(ofSource: "s", after: nil)
      let report = try await store.importRows([try row("new", 1), try row("new", 2)])

      #expect(batch.count == 1)
      #expect(report.created == 2)
      #expect(try await store.edits(matching: EditQuery(limit: 10)).places.map(\.id) == [.sample(3)])
    },
    WriteContract("an edit during an import is in the place afterwards") { makeStore in
      let store = try await makeStore(try (1...20).map { try row("import 0", $0) })

      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          for round in 1...15 {
            let rows = try (1...20).map { try row("import \(round)", $0, tags: ["round": "\(round)"]) }
            _ = try await store.importRows(rows)
          }
        }
        group.addTask {
          for number in 1...20 {
            let id = PointID.sample(UInt64(number))
            _ = try await store.apply(
              PointBatch([
                .update(id: id, if: .none) { point throws(RejectedOperation) in
                  guard let draft = point.draft.setting([.category: .text("mine")]) else {
                    throw RejectedOperation(text: "too many tags")
                  }
                  return draft
                }
              ]))
            await Task.yield()
          }
        }
        try await group.waitForAll()
      }

      for point in try await store.allPoints() {
        #expect(point.draft.category == "mine")
        #expect(point.draft.name == "import 15" && point.draft.tags["round"] == "15")
      }
      let edited = try await store.edits(matching: EditQuery(limit: 100)).places
      #expect(edited.count == 20)
      #expect(edited.allSatisfy { $0.edits.map(\.field) == [.category] && $0.edits[0].base == FieldValue.none })
    },
    WriteContract("random edits and imports have the effects of the reference") { makeStore in
      try await RandomEdits.check(seed: 1, steps: 150, try await makeStore([]))
    },
  ]

  /// A row of the place of a number in the data set `s`.
  private static func row(
    _ name: String, _ number: Int = 1, category: String? = nil, tags: KeyValuePairs<String, String> = [:]
  ) throws -> ImportRow {
    try .sample(
      name, 1, 1, category: category, tags: tags, source: "s", sourceID: "\(number)", id: .sample(UInt64(number)),
      number: number)
  }

  /// The values of a client for the place of a number.
  private static func draft(_ name: String, _ number: Int = 1, category: String? = nil) throws -> PointDraft {
    try row(name, number, category: category).draft
  }

  /// The edits of the place of the number 1.
  private static func edits(_ edits: [FieldEdit]) -> PlaceEdits {
    PlaceEdits(id: .sample(1), origin: SourceReference(source: "s", sourceID: "1"), edits: edits)
  }
}
