import Basics
import Geo
import TestSupport
import Testing

@testable import Points

/// Texts that name an area.
@Suite struct AreaReadingTests {
  private static func area(
    _ number: UInt64, _ name: String, _ names: KeyValuePairs<String, String> = [:], west: Double = 0, size: Double = 1,
    importance: Double = 0.5
  ) throws -> Area {
    let corners = [(0.0, 0.0), (size, 0), (size, size), (0, size)]
    let ring = try corners.map { try Coordinate(latitude: 40 + $0.1, longitude: west + $0.0) }
    let draft = try AreaDraft(
      name: name, names: Tags(names.map { ($0.key, $0.value) }), importance: importance,
      outline: AreaOutline(polygons: [[ring]], isMultiple: false))
    let time = Timestamp(microsecondsSinceEpoch: 0)
    return Area(id: .sample(number), draft: draft, version: 1, createdAt: time, updatedAt: time)
  }

  private static let areas: Areas = {
    do {
      return Areas(
        [
          try area(1, "Wien", ["en": "Vienna", "fr": "Vienne", "ru": "Вена"], west: 16),
          try area(2, "New York", ["ja": "ニューヨーク"], west: -74), try area(3, "York", west: -1),
          try area(4, "東京", ["en": "Tokyo"], west: 139), try area(5, "Нижний Новгород", west: 44),
          try area(6, "Österreich", ["en": "Austria"], west: 10, size: 8),
          try area(7, "Paris", west: 2, importance: 0.9), try area(8, "Paris", west: -95),
          try area(9, "Texas", west: -100, size: 10), try area(10, "La Paz", west: -68),
          try area(11, "Санкт-Петербург", west: 30),
        ], version: 1)
    } catch {
      fatalError("\(error)")
    }
  }()

  @Test(
    arguments: [
      ("cafe vienna", 1, "cafe"), ("Café in Wien", 1, "Café"), ("Wien Café", 1, "Café"), ("cafés à Vienne", 1, "cafés"),
      ("pizza, new york", 2, "pizza"), ("york pizza", 3, "pizza"), ("薬局 東京", 4, "薬局"), ("東京の薬局", 4, "薬局"),
      ("薬局東京", 4, "薬局"), ("кафе в Вене", 1, "кафе"), ("кафе Вены", 1, "кафе"),
      ("музеи в Нижнем Новгороде", 5, "музеи"), ("музеи в Санкт-Петербурге", 11, "музеи"),
      ("cafe vienna austria", 1, "cafe"), ("bbq paris texas", 8, "bbq"), ("bbq paris", 7, "bbq"),
      ("hotel la paz", 10, "hotel"), ("in vienna", 1, "in"),
    ] as [(String, UInt64, String)])
  func wordsAtAnEndNameAnArea(text: String, area: UInt64, rest: String) throws {
    let reading = try #require(Self.areas.readings(of: text, isIncomplete: false, near: nil).first)

    #expect(reading.area.id == .sample(area))
    #expect(reading.rest.trimmingWhiteSpace() == rest)
  }

  @Test(arguments: ["", "-", "vienna", "cafe", "cafe vien", "cafe in vienna today", "new", "東京", "Österreich"])
  func otherTextsNameNone(text: String) {
    #expect(Self.areas.readings(of: text, isIncomplete: false, near: nil).isEmpty)
  }

  @Test func nearestOfManyAreasOfANameIsThatOfAScan() throws {
    var state: UInt64 = 7
    // A linear congruential generator (Knuth).
    func number(_ range: ClosedRange<Double>) -> Double {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return range.lowerBound + Double(state >> 11) / Double(1 << 53) * (range.upperBound - range.lowerBound)
    }
    let time = Timestamp(microsecondsSinceEpoch: 0)
    let all = try (1...1_000).map { index -> Area in
      let (west, south) = (number(-180...175), number(-80...80))
      let ring = try [(0.0, 0.0), (1, 0), (1, 1), (0, 1)].map {
        try Coordinate(latitude: south + $0.1, longitude: west + $0.0)
      }
      let draft = try AreaDraft(
        name: index.isMultiple(of: 4) ? "Same town" : "Same", kind: index.isMultiple(of: 3) ? .city : .region,
        importance: (number(0...1) * 4).rounded() / 4, outline: AreaOutline(polygons: [[ring]], isMultiple: false))
      return Area(id: .sample(UInt64(index)), draft: draft, version: 1, createdAt: time, updatedAt: time)
    }
    let areas = Areas(all, version: 1)
    func scanned(_ distance: AreaDistance?, _ candidates: [Area]) -> PointID? {
      candidates.min { left, right in
        func key(_ area: Area) -> (Double, Double, Double, PointID) {
          let least = distance.map { distance in
            area.draft.outline.boxes.map { distance.haversine(to: $0) }.min() ?? .infinity
          }
          return (least ?? 0, -area.draft.importance, -area.draft.outline.squareMetres, area.id)
        }
        return key(left) < key(right)
      }?.id
    }
    let same = areas.all.filter { $0.draft.name.utf8.count == 4 }

    for _ in 0..<100 {
      let place = try Coordinate(latitude: number(-90...90), longitude: number(-180...180))
      let distance = AreaDistance(from: place)
      #expect(areas.area(named: "same", near: place)?.id == scanned(distance, same), "\(place)")
      let cities = same.filter { $0.draft.kind == .city }
      #expect(areas.area(named: "same", near: place, of: .city)?.id == scanned(distance, cities), "\(place)")
      let typed = areas.readings(of: "cafe sam", isIncomplete: true, near: place).first?.area.id
      #expect(typed == scanned(distance, areas.all), "\(place)")
    }
    #expect(areas.area(named: "same")?.id == scanned(nil, same))
  }

  @Test func distanceOfABoxIsThatOfItsNearestPosition() throws {
    let box = AreaOutline.Box(west: 100_000_000, south: 400_000_000, east: 200_000_000, north: 500_000_000)
    for (latitude, longitude) in [(45.0, 5.0), (60, 15), (45, -170), (-40, 100), (89, -160), (0, 0)] {
      let place = try Coordinate(latitude: latitude, longitude: longitude)
      var nearest = Double.infinity
      for edge in 0...200 {
        let part = Double(edge) / 200
        for (y, x) in [(40.0, 10 + 10 * part), (50, 10 + 10 * part), (40 + 10 * part, 10.0), (40 + 10 * part, 20)] {
          let other = try Coordinate(latitude: y, longitude: x)
          nearest = min(nearest, AreaDistance(from: place).haversine(to: AreaOutline.Box(other)))
        }
      }

      let distance = AreaDistance(from: place).haversine(to: box)

      #expect(abs(distance - nearest) < 1e-5, "\(place)")
      #expect(distance <= nearest + 1e-12, "\(place)")
    }
  }

  @Test func wordThatIsBeingTypedMayBeTheBeginningOfAName() throws {
    func area(_ text: String) -> PointID? {
      Self.areas.readings(of: text, isIncomplete: true, near: nil).first?.area.id
    }

    #expect(area("cafe vien") == .sample(1) && area("cafe new yo") == .sample(2) && area("薬局 東") == .sample(4))
    #expect(area("cafe vi") == nil && area("cafe xyz") == nil)
  }

  @Test func positionChoosesAmongAreasOfAName() throws {
    let position = try Coordinate(latitude: 40, longitude: -90)

    let readings = Self.areas.readings(of: "hotel paris", isIncomplete: false, near: position)

    #expect(readings.first?.area.id == .sample(8))
  }
}
