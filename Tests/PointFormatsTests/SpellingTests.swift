import Basics
import JSONText
import Geo
import JSONText
import PointFormats
import Points
import Testing

@Suite struct SpellingTests {
  @Test(
    arguments: ["lat", "latitude", "y", "LAT", "Latitude", "Y"], ["long", "lon", "lng", "longitude", "x", "LON", "X"])
  func coordinatesHaveTheSameNamesInCSVAndJSON(latitude: String, longitude: String) {
    let csv = Parsed("Name,\(latitude),\(longitude)\nA,1,2\n", .csv)
    let json = Parsed(#"{"NAME":"A","\#(latitude)":1,"\#(longitude)":2}"#, .ndjson)

    #expect(csv.rows.map(\.draft) == json.rows.map(\.draft))
    #expect(csv.rows.map(\.draft.coordinate.latitude) == [1])
    #expect(csv.rows.map(\.draft.coordinate.longitude) == [2])
  }

  @Test func unknownFieldsAndScalarsAreTheSameTagsInEveryFormat() {
    let csv = Parsed(
      "name,lat,long,Source_ID,source,n,b,e,o,tags\nA,1,2,7,s,1.50,true,,\"[1, {}]\",\"{\"\"t\"\":2,\"\"u\"\":false,\"\"z\"\":null}\"\n",
      .csv)
    let members =
      #""name":"A","Source_ID":"7","source":"s","n":1.50,"b":true,"e":null,"o":[1, {}],"tags":{"t":2,"u":false,"z":null}"#
    let json = Parsed(#"{"lat":1,"long":2,\#(members)}"#, .ndjson)
    let feature = Parsed(
      #"{"type":"Feature","geometry":{"type":"Point","coordinates":[2,1]},"properties":{\#(members)}}"#, .geoJSON)

    #expect(
      csv.rows.first?.draft.tags.dictionary
        == ["n": "1.50", "b": "true", "o": "[1, {}]", "t": "2", "u": "false"])
    #expect(json.rows.map(\.draft) == csv.rows.map(\.draft))
    #expect(feature.rows.map(\.draft) == csv.rows.map(\.draft))
  }

  @Test(arguments: [
    #"{"name":"A","lat":1,"long":2,"x":470000,"y":"b"}"#, #"{"x":470000,"y":"b","name":"A","lat":1,"long":2}"#,
    #"{"x":1,"tags":{"x":470000},"y":"b","name":"A","lat":1,"long":2}"#,
    #"{"tags":{"x":470000},"x":1,"y":"b","name":"A","lat":1,"long":2}"#,
  ])
  func xAndYBesideTheCoordinatesAreTags(text: String) throws {
    let row = try #require(Parsed(text, .ndjson).rows.first)

    #expect(row.draft.coordinate.latitude == 1 && row.draft.coordinate.longitude == 2)
    #expect(row.draft.tags.dictionary == ["x": "470000", "y": "b"])
  }

  @Test func tagsTakePrecedenceOverMembersInAnyOrder() {
    let before = Parsed(#"{"tags":{"k":"tags"},"k":"member","name":"A","lat":1,"long":2}"#, .ndjson)
    let after = Parsed(#"{"k":"member","name":"A","lat":1,"long":2,"tags":{"k":"tags"}}"#, .ndjson)

    #expect(before.rows.first?.draft.tags.dictionary == ["k": "tags"])
    #expect(after.rows.first?.draft.tags.dictionary == ["k": "tags"])
  }

  @Test func unknownFieldsAreErrorsInEveryFormatOnRequest() throws {
    let options = try RowOptions(unknownFields: .reject)
    let json = Parsed(#"{"name":"A","lat":1,"long":2,"nmae":3}"#, .ndjson, options: options)
    let feature = Parsed(
      #"{"type":"Feature","bbox":[],"geometry":{"type":"Point","coordinates":[2,1]},"properties":{"name":"A","nmae":3}}"#,
      .geoJSON, options: options)
    let csv = Parsed("name,lat,long,nmae\nA,1,2,3\n", .csv, options: options)

    #expect(json.details == [1: "/nmae is not a field of a place"])
    #expect(feature.details == [1: "/properties/nmae is not a field of a place"])
    #expect(csv.error?.reason == "the header has the column 'nmae', which is not a field of a place")
  }

  @Test func aSinglePlaceWithAnUnknownMemberIsAnErrorInBothForms() {
    #expect(throws: PointDocument.Failure.self) { try PointDocument(#"{"name":"A","lat":1,"long":2,"a":1}"#.utf8) }
    #expect(throws: PointDocument.Failure.self) {
      try PointDocument(
        #"{"type":"Feature","geometry":{"type":"Point","coordinates":[2,1]},"properties":{"name":"A","a":1}}"#.utf8,
        form: .feature)
    }
  }
}

@Suite struct SourceKeyTests {
  private static func feature(_ id: String, _ properties: String = "") -> String {
    #"{"type":"Feature"\#(id),"geometry":{"type":"Point","coordinates":[2,1]},"properties":{"name":"A"\#(properties)}}"#
  }

  private func origins(_ text: String, _ format: PointFormat, idField: String? = nil) throws -> [String?] {
    let parsed = Parsed(text, format, options: try RowOptions(source: "s", idField: idField))
    return parsed.rows.map { $0.draft.origin.map { "\($0.source)/\($0.sourceID)" } } + parsed.rejections.map(\.detail)
  }

  @Test func theIdOfAFeatureIsTheSourceIdUnderASource() throws {
    #expect(try origins(Self.feature(#","id":"node/1""#), .geoJSON) == ["s/node/1"])
    #expect(try origins(Self.feature(#","id":17"#), .geoJSONSequence) == ["s/17"])
    #expect(try origins(Self.feature("", #","id":"x1""#), .geoJSON) == ["s/x1"])
    #expect(
      try origins(Self.feature(""), .geoJSON) == ["/properties/id is missing, which is to be the sourceId"])
  }

  @Test func anIdThatIsAUUIDStaysThePlacesToo() throws {
    let id = "0199a1b2-0000-7000-8000-000000000001"
    let parsed = Parsed(Self.feature(#","id":"\#(id)""#), .geoJSON, options: try RowOptions(source: "s"))

    #expect(parsed.rows.first?.id == PointID(id))
    #expect(parsed.rows.first?.draft.origin == SourceReference(source: "s", sourceID: id))
  }

  @Test func sourceAndSourceIdOfARowTakePrecedence() throws {
    let own = #","source":"osm","sourceId":"n1""#
    let lone = Parsed(
      Self.feature(#","id":"7""#, #","source":"survey""#), .geoJSON, options: try RowOptions(source: "s"))

    #expect(try origins(Self.feature(#","id":"7""#, own), .geoJSON) == ["osm/n1"])
    #expect(try origins(#"{"name":"A","lat":1,"long":2,"id":7\#(own)}"#, .ndjson) == ["osm/n1"])
    #expect(lone.rows.first?.draft.origin == SourceReference(source: "s", sourceID: "7"))
    #expect(lone.rows.first?.draft.tags.dictionary == ["source": "survey"])
  }

  @Test func idFieldIsUsedInEveryFormatAndIsNotATag() throws {
    let rows = [
      ("name,lat,long,ref\nA,1,2,R1\n", PointFormat.csv), (#"{"name":"A","lat":1,"long":2,"ref":"R1"}"#, .ndjson),
      (Self.feature(#","id":"other""#, #","ref":"R1""#), .geoJSON),
    ]

    for (text, format) in rows {
      let parsed = Parsed(text, format, options: try RowOptions(source: "s", idField: "ref"))
      #expect(parsed.rows.map(\.draft.origin) == [SourceReference(source: "s", sourceID: "R1")])
      #expect(parsed.rows.map(\.draft.tags) == [.none])
    }
    #expect(
      try origins(#"{"name":"A","lat":1,"long":2,"ref":[]}"#, .ndjson, idField: "ref")
        == ["/ref must be a string or a number, got an array"])
  }

  @Test func csvWithoutTheIdFieldIsAnError() throws {
    let csv = "name,lat,long\nA,1,2\n"

    #expect(
      Parsed(csv, .csv, options: try RowOptions(source: "s", idField: "ref")).error?.reason
        == "the header has no column 'ref'; it has 'name', 'lat', 'long'")
    #expect(
      Parsed(csv, .csv, options: try RowOptions(source: "s")).error?.reason.contains("'id' or 'sourceId'") == true)
  }

  @Test func invalidOptionsAreErrors() {
    #expect(throws: RowOptionError.source("must not be empty")) { try RowOptions(source: "") }
    #expect(throws: RowOptionError.self) { try RowOptions(source: String(repeating: "s", count: 201)) }
    #expect(throws: RowOptionError.idField("needs a source")) { try RowOptions(idField: "ref") }
    #expect(throws: RowOptionError.self) { try RowOptions(source: "s", idField: "Latitude") }
    #expect(throws: RowOptionError.self) { try RowOptions(nameField: "sourceId") }
    #expect(throws: RowOptionError.self) { try RowOptions(source: "s", idField: "ref", nameField: "ref") }
  }

  @Test func nameFieldIsTheNameInEveryFormatAndNameIsATag() throws {
    let rows = [
      ("name,lat,long,stop\nA,1,2,Main\n", PointFormat.csv),
      (#"{"name":"A","lat":1,"long":2,"stop":"Main"}"#, .ndjson),
      (Self.feature("", #","stop":"Main""#), .geoJSON),
    ]
    let options = try RowOptions(nameField: "stop")

    for (text, format) in rows {
      let parsed = Parsed(text, format, options: options)
      #expect(parsed.rows.map(\.draft.name) == ["Main"])
      #expect(parsed.rows.map(\.draft.tags.dictionary) == [["name": "A"]])
    }
    #expect(
      Parsed("name,title,lat,long\nA,B,1,2\n", .csv, options: options).error?.reason
        == "the header has no column 'stop'; it has 'name', 'title', 'lat', 'long'")
  }

  @Test func rejectedRowHasTheIdThatCanBeRead() throws {
    let id = "0199a1b2-0000-7000-8000-000000000001"
    let own = try RowOptions(source: "s")
    let keyed = try RowOptions(source: "s", idField: "ref")
    let csv = "id,name,lat,long\n"
    let cases: [(String, PointFormat, RowOptions, PointID?, String?)] = [
      ("\(csv)7,A,191,2\n", .csv, own, nil, "s/7"), ("\(csv)7,,1,2\n", .csv, own, nil, "s/7"),
      ("\(csv)\(id),A,191,2\n", .csv, .standard, PointID(id), nil), ("\(csv),A,1,2\n", .csv, own, nil, nil),
      ("\(csv)7,A,B,1,2\n", .csv, own, nil, "s/7"), ("\(csv)7\n", .csv, own, nil, nil),
      ("name,lat,long,ref\nA,B,1,2,R\n", .csv, keyed, nil, nil),
      ("ref,name,lat,long\nR,A,B,1,2\n", .csv, keyed, nil, "s/R"),
      (#"{"ref":"R","name":"","lat":1,"long":2}"#, .ndjson, keyed, nil, "s/R"),
      (#"{"source":"t","sourceId":"1"}"#, .ndjson, .standard, nil, "t/1"),
      (#"{"id":"\#(id)"}"#, .ndjson, .standard, PointID(id), nil), ("{}", .ndjson, own, nil, nil),
      (#"{"id":"7","name":"A""#, .ndjson, own, nil, nil),
      (#"{"type":"Feature","id":7,"geometry":null}"#.replacing("null", with: "1"), .geoJSON, own, nil, "s/7"),
      (#"{"id":"\#(String(repeating: "x", count: 201))"}"#, .ndjson, own, nil, nil),
    ]

    for (text, format, options, id, origin) in cases {
      let row = try #require(Parsed(text, format, options: options).rejections.first, "\(text)")
      #expect(row.id == id, "\(text)")
      #expect(row.origin.map { "\($0.source)/\($0.sourceID)" } == origin, "\(text)")
    }
  }

  @Test(arguments: [
    (Self.feature(#","id":"node/1""#), "a source for all rows makes each Feature's id the sourceId"),
    (Self.feature("", #","osm_id":7,"ref":"x""#), "'osm_id' as the field of ids"),
    (Self.feature(""), "a field that differs in each row"),
  ])
  func idFieldIsSuggestedForRowsWithoutAKey(feature: String, advice: String) async throws {
    let notes = ImportNotes()
    let chunks = [Array(feature.utf8)].async

    for try await _ in PointFileReader(
      chunks, parser: PointParser(format: .geoJSON), notes: notes, onRejection: { _ in })
    {
    }

    #expect(notes.keyWarning?.hasPrefix("1 row has neither an id nor a source and sourceId") == true)
    #expect(notes.keyWarning?.contains(advice) == true)
  }

  @Test func rowsWithKeysCauseNoWarning() async throws {
    let notes = ImportNotes()
    let text = #"{"name":"A","lat":1,"long":2,"source":"s","sourceId":"1"}"#

    for try await _ in PointFileReader(
      [Array(text.utf8)].async, parser: PointParser(format: .ndjson), notes: notes, onRejection: { _ in })
    {}

    #expect(notes.keyWarning == nil)
  }
}
