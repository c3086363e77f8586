import Basics
import Geo
import JSONText
import Points
import Testing

extension PointStoreContract {
  static let boxes: [PointStoreContract] = [
    PointStoreContract("box holds its inside, its edges and its corners, by id") { makeStore in
      let store = try await makeStore([
        .sample("north", 50.000_001, 10, id: .sample(1)), .sample("corner", 50, 15, id: .sample(2)),
        .sample("inside", 45, 10, id: .sample(3)), .sample("edge", 45, 5, id: .sample(4)),
        .sample("west", 45, 4.999_999, id: .sample(5)), .sample("opposite", 45, -170, id: .sample(6)),
      ])
      let box = try BoundingBox(west: 5, south: 40, east: 15, north: 50)

      let names = try await store.names(PointQuery(box: box))

      #expect(names == ["corner", "inside", "edge"])
    },
    PointStoreContract("box may cross the antimeridian or have an edge on it") { makeStore in
      let store = try await makeStore([
        .sample("179", 0, 179, id: .sample(1)), .sample("180", 0, 180, id: .sample(2)),
        .sample("-180", 0, -180, id: .sample(3)), .sample("-179", 0, -179, id: .sample(4)),
        .sample("0", 0, 0, id: .sample(5)),
      ])
      func names(_ west: Double, _ east: Double) async throws -> [String] {
        let box = try BoundingBox(west: west, south: -1, east: east, north: 1)
        let byID = try await store.names(PointQuery(box: box))
        var query = try PointQuery.near(0, 178)
        query.box = box
        let byDistance = try await store.names(query)
        #expect(Set(byDistance) == Set(byID))
        return byID
      }

      #expect(try await names(178.5, -178.5) == ["179", "180", "-180", "-179"])
      #expect(try await names(178.5, 180) == ["179", "180", "-180"])
      #expect(try await names(-180, -178.5) == ["180", "-180", "-179"])
      #expect(try await names(180, -180) == ["180", "-180"])
      #expect(try await names(-180, 180) == ["179", "180", "-180", "-179", "0"])
      #expect(try await names(-179, 179) == ["179", "-179", "0"])
    },
    PointStoreContract("pole is in a box that has its longitude") { makeStore in
      let store = try await makeStore([.sample("pole 5", 90, 5), .sample("pole 95", 90, 95)])
      let box = try BoundingBox(west: 0, south: 80, east: 10, north: 90)

      let names = try await store.names(PointQuery(box: box))

      #expect(names == ["pole 5"])
    },
    PointStoreContract("small box gives its first places by id, however many it holds") { makeStore in
      let crowd = try (1...1_001).map { number in
        try ImportRow.sample(
          "\(number)", 8 + Double(number % 37) / 10_000, 7 + Double(number % 41) / 10_000,
          id: .sample(UInt64(number)), number: number)
      }
      let store = try await makeStore(crowd)
      let whole = try BoundingBox(west: 7, south: 8, east: 7.0041, north: 8.0037)
      let part = try BoundingBox(west: 7, south: 8, east: 7.001, north: 8.0037)
      let inPart = crowd.filter { $0.draft.coordinate.longitude <= 7.001 }.map(\.draft.name)

      for limit in [1, 20, 1_000] {
        #expect(try await store.names(PointQuery(box: whole, limit: limit)) == (1...limit).map(String.init))
        #expect(try await store.names(PointQuery(box: part, limit: limit)) == Array(inPart.prefix(limit)))
      }
      #expect(try await store.page(matching: PointQuery(box: whole, limit: 1_000)).next?.id == .sample(1_000))
      #expect(try await store.page(matching: PointQuery(box: part, limit: 1_000)).next == nil)
    },
    PointStoreContract("box may be a point") { makeStore in
      let store = try await makeStore([.sample("there", 8, 7), .sample("elsewhere", 8, 7.000_000_1)])

      let names = try await store.names(PointQuery(box: try BoundingBox(west: 7, south: 8, east: 7, north: 8)))

      #expect(names == ["there"])
    },
    PointStoreContract("box, radius and category all have to hold, by distance") { makeStore in
      let store = try await makeStore([
        .sample("too far", 45, 10.5, category: "cafe"), .sample("outside", 44.99, 9.99, category: "cafe"),
        .sample("second", 45.002, 10.002, category: "cafe"), .sample("first", 45.001, 10.001, category: "cafe"),
        .sample("no cafe", 45.001, 10.001, category: "bar"), .sample("nothing", 45.001, 10.001),
      ])
      var query = try PointQuery.near(45, 10, radiusMetres: 5_000)
      query.box = try BoundingBox(west: 10, south: 45, east: 11, north: 46)
      query.categories = ["cafe"]

      let names = try await store.names(query)

      #expect(names == ["first", "second"])
    },
  ]

  static let categories: [PointStoreContract] = [
    PointStoreContract("categories exclude all others and places without one") { makeStore in
      let store = try await makeStore([
        .sample("a", 1, 1, category: "cafe", id: .sample(1)), .sample("b", 1, 2, category: "bar", id: .sample(2)),
        .sample("c", 1, 3, id: .sample(3)), .sample("d", 1, 4, category: "pub", id: .sample(4)),
        .sample("e", 1, 5, category: "cafe", id: .sample(5)),
      ])

      #expect(try await store.names(PointQuery(categories: ["cafe"])) == ["a", "e"])
      #expect(try await store.names(PointQuery(categories: ["cafe", "bar", "no such"])) == ["a", "b", "e"])
      #expect(try await store.names(PointQuery(categories: ["no such"])) == [])
      var query = try PointQuery.near(1, 6)
      query.categories = ["bar", "cafe"]
      #expect(try await store.names(query) == ["e", "b", "a"])
    },
    PointStoreContract("excluded categories leave all others and places without one") { makeStore in
      let store = try await makeStore([
        .sample("a", 1, 1, category: "cafe", id: .sample(1)), .sample("b", 1, 2, category: "bar", id: .sample(2)),
        .sample("c", 1, 3, id: .sample(3)), .sample("d", 1, 4, category: "pub", id: .sample(4)),
        .sample("e", 1, 5, category: "cafe", id: .sample(5)),
      ])
      func query(_ base: PointQuery = PointQuery(), without excluded: Set<ExactText>) -> PointQuery {
        var query = base
        query.excludedCategories = excluded
        return query
      }

      #expect(try await store.names(query(without: ["cafe"])) == ["b", "c", "d"])
      #expect(try await store.names(query(without: ["cafe", "bar", "no such"])) == ["c", "d"])
      #expect(try await store.names(query(.near(1, 6), without: ["pub"])) == ["e", "c", "b", "a"])
      #expect(try await store.names(query(PointQuery(categories: ["bar", "pub"]), without: ["pub"])) == ["b"])
      #expect(try await store.names(query(PointQuery(categories: ["bar"]), without: ["bar"])) == [])
      #expect(try await store.count(matching: query(without: ["cafe"])) == 3)
    },
    PointStoreContract("categories are compared to the byte") { makeStore in
      let store = try await makeStore([
        .sample("composed", 1, 1, category: "caf\u{E9}"), .sample("decomposed", 1, 2, category: "cafe\u{301}"),
        .sample("capital", 1, 3, category: "CAF\u{E9}"),
      ])

      #expect(try await store.names(PointQuery(categories: ["caf\u{E9}"])) == ["composed"])
      #expect(try await store.names(PointQuery(categories: ["cafe\u{301}"])) == ["decomposed"])
      let both = PointQuery(categories: ["caf\u{E9}", "cafe\u{301}"])
      #expect(both.categories.count == 2)
      #expect(try await Set(store.names(both)) == ["composed", "decomposed"])
      #expect(
        try await store.categoryCounts()
          == ["CAF\u{E9}", "cafe\u{301}", "caf\u{E9}"].map { CategoryCount(category: $0, count: 1) })
    },
    PointStoreContract("category counts are in descending order, ties by Unicode scalars") { makeStore in
      // In UTF-16 the last two would be in reverse order.
      let tied = ["Z", "a", "\u{E9}", "\u{65E5}", "\u{FF5E}", "\u{1F600}"]
      var rows: [ImportRow] = []
      for (index, category) in (tied.reversed() + ["cafe", "cafe", "bar", "bar", "bar"]).enumerated() {
        rows.append(try .sample("\(index)", 1, Double(index), category: category))
      }
      rows.append(try .sample("none", 2, 2))
      let store = try await makeStore(rows)

      let counts = try await store.categoryCounts()

      let expected = [("bar", 3), ("cafe", 2)] + tied.map { ($0, 1) }
      #expect(counts == expected.map { CategoryCount(category: $0.0, count: $0.1) })
    },
  ]
}
