import Basics
import Geo
import JSONText
import Points
import Testing

extension PointStoreContract {
  static let sources: [PointStoreContract] = [
    PointStoreContract("source excludes all others and places without one, with every other condition") { makeStore in
      let store = try await makeStore([
        .sample("a", 1, 1, category: "cafe", source: "s", sourceID: "1", id: .sample(1)),
        .sample("b", 1, 2, category: "bar", source: "t", sourceID: "1", id: .sample(2)),
        .sample("c", 1, 3, category: "cafe", id: .sample(3)),
        .sample("d", 1, 4, category: "bar", source: "s", sourceID: "2", id: .sample(4)),
        .sample("e", 1, 5, category: "cafe", source: "s", sourceID: "3", id: .sample(5)),
      ])
      let source = PointQuery.Source(name: "s")

      #expect(try await store.names(PointQuery(source: source)) == ["a", "d", "e"])
      #expect(try await store.names(PointQuery(categories: ["cafe"], source: source)) == ["a", "e"])
      let box = try BoundingBox(west: 1, south: 0, east: 4, north: 2)
      #expect(try await store.names(PointQuery(box: box, source: source)) == ["a", "d"])
      var near = try PointQuery.near(1, 6)
      near.source = source
      #expect(try await store.names(near) == ["e", "d", "a"])
      #expect(try await store.names(PointQuery(source: .init(name: "no such"))) == [])
      #expect(try await store.names(PointQuery(source: .init(name: "S"))) == [])
    },
    PointStoreContract("source and its id find the one place, where it matches") { makeStore in
      let store = try await makeStore([
        .sample("a", 1, 1, category: "cafe", source: "s", sourceID: "node/1"),
        .sample("b", 1, 2, source: "s", sourceID: "node/2"), .sample("c", 1, 3, source: "t", sourceID: "node/1"),
      ])
      let source = PointQuery.Source(name: "s", sourceID: "node/1")

      let page = try await store.page(matching: PointQuery(source: source))
      var near = try PointQuery.near(1, 1.001)
      near.source = source
      let found = try #require(try await store.page(matching: near).points.first)

      #expect(page.points.map(\.point.draft.name) == ["a"])
      #expect(!page.hasMore)
      #expect(try #require(found.distanceMetres) > 100)
      #expect(try await store.names(PointQuery(categories: ["bar"], source: source)) == [])
      #expect(try await store.names(PointQuery(source: source, after: .init(id: found.point.id))) == [])
      #expect(try await store.names(PointQuery(source: .init(name: "s", sourceID: "node/3"))) == [])
    },
    PointStoreContract("walk through a source gives each of its places once, across parts and removals") { makeStore in
      var rows: [ImportRow] = []
      for number in 0..<700 {
        let source = number % 3 == 0 ? "s" : "t"
        rows.append(
          try .sample(
            "\(number)", 1, Double(number % 90), source: source, sourceID: "\(number)",
            id: .sample(UInt64(number + 1)), number: number + 1))
      }
      let store = try await makeStore(Array(rows[..<400]))
      let report = try await store.importRows(Array(rows[350...]))
      try await store.importRows([.sample("moved", 1, 1, source: "t", sourceID: "moved", id: .sample(1))])
      #expect((report.created, report.unchanged, report.rejected) == (300, 50, 0))

      let found = try await store.allMatches(of: PointQuery(source: .init(name: "s"), limit: 20))

      let expected = (1..<700).filter { $0 % 3 == 0 }.map { PointID.sample(UInt64($0 + 1)) }
      #expect(found.map(\.point.id) == expected)
    },
    PointStoreContract("category counts of a box count the places in it, edges included") { makeStore in
      let categories = ["cafe", "bar", "pub"]
      var rows: [ImportRow] = []
      for number in 0..<500 {
        let (latitude, longitude) = (Double(number % 20), Double(number / 20))
        rows.append(
          try .sample(
            "\(number)", latitude, longitude, category: categories[number % 3], id: .sample(UInt64(number + 1)),
            number: number + 1))
      }
      rows.append(try .sample("none", 1, 1, number: 501))
      let store = try await makeStore(rows)
      try await store.importRows([.sample("changed", 5, 5, category: "museum", id: .sample(106))])
      let reference = BruteForce(try await store.allPoints())
      let boxes = [
        try BoundingBox(west: 0, south: 0, east: 10, north: 10), try BoundingBox(west: 5, south: 5, east: 5, north: 5),
        try BoundingBox(west: -180, south: -90, east: 180, north: 90),
        try BoundingBox(west: 170, south: -1, east: 3, north: 30),
        try BoundingBox(west: 50, south: 50, east: 60, north: 60),
      ]

      for box in boxes {
        let expected = BruteForce(reference.points.filter { box.contains($0.draft.coordinate) }).categoryCounts()
        #expect(try await store.categoryCounts(in: box) == expected)
      }
      #expect(try await store.categoryCounts(in: boxes[1]) == [.init(category: "museum", count: 1)])
    },
  ]
}
