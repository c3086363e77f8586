import Geo
import PointFormats
import Points
import Testing

@Suite struct NDJSONTests {
  @Test func everyFieldOfARowIsRead() throws {
    let text = """
      {"id":"0199a1b2-0000-7000-8000-000000000001","name":"A","category":"cafe","lat":1.5,"long":-2,\
      "tags":{"b":"2","a":"1"},"source":"osm","sourceId":"n/1"}
      """

    let row = try #require(Parsed(text, .ndjson).rows.first)

    #expect(row.number == 1)
    #expect(row.id == PointID("0199a1b2-0000-7000-8000-000000000001"))
    #expect(row.draft.name == "A")
    #expect(row.draft.category == "cafe")
    #expect(row.draft.coordinate.latitude == 1.5)
    #expect(row.draft.coordinate.longitude == -2)
    #expect(row.draft.tags.json == #"{"a":"1","b":"2"}"#)
    #expect(row.draft.origin == SourceReference(source: "osm", sourceID: "n/1"))
  }

  @Test(arguments: ["long", "lon", "lng"])
  func longitudeHasThreeNames(name: String) {
    let parsed = Parsed(#"{"name":"A","lat":1,"\#(name)":2}"#, .ndjson)

    #expect(parsed.rows.map(\.draft.coordinate.longitude) == [2])
  }

  @Test(arguments: [
    (#"{"name":"A","lat":1,"long":2,"name":"B"}"#, "/name"),
    (#"{"name":"A","lat":1,"long":2,"tags":{"a":"1","a":"1"}}"#, "/tags/a"),
    (#"{"name":"A","lat":1,"long":2,"other":[{"b":{"c":1,"c":2}}]}"#, "/other/0/b/c"),
    (#"{"tags":{},"name":"A","lat":1,"long":2,"tags":{}}"#, "/tags"),
    (
      #"{"type":"Feature","geometry":{"type":"Point","coordinates":[2,1],"type":"Point"},"properties":{"name":"A"}}"#,
      "/geometry/type"
    ),
    (
      #"{"type":"Feature","geometry":{"type":"Point","coordinates":[2,1]},"properties":{"name":"A","x":1,"x":1}}"#,
      "/properties/x"
    ),
  ])
  func rowWithANameTwiceIsRejectedAndTheRestIsParsed(row: String, pointer: String) {
    let good = #"{"name":"A","lat":1,"long":2}"#

    let parsed = Parsed([good, row, good].joined(separator: "\n"), .ndjson)

    #expect(parsed.names == [1: "A", 3: "A"])
    #expect(parsed.details[2]?.hasSuffix("duplicate member \(pointer)") == true, "\(parsed.details)")
  }

  @Test func blankLinesAreNoRowsAndLineEndsMayBeCRLF() {
    let text = "\u{FEFF}{\"name\":\"A\",\"lat\":1,\"long\":2}\r\n\r\n  \n{\"name\":\"B\",\"lat\":1,\"long\":2}"

    #expect(Parsed(text, .ndjson).names == [1: "A", 2: "B"])
  }

  @Test func unreadableLineIsRejectedAndTheRestIsParsed() {
    let text = """
      {"name":"A","lat":1,"long":2}
      {"name":"B","lat":1,
      {"name":"C","lat":1,"long":2}
      """

    let parsed = Parsed(text, .ndjson)

    #expect(parsed.names == [1: "A", 3: "C"])
    #expect(parsed.details == [2: "not valid JSON at byte 20: a member's name must be a string"])
  }

  @Test(arguments: [
    (#"{"lat":1,"long":2}"#, "/name is missing"),
    (#"{"name":" ","lat":1,"long":2}"#, "/name must not be empty"),
    (#"{"name":null,"lat":1,"long":2}"#, "/name is missing"),
    (#"{"name":7,"lat":1,"long":2}"#, "/name must be a string, got a number"),
    (#"{"name":"A","long":2}"#, "/lat is missing"),
    (#"{"name":"A","lat":191,"long":2}"#, "/lat must be a number from -90 to 90, got '191'"),
    (#"{"name":"A","lat":1e999,"long":2}"#, "/lat must be a number from -90 to 90, got '1e999'"),
    (#"{"name":"A","lat":"1","long":2}"#, #"/lat must be a number, got '"1"'"#),
    (#"{"name":"A","lat":1,"lng":-180.5}"#, "/lng must be a number from -180 to 180, got '-180.5'"),
    (#"{"name":"A","lat":1,"long":2,"lon":2}"#, "/lon gives the longitude a second time"),
    (#"{"nmae":"A","lat":1,"long":2}"#, "/name is missing"),
    (#"{"name":"A","Name":"B","lat":1,"long":2}"#, "/Name gives the name a second time"),
    (#"{"NAME":"A","lat":1,"long":2,"name":null}"#, "/name gives the name a second time"),
    (#"{"name":"A","lat":1,"long":2,"Category":"a","category":"b"}"#, "/category gives the category a second time"),
    (
      #"{"name":"A","lat":1,"long":2,"source":"s","source_id":"1","sourceId":"2"}"#,
      "/sourceId gives the sourceId a second time"
    ),
    (#"{"name":"A","lat":1,"long":2,"tags":{"a":"1"},"Tags":{"a":"2"}}"#, "/Tags gives the tags a second time"),
    (
      #"{"name":"A","lat":1,"long":2,"ID":"x","id":null}"#,
      "/ID must be a UUID, got 'x'; with a source (--source, or source=) such an id is the sourceId; /id gives the id a second time"
    ),
    (#"{"Name":7,"lat":1,"long":2}"#, "/Name must be a string, got a number"),
    (#"{"name":"A","lat":1,"long":2,"latitude":3}"#, "/latitude gives the latitude a second time"),
    (
      #"{"name":"A","lat":1,"long":2,"id":"7"}"#,
      "/id must be a UUID, got '7'; with a source (--source, or source=) such an id is the sourceId"
    ),
    (#"{"name":"A","lat":1,"long":2,"source":"osm"}"#, "/sourceId must be given if source is given"),
    (
      #"{"name":"A","lat":1,"long":2,"tags":{"a/b":[]}}"#,
      "/tags/a~1b must be a string, a number or a boolean, got an array"
    ),
    (#"{"name":"A","lat":1,"long":2,"tags":[]}"#, "/tags must be an object of strings, got an array"),
    (
      #"{"name":"\u0007","lat":91,"long":181}"#,
      "/lat must be a number from -90 to 90, got '91'; /long must be a number from -180 to 180, got '181'; "
        + "/name must not contain control characters"
    ),
    ("7", "must be an object, got a number"),
    ("[]", "must be an object, got an array"),
  ])
  func invalidRowIsRejectedWithAllViolations(text: String, detail: String) {
    #expect(Parsed(text, .ndjson).details == [1: detail])
  }

  @Test func rejectionIsShortWhateverTheNumberOfViolations() throws {
    let members = (0..<5000).map { "\"\(String(repeating: "x", count: 90))\($0)\":1" }.joined(separator: ",")

    let detail = Parsed("{\(members)}", .ndjson, options: try RowOptions(unknownFields: .reject)).details[1]

    #expect(detail?.hasSuffix("; and 4993 more") == true)
    #expect((detail?.utf8.count ?? .max) < 1000)
  }

  @Test func fieldsThatTheServiceSetsAreIgnored() {
    let text = #"{"name":"A","lat":1,"long":2,"version":3,"createdAt":"x","updatedAt":"y","distance":1.5}"#

    #expect(Parsed(text, .ndjson).names == [1: "A"])
  }

  @Test func bytesThatAreNotUTF8AreRejected() {
    let bad: [UInt8] = Array(#"{"lat":1,"long":2,"name":"A"#.utf8) + [0xFF] + Array("\"}\n".utf8)
    let good = Array(#"{"lat":1,"long":2,"name":"B"}"#.utf8)

    let parsed = Parsed(bad + good, .ndjson)

    #expect(parsed.names == [2: "B"])
    #expect(parsed.details == [1: "not valid JSON at byte 26: a string is not UTF-8"])
  }

  @Test func aTagThatIsNotUTF8IsRejected() {
    let bad: [UInt8] = Array(#"{"lat":1,"long":2,"name":"A","tags":{"k":"x"#.utf8) + [0xC0, 0x80] + Array(#""}}"#.utf8)

    #expect(Parsed(bad, .ndjson).details == [1: "/tags/k must be UTF-8"])
  }

  @Test(arguments: [7, 1 << 16, .max])
  func tooLongLineIsSkippedAndTheRestIsParsed(chunkSize: Int) {
    let long = #"{"name":"A","lat":1,"long":2,"tags":{"k":""# + String(repeating: "x", count: 5000) + "\"}}\n"
    let text = long + #"{"name":"B","lat":1,"long":2}"# + "\n" + long

    let parsed = Parsed(text, .ndjson, chunkSize: chunkSize, maximumRecordBytes: 1000)

    #expect(parsed.names == [2: "B"])
    #expect(parsed.details == [1: "is longer than 1000 bytes", 3: "is longer than 1000 bytes"])
  }

  @Test func tenMegabyteLineExceedsTheDefaultLimit() {
    let text = String(repeating: "x", count: 10 << 20) + "\n" + #"{"name":"B","lat":1,"long":2}"#

    let parsed = Parsed(text, .ndjson)

    #expect(parsed.names == [2: "B"])
    #expect(parsed.details == [1: "is longer than 1048576 bytes"])
  }

  @Test func aFeatureMayStandInALine() {
    let text = #"{"type":"Feature","geometry":{"type":"Point","coordinates":[2,1]},"properties":{"name":"A"}}"#

    #expect(Parsed(text, .ndjson).names == [1: "A"])
  }

  @Test func rowsAreNumberedFromTheNumberGiven() throws {
    var parser = PointParser(format: .ndjson, firstRow: 41)
    var rows: [PointParser.Row] = []

    try parser.consume(#"{"name":"A","lat":1,"long":2}"#.utf8, into: &rows)
    try parser.finish(into: &rows)

    #expect(try rows.map { try $0.get().number } == [41])
    #expect(parser.nextRow == 42)
  }

  @Test func emptyTextHasNoRows() {
    #expect(Parsed("", .ndjson) == Parsed())
  }

  @Test(
    arguments: [
      ([0xFF, 0xFE, 0x00, 0x00], "the text is in UTF-32; it must be in UTF-8 or UTF-16"),
      ([0x28, 0xB5, 0x2F, 0xFD], "the text is compressed with Zstandard; unpack it first, with zstd: zstd -d FILE"),
      ([0x50, 0x4B, 0x03, 0x04], "the text is a ZIP archive; unpack it first, with unzip: unzip FILE"),
      ([0x1F, 0x8B, 0x08, 0x00], "the text is compressed with gzip; unpack it first: gunzip FILE"),
    ] as [([UInt8], String)]
  )
  func textInAnotherEncodingIsAnError(bytes: [UInt8], reason: String) {
    #expect(Parsed(bytes, .ndjson).error?.reason == reason)
  }
}
