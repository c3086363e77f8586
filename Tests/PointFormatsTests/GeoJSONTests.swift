import Basics
import Geo
import JSONText
import PointFormats
import Points
import Testing

@Suite struct GeoJSONTests {
  private static func feature(_ name: String, _ more: String = "") -> String {
    #"{"type":"Feature","geometry":{"type":"Point","coordinates":[2,1]},"properties":{"name":"\#(name)"\#(more)}}"#
  }

  private static func collection(_ elements: String...) -> String {
    #"{"type":"FeatureCollection","features":["# + elements.joined(separator: ",\n") + "]}"
  }

  @Test func everyPartOfAFeatureIsRead() throws {
    let text = Self.collection(
      """
      {"type":"Feature","bbox":[2,1,2,1],"id":"0199a1b2-0000-7000-8000-000000000001","geometry":{"coordinates":[-2,1.5,99],
      "type":"Point"},"properties":{"name":"A","category":"cafe","source":"osm","sourceId":"n/1","tags":{"a":"1"}}}
      """
    )

    let row = try #require(Parsed(text, .geoJSON).rows.first)

    #expect(row.id == PointID("0199a1b2-0000-7000-8000-000000000001"))
    #expect(row.draft.name == "A")
    #expect(row.draft.category == "cafe")
    #expect(row.draft.coordinate.latitude == 1.5)
    #expect(row.draft.coordinate.longitude == -2)
    #expect(row.draft.tags.json == #"{"a":"1"}"#)
    #expect(row.draft.origin == SourceReference(source: "osm", sourceID: "n/1"))
  }

  @Test func flatPropertiesBecomeTagsButTagsTakePrecedence() {
    let more =
      #","tags":{"a":"of tags"},"a":"flat","n":1.50,"t":true,"z":null,"o":{"x": [1]},"ele":"7","version":3,"lat":0"#

    let parsed = Parsed(Self.collection(Self.feature("A", more)), .geoJSON)

    #expect(
      parsed.rows.first?.draft.tags.dictionary
        == ["a": "of tags", "n": "1.50", "t": "true", "o": #"{"x": [1]}"#, "ele": "7"]
    )
  }

  @Test(arguments: [
    (#","Name":"B""#, "/properties/Name gives the name a second time"),
    (#","ID":1,"id":2"#, "/properties/id gives the id a second time"),
    (#","tags":{},"TAGS":{}"#, "/properties/TAGS gives the tags a second time"),
    (#","CATEGORY":7"#, "/properties/CATEGORY must be a string, got a number"),
  ])
  func propertyInDifferentCaseIsNotOverwritten(more: String, detail: String) {
    #expect(Parsed(Self.collection(Self.feature("A", more)), .geoJSON).details == [1: detail])
  }

  @Test func nonUUIDIdAndSourceWithoutSourceIdBecomeTags() {
    let parsed = Parsed(Self.collection(Self.feature("A", #","id":17,"source":"survey""#)), .geoJSON)

    #expect(parsed.rows.first?.id == nil)
    #expect(parsed.rows.first?.draft.origin == nil)
    #expect(parsed.rows.first?.draft.tags.json == #"{"id":"17","source":"survey"}"#)
  }

  @Test func idOfThePropertiesTakesPrecedenceOverTheFeatures() {
    let text = """
      {"type":"Feature","id":"0199a1b2-0000-7000-8000-000000000001","geometry":{"type":"Point","coordinates":[2,1]},\
      "properties":{"name":"A","id":"0199a1b2-0000-7000-8000-000000000002"}}
      """

    #expect(Parsed(text, .geoJSON).rows.first?.id == PointID("0199a1b2-0000-7000-8000-000000000002"))
  }

  @Test(arguments: [
    #"{"features":[$],"type":"FeatureCollection"}"#,
    #"{"crs":{"features":[1,{"features":[]}]},"type":"FeatureCollection","features":[$]}"#,
    #"{"type":"FeatureCollection","features":[$],"name":"x","z":[{"features":["]"]}]}"#,
    #"{"name":"\"features\":[","type":"FeatureCollection", "\u0066eatures" : [ $ ] }  "#,
    #"{"type":"FeatureCollection","features":[$],"bbox":[1,2,3,4],"t":true,"n":null}"#,
    "$",
  ])
  func featuresAreFoundWhereverTheyStand(template: String) {
    let parsed = Parsed(template.replacing("$", with: Self.feature("A")), .geoJSON)

    #expect(parsed.error == nil)
    #expect(parsed.names == [1: "A"])
  }

  @Test func emptyCollectionHasNoRows() {
    #expect(Parsed(Self.collection(), .geoJSON) == Parsed())
  }

  @Test(arguments: [
    ("", "the text is empty; it must be GeoJSON"),
    ("name,lat,long\n", "not valid JSON at byte 0: a GeoJSON object must start here"),
    ("[]", "not valid JSON at byte 0: a GeoJSON object must start here"),
    ("{}", "the text is not a GeoJSON FeatureCollection: it has no array named 'features'"),
    (#"{"type":"FeatureCollection"}"#, "the text is not a GeoJSON FeatureCollection: it has no array named 'features'"),
    (
      #"{"type":"Point","coordinates":[2,1]}"#,
      "the text is not a GeoJSON FeatureCollection: its type is 'Point'"
    ),
    (#"{"features":[] "#, "not valid JSON at byte 15: the text ends before its outermost object or array does"),
    (#"{"features":[]} {}"#, "not valid JSON at byte 16: something follows the end of the JSON text"),
    (#"{features:[]}"#, "not valid JSON at byte 1: a member's name must be a string"),
    (#"{"features":[],"\u0066eatures":[]}"#, "not valid JSON at byte 31: duplicate member /features"),
    (#"{"type":"FeatureCollection","type":"FeatureCollection"}"#, "not valid JSON at byte 35: duplicate member /type"),
  ])
  func textThatIsNotAFeatureCollectionIsAnError(text: String, reason: String) {
    #expect(Parsed(text, .geoJSON).error == FormatError(reason: reason))
  }

  @Test(arguments: [
    (
      #"{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[1,200]]]},"properties":{"name":"A"}}"#,
      "/geometry must have positions in degrees, got a Polygon without any or out of range"
    ),
    (
      #"{"type":"Feature","geometry":{"type":"Curve","coordinates":[[1,2]]},"properties":{"name":"A"}}"#,
      "/geometry/type must be 'Point', got 'Curve'"
    ),
    (
      #"{"type":"Feature","geometry":{"type":"Point","coordinates":[2]},"properties":{"name":"A"}}"#,
      "/geometry/coordinates must be an array of longitude and latitude, both numbers"
    ),
    (
      #"{"type":"Feature","geometry":{"type":"Point","coordinates":[2,191]},"properties":{"name":"A"}}"#,
      "/geometry/coordinates/1 must be a number from -90 to 90, got '191'"
    ),
    (#"{"type":"Feature","properties":{"name":"A"}}"#, "/geometry is missing"),
    (
      #"{"type":"Feature","geometry":{"type":"Point","coordinates":[2,1]},"properties":null}"#,
      "/properties/name is missing"
    ),
    (
      #"{"type":"Feature","geometry":{"type":"Point","coordinates":[2,1]},"properties":{"name":"A","sourceId":"1"}}"#,
      "/properties/source must be given if sourceId is given"
    ),
    (
      #"{"geometry":{"type":"Point","coordinates":[2,1]},"properties":{"name":"A"}}"#, "/type must be 'Feature'"
    ),
    ("17", "must be an object, got a number"),
    ("\"a,]\"", "must be an object, got a string"),
    (#"{"type":"Feature","a":[1,2}"#, "not valid JSON at byte 26: an array must go on with a comma or end"),
    (#"{"type":"Feature",,}"#, "not valid JSON at byte 18: a member's name must be a string"),
  ])
  func invalidFeatureIsRejectedAndTheRestIsParsed(element: String, detail: String) {
    let parsed = Parsed(Self.collection(Self.feature("A"), element, Self.feature("B")), .geoJSON)

    #expect(parsed.error == nil)
    #expect(parsed.names == [1: "A", 3: "B"])
    #expect(parsed.details == [2: detail])
  }

  @Test func featureWithUnbalancedBracketsIsAnErrorWithItsRow() {
    let text = Self.collection(Self.feature("A"), #"{"type":"Feature]"#, Self.feature("B"))

    let parsed = Parsed(text, .geoJSON)

    #expect(parsed.names == [1: "A"])
    #expect(parsed.error?.row == 2)
  }

  @Test func truncatedTextIsAnErrorWithItsRow() {
    let text = Self.collection(Self.feature("A"), Self.feature("B")).dropLast(10)

    #expect(Parsed(String(text), .geoJSON).error?.row == 2)
  }

  @Test(arguments: [5, .max])
  func tooLongFeatureIsSkippedAndTheRestIsParsed(chunkSize: Int) {
    let long = Self.feature("L", #","note":""# + String(repeating: "{", count: 2000) + "\"")
    let text =
      #"{"metadata":""# + String(repeating: "m", count: 3000) + #"","features":["#
      + [Self.feature("A"), long, Self.feature("B")].joined(separator: ",") + "]}"

    let parsed = Parsed(text, .geoJSON, chunkSize: chunkSize, maximumRecordBytes: 1000)

    #expect(parsed.error == nil)
    #expect(parsed.names == [1: "A", 3: "B"])
    #expect(parsed.details == [2: "is longer than 1000 bytes"])
  }

  @Test func anArrayOfPlacesIsJSON() {
    let text = #" [ {"name":"A","lat":1,"long":2} , \#(Self.feature("B")) ] "#

    #expect(Parsed(text, .json).names == [1: "A", 2: "B"])
  }
}

@Suite struct GeoJSONSequenceTests {
  private static func feature(_ name: String, separator: String = "") -> String {
    #"{"type":"Feature",\#(separator)"geometry":{"type":"Point","coordinates":[2,1]},"properties":{"name":"\#(name)"}}"#
  }

  @Test func recordsBehindSeparatorsMaySpanLines() {
    let text = "\u{1E}" + Self.feature("A", separator: "\n") + "\n\u{1E}" + Self.feature("B") + "\n\u{1E}\n"

    #expect(Parsed(text, .geoJSONSequence).names == [1: "A", 2: "B"])
  }

  @Test func recordsMayBeOnePerLine() {
    let text = Self.feature("A") + "\r\n" + Self.feature("B") + "\n"

    #expect(Parsed(text, .geoJSONSequence).names == [1: "A", 2: "B"])
  }

  @Test func truncatedRecordIsRejectedAndTheRestIsParsed() {
    let text = "\u{1E}" + Self.feature("A").dropLast(4) + "\u{1E}" + Self.feature("B") + "\n"

    let parsed = Parsed(text, .geoJSONSequence)

    #expect(parsed.names == [2: "B"])
    #expect(parsed.rejections.map(\.number) == [1])
  }

  @Test func placeThatIsNotAFeatureIsRejected() {
    let parsed = Parsed(#"{"name":"A","lat":1,"long":2}"#, .geoJSONSequence)

    #expect(parsed.rejections.map(\.number) == [1])
    #expect(parsed.details[1]?.contains("/type must be 'Feature'") == true)
  }
}
