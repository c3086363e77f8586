import Basics
import Geo
import JSONText
import Points
import Testing

extension PointStoreContract {
  static let counts: [PointStoreContract] = [
    PointStoreContract("number of matches ignores the order, the limit and the position") { makeStore in
      let store = try await makeStore((1...30).map { try .sample("\($0)", 1, Double($0), id: .sample(UInt64($0))) })

      #expect(try await store.count(matching: PointQuery()) == 30)
      #expect(try await store.count(matching: PointQuery(limit: 1)) == 30)
      #expect(try await store.count(matching: PointQuery(limit: 1, after: .init(id: .sample(7)))) == 30)
      var query = try PointQuery.near(1, 6)
      query.after = .init(distanceMetres: 500_000, id: .sample(3))
      #expect(try await store.count(matching: query) == 30)
    },
    PointStoreContract("number of matches is exact for each condition and for all together") { makeStore in
      let store = try await makeStore([
        .sample("a", 50, 10, category: "cafe"), .sample("b", 50, 15, category: "bar"), .sample("c", 45, 10),
        .sample("d", 45, 4.999_999, category: "cafe"), .sample("e", 0, 180, category: "cafe"),
        .sample("f", 0, -180, category: "pub"), .sample("g", 0, -179),
      ])
      let box = try BoundingBox(west: 5, south: 40, east: 15, north: 50)
      let pacific = try BoundingBox(west: 179, south: -1, east: -179.5, north: 1)

      #expect(try await store.count(matching: PointQuery(box: box)) == 3)
      #expect(try await store.count(matching: PointQuery(box: pacific)) == 2)
      #expect(try await store.count(matching: PointQuery(categories: ["cafe", "pub", "no such"])) == 4)
      #expect(try await store.count(matching: PointQuery(box: box, categories: ["cafe"])) == 1)
      #expect(try await store.count(matching: PointQuery(box: pacific, categories: ["bar"])) == 0)
      #expect(try await store.count(matching: PointQuery(source: .init(name: "no such"))) == 0)
    },
    PointStoreContract("number of places within a radius includes its edge") { makeStore in
      let center = try Coordinate(latitude: 45, longitude: 10)
      let edge = try Coordinate(latitude: 45.5, longitude: 11)
      let distance = Geodesic.distanceMetres(from: center, to: edge)
      let store = try await makeStore([
        .sample("center", 45, 10), .sample("edge", 45.5, 11), .sample("beyond", 45.500_000_1, 11.000_000_1),
        .sample("antipode", -45, -170),
      ])
      func count(_ radius: Double?) async throws -> Int {
        try await store.count(matching: PointQuery(proximity: .init(center: center, radiusMetres: radius)))
      }

      #expect(try await count(0) == 1)
      #expect(try await count(distance.nextDown) == 1)
      #expect(try await count(distance) == 2)
      #expect(try await count(distance + 1) == 3)
      #expect(try await count(20_000_000) == 3)
      #expect(try await count(30_000_000) == 4)
      #expect(try await count(nil) == 4)
    },
    PointStoreContract("number of matches follows changes") { makeStore in
      let rows: [ImportRow] = try (1...300).map { number in
        try .sample(
          "\(number)", Double(number % 7), Double(number % 11), category: number.isMultiple(of: 3) ? "cafe" : "bar",
          id: .sample(UInt64(number)), number: number)
      }
      let store = try await makeStore(rows)
      // These move elsewhere, and change their category.
      let moved: [ImportRow] = try stride(from: 1, through: 299, by: 2).map { number in
        try .sample("\(number)", 60, 60, category: "pub", id: .sample(UInt64(number)), number: number)
      }
      try await store.importRows(moved)
      let box = try BoundingBox(west: -1, south: -1, east: 20, north: 20)

      #expect(try await store.count(matching: PointQuery()) == 300)
      #expect(try await store.count(matching: PointQuery(box: box)) == 150)
      #expect(try await store.count(matching: PointQuery(categories: ["cafe"])) == 50)
      #expect(try await store.count(matching: PointQuery(box: box, categories: ["bar", "pub"])) == 100)
    },
  ]
}
