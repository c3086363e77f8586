import Geo
import PointFormats
import Points
import Testing

/// Files that are written read as the same places.
@Suite struct RoundTripTests {
  /// Names and values that have broken formats before, and a scalar of every plane of Unicode.
  private static let texts: [String] =
    [
      "plain", "with \"quotes\"", "comma, comma", "back\\slash", "a'b", "'", "''=x", "'plain", "=1+1", "+39 Bar",
      "-1", "@home", "'@home", "{\"json\":1}", "]}", "tab\u{2003}space", "e\u{301}", "\u{E9}", "\u{FEFF}BOM",
      "null", "1e5", "\u{2028}separators\u{2029}", "שלום", "مرحبا", "👩‍👩‍👧‍👦", "\u{1F1E8}\u{1F1ED}",
    ]
    + (0...16).map { plane in "plane \(plane) \(Unicode.Scalar(UInt32(plane) << 16 | 0xFFFD).map(String.init) ?? "")" }

  private static func points() throws -> [PointOfInterest] {
    var generator = SystemRandomNumberGenerator()
    let time = Timestamp(microsecondsSinceEpoch: 1_763_633_700_123_456)
    return try texts.enumerated().map { index, text in
      let latitude = index % 3 == 0 ? Double.random(in: -90...90) : Double(index) - 20.5
      let longitude =
        index % 3 == 1 ? Double.random(in: -180...180) : [180, -180, 0, 1e-7, .leastNonzeroMagnitude][index % 5]
      return PointOfInterest(
        id: PointID(at: time, using: &generator),
        draft: try PointDraft(
          name: text,
          category: index % 2 == 0 ? text : nil,
          coordinate: try Coordinate(latitude: latitude, longitude: longitude),
          tags: index % 4 == 0 ? .none : Tags([text: "line\r\nbreak\t\(text)", "": "", "k": text]),
          source: index % 5 == 0 ? nil : text,
          sourceID: index % 5 == 0 ? nil : "\(text)/\(index)"
        ),
        version: Int64(index + 1),
        createdAt: time,
        updatedAt: time
      )
    }
  }

  private static func written(_ points: [PointOfInterest], _ format: PointFormat) -> [UInt8] {
    var writer = PointFileWriter(format: format)
    var bytes: [UInt8] = []
    writer.begin(to: &bytes)
    for point in points { writer.append(point, to: &bytes) }
    writer.end(to: &bytes)
    return bytes
  }

  @Test(arguments: PointFormat.allCases)
  func whatIsWrittenReadsAsTheSamePlaces(format: PointFormat) throws {
    let points = try Self.points()

    let parsed = Parsed(Self.written(points, format), format)

    #expect(parsed.error == nil)
    #expect(parsed.rejections == [])
    #expect(parsed.rows.map(\.id) == points.map(\.id))
    #expect(parsed.rows.map(\.draft) == points.map(\.draft))
    // Strings are equal when they are canonically equivalent; here the bytes must be.
    #expect(parsed.rows.map { Array($0.draft.name.utf8) } == points.map { Array($0.draft.name.utf8) })
    #expect(parsed.rows.map { Array($0.draft.tags.json.utf8) } == points.map { Array($0.draft.tags.json.utf8) })
    #expect(parsed.rows.map { $0.draft.origin?.sourceID } == points.map { $0.draft.origin?.sourceID })
  }

  @Test(arguments: PointFormat.allCases)
  func noPlacesReadAsNoRows(format: PointFormat) {
    #expect(Parsed(Self.written([], format), format) == Parsed())
  }

  @Test(arguments: [
    (PointFormat.ndjson, #"{"id":"ID","name":"A","lat":1.5,"long":-2,"tags":{},"version":1,T}"# + "\n"),
    (.json, "[\n" + #"{"id":"ID","name":"A","lat":1.5,"long":-2,"tags":{},"version":1,T}"# + "\n]\n"),
    (
      .geoJSON,
      """
      {"type":"FeatureCollection","features":[
      {"type":"Feature","id":"ID","geometry":{"type":"Point","coordinates":[-2,1.5]},"properties":{"name":"A","tags":{},\
      "version":1,T}}
      ]}

      """
    ),
    (
      .geoJSONSequence,
      """
      \u{1E}{"type":"Feature","id":"ID","geometry":{"type":"Point","coordinates":[-2,1.5]},"properties":{"name":"A",\
      "tags":{},"version":1,T}}

      """
    ),
    (
      .csv,
      "id,name,category,lat,long,tags,source,sourceId,version,createdAt,updatedAt\r\n"
        + "ID,A,,1.5,-2,,,,1,1970-01-01T00:00:00Z,1970-01-01T00:00:01Z\r\n"
    ),
  ])
  func absentFieldsAreNotWritten(format: PointFormat, expected: String) throws {
    let point = PointOfInterest(
      id: PointID(high: 0x0199_A1B2_0000_7000, low: 0x8000_0000_0000_0001),
      draft: try PointDraft(name: "A", coordinate: Coordinate(latitude: 1.5, longitude: -2)),
      version: 1,
      createdAt: Timestamp(microsecondsSinceEpoch: 0),
      updatedAt: Timestamp(microsecondsSinceEpoch: 1_000_000)
    )

    let text = String(decoding: Self.written([point], format), as: UTF8.self)

    let times = #""createdAt":"1970-01-01T00:00:00Z","updatedAt":"1970-01-01T00:00:01Z""#
    #expect(
      text
        == expected.replacing("ID", with: "0199a1b2-0000-7000-8000-000000000001").replacing(",T}", with: ",\(times)}")
    )
  }

  @Test(arguments: ["=1+1", "+39 Bar", "-1", "@home", "'=x", "''-x"])
  func formulasAreWrittenBehindAnApostropheInCSV(name: String) throws {
    let point = PointOfInterest(
      id: PointID(high: 0, low: 0),
      draft: try PointDraft(name: name, coordinate: Coordinate(latitude: 1, longitude: 2)),
      version: 1,
      createdAt: Timestamp(microsecondsSinceEpoch: 0),
      updatedAt: Timestamp(microsecondsSinceEpoch: 0)
    )

    let text = String(decoding: Self.written([point], .csv), as: UTF8.self)

    #expect(text.contains(",'\(name),"))
  }
}
