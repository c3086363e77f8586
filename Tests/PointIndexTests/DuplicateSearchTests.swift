import Basics
import Geo
import Points
import SearchWords
import SyntheticData
import TestSupport
import Testing

@testable import PointIndex

@Suite struct DuplicateSearchTests {
  private struct Place {
    let source: String
    let name: String
    var category: String?
    var latitude = 0.0
    var longitude = 0.0
    var tags: [String: String] = [:]
  }

  private static func snapshot(_ places: [Place], categories: CategoryTree = .empty) throws -> PointSnapshot {
    var text = TextIndexConfiguration()
    text.categories = categories
    let points = try places.enumerated().map { number, place in
      PointOfInterest(
        id: PointID(high: 1, low: UInt64(number)),
        draft: try PointDraft(
          name: place.name, category: place.category,
          coordinate: Coordinate(latitude: place.latitude, longitude: place.longitude),
          tags: Tags(place.tags.map { (key: $0.key, value: $0.value) }), source: place.source,
          sourceID: "\(number)"),
        version: 1, createdAt: Timestamp(microsecondsSinceEpoch: 0), updatedAt: Timestamp(microsecondsSinceEpoch: 0))
    }
    return PointSnapshot(ContiguousArray(points), text: text)
  }

  private static func query(_ source: String = "a", _ other: String = "b") -> DuplicateQuery {
    var query = DuplicateQuery(source: .init(source), other: .init(other))
    query.minimumScore = 500
    return query
  }

  private static func candidates(
    _ places: [Place], categories: CategoryTree = .empty, _ query: DuplicateQuery = query()
  ) throws -> [DuplicateCandidate] {
    let found = try #require(try snapshot(places, categories: categories).duplicates(matching: query))
    return found.sorted { $0.rank < $1.rank }
  }

  @Test func partsOfTheScoreAreThoseOfTheDocumentation() throws {
    let found = try Self.candidates([
      Place(
        source: "a", name: "Café Central", category: "cafe",
        tags: [
          "phone": "+43 1 5333763", "website": "http://www.cafe.example/", "addr:street": "Herrengasse",
          "addr:housenumber": "14", "addr:postcode": "1010",
        ]),
      Place(
        source: "b", name: "Cafe Central Wien", category: "restaurant", latitude: 0.0005,
        tags: [
          "contact:phone": "0043 15333763", "url": "https://cafe.example/en", "addr:street": "Herren-Gasse",
          "addr:housenumber": "16", "addr:postcode": "1010",
        ]),
      Place(source: "b", name: "Bakery", category: "bakery", latitude: 10),
    ])

    let pair = try #require(found.first)
    #expect(found.count == 1)
    #expect(pair.distanceMetres == 55)
    // 1000 - 55,000 / 300
    #expect(pair.score.distance == 817)
    // Of three places, two have `cafe` and `central`, weight 1, and one has `wien`, weight 2:
    // (1000 · 4 / 6 + 1000) / 2
    #expect(pair.score.name == 833)
    #expect(pair.score.category == 0)
    #expect(pair.score.phone == 1000)
    #expect(pair.score.website == 500)
    // (4 + 2) / (4 + 4 + 2)
    #expect(pair.score.address == 600)
    // (35 · 817 + 50 · 833 + 15 · 0 + 40 · 1000 + 30 · 500 + 20 · 600) / 190
    #expect(pair.score.total == 722)
  }

  @Test(arguments: [
    ("Goroka Airport", "GOROKA AIRPORT", 1000), ("Bosch Straße", "Boschstrasse", 1000),
    ("Intl. Airport Wien", "Wien International Airport", 850), ("Zürich", "Zurich", 1000),
    ("St. Pölten", "Sankt Polten", 333), ("Hamburg", "Hamburk", 715), ("Station 14", "Station 15", 333),
    ("東京都庁", "東京都", 450), ("J. Smith", "John Smith", 666),
  ])
  func namesAreAlikeInSpiteOfSpelling(left: String, right: String, thousandths: Int) throws {
    let found = try Self.candidates([Place(source: "a", name: left), Place(source: "b", name: right)])

    #expect(found.map { Int($0.score.name) } == [thousandths])
  }

  @Test func rareWordsWeighMoreThanCommonOnes() throws {
    var places = (0..<40).map { Place(source: "a", name: "Hotel Nr \($0)", latitude: 20 + Double($0)) }
    places += [
      Place(source: "a", name: "Hotel Sacher"), Place(source: "b", name: "Hotel Imperial", latitude: 0.0001),
      Place(source: "b", name: "Sacher", latitude: 0.0002),
    ]

    let found = try Self.candidates(places)

    #expect(found.map(\.second) == [PointID(high: 1, low: 42)])
  }

  @Test func alternativeNamesCountAndCodesOfListsDoNot() throws {
    let found = try Self.candidates([
      Place(source: "a", name: "København", tags: ["name:en": "Copenhagen"]),
      Place(source: "b", name: "Copenhagen", tags: ["alt_name": "Kopenhagen;CPH"]),
    ])

    #expect(found.first?.score.name == 1000)
  }

  @Test(arguments: [
    ("airport", "aerodrome", 4_900.0, true), ("airport", "aerodrome", 5_100, false), ("airport", "cafe", 310, false),
    ("cafe", "coffee_shop", 200, true), ("cafe", "cafe", 310, false), ("city", "town", 20_000, true),
  ])
  func radiusDependsOnTheCategory(left: String, right: String, metres: Double, isFound: Bool) throws {
    let declarations: [CategoryTree.Declaration] = [
      ("aerodrome", nil, ["airport"]), ("cafe", nil, ["coffee_shop"]), ("populated_place", nil, []),
      ("place:city", "populated_place", ["city"]), ("place:town", "populated_place", ["town"]),
    ].map { name, parent, others in
      .init(
        name: .init(name), parent: parent.map { .init($0) }, otherNames: others.map { .init($0) },
        names: [.init(language: "en", label: name, synonyms: [])])
    }

    let found = try Self.candidates(
      [
        Place(source: "a", name: "Same", category: left),
        Place(source: "b", name: "Same", category: right, longitude: metres / 111_319.5),
      ], categories: try CategoryTree(declarations))

    #expect(found.isEmpty != isFound)
  }

  @Test func everyNearPairIsFoundAnywhereOnEarth() throws {
    var generator = SeededGenerator(seed: 7)
    var places: [Place] = []
    for (latitude, longitude) in [(0.0, 180.0), (90, 0), (-90, 0), (47.3, 8.5), (0, 0), (-33, -180)] {
      for index in 0..<40 {
        let north = Double.random(in: -0.004...0.004, using: &generator)
        let east = Double.random(in: -0.004...0.004, using: &generator)
        var moved = longitude + (abs(latitude) == 90 ? Double.random(in: -179...179, using: &generator) : east)
        if moved > 180 { moved -= 360 }
        if moved < -180 { moved += 360 }
        places.append(
          Place(
            source: index % 2 == 0 ? "a" : "b", name: "Same", latitude: min(90, max(-90, latitude + north)),
            longitude: moved))
      }
    }
    let coordinates = try places.map { try Coordinate(latitude: $0.latitude, longitude: $0.longitude) }
    var expected: Set<PlacePair> = []
    for left in places.indices where places[left].source == "a" {
      for right in places.indices where places[right].source == "b" {
        guard Geodesic.distanceMetres(from: coordinates[left], to: coordinates[right]) < 300 else { continue }
        let pair = PlacePair(PointID(high: 1, low: UInt64(left)), PointID(high: 1, low: UInt64(right)))
        expected.insert(try #require(pair))
      }
    }

    let found = try Self.candidates(places)

    #expect(expected.count > 100)
    #expect(Set(found.map(\.pair)) == expected)
  }

  @Test func pairsOfOneDataSetComeOnceAndAreTheSameInEitherOrder() throws {
    let places = [
      Place(source: "a", name: "Same"), Place(source: "a", name: "Same", latitude: 0.0001),
      Place(source: "b", name: "Some", latitude: 0.0002),
    ]

    let within = try Self.candidates(places, Self.query("a", "a"))
    let forth = try Self.candidates(places, Self.query("a", "b"))
    let back = try Self.candidates(places, Self.query("b", "a"))

    #expect(within.count == 1)
    #expect(forth.map(\.pair) == back.map(\.pair))
    #expect(forth.map(\.score) == back.map(\.score))
    #expect(forth.map(\.first) == back.map(\.second))
  }

  @Test func bothPlacesAreInTheBox() throws {
    let places = [
      Place(source: "a", name: "Same"), Place(source: "b", name: "Same", latitude: 0.001),
      Place(source: "b", name: "Same", latitude: -0.001),
    ]
    var query = Self.query()
    query.box = try BoundingBox(west: -1, south: 0, east: 1, north: 1)

    #expect(try Self.candidates(places, query).map(\.second) == [PointID(high: 1, low: 1)])
  }

  @Test func limitsOfPlacesAndOfTimeEndASearch() throws {
    let places = (0..<400).map { Place(source: $0 % 2 == 0 ? "a" : "b", name: "Same \($0)") }
    let snapshot = try Self.snapshot(places)
    var few = Self.query()
    few.maximumPlaces = 399
    var late = Self.query()
    late.timeLimit = .nanoseconds(1)

    #expect(try snapshot.duplicates(matching: few) == nil)
    few.maximumPlaces = 400
    #expect(try snapshot.duplicates(matching: few) != nil)
    #expect(throws: PointStoreError.filterTimeout) { try snapshot.duplicates(matching: late) }
  }

  @Test func twoThreadsFindWhatOneFinds() throws {
    let places = (0..<3_000).flatMap { (number: Int) -> [Place] in
      let (latitude, longitude) = (Double(number % 90), Double(number % 170))
      let name = "Place \(number)"
      return [
        Place(source: "a", name: name, latitude: latitude, longitude: longitude),
        Place(source: "b", name: name, latitude: latitude, longitude: longitude + 0.001),
      ]
    }
    let snapshot = try Self.snapshot(places)

    let one = try #require(try snapshot.duplicates(matching: Self.query()))
    let two = try snapshot.allDuplicates(matching: Self.query())

    #expect(one.count >= 3_000)
    #expect(Set(one) == Set(two) && one.count == two.count)
  }
}
