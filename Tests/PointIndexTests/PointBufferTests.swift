import Geo
import Points
import SyntheticData
import TestSupport
import Testing

@testable import PointIndex

@Suite struct PointBufferTests {
  /// Returns a place whose optional fields are absent or present, and short, long or of several bytes a character,
  /// by its number.
  private static func point(_ number: UInt64, version: Int64 = 1) throws -> PointOfInterest {
    let categories = [
      nil, "café", "\u{65}\u{301}", "a category of more than fifteen bytes", "κατηγορία \(number % 40)",
    ]
    let tags: KeyValuePairs<String, String> =
      number % 2 == 0 ? [:] : ["name:ja": "駅 \(number)", "opening_hours": "24/7"]
    let draft = try PointDraft(
      name: ["Kiosk", "Straßenbahnhaltestelle Łódź", "🏰 \(number)"][Int(number % 3)],
      category: categories[Int(number % 5)],
      coordinate: try Coordinate(latitude: Double(number % 180) - 90, longitude: Double(number % 361) - 180),
      tags: try Tags(tags),
      source: number % 4 == 0 ? nil : ["osm", "überall"][Int(number % 7 % 2)],
      sourceID: number % 4 == 0 ? nil : "node/\(number)"
    )
    return PointOfInterest(
      id: .sample(number),
      draft: draft,
      version: version,
      createdAt: Timestamp(microsecondsSinceEpoch: Int64(number) - 500),
      updatedAt: Timestamp(microsecondsSinceEpoch: Int64.max - Int64(number))
    )
  }

  private static func points(_ numbers: Range<UInt64>) throws -> ContiguousArray<PointOfInterest> {
    try ContiguousArray(numbers.map { try point($0) })
  }

  /// Appends the fields of a place as bytes.
  private static func append(_ point: PointOfInterest, to buffer: inout PointBuffer) {
    func bytes(_ text: String?) -> ContiguousArray<UInt8>? { text.map { ContiguousArray($0.utf8) } }
    func withBytes<Result>(
      _ bytes: ContiguousArray<UInt8>?, _ body: (UnsafeBufferPointer<UInt8>?) -> Result
    ) -> Result {
      bytes.map { $0.withUnsafeBufferPointer { body($0) } } ?? body(nil)
    }
    let draft = point.draft
    Array(draft.name.utf8).withUnsafeBufferPointer { name in
      Array(draft.tags.json.utf8).withUnsafeBufferPointer { tags in
        withBytes(bytes(draft.category)) { category in
          withBytes(bytes(draft.origin?.source)) { source in
            withBytes(bytes(draft.origin?.sourceID)) { sourceID in
              buffer.append(
                BorrowedPoint(
                  id: point.id, coordinate: draft.coordinate, version: point.version, createdAt: point.createdAt,
                  updatedAt: point.updatedAt, name: name, category: category, tags: tags, source: source,
                  sourceID: sourceID))
            }
          }
        }
      }
    }
  }

  private static func allPoints(of snapshot: PointSnapshot) -> [PointOfInterest] {
    var walk = PointWalk(snapshot, matching: PointQuery())
    var points: [PointOfInterest] = []
    while !walk.isAtEnd { points += walk.nextBatch(maximumCount: 100, maximumSteps: 1000) }
    return points
  }

  @Test func everyFieldOfAPlaceIsKept() throws {
    let points = try Self.points(0..<420)
    var buffer = PointBuffer()

    for point in points { Self.append(point, to: &buffer) }

    #expect(buffer.count == 420)
    #expect(
      buffer.textBytes
        == points.reduce(0) { sum, point in
          sum + point.draft.name.utf8.count + point.draft.tags.json.utf8.count
            + (point.draft.origin?.sourceID.utf8.count ?? 0)
        })
    #expect(Self.allPoints(of: PointSnapshot(buffer)) == Array(points))
  }

  @Test func emptyBufferMakesAnEmptySnapshot() {
    #expect(PointSnapshot(PointBuffer()).count == 0)
    #expect(PointChanges(puts: PointBuffer()).isEmpty)
  }

  @Test func appendedBufferKeepsItsPlacesAndSharesTheNumbersOfTexts() throws {
    let points = try Self.points(0..<400)
    var (first, second) = (PointBuffer(), PointBuffer())
    for point in points[..<150] { first.append(point) }
    for point in points[150...].reversed() { second.append(point) }

    first.append(contentsOf: second)

    #expect(first.count == 400)
    #expect(first.sources.texts.count == 2)
    #expect(Set(first.categories.texts.map { Array($0.utf8) }).count == first.categories.texts.count)
    #expect(Self.allPoints(of: PointSnapshot(first)) == Array(points))
  }

  @Test func copyOfABufferIsUnchangedByAdditionsToTheOther() throws {
    var buffer = PointBuffer(try Self.points(0..<10))
    let copy = buffer

    buffer.append(try Self.point(10))

    #expect((copy.count, buffer.count) == (10, 11))
    #expect(PointSnapshot(copy).count == 10)
  }

  @Test func placesAreFoundByTheirSourceReferences() throws {
    let points = try Self.points(0..<1_000)
    let snapshot = PointSnapshot(points)

    for point in points {
      guard let origin = point.draft.origin else { continue }
      #expect(snapshot.location(of: origin).map { snapshot.id(at: $0) } == point.id)
    }
    #expect(snapshot.location(of: SourceReference(source: "osm", sourceID: "node")) == nil)
    #expect(snapshot.location(of: SourceReference(source: "os", sourceID: "mnode/1")) == nil)
  }

  @Test func categoriesOfRemovedPlacesLeaveWithTheirPart() throws {
    let former = PointSnapshot(try Self.points(0..<200))

    let next = former.applying(.init(removals: (5..<200).map { .sample($0) }))

    let names = next.parts.flatMap(\.segment.categories.names)
    #expect(names.count == 4)
    #expect(Self.allPoints(of: next) == Array(try Self.points(0..<5)))
  }

  @Test(arguments: 0..<6)
  func snapshotsOfBuffersAndOfArraysAreEqualAfterAnyChanges(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var fromArrays = PointSnapshot()
    var fromBuffers = PointSnapshot()
    var expected: [PointID: PointOfInterest] = [:]

    for round in 0..<30 as Range<Int64> {
      let size = [1, 5, 60, 900][Int.random(in: 0..<4, using: &random)]
      let numbers = (0..<size).map { _ in UInt64.random(in: 0..<2_000, using: &random) }
      let puts = try Set(numbers.prefix(size / 2 + 1)).map { try Self.point($0, version: round) }
      let removals = numbers.dropFirst(size / 2 + 1).map { PointID.sample($0) }
      var buffer = PointBuffer()
      for point in puts.shuffled(using: &random) { Self.append(point, to: &buffer) }
      fromArrays = fromArrays.applying(.init(puts: ContiguousArray(puts), removals: removals))
      fromBuffers = fromBuffers.applying(.init(puts: buffer, removals: removals))
      for id in removals { expected[id] = nil }
      for point in puts { expected[point.id] = point }
    }

    let points = expected.values.sorted { $0.id < $1.id }
    #expect(Self.allPoints(of: fromArrays) == points)
    #expect(Self.allPoints(of: fromBuffers) == points)
    #expect(fromBuffers.categoryCounts(in: nil) == fromArrays.categoryCounts(in: nil))
    #expect(points.allSatisfy { fromBuffers.point(id: $0.id) == $0 })
    for latitude in stride(from: -90.0, through: 90, by: 15) {
      let query = try PointQuery.near(latitude, latitude * 2, limit: 40)
      #expect(try fromBuffers.page(matching: query) == fromArrays.page(matching: query))
    }
  }

  @Test func textsAreNumberedByTheirBytes() {
    var numbers = TextNumbers()
    let texts = ["", "é", "e\u{301}", "a text of more than fifteen bytes"] + (0..<100).map { "text \($0)" }

    let first = texts.map { numbers.number(of: $0) }
    let second = texts.map { text in Array(text.utf8).withUnsafeBufferPointer { numbers.number(of: $0) } }

    #expect(first == Array(0..<104))
    #expect(second == first)
    #expect(texts.map { numbers.existingNumber(of: $0) } == first)
    #expect(numbers.existingNumber(of: "text 100") == nil)
    #expect(numbers.texts == texts)
  }

  @Test(arguments: [52.517_036_5, 52.517_036_512_345])
  func coordinatesOfASegmentAreExactWhateverTheirDecimals(latitude: Double) throws {
    var points = try Self.points(0..<50)
    let draft = try PointDraft(name: "Kiosk", coordinate: try Coordinate(latitude: latitude, longitude: 13.388_859_9))
    let time = Timestamp(microsecondsSinceEpoch: 0)
    points.append(PointOfInterest(id: .sample(50), draft: draft, version: 1, createdAt: time, updatedAt: time))

    let snapshot = PointSnapshot(points)

    for point in points { #expect(snapshot.point(id: point.id) == point) }
  }

  @Test func stampsThatRepeatHaveOneNumber() {
    func stamp(_ number: Int64) -> PointStamp {
      let time = Timestamp(microsecondsSinceEpoch: number / 2)
      return PointStamp(version: number, createdAt: time, updatedAt: time)
    }
    var numbers = StampNumbers()

    for number in 0..<5_000 as Range<Int64> {
      for stamp in [stamp(number), stamp(-1)] {
        let found = Int(numbers.number(of: stamp))
        #expect(numbers.stamps[found] == stamp)
      }
    }

    // Few of the others have the hash of that which repeats.
    #expect((5_001..<5_100).contains(numbers.stamps.count))
  }

  /// Returns places whose tags begin alike, among them some with fields of any length, and enough of them for a segment
  /// that shares beginnings.
  private static func pointsWithTags(_ count: Int, _ tags: (Int) -> [String: String]) throws -> ContiguousArray<
    PointOfInterest
  > {
    try ContiguousArray(
      (0..<count).map { number in
        // Every hundredth has a field that is too long for a packed record.
        let isLong = number % 100 == 7
        let draft = try PointDraft(
          name: isLong && number % 3 == 0 ? String(repeating: "é", count: 200) : "Kiosk \(number)",
          category: number % 3 == 0 ? nil : "category \(number % 300)",
          coordinate: try Coordinate(latitude: Double(number % 180) - 90, longitude: Double(number % 361) - 180),
          tags: try Tags(tags(number)),
          source: "source \(number % 300)",
          sourceID: isLong && number % 3 == 1 ? String(repeating: "é", count: 150) + "\(number)" : "node/\(number)")
        let time = Timestamp(microsecondsSinceEpoch: Int64(number / 10))
        return PointOfInterest(
          id: .sample(UInt64(number)), draft: draft, version: 1, createdAt: time, updatedAt: time)
      })
  }

  @Test func tagsThatBeginAlikeAreStoredOnceAndReadAsTheyWere() throws {
    let long = String(repeating: "ü", count: 600)
    let points = try Self.pointsWithTags(4_200) { number in
      if number % 100 == 1 { return ["description": long, "ref": "\(number)"] }
      return switch number % 6 {
      case 0: [:]
      case 1: ["opening_hours": "Mo-Fr 08:00-18:00", "ref": "\(number)"]
      case 2: ["opening_hours": "Mo-Fr 08:00-18:00", "quoted \"\\": "\"", "ref": "\(number)"]
      case 3: ["amenity": "bench"]
      case 4: ["name:ja": "駅 \(number % 40)", "opening_hours": "24/7"]
      default: ["ref": "\(number)"]
      }
    }
    let snapshot = PointSnapshot(points)
    let changed = snapshot.applying(.init(removals: (0..<4_000).map { .sample($0) }))

    let segment = try #require(snapshot.parts.first).segment
    #expect(segment.records.byteCounts.texts < segment.records.textBytes - 12 * points.count)
    #expect(Self.allPoints(of: snapshot) == Array(points))
    #expect(Self.allPoints(of: changed) == Array(points[4_000...]))
    for point in points {
      #expect(snapshot.point(id: point.id) == point)
      let origin = try #require(point.draft.origin)
      #expect(snapshot.location(of: origin).map { snapshot.id(at: $0) } == point.id)
    }
    #expect(!snapshot.names("駅 3", limit: 10_000).isEmpty)
  }

  @Test func tagsWithoutCommonBeginningsAreStoredAsTheyAre() throws {
    let points = try Self.pointsWithTags(4_200) { number in ["\(number)": "\(number)"] }

    let snapshot = PointSnapshot(points)

    let records = try #require(snapshot.parts.first).segment.records
    #expect(records.byteCounts.texts >= records.textBytes)
    #expect(Self.allPoints(of: snapshot) == Array(points))
  }

  @Test func shuffledPlaceIsTheNextOneThatIsNotRemoved() throws {
    let points = try Self.points(0..<300)
    let ordered = points.map(\.id).sorted { $0.shuffleKey < $1.shuffleKey }
    var snapshot = PointSnapshot(points)
    // More than a segment keeps of a pivot, and those across the greatest key.
    for (index, id) in (ordered[100..<120] + ordered[290...]).enumerated() {
      let pivots = [ordered[100].shuffleKey, ordered[99].shuffleKey + 1, ordered[290].shuffleKey, .max]
      let present = ordered.filter { snapshot.point(id: $0) != nil }
      for pivot in pivots {
        let expected = try #require(present.first { $0.shuffleKey >= pivot } ?? present.first)
        #expect(snapshot.point(shuffledAtOrAfter: pivot)?.id == expected, "\(index)")
      }
      snapshot = snapshot.applying(.init(removals: [id]))
    }
  }
}
