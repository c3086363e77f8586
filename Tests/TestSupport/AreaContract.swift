import Basics
import Geo
package import Points
import Testing

/// A behaviour that every store of areas must have; ``all`` of them are the contract.
package struct AreaContract: Sendable, CustomTestStringConvertible {
  /// Two views of one store, such as two instances.
  package typealias Stores = (first: any AreaStore, second: any AreaStore)

  package let testDescription: String
  private let body: @Sendable (Stores) async throws -> Void

  private init(_ behaviour: String, _ body: @escaping @Sendable (Stores) async throws -> Void) {
    testDescription = behaviour
    self.body = body
  }

  /// Records an issue for each deviation of a store.
  package func check(_ stores: Stores) async throws { try await body(stores) }

  /// Records an issue unless a data set stays on the list of a store while it has areas.
  package static func checkSourceOfAreas(_ store: any PointStore, _ areas: any AreaStore) async throws {
    try await store.register([DataSource(name: "s"), DataSource(name: "t")])
    let area = try await AreaEditor(areas).create(.sample("A", sourceID: "1"), once: nil)

    let other = try await store.removeSource(named: "t")
    let withArea = try await store.removeSource(named: "s")
    let kept = try await store.sources().map(\.name)
    try await AreaEditor(areas).delete(id: area.id, if: .none)
    let empty = try await store.removeSource(named: "s")

    #expect(other == .removed && withArea == .hasAreas && kept == ["s"])
    #expect(empty == .removed)
    #expect(try await store.sources().isEmpty)
  }

  package static let all = [
    AreaContract("an area is read as it was written, by both instances") { stores in
      let draft = try AreaDraft.sample("Wien", names: ["en": "Vienna", "fr": "Vienne"], kind: .city, sourceID: "7")

      let created = try await AreaEditor(stores.first).create(draft, once: nil)

      for store in [stores.first, stores.second] {
        let areas = try await store.areas(isCurrent: false)
        #expect(areas[created.id] == created)
        #expect(areas.all.map(\.draft) == [draft])
        #expect(areas.area(named: "VIENNE")?.id == created.id)
      }
    },
    AreaContract("versions grow with each change, through a deletion too") { stores in
      let (first, second) = (AreaEditor(stores.first), AreaEditor(stores.second))
      let id = PointID(high: 7, low: 8)
      let (created, wasCreated) = try await first.put(.sample("A"), id: id, if: .absent)
      let changed = try await second.put(.sample("B"), id: id, if: .versions([created.version])).area
      let same = try await first.put(.sample("B"), id: id, if: .none).area
      try await second.delete(id: id, if: .versions([changed.version]))
      let again = try await first.put(.sample("A"), id: id, if: .absent).area

      #expect(wasCreated && created.version < changed.version && changed.version < again.version)
      #expect(same == changed)
      #expect(changed.createdAt == created.createdAt)
      #expect(try await stores.second.areas(isCurrent: false).all == [again])
    },
    AreaContract("a condition that does not hold, an origin that is taken and a missing area are errors") { stores in
      let editor = AreaEditor(stores.first)
      let area = try await editor.create(.sample("A", sourceID: "1"), once: nil)
      let other = PointID(high: 1, low: 1)

      await #expect(throws: PointWriteError.originTaken) {
        _ = try await editor.create(.sample("B", sourceID: "1"), once: nil)
      }
      await #expect(throws: PointWriteError.originTaken) {
        _ = try await editor.put(.sample("B", sourceID: "1"), id: other, if: .none)
      }
      await #expect(throws: PointWriteError.conditionFailed(currentVersion: area.version)) {
        _ = try await editor.put(.sample("B"), id: area.id, if: .versions([area.version + 1]))
      }
      await #expect(throws: PointWriteError.conditionFailed(currentVersion: nil)) {
        _ = try await editor.put(.sample("B"), id: other, if: .exists)
      }
      await #expect(throws: PointWriteError.notFound) { try await editor.delete(id: other, if: .none) }
      #expect(try await stores.second.areas(isCurrent: false).all == [area])
    },
    AreaContract("of concurrent changes with one condition exactly one succeeds") { stores in
      let area = try await AreaEditor(stores.first).create(.sample("A"), once: nil)

      let successes = await withTaskGroup(of: Bool.self) { group in
        for number in 0..<12 {
          let editor = AreaEditor(number.isMultiple(of: 2) ? stores.first : stores.second)
          group.addTask {
            guard let draft = try? AreaDraft.sample("A\(number)") else { return false }
            let changed = try? await editor.put(draft, id: area.id, if: .versions([area.version]))
            return changed != nil
          }
        }
        return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }

      #expect(successes == 1)
    },
    AreaContract("concurrent creations all succeed") { stores in
      try await withThrowingTaskGroup { group in
        for number in 0..<12 {
          let editor = AreaEditor(number.isMultiple(of: 2) ? stores.first : stores.second)
          group.addTask { _ = try await editor.create(.sample("A\(number)", sourceID: "\(number)"), once: nil) }
        }
        try await group.waitForAll()
      }

      #expect(try await stores.first.areas(isCurrent: false).all.count == 12)
      #expect(try await stores.second.areas(isCurrent: false).all.count == 12)
    },
    AreaContract("an import is committed although others change areas all the time") { stores in
      let rows = try (1...20).map { number in
        AreaRow(number: number, id: nil, draft: try .sample("A\(number)", sourceID: "\(number)"))
      }

      let report = try await AreaEditor(BusyAreas(store: stores.first, other: stores.second)).importRows(rows)

      #expect(report.created == 20)
      #expect(try await stores.second.areas(isCurrent: false).all.count > 20)
    },
    AreaContract("a repeat with a key returns the first outcome, and another request with it is an error") { stores in
      let key = IdempotencyKey(text: "user:a", requestHash: 1)
      let importKey = IdempotencyKey(text: "user:b", requestHash: 2)
      let rows = [AreaRow(number: 1, id: nil, draft: try .sample("B", sourceID: "b"))]

      let created = try await AreaEditor(stores.first).create(.sample("A"), once: key)
      let repeated = try await AreaEditor(stores.second).create(.sample("A"), once: key)
      let report = try await AreaEditor(stores.first).importRows(rows, once: importKey)
      let repeatedReport = try await AreaEditor(stores.second).importRows(rows, once: importKey)

      let replacementKey = IdempotencyKey(text: "user:c", requestHash: 3)
      let others = [AreaRow(number: 1, id: nil, draft: try .sample("D", sourceID: "d"))]
      let replacement = (source: try #require(others[0].draft.origin).source, limit: DeletionLimit.percentage(100))
      let replaced = try await AreaEditor(stores.first).importRows(
        others, once: replacementKey, replacing: replacement)
      let repeatedReplacement = try await AreaEditor(stores.second).importRows(
        others, once: replacementKey, replacing: replacement)

      #expect(repeated == created)
      #expect(report.created == 1 && repeatedReport == report)
      #expect(replaced.deleted == 1 && repeatedReplacement == replaced)
      await #expect(throws: PointWriteError.keyReused) {
        _ = try await AreaEditor(stores.second).create(
          .sample("C"), once: IdempotencyKey(text: "user:a", requestHash: 9))
      }
      #expect(try await stores.second.areas(isCurrent: false).all.count == 2)
    },
    AreaContract("an import replaces by id and origin, and rejects what means one area twice") { stores in
      let editor = AreaEditor(stores.first)
      let kept = try await editor.create(.sample("Kept", sourceID: "1"), once: nil)
      let id = PointID(high: 5, low: 5)
      let rows = try [
        AreaRow(number: 1, id: nil, draft: .sample("Kept", sourceID: "1")),
        AreaRow(number: 2, id: id, draft: .sample("First")),
        AreaRow(number: 3, id: id, draft: .sample("Last")),
        AreaRow(number: 4, id: nil, draft: .sample("New", sourceID: "2")),
        AreaRow(number: 5, id: PointID(high: 6, low: 6), draft: .sample("Other", sourceID: "1")),
      ]

      let tried = try await editor.importRows(rows, dryRun: true)
      let refused = try await editor.importRows(rows, mode: .atomic)
      let before = try await stores.second.areas(isCurrent: false).all
      let report = try await editor.importRows(rows)

      #expect(before == [kept])
      #expect(tried == report)
      #expect(refused.created == 0 && refused.rejected == 2)
      #expect(report.created == 2 && report.unchanged == 1 && report.rejected == 2)
      #expect(report.rejections.map(\.number) == [2, 5])
      let areas = try await stores.second.areas(isCurrent: false)
      #expect(areas[id]?.draft.name == "Last")
      #expect(areas[kept.id] == kept)
      // The id of an origin is the same after a deletion.
      let new = try #require(areas.area(named: "New"))
      try await editor.delete(id: new.id, if: .none)
      #expect(try await editor.create(.sample("New", sourceID: "2"), once: nil).id == new.id)
    },
    AreaContract("a place is in the areas around it, the smallest first") { stores in
      let editor = AreaEditor(stores.first)
      let large = try await editor.create(.sample("Large", degrees: 4, kind: .country), once: nil)
      let small = try await editor.create(.sample("Small", degrees: 1, kind: .city), once: nil)
      _ = try await editor.create(.sample("Elsewhere", latitude: -40), once: nil)

      let areas = try await stores.second.areas(isCurrent: false)

      let inBoth = try Coordinate(latitude: 48.2, longitude: 16.2)
      let inLarge = try Coordinate(latitude: 51, longitude: 19)
      #expect(try areas.containing(inBoth).map(\.id) == [small.id, large.id])
      #expect(try areas.containing(inBoth, kind: .country).map(\.id) == [large.id])
      #expect(try areas.containing(inLarge).map(\.id) == [large.id])
      #expect(try areas.containing(Coordinate(latitude: 0, longitude: 0)).isEmpty)
    },
  ]
}

extension AreaDraft {
  /// Returns a square with its south-western corner at a latitude and 16 degrees east.
  ///
  /// - Throws: an error if it is invalid.
  package static func sample(
    _ name: String, names: KeyValuePairs<String, String> = [:], latitude: Double = 48, degrees: Double = 1,
    kind: AreaKind = .custom, level: Int? = nil, importance: Double = 0, sourceID: String? = nil
  ) throws -> AreaDraft {
    let ring = try [(0.0, 0.0), (0, degrees), (degrees, degrees), (degrees, 0)].map {
      try Coordinate(latitude: latitude + $0.0, longitude: 16 + $0.1)
    }
    return try AreaDraft(
      name: name, names: try Tags(names.map { ($0.key, $0.value) }), kind: kind, level: level, importance: importance,
      outline: try AreaOutline(polygons: [[ring]], isMultiple: false), source: sourceID == nil ? nil : "s",
      sourceID: sourceID)
  }
}

/// A store of areas in which another change comes before each one that is decided on earlier areas.
private struct BusyAreas: AreaStore {
  let store: any AreaStore
  let other: any AreaStore

  func areas(isCurrent: Bool, notBefore position: String?) async throws(PointStoreError) -> Areas {
    try await store.areas(isCurrent: isCurrent, notBefore: position)
  }

  func recentAreas() -> Areas? { store.recentAreas() }

  func record(of key: IdempotencyKey) async throws(PointWriteError) -> IdempotencyRecord? {
    try await store.record(of: key)
  }

  func commit(
    _ change: AreaChange, onto version: Int64, for client: String?
  ) async throws(PointStoreError) -> Areas? {
    do {
      _ = try await AreaEditor(other).create(.sample("Other"), once: nil)
    } catch {
      throw .unexpected(reason: "\(error)")
    }
    return try await store.commit(change, onto: version, for: client)
  }

  func commitDespiteOthers(
    for client: String?, _ decide: (Areas) async throws(PointWriteError) -> AreaChange
  ) async throws(PointWriteError) -> Areas {
    try await store.commitDespiteOthers(for: client, decide)
  }
}
