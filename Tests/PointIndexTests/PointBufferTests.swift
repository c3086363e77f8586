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
}
