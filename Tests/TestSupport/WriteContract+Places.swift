import Basics
import Geo
import JSONText
import Points
import Testing

extension WriteContract {
  static let creations: [WriteContract] = [
    WriteContract("created place is found by every kind of query") { makeStore in
      let store = try await makeStore([])
      let place = try PointDraft.sample(
        "caf\u{E9} \u{1F9ED}", 48, 16, category: "cafe", tags: ["k": "v"], sourceID: "1")

      let created = try await store.create(place, once: nil)

      #expect(created.draft == place)
      #expect(created.version >= 1)
      #expect(created.createdAt == created.updatedAt)
      #expect(try await store.point(id: created.id) == created)
      #expect(try await store.page(matching: try .near(48, 16)).points.map(\.point) == [created])
      #expect(try await store.page(matching: PointQuery(categories: ["cafe"])).points.map(\.point) == [created])
      #expect(try await store.page(matching: PointQuery()).points.map(\.point) == [created])
      #expect(try await store.point(shuffledAtOrAfter: 0) == created)
      #expect(try await store.categoryCounts() == [.init(category: "cafe", count: 1)])
    },
    WriteContract("text of another normal form is a change") { makeStore in
      let store = try await makeStore([])
      let composed = try PointDraft.sample(
        "caf\u{E9}", category: "caf\u{E9}", tags: ["\u{E9}": "\u{E9}"], sourceID: "\u{E9}")
      let decomposed = try PointDraft.sample(
        "cafe\u{301}", category: "cafe\u{301}", tags: ["e\u{301}": "e\u{301}"], sourceID: "e\u{301}")
      #expect(composed != decomposed)

      let created = try await store.create(composed, once: nil)
      let second = try await store.create(decomposed, once: nil)
      let changed = try await store.put(decomposed.withoutOrigin, id: created.id, if: .none).point

      #expect(second.id != created.id)
      #expect(try await store.point(id: created.id)?.draft == decomposed.withoutOrigin)
      #expect(changed.version > created.version)
      #expect(try await store.categoryCounts() == [.init(category: "cafe\u{301}", count: 2)])
    },
    WriteContract("each creation gives an id of its own") { makeStore in
      let store = try await makeStore([])
      let place = try PointDraft.sample("twin")

      let first = try await store.create(place, once: nil)
      let second = try await store.create(place, once: nil)

      #expect(first.id != second.id)
      #expect(try await store.allPoints().count == 2)
    },
    WriteContract("origin that a place has can't be created again") { makeStore in
      let store = try await makeStore([.sample("there", 1, 1, source: "s", sourceID: "1")])
      let before = try await store.allPoints()

      await #expect(throws: PointWriteError.originTaken) {
        try await store.create(try .sample("again", sourceID: "1"), once: nil)
      }

      #expect(try await store.allPoints() == before)
    },
    WriteContract("place is matched by an import with its origin") { makeStore in
      let store = try await makeStore([])
      let created = try await store.create(try .sample("old", sourceID: "1"), once: nil)

      let report = try await store.importRows([.sample("new", 1, 2, source: "s", sourceID: "1")])

      #expect(report.updated == 1)
      #expect(try await store.point(id: created.id)?.draft.name == "new")
      #expect(try #require(try await store.point(id: created.id)).version > created.version)
    },
  ]

  static let replacements: [WriteContract] = [
    WriteContract("put creates a place of an id that was not there") { makeStore in
      let store = try await makeStore([])

      let (point, wasCreated) = try await store.put(try .sample("new"), id: .sample(5), if: .none)

      #expect(wasCreated)
      #expect(point.id == .sample(5))
      #expect(point.version >= 1)
      #expect(try await store.point(id: .sample(5)) == point)
    },
    WriteContract("put replaces all of a place but its id and its creation") { makeStore in
      let store = try await makeStore([
        .sample("old", 1, 1, category: "cafe", tags: ["k": "v"], source: "s", sourceID: "1", id: .sample(5))
      ])
      let before = try #require(try await store.point(id: .sample(5)))

      let (point, wasCreated) = try await store.put(try .sample("new", 40, 50), id: .sample(5), if: .none)

      #expect(!wasCreated)
      #expect(point.draft == (try PointDraft.sample("new", 40, 50)))
      #expect(point.version > before.version)
      #expect(point.createdAt == before.createdAt)
      #expect(point.updatedAt >= before.updatedAt)
      #expect(try await store.point(id: .sample(5)) == point)
      #expect(try await store.names(try .near(1, 1, radiusMetres: 10)) == [])
      #expect(try await store.names(try .near(40, 50, radiusMetres: 10)) == ["new"])
      #expect(try await store.categoryCounts() == [])
    },
    WriteContract("put of what is there already changes nothing") { makeStore in
      let store = try await makeStore([.sample("same", 1, 2, tags: ["k": "v"], id: .sample(5))])
      let before = try #require(try await store.point(id: .sample(5)))

      let (point, wasCreated) = try await store.put(try .sample("same", tags: ["k": "v"]), id: .sample(5), if: .none)

      #expect(!wasCreated)
      #expect(point == before)
      #expect(try await store.point(id: .sample(5)) == before)
    },
    WriteContract("put of text that differs in its bytes alone is a change") { makeStore in
      let store = try await makeStore([.sample("caf\u{E9}", 1, 2, id: .sample(5))])
      let before = try #require(try await store.point(id: .sample(5)))

      let (point, _) = try await store.put(try .sample("cafe\u{301}"), id: .sample(5), if: .none)

      #expect(point.version > before.version)
    },
    WriteContract("put does what its condition allows and nothing else") { makeStore in
      let store = try await makeStore([.sample("there", 1, 2, id: .sample(1))])
      let first = try #require(try await store.point(id: .sample(1))).version
      let forbidden: [(PointID, WriteCondition, Int64?)] = [
        (.sample(1), .absent, first), (.sample(1), .versions([first + 1, first + 2]), first),
        (.sample(1), .versions([]), first), (.sample(2), .exists, nil), (.sample(2), .versions([first]), nil),
      ]
      for (id, condition, version) in forbidden {
        await #expect(throws: PointWriteError.conditionFailed(currentVersion: version)) {
          try await store.put(try .sample("new"), id: id, if: condition)
        }
      }
      #expect(try await store.names(PointQuery()) == ["there"])

      let second = try await store.put(try .sample("second"), id: .sample(1), if: .versions([first, first + 7]))
      let third = try await store.put(try .sample("third"), id: .sample(1), if: .exists)
      let other = try await store.put(try .sample("other"), id: .sample(2), if: .absent)

      #expect(first < second.point.version)
      #expect(second.point.version < third.point.version)
      #expect((second.wasCreated, third.wasCreated, other.wasCreated) == (false, false, true))
      #expect(try await store.names(PointQuery()) == ["third", "other"])
    },
    WriteContract("condition counts before the origin does") { makeStore in
      let store = try await makeStore([.sample("there", 1, 1, source: "s", sourceID: "1", id: .sample(1))])

      await #expect(throws: PointWriteError.conditionFailed(currentVersion: nil)) {
        try await store.put(try .sample("new", sourceID: "1"), id: .sample(2), if: .exists)
      }
    },
    WriteContract("put can't take another place's origin, and frees its own") { makeStore in
      let store = try await makeStore([
        .sample("one", 1, 1, source: "s", sourceID: "1", id: .sample(1)),
        .sample("two", 1, 1, source: "s", sourceID: "2", id: .sample(2)),
      ])

      await #expect(throws: PointWriteError.originTaken) {
        try await store.put(try .sample("new", sourceID: "1"), id: .sample(3), if: .none)
      }
      await #expect(throws: PointWriteError.originTaken) {
        try await store.put(try .sample("two", sourceID: "1"), id: .sample(2), if: .none)
      }
      _ = try await store.put(try .sample("one", sourceID: "3"), id: .sample(1), if: .none)
      _ = try await store.put(try .sample("two", sourceID: "1"), id: .sample(2), if: .none)

      #expect(try await store.point(id: .sample(1))?.draft.origin?.sourceID == "3")
      #expect(try await store.point(id: .sample(2))?.draft.origin?.sourceID == "1")
      #expect(try await store.point(id: .sample(3)) == nil)
    },
  ]

  static let removals: [WriteContract] = [
    WriteContract("removed place is found by no search, and its origin may be reused") { makeStore in
      let store = try await makeStore([
        .sample("gone", 1, 1, category: "cafe", source: "s", sourceID: "1", id: .sample(1)),
        .sample("stays", 1, 1, category: "bar", id: .sample(2)),
      ])

      try await store.delete(id: .sample(1), if: .none)

      #expect(try await store.point(id: .sample(1)) == nil)
      #expect(try await store.names(PointQuery()) == ["stays"])
      #expect(try await store.names(try .near(1, 1)) == ["stays"])
      #expect(try await store.names(PointQuery(categories: ["cafe"])) == [])
      #expect(try await store.categoryCounts() == [.init(category: "bar", count: 1)])
      #expect(try await store.point(shuffledAtOrAfter: PointID.sample(1).shuffleKey)?.id == .sample(2))
      #expect(try await store.create(try .sample("again", sourceID: "1"), once: nil).id == .sample(1))
    },
    WriteContract("removal of what is not there fails as not found, whatever the condition") { makeStore in
      let store = try await makeStore([])

      for condition in [WriteCondition.none, .exists, .versions([1])] {
        await #expect(throws: PointWriteError.notFound) { try await store.delete(id: .sample(1), if: condition) }
      }
    },
    WriteContract("removal does what its condition allows and nothing else") { makeStore in
      let store = try await makeStore([.sample("there", 1, 1, id: .sample(1))])
      let version = try #require(try await store.point(id: .sample(1))).version

      await #expect(throws: PointWriteError.conditionFailed(currentVersion: version)) {
        try await store.delete(id: .sample(1), if: .versions([version + 1]))
      }
      #expect(try await store.point(id: .sample(1)) != nil)
      try await store.delete(id: .sample(1), if: .versions([version]))

      #expect(try await store.point(id: .sample(1)) == nil)
    },
    WriteContract("removed place may come again, with a version above all that it had") { makeStore in
      let store = try await makeStore([.sample("first", 1, 1, id: .sample(1))])
      let (second, _) = try await store.put(try .sample("second"), id: .sample(1), if: .none)
      try await store.delete(id: .sample(1), if: .none)

      let (point, wasCreated) = try await store.put(try .sample("again"), id: .sample(1), if: .absent)

      #expect(wasCreated)
      #expect(point.version > second.version)
    },
  ]
}

extension PointDraft {
  /// A copy without an origin.
  fileprivate var withoutOrigin: PointDraft {
    PointDraft(storedName: name, category: category, coordinate: coordinate, tags: tags, origin: nil)
  }
}
