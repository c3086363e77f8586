import Basics
import Geo
import JSONText
import PointFormats
import Points
import Testing

@Suite struct CSVTests {
  @Test func columnsAreFoundByNameInAnyCaseAndOrder() throws {
    let text = #"""
      Source_ID,LONGITUDE,Latitude,NAME,Category,source,website,tags,version,id
      7,-2,1.5,"A, ""B""",cafe,osm,https://x.org,"{""k"":""v""}",3,0199A1B2-0000-7000-8000-000000000001

      """#

    let row = try #require(Parsed(text, .csv).rows.first)

    #expect(row.number == 1)
    #expect(row.id == PointID("0199a1b2-0000-7000-8000-000000000001"))
    #expect(row.draft.name == "A, \"B\"")
    #expect(row.draft.category == "cafe")
    #expect(row.draft.coordinate.latitude == 1.5)
    #expect(row.draft.coordinate.longitude == -2)
    #expect(row.draft.tags.dictionary == ["website": "https://x.org", "k": "v"])
    #expect(row.draft.origin == SourceReference(source: "osm", sourceID: "7"))
  }

  @Test(arguments: ["\n", "\r\n", "\r"], [1, 2, 7, .max])
  func linesEndWithLFOrCRLFOrCRAndBlankOnesAreNoRows(end: String, chunkSize: Int) {
    let text = ["\u{FEFF}name,lat,long,note", "A,1,2,", "", "\"B\nC\",1,2,\"x,\r\ny\"", "  ", "D, 1 ,\t2,z"]
      .joined(separator: end)

    let parsed = Parsed(text, .csv, chunkSize: chunkSize)

    #expect(parsed.names == [1: "A", 3: "D"])
    #expect(parsed.details == [2: "/name must not contain control characters"])
    #expect(parsed.rows.map(\.draft.tags.json) == ["{}", #"{"note":"z"}"#])
  }

  private static let weekdays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]

  @Test(
    arguments: [
      (columns: [], tags: [], hasCategory: false), (["category", "fax"], ["fax"], true),
      (weekdays, weekdays + ["opening_hours"], false), (["source", "sourceId"], ["source"], false),
      (["fax", "tags"], nil, false),
    ] as [(columns: [String], tags: [String]?, hasCategory: Bool)])
  func rowsTellTheFieldsOfTheHeader(columns: [String], tags: [String]?, hasCategory: Bool) throws {
    let header = (["name", "lat", "long"] + columns).joined(separator: ",")
    let line = (["A", "1", "2"] + columns.map { $0 == "tags" ? "" : "9-17" }).joined(separator: ",")

    let row = try #require(Parsed("\(header)\n\(line)\n", .csv).rows.first)
    let other = try #require(Parsed(#"{"name":"A","lat":1,"long":2}"#, .ndjson).rows.first)

    let keys = tags.map { Set($0.map { ExactText($0) }) }
    #expect(row.given == GivenFields(hasCategory: hasCategory, tagKeys: keys))
    #expect(other.given == .all)
  }

  @Test func columnsOfTwoNormalFormsAreTwo() throws {
    let row = try #require(Parsed("name,lat,long,\u{E9},e\u{301}\nA,1,2,composed,decomposed\n", .csv).rows.first)

    #expect(row.draft.tags.dictionary == ["\u{E9}": "composed", "e\u{301}": "decomposed"])
  }

  @Test(arguments: [
    "name;lat;long;k\nA;1,5;-2,25;\"x;y\"\n", "name\tlat\tlong\tk\nA\t1,5\t-2.25\tx;y\n",
    "name|y|x|k\r\nA|1.5|-2,25|x;y\r\n",
    "k,WKT,name\nx;y,POINT(-2.25 1.5),A\n", "\u{FEFF}\n\"name\";latitude;lng;k\nA;1.5;-2.25;\"x;y\"\n",
    "WKT;name;k\nSRID=4326;A;1\n\"point z (-2,25 1.5 9)\";A;1\n\"POINT Z (-2.25 1.5 9)\";A;\"x;y\"\n",
  ])
  func separatorsDecimalCommasAndWellKnownTextAreRecognised(text: String) throws {
    for chunkSize in [1, 7, Int.max] {
      let row = try #require(Parsed(text, .csv, chunkSize: chunkSize).rows.last)

      #expect(row.draft.name == "A" && row.draft.tags.dictionary == ["k": "x;y"])
      #expect(row.draft.coordinate.latitude == 1.5 && row.draft.coordinate.longitude == -2.25)
    }
  }

  @Test(arguments: [
    "POINT EMPTY", "LINESTRING (1 2, 3 4)", "POINT (1)", "POINT (181 0)", "POINT (1 nan)", "", "POINT (1 2) x",
  ])
  func otherGeometriesAreRejected(text: String) {
    let parsed = Parsed("WKT,name\n\"\(text)\",A\n", .csv)

    #expect(parsed.rows.isEmpty)
    #expect(parsed.rejections.first?.detail.contains("/WKT must be a point") == true)
  }

  @Test func columnWKTBesideCoordinatesIsATag() throws {
    let row = try #require(Parsed("name,lat,long,wkt\nA,1,2,POINT (3 4)\n", .csv).rows.first)

    #expect(row.draft.coordinate.latitude == 1 && row.draft.tags.dictionary == ["wkt": "POINT (3 4)"])
  }

  @Test(arguments: [false, true])
  func textInUTF16IsRead(isBigEndian: Bool) throws {
    let text = "name,lat,long\n\u{1F9ED} Caf\u{E9} \u{6771},1,2\n"
    let bytes = ([0xFEFF] + Array(text.utf16)).flatMap { unit in
      isBigEndian ? [UInt8(unit >> 8), UInt8(unit & 0xFF)] : [UInt8(unit & 0xFF), UInt8(unit >> 8)]
    }

    for chunkSize in [1, 3, Int.max] {
      let row = try #require(Parsed(bytes, .csv, chunkSize: chunkSize).rows.first)

      #expect(row.draft.name == "\u{1F9ED} Caf\u{E9} \u{6771}")
    }
    let broken = Parsed(Array(bytes.dropLast(2)) + (isBigEndian ? [0xD8, 0, 0] : [0, 0xD8, 0]), .csv)
    #expect(broken.rows.count + broken.rejections.count == 1)
  }

  @Test(arguments: [
    ("", "the text is empty; it must begin with a header row"),
    ("lat,long\n", "the header has no column 'name'; it has 'lat', 'long'"),
    ("nam;lat;long\n", "the header has no column 'name'; it has 'nam', 'lat', 'long'"),
    ("name,lat,lon,lng\n", "the header has the column 'lng' twice, as 'lon' too"),
    ("name,lat,long,z,z\n", "the header has the column 'z' twice"),
    ("name,y,x,X\n", "the header has the column 'X' twice, as 'x' too"),
    ("name,lat,,long\n", "column 3 of the header has no name"),
    (
      "name,\"lat,long\n",
      "the header has a quotation mark that neither ends its field nor is doubled, or a quoted field that does not end"
    ),
  ])
  func invalidHeaderIsAnErrorOfTheWholeFile(text: String, reason: String) {
    #expect(Parsed(text, .csv).error == FormatError(reason: reason))
  }

  @Test(arguments: [
    ("X,1", "has 2 columns, but the header has 3"),
    ("X,1,2,3", "has 4 columns, but the header has 3"),
    (",1,2", "/name must not be empty"),
    ("X,,2", "/lat is missing"),
    ("X,191,2", "/lat must be a number from -90 to 90, got '191'"),
    (
      "X,91,2",
      "/lat must be a number from -90 to 90, got '91'; the latitude and the longitude may be swapped"
    ),
    ("X,1,nan", "/long must be a number from -180 to 180, got 'nan'"),
    ("X,0x10,2", "/lat must be a number from -90 to 90, got '0x10'"),
    ("X,1,inf", "/long must be a number from -180 to 180, got 'inf'"),
    ("X,\"1,5,0\",2", "/lat must be a number from -90 to 90, got '1,5,0'"),
    ("X\0,1,2", "/name must not contain control characters"),
  ])
  func invalidRowIsRejectedAndTheRestIsParsed(row: String, detail: String) {
    let parsed = Parsed("name,lat,long\nA,1,2\n\(row)\nB,1,2\n", .csv)

    #expect(parsed.names == [1: "A", 3: "B"])
    #expect(parsed.details == [2: detail])
  }

  @Test(arguments: [1, 7, .max]) func bytesThatAreNotUTF8AreRejectedInATextThatHasUTF8(chunkSize: Int) {
    let text =
      Array("name,lat,long,note\nA".utf8) + [0xE9] + Array(",1,2,\nB,1,2,".utf8) + [0xE9]
      + Array("\nC,1,2,é\nD,1,2,東京\n".utf8)

    let parsed = Parsed(text, .csv, chunkSize: chunkSize)

    #expect(parsed.names == [3: "C", 4: "D"])
    #expect(parsed.details == [1: "/name must be UTF-8", 2: "/tags/note must be UTF-8"])
  }

  @Test(arguments: ["x", "y", "X"]) func xAndYBesideTheCoordinatesAreTags(name: String) throws {
    let row = try #require(Parsed("\(name),lat,long,name\n470000,1,2,A\n", .csv).rows.first)

    #expect(row.draft.coordinate.latitude == 1 && row.draft.coordinate.longitude == 2)
    #expect(row.draft.tags.dictionary == [ExactText(name): "470000"])
  }

  @Test(arguments: ["sep=;\n", "\u{FEFF}sep=;\r\n", "\"sep=;\"\r\n", "SEP=;\r"], [1, 5, .max])
  func theSeparatorOfTheFirstLineIsUsed(line: String, chunkSize: Int) throws {
    let text = line + "name;lat;long;a,b,c,d\nA;1,5;2;x\nB;91;2;x\n"

    let parsed = Parsed(text, .csv, chunkSize: chunkSize)

    #expect(parsed.rows.first?.draft.coordinate.latitude == 1.5)
    #expect(parsed.rows.first?.draft.tags.dictionary == ["a,b,c,d": "x"])
    #expect(parsed.lines == [2: 4])
  }

  @Test(arguments: ["A,\"1,2", "\"A,1,2", "\"A\"x,1,2", "A,1,\"2"], [1, 5, .max])
  func unclosedQuoteRejectsOnlyItsOwnLine(row: String, chunkSize: Int) {
    let text = "name,lat,long\n\(row)\nB,1,2\n\"C, D\",1,2\nE,1,2\n"

    let parsed = Parsed(text, .csv, chunkSize: chunkSize)

    #expect(parsed.names == [2: "B", 3: "C, D", 4: "E"])
    #expect(parsed.rejections.map(\.number) == [1])
  }

  @Test(arguments: [3, 1000, .max])
  func unclosedQuoteSpansAtMostTheMaximumRowLength(chunkSize: Int) {
    let text = "name,lat,long\nA,\"1,2\n" + String(repeating: "B,1,2\n", count: 1000)

    let parsed = Parsed(text, .csv, chunkSize: chunkSize, maximumRecordBytes: 500)

    #expect(parsed.rejections.map(\.number) == [1])
    #expect(parsed.rows.count == 1000)
  }

  /// Each line closes the quote of the one before and opens another, so that each would be read again with all that
  /// follow it, which would take hours.
  @Test(.timeLimit(.minutes(5))) func manyUnclosedQuotesAreParsedInLinearTime() {
    let text = "name,lat,long\n\"a\n" + String(repeating: "x\",\"y\n", count: 170_000) + "x\"y\nB,1,2\n"

    let parsed = Parsed(text, .csv)

    #expect(parsed.names.values.sorted() == ["B"])
    #expect(!parsed.rejections.isEmpty)
  }

  @Test(arguments: [3, .max])
  func tooLongRowIsSkippedAndTheRestIsParsed(chunkSize: Int) {
    let text = "name,lat,long\n" + String(repeating: "A", count: 3000) + ",1,2\nB,1,2\n"

    let parsed = Parsed(text, .csv, chunkSize: chunkSize, maximumRecordBytes: 1000)

    #expect(parsed.names == [2: "B"])
    #expect(parsed.details == [1: "is longer than 1000 bytes"])
  }

  @Test func aQuoteWithinAPlainFieldIsACharacter() {
    #expect(Parsed("name,lat,long\n6\" pipe,1,2\n", .csv).names == [1: "6\" pipe"])
  }

  @Test func tagsCellThatIsNotAnObjectIsRejected() {
    let parsed = Parsed("name,lat,long,tags\nA,1,2,x\nB,1,2,[]\n", .csv)

    #expect(
      parsed.details == [
        1: "/tags is not valid JSON at byte 0: a value cannot start here",
        2: "/tags must be an object of strings, got an array",
      ]
    )
  }
}
