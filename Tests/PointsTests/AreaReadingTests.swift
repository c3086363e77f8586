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
