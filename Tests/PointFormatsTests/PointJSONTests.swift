import Basics
import Geo
import JSONText
import TestSupport
import Testing

@testable import PointFormats
@testable import Points

@Suite struct PointJSONTests {
  @Test(arguments: ["\u{1}", "\"", "\u{1F3D4}"])
  func maximumLengthIsNeverExceeded(character: String) throws {
    let text = String(repeating: character, count: 1000)
    let draft = PointDraft(
      storedName: text, category: text, coordinate: try Coordinate(latitude: -89.123456789012345, longitude: -1e-9),
      tags: try Tags(["k": text]), origin: SourceReference(source: text, sourceID: text))
    let time = Timestamp(microsecondsSinceEpoch: .max / 100)
    let point = PointOfInterest(id: .sample(1), draft: draft, version: .max, createdAt: time, updatedAt: time)
    var found = FoundPoint(point: point, distanceMetres: 20_003_931.123456789, alongMetres: 1.0 / 3)
    (found.attribution, found.label) = (text, text)
    let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: 1 << 20)
    defer { memory.deallocate() }

    let fields = FieldSet.all.union(.derived)
    found.withBorrowed { point in
      let length = PointJSON.write(found, point, fields: fields, isFollowing: true, to: memory)
      #expect(length <= PointJSON.maximumLength(of: found))
      #expect(length > 6 * 1000)

      let storedLength = PointJSON.write(point, fields: .all, isFollowing: true, to: memory)
      #expect(storedLength <= PointJSON.maximumLength(of: point))
    }
  }

  // MARK: The memory of a place

  /// Degrees whose texts are the longest of their kind, those near 0 included.
  private static let degrees: [Double] = [
    0, -0.0, -0.001_234_567_890_123_456_7, -0.001.nextDown, -0.001, -0.001.nextUp, -0.000_999_999_999_999_999_9, -1e-7,
    -.leastNormalMagnitude, -Double.leastNormalMagnitude.nextUp, -.leastNonzeroMagnitude, -89.999_999_999_999_99, -90,
    -179.999_999_999_999_97, -180,
  ]

  /// Places with the longest numbers and times, without texts: these may take less than what is reserved for them.
  @Test(arguments: degrees, degrees) func numbersFitIntoReservedMemory(latitude: Double, longitude: Double) throws {
    let coordinate = try Coordinate(latitude: max(latitude, -90), longitude: longitude)
    let draft = PointDraft(
      storedName: "", category: "", coordinate: coordinate, tags: Tags(storedJSON: "{}"),
      origin: SourceReference(source: "", sourceID: ""))
    for time in [Int64.min, .max].map({ Timestamp(microsecondsSinceEpoch: $0) }) {
      let point = PointOfInterest(id: .sample(1), draft: draft, version: .min, createdAt: time, updatedAt: time)
      var found = FoundPoint(point: point, distanceMetres: 20_003_931.46, alongMetres: 1_999_999_999.96)
      expectFit(found)
      (found.attribution, found.label, found.score) = ("", "", -1e300)
      var state = PlaceState(state: .unknown, timeZone: "")
      state.openUntil = RFC3339.text(secondsSinceEpoch: time.microsecondsSinceEpoch / 2_000_000, offsetSeconds: -86_340)
      state.opensAt = state.openUntil
      found.state = state
      expectFit(found)
      found.match = TextMatch.Name(key: "", text: "", ranges: Array(repeating: Int.max - 1..<Int.max, count: 100))
      expectFit(found)
    }
  }

  @Test(arguments: ["\u{1}", "\"", "x", "\u{1F3D4}"], [1, 15, 16, 17, 1000])
  func textsFitIntoReservedMemory(character: String, count: Int) throws {
    let text = String(repeating: character, count: count)
    let coordinate = try Coordinate(latitude: -.leastNonzeroMagnitude, longitude: -.leastNonzeroMagnitude)
    let tags = Tags(storedJSON: "{\"k\":\"" + String(repeating: "v", count: 65_536) + "\"}")
    let time = Timestamp(microsecondsSinceEpoch: .min)
    for origin in [nil, SourceReference(source: text, sourceID: text)] {
      for category in [nil, text] {
        let draft = PointDraft(
          storedName: text, category: category, coordinate: coordinate, tags: tags, origin: origin)
        let point = PointOfInterest(id: .sample(1), draft: draft, version: .min, createdAt: time, updatedAt: time)
        var found = FoundPoint(point: point, distanceMetres: nil)
        expectFit(found)
        (found.attribution, found.label, found.state) = (text, text, PlaceState(state: .closed, timeZone: text))
        found.match = TextMatch.Name(key: text, text: text, ranges: [])
        expectFit(found)
      }
    }
  }

  /// Expects the place alone, in each format and as the only one of a page, to take no more memory than is reserved.
  private func expectFit(_ found: FoundPoint) {
    let fields = FieldSet.all.union(.derived)
    var (json, feature, otherFeature, page) = (GuardedSink(), GuardedSink(), GuardedSink(), GuardedSink())

    PointJSON.append(found, fields: fields, isFollowing: true, to: &json)
    PointGeoJSON.append(found, fields: fields, isFollowing: true, to: &feature)
    PointGeoJSON.append(
      found, fields: fields, isFollowing: true,
      coordinates: (-.leastNonzeroMagnitude, -.greatestFiniteMagnitude), to: &otherFeature)
    PointJSON.appendArray(of: SplitPoints(points: [found]), fields: .all, to: &page)

    #expect(json.isIntact && feature.isIntact && otherFeature.isIntact && page.isIntact)
    #expect(page.holds(Self.page(of: [found], fields: .all)))
  }

  // MARK: The memory of a page

  /// Places whose tags are in two parts.
  private struct SplitPoints: PagePoints {
    let points: [FoundPoint]

    var count: Int { points.count }

    func forEach(_ body: (BorrowedPoint) -> Void) {
      for (index, point) in points.enumerated() {
        point.withBorrowed { place in
          var (place, tags) = (place, place.tags.rest)
          let middle = min(index, tags.count)
          place.tags = (UnsafeBufferPointer(rebasing: tags[..<middle]), UnsafeBufferPointer(rebasing: tags[middle...]))
          body(place)
        }
      }
    }
  }

  /// Returns the array of the objects of places, each of which was made alone.
  private static func page(of points: [FoundPoint], fields: FieldSet) -> [UInt8] {
    var page = Array("[".utf8)
    for (index, point) in points.enumerated() {
      var object: [UInt8] = []
      PointJSON.append(point, fields: fields, to: &object)
      if index > 0 { page += ",".utf8 }
      page += object
    }
    return page + "]".utf8
  }

  private enum Kind: Character, CaseIterable {
    case short = "s"
    case longName = "n"
    case longTags = "t"
    case manyEscapes = "e"
    case nearZero = "0"
  }

  private static func place(_ kind: Kind, _ number: Int) throws -> FoundPoint {
    var (name, tags) = ("Name \(number)", "{\"key\":\"\(number)\"}")
    var coordinate = try Coordinate(latitude: 48.2084114, longitude: -16.3734707)
    switch kind {
    case .short: break
    case .longName: name = String(repeating: "\u{1F3D4}", count: 500 + number)
    case .longTags: tags = "{\"key\":\"" + String(repeating: "v", count: 65_536 - number) + "\"}"
    case .manyEscapes: name = String(repeating: "\u{1}\"", count: 500 - number)
    case .nearZero: coordinate = try Coordinate(latitude: .leastNonzeroMagnitude, longitude: -.leastNormalMagnitude)
    }
    let draft = PointDraft(
      storedName: name, category: number % 2 == 0 ? "cafe" : nil, coordinate: coordinate, tags: Tags(storedJSON: tags),
      origin: number % 3 == 0 ? SourceReference(source: "osm", sourceID: "node/\(number)") : nil)
    let time = Timestamp(microsecondsSinceEpoch: Int64(number) * 1_000_001)
    return FoundPoint(
      point: PointOfInterest(
        id: .sample(UInt64(number)), draft: draft, version: Int64(number), createdAt: time, updatedAt: time),
      distanceMetres: number % 4 == 0 ? nil : Double(number) / 7, alongMetres: number % 5 == 0 ? 0.05 : nil)
  }

  @Test(arguments: [
    "", "s", "n", "t", "e", "0", "ss", "ns", "ts", "es", "0s", "sn", "st", "se", "s0", "ssssssssssssssssssss",
    "sssssssssn", "nsssssssss", "tsssssssss", "sssssnsssss", "snsnsnsnsn", "ststststst", "sesesesese", "s0s0s0s0s0s0",
    "nnnnnnnn", "tttttttt", "eeeeeeee", "00000000", "netsnetsnetsnets",
  ])
  func pageHasTheObjectsOfItsPlacesWhateverFits(kinds: String) throws {
    try expectPage(of: try kinds.enumerated().map { try Self.place(try #require(Kind(rawValue: $1)), $0) })
  }

  @Test func pageOfAnyMixtureHasTheObjectsOfItsPlaces() throws {
    var state: UInt64 = 1
    for _ in 0..<60 {
      var points: [FoundPoint] = []
      state = SplitMix64.mix(state &+ 1)
      for number in 0..<Int(state % 50) {
        state = SplitMix64.mix(state &+ 1)
        // Most are short, so that long ones come at any part of a page.
        let kind = state % 16 < 14 ? .short : Kind.allCases[Int(state >> 8) % Kind.allCases.count]
        points.append(try Self.place(kind, number))
      }
      try expectPage(of: points)
    }
  }

  private func expectPage(of points: [FoundPoint]) throws {
    for fields in [FieldSet.all, .standard, [.id, .name], .tags] {
      let expected = Self.page(of: points, fields: fields)
      let pages: [any PagePoints] = [SplitPoints(points: points), PointPage(points: points, hasMore: false).borrowed]
      for page in pages {
        var sink = GuardedSink()

        PointJSON.appendArray(of: page, fields: fields, to: &sink)

        #expect(sink.holds(expected))
      }
    }
    guard case .array(let values) = try JSONReader.value(of: Self.page(of: points, fields: .all)) else {
      Issue.record("not an array")
      return
    }
    #expect(values.map { $0["id"] } == points.map { .string($0.point.id.description) })
  }
}
