import Points
import Testing

extension WriteContract {
  static let keys: [WriteContract] = [
    WriteContract("creation with a key runs once, and its retry returns the first result") { makeStore in
      let store = try await makeStore([])
      let key = IdempotencyKey(text: "client/1", requestHash: .max)
      let first = try await store.create(try .sample("caf\u{E9}", tags: ["k": "v"], sourceID: "1"), once: key)

      let repeated = try await store.create(try .sample("caf\u{E9}", tags: ["k": "v"], sourceID: "1"), once: key)

      #expect(repeated == first)
      #expect(try await store.allPoints() == [first])
    },
    WriteContract("retry returns the first result even if the place has since changed or been deleted") { makeStore in
      let store = try await makeStore([])
      let place = try PointDraft.sample("first")
      let key = IdempotencyKey(text: "client/1", requestHash: 1)
      let first = try await store.create(place, once: key)
      _ = try await store.put(try .sample("second"), id: first.id, if: .none)

      let afterChange = try await store.create(place, once: key)
      try await store.delete(id: first.id, if: .none)
      let afterRemoval = try await store.create(place, once: key)

      #expect(afterChange == first)
      #expect(afterRemoval == first)
      #expect(try await store.allPoints().isEmpty)
    },
    WriteContract("key of another request is rejected") { makeStore in
      let store = try await makeStore([])
      _ = try await store.create(try .sample("first"), once: .init(text: "client/1", requestHash: 1))

      await #expect(throws: PointWriteError.keyReused) {
        try await store.create(try .sample("second"), once: .init(text: "client/1", requestHash: 2))
      }
      _ = try await store.create(try .sample("third"), once: .init(text: "client/2", requestHash: 2))

      #expect(Set(try await store.allPoints().map(\.draft.name)) == ["first", "third"])
    },
    WriteContract("creation that failed does not use its key up") { makeStore in
      let store = try await makeStore([.sample("there", 1, 1, source: "s", sourceID: "1", id: .sample(1))])
      let key = IdempotencyKey(text: "client/1", requestHash: 1)
      await #expect(throws: PointWriteError.originTaken) {
        try await store.create(try .sample("new", sourceID: "1"), once: key)
      }
      try await store.delete(id: .sample(1), if: .none)

      let created = try await store.create(try .sample("new", sourceID: "1"), once: key)

      #expect(try await store.allPoints() == [created])
    },
    WriteContract("requests of one key at the same time create one place") { makeStore in
      let store = try await makeStore([])
      let key = IdempotencyKey(text: "client/1", requestHash: 1)
      let place = try PointDraft.sample("one")

      let outcomes = await atOnce(30) { _ throws(PointWriteError) in try await store.create(place, once: key).id }

      let created = try await store.allPoints()
      #expect(created.count == 1)
      for outcome in outcomes {
        switch outcome {
        case .success(let id): #expect(id == created.first?.id)
        case .failure(let error): #expect(error == .keyInFlight)
        }
      }
      #expect(outcomes.contains { (try? $0.get()) != nil })
    },
  ]

  static let races: [WriteContract] = [
    WriteContract("of 50 puts conditional on one version exactly one succeeds") { makeStore in
      let store = try await makeStore([.sample("start", 1, 1, id: .sample(1))])
      let start = try #require(try await store.point(id: .sample(1))).version

      let outcomes = await atOnce(50) { number throws(PointWriteError) in
        try await store.put(samplePlace("writer \(number)"), id: .sample(1), if: .versions([start])).point
      }

      let winners = outcomes.compactMap { try? $0.get() }
      #expect(winners.count == 1)
      let winner = try #require(winners.first)
      #expect(winner.version > start)
      #expect(try await store.point(id: .sample(1)) == winner)
      let losses = outcomes.count { $0 == .failure(.conditionFailed(currentVersion: winner.version)) }
      #expect(losses == 49)
    },
    WriteContract("of 50 puts that must be the first exactly one creates the place") { makeStore in
      let store = try await makeStore([])

      let outcomes = await atOnce(50) { number throws(PointWriteError) in
        try await store.put(samplePlace("writer \(number)"), id: .sample(1), if: .absent).point
      }

      #expect(outcomes.count { (try? $0.get()) != nil } == 1)
      let version = try #require(try await store.point(id: .sample(1))).version
      #expect(outcomes.count { $0 == .failure(.conditionFailed(currentVersion: version)) } == 49)
    },
    WriteContract("of 30 creations with one origin exactly one succeeds") { makeStore in
      let store = try await makeStore([])
      let place = try PointDraft.sample("one", sourceID: "1")

      let outcomes = await atOnce(30) { _ throws(PointWriteError) in try await store.create(place, once: nil) }

      #expect(outcomes.count { (try? $0.get()) != nil } == 1)
      #expect(outcomes.count { $0 == .failure(.originTaken) } == 29)
      #expect(try await store.allPoints().count == 1)
    },
    WriteContract("of 30 removals exactly one succeeds") { makeStore in
      let store = try await makeStore([.sample("there", 1, 1, id: .sample(1))])

      let outcomes = await atOnce(30) { _ throws(PointWriteError) in
        try await store.delete(id: .sample(1), if: .none)
        return true
      }

      #expect(outcomes.count { $0 == .success(true) } == 1)
      #expect(outcomes.count { $0 == .failure(.notFound) } == 29)
    },
    WriteContract("puts without a condition are all made, one after another") { makeStore in
      let store = try await makeStore([.sample("start", 1, 1, id: .sample(1))])
      let start = try #require(try await store.point(id: .sample(1))).version

      let outcomes = await atOnce(30) { number throws(PointWriteError) in
        try await store.put(samplePlace("writer \(number)"), id: .sample(1), if: .none).point.version
      }

      let versions = Set(outcomes.compactMap { try? $0.get() })
      #expect(versions.count == 30)
      #expect(try #require(versions.min()) > start)
      #expect(try await store.point(id: .sample(1))?.version == versions.max())
    },
  ]
}

/// Returns a place with a valid name.
private func samplePlace(_ name: String) throws(PointWriteError) -> PointDraft {
  do {
    return try .sample(name)
  } catch {
    throw .store(.unexpected(reason: "\(error)"))
  }
}

/// Returns the results of concurrent calls.
private func atOnce<Outcome: Sendable>(
  _ count: Int,
  _ call: @escaping @Sendable (Int) async throws(PointWriteError) -> Outcome
) async -> [Result<Outcome, PointWriteError>] {
  await withTaskGroup(of: Result<Outcome, PointWriteError>.self) { group in
    for number in 0..<count {
      group.addTask {
        do throws(PointWriteError) {
          return .success(try await call(number))
        } catch {
          return .failure(error)
        }
      }
    }
    return await group.reduce(into: []) { $0.append($1) }
  }
}
