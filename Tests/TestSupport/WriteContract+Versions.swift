import Points
import Testing

extension WriteContract {
  static let versions: [WriteContract] = [
    WriteContract("version stays while nothing is written, and each change makes another") { makeStore in
      let store = try await makeStore([])
      var versions = [try await store.dataVersion()?.token, try await store.dataVersion()?.token]
      // On a shared server, other tests write to their databases, which may change the version too.
      for _ in 0..<1000 where versions[0] != versions[1] {
        versions = [versions[1], try await store.dataVersion()?.token]
      }
      #expect(versions[0] != nil)
      #expect(versions[0] == versions[1])

      let created = try await store.create(try .sample("a"), once: nil)
      versions.append(try await store.dataVersion()?.token)
      _ = try await store.put(try .sample("b"), id: created.id, if: .none)
      versions.append(try await store.dataVersion()?.token)
      _ = try await store.importRows([.sample("c", 1, 2, source: "s", sourceID: "1")])
      versions.append(try await store.dataVersion()?.token)
      try await store.delete(id: created.id, if: .none)
      versions.append(try await store.dataVersion()?.token)

      #expect(Set(versions.dropFirst()).count == 5)
    },
    WriteContract("version that was left does not come back with the same places") { makeStore in
      let store = try await makeStore([])
      let place = try PointDraft.sample("a")
      let before = try await store.dataVersion()

      let created = try await store.create(place, once: nil)
      try await store.delete(id: created.id, if: .none)

      #expect(try await store.allPoints().isEmpty)
      #expect(try await store.dataVersion() != before)
    },
    WriteContract("version that is known was the current one, and is exact only for its own places") { makeStore in
      let store = try await makeStore([])
      let read = try #require(try await store.dataVersion())

      let known = try #require(store.knownDataVersion())
      _ = try await store.create(try .sample("a"), once: nil)
      let later = try #require(store.knownDataVersion())
      let current = try await store.dataVersion()

      #expect(read.isExact)
      // A store that caches the version cannot know whether it is still current.
      #expect(known == DataVersion(token: read.token, source: read.source, isExact: known.isExact))
      #expect(current?.isExact == true)
      #expect(current?.token != read.token)
      let names = try await store.names(PointQuery(limit: 1000))
      if later.isExact, store.knownDataVersion() == later { #expect(names == ["a"] && later == current) }
    },
    WriteContract("same version before and after means the same places in between") { makeStore in
      let store = try await makeStore([])
      let pages = try await withThrowingTaskGroup(of: [(token: String, places: Set<String>)].self) { group in
        for writer in 0..<4 {
          group.addTask {
            for number in 0..<25 {
              let point = try await store.create(try .sample("\(writer) \(number)"), once: nil)
              if number % 3 == 0 { try await store.delete(id: point.id, if: .none) }
            }
            return []
          }
        }
        for _ in 0..<2 {
          group.addTask {
            var pages: [(String, Set<String>)] = []
            for _ in 0..<150 {
              let before = try await store.dataVersion()
              let names = try await store.names(PointQuery(limit: 1000))
              if let before, try await store.dataVersion() == before { pages.append((before.token, Set(names))) }
            }
            return pages
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }

      var known: [String: Set<String>] = [:]
      for page in pages {
        #expect(known[page.token] == nil || known[page.token] == page.places)
        known[page.token] = page.places
      }
      #expect(!known.isEmpty)
    },
  ]
}
