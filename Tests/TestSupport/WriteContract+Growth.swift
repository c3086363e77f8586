import Points
import Synchronization
import Testing

extension WriteContract {
  /// The behaviours of versions: the version of each change is greater than all earlier versions of the id, and unique.
  static let growth: [WriteContract] = [
    WriteContract("import of an id that was removed gives a version above all that it had") { makeStore in
      let store = try await makeStore([.sample("first", 1, 1, id: .sample(1)), .sample("other", 1, 1, id: .sample(2))])
      for number in 0..<3 { _ = try await store.put(try .sample("\(number)"), id: .sample(1), if: .none) }
      let former = try #require(try await store.point(id: .sample(1)))
      try await store.delete(id: .sample(1), if: .none)

      try await store.importRows([.sample("again", 1, 1, id: .sample(1)), .sample("new", 1, 1, id: .sample(3))])

      #expect(try #require(try await store.point(id: .sample(1))).version > former.version)
    },
    WriteContract("recreated place has a new version each time") { makeStore in
      let store = try await makeStore([])
      var versions: [Int64] = []

      for round in 0..<10 {
        if round.isMultiple(of: 2) {
          versions.append(try await store.put(try .sample("\(round)"), id: .sample(1), if: .absent).point.version)
        } else {
          try await store.importRows([.sample("\(round)", 1, 1, id: .sample(1))])
          versions.append(try #require(try await store.point(id: .sample(1))).version)
        }
        try await store.delete(id: .sample(1), if: .versions([versions[round]]))
      }

      #expect(versions == Set(versions).sorted())
    },
    WriteContract("entity tag of a deleted place matches no later place with its id") { makeStore in
      let store = try await makeStore([.sample("first", 1, 1, id: .sample(1))])
      let first = try #require(try await store.point(id: .sample(1)))
      try await store.delete(id: .sample(1), if: .none)
      let (second, _) = try await store.put(try .sample("second"), id: .sample(1), if: .none)

      await #expect(throws: PointWriteError.conditionFailed(currentVersion: second.version)) {
        try await store.put(try .sample("meant for the first"), id: .sample(1), if: .versions([first.version]))
      }
      await #expect(throws: PointWriteError.conditionFailed(currentVersion: second.version)) {
        try await store.delete(id: .sample(1), if: .versions([first.version]))
      }

      #expect(try await store.point(id: .sample(1)) == second)
    },
    WriteContract("created place's version is the one its key returns") { makeStore in
      let store = try await makeStore([.sample("there", 1, 1, id: .sample(1))])
      let key = IdempotencyKey(text: "client/1", requestHash: 1)
      let created = try await store.create(try .sample("new"), once: key)

      let repeated = try await store.create(try .sample("new"), once: key)

      #expect(repeated == created)
      #expect(try await store.point(id: created.id) == created)
      _ = try await store.put(try .sample("changed"), id: created.id, if: .versions([repeated.version]))
    },
    WriteContract("versions stay exact where a client reads numbers as binary fractions") { makeStore in
      let store = try await makeStore([.sample("there", 1, 1, id: .sample(1))])

      let (changed, _) = try await store.put(try .sample("changed"), id: .sample(1), if: .none)

      #expect(changed.version < 1 << 53)
    },
    WriteContract("concurrently recreated places have growing, unique versions") { makeStore in
      let store = try await makeStore([])
      let ids = [PointID.sample(1), .sample(2)]
      let observed = ObservedPoints()

      try await withThrowingTaskGroup(of: Void.self) { group in
        for writer in 0..<6 {
          group.addTask {
            var last: [PointID: Int64] = [:]
            for round in 0..<40 {
              let place = try PointDraft.sample("\(writer): \(round)")
              let point = try await store.put(place, id: ids[round % 2], if: .none).point
              observed.note(point)
              #expect(point.version > last[point.id] ?? 0)
              last[point.id] = point.version
            }
          }
        }
        group.addTask {
          for round in 0..<15 {
            try await store.importRows([
              .sample("import \(round)", 1, 1, id: ids[0]), .sample("import too \(round)", 1, 1, id: ids[1], number: 2),
            ])
          }
        }
        for _ in 0..<3 {
          group.addTask {
            for round in 0..<60 {
              do {
                try await store.delete(id: ids[round % 2], if: .none)
              } catch PointWriteError.notFound {}
            }
          }
        }
        group.addTask {
          var last: [PointID: Int64] = [:]
          for round in 0..<300 {
            guard let point = try await store.point(id: ids[round % 2]) else { continue }
            observed.note(point)
            #expect(point.version >= last[point.id] ?? 0)
            last[point.id] = point.version
          }
        }
        try await group.waitForAll()
      }
    },
  ]
}

/// The places that concurrent tasks wrote or read, to check that each version of an id has one content.
private final class ObservedPoints: Sendable {
  private struct Version: Hashable {
    let id: PointID
    let number: Int64
  }

  private let names = Mutex<[Version: String]>([:])

  /// Records an issue if another place with the id had the same version.
  func note(_ point: PointOfInterest) {
    let version = Version(id: point.id, number: point.version)
    let former = names.withLock { $0.updateValue(point.draft.name, forKey: version) }
    #expect(former == nil || former == point.draft.name, "both are version \(point.version)")
  }
}
