import Basics
import Geo
import JSONText
import Points
import SyntheticData
import Testing

extension PointStoreContract {
  static let longTags: [PointStoreContract] = [
    PointStoreContract("pages of long and short places are those of the reference") { makeStore in
      let store = try await makeStore(try longAndShortPlaces())
      let points = try await store.allPoints()
      let reference = BruteForce(points)
      let box = try BoundingBox(west: 15.99, south: 47.99, east: 16.06, north: 48.01)
      let largeBox = try BoundingBox(west: -20, south: -20, east: 100, north: 80)
      let near = try PointQuery.near(48, 16.03).proximity

      #expect(points.count == longAndShortPlacesCount)
      for base in [
        PointQuery(), PointQuery(box: box), PointQuery(box: largeBox), PointQuery(categories: ["a"]),
        PointQuery(proximity: near), try .near(48, 16.01, radiusMetres: 2000), PointQuery(proximity: near, box: box),
        PointQuery(proximity: near, categories: ["a", "b"]),
      ] {
        let ordered = base.proximity.map { reference.byDistance(from: $0.center) } ?? reference.byID()
        for limit in [2, 1000] {
          var query = base
          query.limit = limit
          while true {
            let expected = ordered.page(matching: query).fitting
            let page = try await store.page(matching: query)
            #expect(page.isEqual(to: expected), "\(query)")
            #expect(page.copied.isEqual(to: expected.points), "\(query)")
            guard let next = expected.next else { break }
            query.after = next
          }
        }
      }
    },
    PointStoreContract("long and short places are found by id at once") { makeStore in
      let store = try await makeStore(try longAndShortPlaces())
      let points = try await store.allPoints()

      let found = try await withThrowingTaskGroup(of: (PointID, PointOfInterest?).self) { group in
        for point in points + points {
          group.addTask { (point.id, try await store.point(id: point.id)) }
        }
        return try await group.reduce(into: [:]) { found, pair in found[pair.0] = pair.1 }
      }

      let isEqual = points.allSatisfy { found[$0.id] == $0 }
      #expect(isEqual)
    },
  ]

  private static let longAndShortPlacesCount = 120

  /// Returns places on a line of ten kilometres, of which some have tags of a megabyte, some tags of about the length
  /// from which a store may treat them differently, and most almost none.
  private static func longAndShortPlaces() throws -> [ImportRow] {
    var generator = SeededGenerator(seed: 5)
    let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    func noise(_ length: Int) -> String {
      String((0..<length).map { _ in letters.randomElement(using: &generator) ?? "a" })
    }
    // Incompressible and compressible texts.
    let parts = (0..<50).map { _ in noise(2000) }
    func tags(_ number: Int) throws -> Tags {
      switch number % 30 {
      case 2: try Tags((0..<500).map { (key: "key \($0)", value: parts[($0 * 7 + number) % 50]) })
      case 9: try Tags((0..<500).map { (key: "key \($0)", value: String(repeating: "x", count: 2000)) })
      case 5, 20: try Tags((0..<5).map { (key: "key \($0)", value: String(repeating: "y", count: 2000)) })
      // These are 4096 and 4097 bytes of JSON.
      case 7, 22: try Tags([("a", parts[0]), ("b", parts[1]), ("c", String(repeating: "z", count: 74))])
      case 11, 26: try Tags([("a", parts[2]), ("b", parts[3]), ("c", String(repeating: "z", count: 75))])
      case 13, 28: try Tags([("number", noise(number * 10))])
      default: try Tags(number % 2 == 0 ? [] : [("number", "\(number)")])
      }
    }
    return try (0..<longAndShortPlacesCount).map { number in
      ImportRow(
        number: number + 1,
        id: nil,
        draft: try PointDraft(
          name: "Place \(number)", category: number % 3 == 0 ? "a" : "b",
          coordinate: try Coordinate(latitude: 48, longitude: 16 + Double(number * 37 % 120) / 2000),
          tags: try tags(number), source: nil, sourceID: nil))
    }
  }
}

extension PointPage {
  /// The page, shortened to the limit of its texts.
  fileprivate var fitting: PointPage {
    let count = PointPage.fittingCount(of: points.count) { index in
      let place = points[index].point.draft
      return place.name.utf8.count + place.tags.json.utf8.count
    }
    return PointPage(points: Array(points.prefix(count)), hasMore: hasMore || count < points.count)
  }
}

extension Equatable {
  /// Returns whether the two are equal; unlike with `==`, a failed expectation doesn't print megabytes.
  fileprivate func isEqual(to other: Self) -> Bool { self == other }
}
