import Basics
import Geo
import JSONText
import Points
import Testing

extension PointStoreContract {
  static let nearness: [PointStoreContract] = [
    PointStoreContract("nearest comes first, with the geodesic's length to the last bit") { makeStore in
      let store = try await makeStore([
        .sample("Winchester", 37.3184, -121.9511),
        .sample("Tech", 37.3316, -121.8901),
        .sample("Zoo", -37.7841, 144.9515),
        .sample("Rotunda", 37.3376, -121.8855),
      ])
      let query = try PointQuery.near(37.3293, -121.8893)

      let found = try await store.page(matching: query).points

      #expect(found.map(\.point.draft.name) == ["Tech", "Rotunda", "Winchester", "Zoo"])
      let center = try #require(query.proximity).center
      for found in found {
        let metres = Geodesic.distanceMetres(from: center, to: found.point.draft.coordinate)
        #expect(found.distanceMetres?.bitPattern == metres.bitPattern)
      }
    },
    PointStoreContract("places at one distance come by id") { makeStore in
      let ids: [UInt64] = [5, 2, 9, 1, 7]
      let store = try await makeStore(ids.map { try .sample("\($0)", 48.2, 16.37, id: .sample($0)) })

      let names = try await store.names(try .near(48.21, 16.38))

      #expect(names == ["1", "2", "5", "7", "9"])
    },
    PointStoreContract("nearest is found across the antimeridian") { makeStore in
      let store = try await makeStore([
        .sample("Taveuni", -16.85, -179.97), .sample("Suva", -18.14, 178.44), .sample("Samoa", -13.83, -171.77),
      ])

      let names = try await store.names(try .near(-16.8, 179.99))

      #expect(names == ["Taveuni", "Suva", "Samoa"])
    },
    PointStoreContract("longitudes 180 and -180 are the same meridian") { makeStore in
      let store = try await makeStore([
        .sample("west", 10, -180, id: .sample(2)), .sample("east", 10, 180, id: .sample(1)),
        .sample("far", 10.001, 180, id: .sample(0)),
      ])

      for longitude in [180.0, -180] {
        let found = try await store.page(matching: try .near(10, longitude)).points
        #expect(found.map(\.point.draft.name) == ["east", "west", "far"])
        #expect(found.prefix(2).allSatisfy { $0.distanceMetres == 0 })
      }
    },
    PointStoreContract("nearest is found around the poles, whatever the longitudes") { makeStore in
      let store = try await makeStore([
        .sample("pole", 90, 77), .sample("near side", 89.9, 10), .sample("far side", 89.8, -170),
        .sample("south", -90, 10),
      ])

      let names = try await store.names(try .near(89.95, 10))
      let fromPole = try await store.page(matching: try .near(90, -120)).points

      #expect(Set(names.prefix(2)) == ["pole", "near side"])
      #expect(names.suffix(2) == ["far side", "south"])
      #expect(fromPole.first?.point.draft.name == "pole")
      #expect(fromPole.first?.distanceMetres == 0)
    },
    PointStoreContract("order is the ellipsoid's and not a sphere's") { makeStore in
      // A degree of latitude is 110.57 km at the equator and a degree of longitude 111.32 km.
      let store = try await makeStore([.sample("east", 0, 1), .sample("north", 1.0005, 0), .sample("west", 0, -1.001)])

      let names = try await store.names(try .near(0, 0))

      #expect(names == ["north", "east", "west"])
    },
    PointStoreContract("latitudes next to the equator are as far as the equator") { makeStore in
      let store = try await makeStore([
        .sample("third", 1e-170, 120), .sample("second", -1e-200, 60), .sample("first", .leastNonzeroMagnitude, -50),
        .sample("fourth", -1e-155, 179),
      ])

      for latitude in [0, 1e-170, -1e-170, .leastNonzeroMagnitude] {
        let query = try PointQuery.near(latitude, 0, radiusMetres: 19_950_000)
        let found = try await store.page(matching: query).points

        #expect(found.map(\.point.draft.name) == ["first", "second", "third", "fourth"])
        for (found, degrees) in zip(found, [50.0, 60, 120, 179]) {
          let metres = try #require(found.distanceMetres)
          #expect(abs(metres - degrees * 111_319.490_793_273_57) < 0.001)
        }
      }
    },
    PointStoreContract("radius includes places exactly at it") { makeStore in
      let store = try await makeStore([.sample("near", 52.5, 13.4), .sample("edge", 52.52, 13.41)])
      let center = try Coordinate(latitude: 52.5, longitude: 13.4)
      let metres = Geodesic.distanceMetres(from: center, to: try Coordinate(latitude: 52.52, longitude: 13.41))

      let within = try await store.names(try .near(52.5, 13.4, radiusMetres: metres))
      let short = try await store.names(try .near(52.5, 13.4, radiusMetres: metres.nextDown))

      #expect(within == ["near", "edge"])
      #expect(short == ["near"])
    },
    PointStoreContract("radius of 0 finds what is on the spot") { makeStore in
      let store = try await makeStore([.sample("here", 1, 2), .sample("a hair away", 1.000_001, 2)])

      let names = try await store.names(try .near(1, 2, radiusMetres: 0))

      #expect(names == ["here"])
    },
    PointStoreContract("radius of the whole Earth and more finds everything") { makeStore in
      let store = try await makeStore([
        .sample("here", 1, 2), .sample("antipodes", -1, -178), .sample("pole", 90, 0), .sample("other pole", -90, 0),
      ])

      for radius in [20_003_932.0, 1e8, .greatestFiniteMagnitude] {
        let names = try await store.names(try .near(1, 2, radiusMetres: radius))
        #expect(names == ["here", "pole", "other pole", "antipodes"])
      }
    },
    PointStoreContract("empty store returns nothing") { makeStore in
      let store = try await makeStore([])

      let box = try BoundingBox(west: -180, south: -90, east: 180, north: 90)
      let queries = [PointQuery(), PointQuery(box: box), PointQuery(categories: ["cafe"]), try .near(0, 0)]
      for query in queries { #expect(try await store.page(matching: query) == PointPage(points: [], hasMore: false)) }
      #expect(try await store.categoryCounts().isEmpty)
      #expect(try await store.point(shuffledAtOrAfter: 0) == nil)
      #expect(try await store.point(id: .sample(1)) == nil)
      try await store.checkReadiness()
    },
  ]
}
