import Geo
import Basics
import Points
import PostgresClient
import PostgresTestSupport
import SyntheticData
import TestSupport
import Testing

@testable import PostgresStore

/// Tests that values are stored and read without loss.
@Suite struct StoredValueTests {
  private static let hostileTexts: [String] = [
    "O'Reilly's \"Café\"", #"back\slash \n \u0041 \\"#, "'; DROP TABLE points; --", "$1 $$ $tag$ :name %s ?",
    "{\"json\": [1, null]}", "tab-free, but \u{A0}with\u{2003}spaces", "مقهى ‏النخيل", "北京烤鸭店", "👩‍👩‍👧‍👦 🏳️‍🌈 🇦🇹",
    "e\u{301} and \u{E9}", "\u{FFFD}\u{FEFF}\u{2028}\u{E000}", "\u{1D11E} \u{2F800} \u{E0100} \u{F0000} \u{10FFFD}",
    "\\.", "\\N", "NULL",
  ]

  private func store(_ rows: [ImportRow]) async throws -> PostgresStore {
    let store = try await TemporaryDatabase.make().migratedStore()
    try await store.importRows(rows)
    return store
  }

  @Test func textsOfEveryKindAreStoredUnchanged() async throws {
    let places = try Self.hostileTexts.map { text in
      try PointDraft(
        name: text,
        category: text,
        coordinate: try Coordinate(latitude: 1, longitude: 2),
        tags: try Tags([text: text, "\u{1}\u{1F}\"\\/": "\u{8}\u{C}\n\r\t"]),
        source: text,
        sourceID: text
      )
    }

    let store = try await store(places.enumerated().map { ImportRow(number: $0 + 1, id: nil, draft: $1) })

    let found = try await store.allPoints().map(\.draft)
    #expect(
      found.map(\.name.unicodeScalars.description).sorted() == places.map(\.name.unicodeScalars.description).sorted()
    )
    for place in places {
      let same = found.first { $0.name.utf8.elementsEqual(place.name.utf8) }
      #expect(same?.tags.json == place.tags.json)
      #expect(same?.category.map { Array($0.utf8) } == place.category.map { Array($0.utf8) })
      #expect(same?.origin.map { Array($0.sourceID.utf8) } == place.origin.map { Array($0.sourceID.utf8) })
    }
  }

  @Test func categoriesAreBoundAsParameters() async throws {
    let places = try Self.hostileTexts.map { text in
      try PointDraft(name: "x", category: text, coordinate: try Coordinate(latitude: 1, longitude: 2))
    }
    let store = try await store(places.enumerated().map { ImportRow(number: $0 + 1, id: nil, draft: $1) })

    for text in Self.hostileTexts {
      let page = try await store.page(matching: PointQuery(categories: [ExactText(text), "none", ""]))
      #expect(page.points.map { $0.point.draft.category } == [text])
    }
    #expect(try await store.categoryCounts().count == Self.hostileTexts.count)
  }

  @Test(
    arguments: [
      (0.1, -0.1), (-0.0, -0.0), (90, 180), (-90, -180), (89.999_999_999_999_99, 179.999_999_999_999_97),
      (.leastNonzeroMagnitude, -.leastNonzeroMagnitude), (1.0 / 3, 2.0 / 3),
      (89.999_999_999_999_99, .leastNonzeroMagnitude), (1e-160, 90.000_000_000_000_02),
    ] as [(Double, Double)]
  )
  func coordinatesAreStoredToTheLastBit(latitude: Double, longitude: Double) async throws {
    let coordinate = try Coordinate(latitude: latitude, longitude: longitude)
    let store = try await store([
      ImportRow(number: 1, id: nil, draft: try PointDraft(name: "x", coordinate: coordinate))
    ])

    let found = try #require(try await store.allPoints().first).draft.coordinate

    #expect(found.latitude.bitPattern == latitude.bitPattern)
    #expect(found.longitude.bitPattern == longitude.bitPattern)
  }

  @Test func largestPlaceIsStoredUnchanged() async throws {
    let tags = Dictionary(
      uniqueKeysWithValues: (0..<Tags.maximumCount).map { number in
        ("key \(number)", String(repeating: "\u{10000}", count: Tags.maximumValueLength))
      }
    )
    let place = try PointDraft(
      name: String(repeating: "\u{10000}", count: PointDraft.maximumNameLength),
      category: String(repeating: "\u{10000}", count: PointDraft.maximumCategoryLength),
      coordinate: try Coordinate(latitude: 1, longitude: 2),
      tags: try Tags(tags),
      source: String(repeating: "\u{10000}", count: PointDraft.maximumOriginLength),
      sourceID: String(repeating: "\u{10001}", count: PointDraft.maximumOriginLength)
    )

    let store = try await store([ImportRow(number: 1, id: nil, draft: place)])

    #expect(try await store.allPoints().map(\.draft) == [place])
  }

  @Test func positionsInTheDatabaseAreTheOnesComputedHere() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    try await store.importRows(try SyntheticPoints.hardCases())

    let rows = try await database.run(
      "SELECT lat, long, ST_X(position), ST_Y(position), ST_Z(position) FROM points"
    )

    for row in rows.split(separator: "\n") {
      let numbers = row.split(separator: "|").compactMap { Double($0) }
      let here = EarthCentred(try Coordinate(latitude: numbers[0], longitude: numbers[1]))
      let there = EarthCentred(x: numbers[2], y: numbers[3], z: numbers[4])
      #expect(here.chordSquared(to: there) < 1e-14)
    }
  }

  @Test func shufflesVisitAllPlacesInOrderOfTheirKeys() async throws {
    let store = try await TemporaryDatabase.make().migratedStore()
    var places = try SyntheticPoints(seed: 5)
    try await store.importRows(try places.rows(count: 300))
    let ids = Set(try await store.allPoints().map(\.id))

    // The first place's key lies between two pivots that find different places.
    var counts: [PointID: Int] = [:]
    for step in 0..<3000 {
      let pivot = UInt64(step) &* (UInt64.max / 3000)
      let point = try #require(try await store.point(shuffledAtOrAfter: pivot))
      counts[point.id, default: 0] += 1
    }
    let last = try await store.point(shuffledAtOrAfter: .max)
    let first = try await store.point(shuffledAtOrAfter: 0)

    #expect(Set(counts.keys).isSubset(of: ids))
    #expect(counts.count > 250)
    #expect(first != nil && first == last)
    let empty = try await TemporaryDatabase.make().migratedStore()
    #expect(try await empty.point(shuffledAtOrAfter: 1) == nil)
  }
}
