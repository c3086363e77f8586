import Basics
import Geo
import JSONText
import Points
import SyntheticData
import Testing

extension PointStoreContract {
  static let paging: [PointStoreContract] = [
    PointStoreContract("page holds its limit at most and says whether more follow") { makeStore in
      let store = try await makeStore((0..<25).map { try .sample("\($0)", 1, Double($0), category: "all") })

      for base in [PointQuery(), PointQuery(categories: ["all"]), try .near(1, 0)] {
        for limit in [1, 20, 24, 25, 26, 1000] {
          var query = base
          query.limit = limit
          let page = try await store.page(matching: query)
          #expect(page.points.count == min(limit, 25))
          #expect(page.hasMore == (limit < 25))
          #expect((page.next != nil) == page.hasMore)
        }
      }
    },
    PointStoreContract("pages of long places end early and a walk gives every place once") { makeStore in
      // About 400 kB of tags each, so that a page holds ten or so.
      let tags = (0..<200).map { (key: "key \($0)", value: String(repeating: "x", count: 2000)) }
      let rows = try (0..<30).map { number in
        let coordinate = try Coordinate(latitude: 1, longitude: Double(number) / 100)
        return ImportRow(
          number: number, id: nil,
          draft: try PointDraft(
            name: "\(number)", category: "all", coordinate: coordinate, tags: try Tags(tags), source: nil,
            sourceID: nil))
      }
      let store = try await makeStore(rows)

      for base in [PointQuery(), try .near(1, 0), PointQuery(categories: ["all"])] {
        var query = base
        query.limit = 100
        let page = try await store.page(matching: query)
        let found = try await store.allMatches(of: query)
        #expect((5...15).contains(page.points.count))
        #expect(page.hasMore)
        #expect(page.count == page.points.count)
        #expect(found.count == 30)
        #expect(Set(found.map(\.point.id)).count == 30)
      }
    },
    PointStoreContract("places are found by ids in their order, page by page, where they match") { makeStore in
      let store = try await makeStore(
        (0..<30).map { try .sample("\($0)", 1, Double($0), category: $0.isMultiple(of: 2) ? "even" : "odd") })
      let places = try await store.allPoints()
      let unknown = PointID(high: 0, low: 0)
      var ids = (places.prefix(20).reversed() + places.suffix(5)).map(\.id)
      ids.insert(unknown, at: 7)

      for limit in [1, 2, 7, 24, 25, 100] {
        var query = PointQuery(limit: limit)
        query.ids = ids
        let page = try await store.page(matching: query)
        #expect(page.points.map(\.point.id) == Array(ids.filter { $0 != unknown }.prefix(limit)))
        #expect(page.hasMore == (limit < 25))
        #expect(page.copied == page.points)
        #expect(try await store.allMatches(of: query).map(\.point.id) == ids.filter { $0 != unknown })
        #expect(try await store.count(matching: query) == 25)
        query.categories = ["even"]
        let matches = try await store.allMatches(of: query).map(\.point)
        let even = Set(places.filter { $0.draft.category == "even" }.map(\.id))
        #expect(matches.map(\.id) == ids.filter { even.contains($0) })
        #expect(try await store.count(matching: query) == matches.count)
      }
      var none = PointQuery()
      none.ids = [unknown]
      #expect(try await store.page(matching: none).points.isEmpty)
    },
    PointStoreContract("borrowed places of a page are the same as the copied ones") { makeStore in
      var rows = try (0..<30).map { try ImportRow.sample("Ünï \($0) \"x\"", 1, Double($0) / 10, category: "all") }
      rows.append(
        ImportRow(
          number: 31,
          id: nil,
          draft: try PointDraft(
            name: "plain",
            coordinate: try Coordinate(latitude: 1, longitude: 0),
            tags: try Tags(["b": "\u{1}\\", "a": "\u{1F3D4}", "": ""]),
            source: "Quelle", sourceID: "ñ/1"
          )
        )
      )
      let store = try await makeStore(rows)

      var queries = [PointQuery(), PointQuery(categories: ["all"])]
      queries += [try .near(1, 0), try .near(1, 0, radiusMetres: 90_000)]
      for limit in [1, 30, 31, 32] {
        for base in queries {
          var query = base
          query.limit = limit
          let page = try await store.page(matching: query)
          #expect(page.copied == page.points)
          #expect(page.count == page.points.count)
        }
      }
    },
    PointStoreContract("pages by distance give every match once, many of them at one distance") { makeStore in
      var rows = try (0..<60).map { try ImportRow.sample("spot \($0)", 48.2, 16.4, category: "spot") }
      rows += try (0..<40).map { try .sample("line \($0)", 48.2, 16.4 + Double($0 - 20) * 0.01, category: "line") }
      let store = try await makeStore(rows)

      for limit in [1, 7, 60, 99, 100] {
        let found = try await store.allMatches(of: try .near(48.25, 16.45, limit: limit))
        #expect(found.count == 100)
        #expect(Set(found.map(\.point.id)).count == 100)
        #expect(found.isInOrder)
      }
    },
    PointStoreContract("pages by id give every match once") { makeStore in
      var places = try SyntheticPoints(seed: 3, townCount: 5)
      let store = try await makeStore(try places.rows(count: 150))
      let box = try BoundingBox(west: -180, south: -90, east: 180, north: 90)

      for limit in [1, 7, 149, 150, 151] {
        for query in [PointQuery(limit: limit), PointQuery(box: box, limit: limit)] {
          let ids = try await store.allMatches(of: query).map(\.point.id)
          #expect(ids.count == 150)
          #expect(zip(ids, ids.dropFirst()).allSatisfy { $0 < $1 })
        }
      }
    },
    PointStoreContract("pages with every filter give just the reference's matches") { makeStore in
      var places = try SyntheticPoints(seed: 4, townCount: 3)
      let store = try await makeStore(try places.rows(count: 200))
      let points = try await store.allPoints()
      let anywhere = try #require(points.first).draft.coordinate
      var query = try PointQuery.near(anywhere.latitude, anywhere.longitude, radiusMetres: 15_000_000, limit: 3)
      query.box = try BoundingBox(west: -170, south: -80, east: 170, north: 80)
      query.categories = ["category 0", "category 1", "category 2", "category 3"]

      let found = try await store.allMatches(of: query)

      let expected = BruteForce(points).byDistance(from: anywhere).matches(of: query)
      #expect(found == expected)
      #expect(expected.count > 3)
    },
    PointStoreContract("page starts after a position where no place is") { makeStore in
      let store = try await makeStore([
        .sample("a", 0, 1, id: .sample(10)), .sample("b", 0, 2, id: .sample(20)), .sample("c", 0, 3, id: .sample(30)),
      ])
      var near = try PointQuery.near(0, 0)
      near.after = .init(distanceMetres: 150_000, id: .sample(99))

      #expect(try await store.names(near) == ["b", "c"])
      #expect(try await store.names(PointQuery(after: .init(id: .sample(15)))) == ["b", "c"])
      #expect(try await store.names(PointQuery(after: .init(id: .sample(30)))) == [])
    },
    PointStoreContract("pages contain each unchanged place once despite concurrent writes") { makeStore in
      let rows = try (0..<40).map { number in
        try ImportRow.sample("\(number)", 10, Double(number) * 0.1, source: "old", sourceID: "\(number)")
      }
      for base in [try PointQuery.near(10, 1, limit: 6), PointQuery(limit: 6)] {
        let store = try await makeStore(rows)
        var query = base
        var names: [String] = []
        var round = 0
        while true {
          let page = try await store.page(matching: query)
          names += page.points.map(\.point.draft.name)
          guard let next = page.next else { break }
          query.after = next
          round += 1
          // A store whose new ids follow all others would have pages without end.
          if round > 8 { continue }
          try await store.importRows(
            try (0..<10).map { number in
              try .sample("new", 10, Double(number) * 0.37, source: "new \(round)", sourceID: "\(number)")
            }
          )
        }

        let old = names.filter { $0 != "new" }
        #expect(old.count == 40)
        #expect(Set(old).count == 40)
      }
    },
  ]

  static let lookUps: [PointStoreContract] = [
    PointStoreContract("place is found by its id with all its fields") { makeStore in
      let row = try ImportRow.sample(
        "Büro für \u{1F600} \"Alles\"",
        -12.5,
        -0.25,
        category: "natural:peak",
        tags: ["name:ja": "山", "note": "a \"quoted\" \\ and\nbroken line", "empty": ""],
        source: "osm",
        sourceID: "node/1",
        id: .sample(7)
      )
      let store = try await makeStore([row, try .sample("other", 1, 1, id: .sample(8))])

      let point = try #require(try await store.point(id: .sample(7)))

      #expect(point.id == .sample(7))
      #expect(point.draft == row.draft)
      #expect(point.draft.tags["name:ja"] == "山")
      #expect(point.version >= 1)
      #expect(point.createdAt == point.updatedAt)
      #expect(try await store.point(id: .sample(9)) == nil)
    },
    PointStoreContract("coordinates are stored to the last bit") { makeStore in
      let degrees = [
        (-89.999_999_999_999_99, 179.999_999_999_999_97), (0.1, 0.2), (1.0 / 3, -2.0 / 3), (5e-300, -1e-9),
      ]
      let store = try await makeStore(
        degrees.enumerated().map { try .sample("\($0)", $1.0, $1.1, id: .sample(UInt64($0))) }
      )

      for (index, degrees) in degrees.enumerated() {
        let coordinate = try #require(try await store.point(id: .sample(UInt64(index)))).draft.coordinate
        #expect(coordinate.latitude.bitPattern == degrees.0.bitPattern)
        #expect(coordinate.longitude.bitPattern == degrees.1.bitPattern)
      }
    },
    PointStoreContract("pivot finds a place, the same one each time, and every place is some pivot's") { makeStore in
      // The ids are fixed, so that the gaps between their keys are the same each time.
      let store = try await makeStore((0..<8).map { try .sample("\($0)", 0, Double($0), id: .sample(UInt64($0))) })
      var generator = SeededGenerator(seed: 8)
      var names: Set<String> = []

      for _ in 0..<400 {
        let pivot = generator.next()
        let point = try #require(try await store.point(shuffledAtOrAfter: pivot))
        #expect(try await store.point(shuffledAtOrAfter: pivot) == point)
        names.insert(point.draft.name)
      }

      #expect(names.count == 8)
    },
    PointStoreContract("pivot past the greatest shuffle key finds the least") { makeStore in
      let store = try await makeStore((0..<8).map { try .sample("\($0)", 0, Double($0), id: .sample(UInt64($0))) })

      let last = try await store.point(shuffledAtOrAfter: .max)
      let first = try await store.point(shuffledAtOrAfter: .min)

      #expect(first != nil)
      #expect(last == first)
    },
  ]
}

extension [FoundPoint] {
  /// A Boolean value that indicates whether the elements are ordered by distance, then id.
  fileprivate var isInOrder: Bool {
    zip(self, dropFirst()).allSatisfy { left, right in
      (left.distanceMetres ?? 0, left.point.id) < (right.distanceMetres ?? 0, right.point.id)
    }
  }
}
