import Basics
import Foundation
import Geo
import JSONText
@testable import PointFormats
@testable import PointMapping
import Points
import SearchWords
import Testing

@Suite struct MappingTests {
  // MARK: Overture

  private static let overture = #"""
    {"type":"Feature","id":"0199-a","geometry":{"type":"Point","coordinates":[13.4,52.5]},"properties":{\#
    "version":1,"names":{"primary":"Café Eins","common":[["en","Cafe One"],["fr","Café Un"]],"rules":[\#
    {"variant":"alternate","language":null,"value":"Eins"},{"variant":"official","language":"de","value":"Café Eins GmbH"},\#
    {"variant":"short","language":"","value":"C1"}]},"basic_category":"coffee_shop","taxonomy":{"primary":"coffee_shop",\#
    "hierarchy":["food_and_drink","coffee_shop"],"alternates":["bakery"]},"confidence":0.91,"operating_status":"open",\#
    "brand":{"names":{"primary":"Eins","common":{"de":"Eins DE"}},"wikidata":"Q1"},"addresses":[{"freeform":"Straße 1",\#
    "locality":"Berlin","postcode":"10115","region":"BE","country":"DE"}],"websites":["https://a.example","https://b.example"],\#
    "socials":["https://s.example/1"],"emails":["a@b.example"],"phones":["+49301"],"sources":[{"dataset":"meta",\#
    "record_id":"1"},{"dataset":"msft","record_id":"2"}]}}
    """#

  @Test func everyMappedFieldOfOvertureBecomesItsPart() throws {
    let row = try #require(parse(Self.overture, .geoJSONSequence, "overture").rows.first).draft

    #expect(row.name == "Café Eins" && row.category == "cafe")
    #expect(row.origin == SourceReference(source: "overture", sourceID: "0199-a"))
    #expect(row.coordinate.latitude == 52.5 && row.coordinate.longitude == 13.4)
    #expect(
      row.tags.dictionary == [
        "basic_category": "coffee_shop", "taxonomy": "coffee_shop",
        "taxonomy:hierarchy": "food_and_drink;coffee_shop", "taxonomy:alternates": "bakery", "confidence": "0.91",
        "operating_status": "open", "brand": "Eins", "brand:de": "Eins DE", "brand:wikidata": "Q1",
        "addr:full": "Straße 1", "addr:city": "Berlin", "addr:postcode": "10115", "addr:state": "BE",
        "addr:country": "DE", "website": "https://a.example;https://b.example", "social": "https://s.example/1",
        "email": "a@b.example", "phone": "+49301", "overture:sources": "meta;msft", "overture:records": "1;2",
        "name:en": "Cafe One", "name:fr": "Café Un", "alt_name": "Eins", "official_name:de": "Café Eins GmbH",
        "short_name": "C1",
      ])
  }

  @Test func everyAddressOfOvertureIsReadAndTheFirstThatHasAFieldWins() throws {
    let text = """
      {"type":"Feature","id":"x","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"names":{"primary":"A"},\
      "addresses":[{"freeform":"Street 1","postcode":"1","locality":null,"region":""},\
      {"freeform":"Other","locality":"Town","region":"US-CA","country":"US"}]}}
      """

    let row = try #require(parse(text, .geoJSONSequence, "overture").rows.first).draft

    #expect(
      row.tags.dictionary == [
        "addr:full": "Street 1", "addr:postcode": "1", "addr:city": "Town", "addr:state": "US-CA", "addr:country": "US",
      ])
  }

  @Test func earlierSchemaOfOvertureIsMapped() throws {
    let text = """
      {"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"id":"x","names":{"primary":"A"},\
      "categories":{"primary":"hotel","alternate":["spa","bar"]},"confidence":0.5}}
      """

    let row = try #require(parse(text, .geoJSONSequence, "overture").rows.first).draft

    #expect(row.category == "hotel" && row.origin?.sourceID == "x")
    #expect(
      row.tags.dictionary == ["categories": "hotel", "categories:alternate": "spa;bar", "confidence": "0.5"])
  }

  @Test func closedUnnamedAndUncertainPlacesAreSkippedAndCounted() throws {
    func record(_ id: String, _ properties: String) -> String {
      #"{"type":"Feature","id":"\#(id)","geometry":{"type":"Point","coordinates":[1,2]},"properties":{\#(properties)}}"#
        + "\n"
    }
    let text =
      record("a", #""names":{"primary":"A"},"confidence":0.9,"operating_status":"permanently_closed""#)
      + record("b", #""names":null,"confidence":0.9"#)
      + record("c", #""names":{"primary":"C"},"confidence":0.4"#)
      + record("d", #""names":{"primary":"D"},"confidence":0.6"#)
    var certain = try #require(Mapping(builtIn: "overture"))
    certain.require(confidence: 0.5)
    var closed = try #require(Mapping(builtIn: "overture"))
    closed.takeClosed()

    let rows = parse(text, .geoJSONSequence, certain).rows
    let all = parse(text, .geoJSONSequence, closed).rows

    #expect(rows.map(\.draft.name) == ["D"] && rows.map(\.number) == [4])
    #expect(certain.tally.skipped.map(\.reason).sorted() == ["closed", "confidence below 0.5", "no name"])
    #expect(all.map(\.draft.name) == ["A", "C", "D"])
  }

  // MARK: OpenStreetMap

  private static let categories: [([String: String], String?)] = [
    (["amenity": "cafe", "name": "A"], "cafe"), (["shop": "yes", "name": "A"], "shop"),
    (["shop": "bakery", "amenity": "cafe"], "cafe"), (["natural": "peak", "name": "A"], "natural:peak"),
    (["place": "town", "name": "A"], "place:town"), (["amenity": "cafe;bar"], "cafe"),
    (["emergency": "no", "tourism": "hotel"], "hotel"),
    // Values that are no categories.
    (["amenity": "Helsinki", "name": "A"], "amenity"), (["leisure": "designated", "name": "A"], "leisure"),
    (["amenity": "yes", "building": "church", "name": "A"], "building:church"), (["amenity": "Bar; cafe"], "cafe"),
    (["shop": "no", "tourism": "yes"], "tourism"), (["office": "IT", "name": "A"], "office"),
    (["building": "public", "name": "A"], "building:public"), (["attraction": "maze", "name": "A"], "attraction:maze"),
  ]

  @Test(arguments: categories)
  func categoryFollowsFromTheTags(tags: [String: String], category: String?) throws {
    #expect(try osm(tags).get().category == category)
  }

  @Test func tagsOfAnObjectAreKeptExceptItsNameAndTechnicalOnes() throws {
    let tags = [
      "name": "A", "amenity": "cafe", "created_by": "x", "tiger:cfcc": "A", "source": "survey", "name:de": "B",
    ]
    var all = try #require(Mapping(builtIn: "osm"))
    all.keepAllTags()

    let draft = try osm(tags).get()
    let whole = try osm(tags, all).get()

    #expect(draft.tags.dictionary == ["amenity": "cafe", "name:de": "B"])
    #expect(Set(whole.tags.pairs.map { "\($0.key)=\($0.value)" }) == Set(tags.map { "\($0.key)=\($0.value)" }))
    #expect(draft.origin == SourceReference(source: "osm", sourceID: "node/7"))
  }

  @Test func namesThatAreNotTheNameRemainTags() throws {
    let tags: [ExactText: String] = [
      "name": "Wien", "name:en": "Vienna", "official_name": "Stadt Wien", "int_name": "Vienna", "brand": "B",
      "operator": "O", "ref": "7", "place": "city",
    ]

    let named = try osm(Dictionary(uniqueKeysWithValues: tags.map { ($0.key.text, $0.value) })).get()
    let unnamed = try osm(["amenity": "bank", "brand": "B", "operator": "O"]).get()

    var others = tags
    others["name"] = nil
    #expect(named.name == "Wien" && named.tags.dictionary == others)
    #expect(unnamed.name == "B" && unnamed.tags.dictionary == ["amenity": "bank", "operator": "O"])
  }

  @Test func objectWithoutANameIsNamedAfterItsCategory() throws {
    #expect(try osm(["amenity": "drinking_water"]).get().name == "Drinking water")
    #expect(try osm(["amenity": "bank", "brand": "B"]).get().name == "B")
    #expect(try osm(["natural": "hot_spring"]).get().name == "Hot spring")
  }

  /// Tags, and whether their objects are taken without a name and with one.
  private static let objects: [([String: String], Bool, Bool)] = [
    (["highway": "residential"], false, false), (["waterway": "river"], false, false),
    (["railway": "rail"], false, false), (["route": "bus", "type": "route"], false, false),
    (["building": "yes"], false, false), (["building": "house"], false, false),
    (["landuse": "residential"], false, false),
    (["entrance": "yes"], false, false), (["boundary": "administrative"], false, false), ([:], false, false),
    (["emergency": "yes"], false, false), (["place": "town"], false, true), (["natural": "water"], false, true),
    (["building": "church"], false, true), (["man_made": "pier"], false, true), (["landuse": "cemetery"], false, true),
    (["amenity": "bench"], true, true), (["waterway": "waterfall"], true, true), (["railway": "station"], true, true),
    (["natural": "peak"], true, true), (["emergency": "defibrillator"], true, true),
  ]

  @Test(arguments: objects)
  func pointsOfInterestAreTakenWithoutOptions(tags: [String: String], isTaken: Bool, isTakenWithName: Bool) throws {
    let mapping = try #require(Mapping(builtIn: "osm"))
    let named = tags.merging(["name": "A"]) { $1 }
    var all = mapping
    let isAdded = all.takeAlso(anyOf: [("name", nil)])
    #expect(isAdded)

    #expect((mapping.place(of: record(tags)) != nil) == isTaken)
    #expect((mapping.place(of: record(named)) != nil) == isTakenWithName)
    #expect(all.place(of: record(named)) != nil && (all.place(of: record(tags)) != nil) == isTaken)
  }

  @Test func fieldsThatAreTakenTooGiveACategory() throws {
    var mapping = try #require(Mapping(builtIn: "osm"))
    let isAdded = mapping.takeAlso(anyOf: [("playground", nil), ("indoor", ["room"])])
    #expect(isAdded)
    var columns = try #require(Mapping(builtIn: "columns"))

    #expect(try osm(["playground": "swing"], mapping).get().category == "playground:swing")
    #expect(try osm(["playground": "yes"], mapping).get().category == "playground")
    #expect(try osm(["indoor": "room", "name": "A"], mapping).get().category == "indoor:room")
    #expect(mapping.place(of: record(["indoor": "area"])) == nil)
    #expect(mapping.place(of: record(["amenity": "cafe"])) != nil)
    let isAddedToAll = columns.takeAlso(anyOf: [("a", nil)])
    #expect(!isAddedToAll)
  }

  @Test func theFieldOfANameIsNoCategory() throws {
    let text =
      #"{"id":"1","type":"Feature","geometry":{"type":"Point","coordinates":[13,52]},"#
      + #""properties":{"names":{"primary":"A"},"basic_category":null}}"#

    let row = try #require(parse(text, .geoJSONSequence, "overture").rows.first)

    #expect(row.draft.name == "A" && row.draft.category == nil)
  }

  @Test func placesWithoutAKeyOfAPlaceHaveNoCategory() throws {
    var mapping = try #require(Mapping(builtIn: "osm"))
    let isAdded = mapping.takeAlso(anyOf: [("name", nil)])
    #expect(isAdded)

    #expect(try osm(["name": "A"], mapping).get().category == nil)
    #expect(try osm(["name": "A", "highway": "residential"], mapping).get().category == "highway:residential")
  }

  @Test func piecesOfLinesAreRecognised() throws {
    let mapping = try #require(Mapping(builtIn: "osm"))
    func line(_ tags: [String: String]) -> LinePieces.Line? { mapping.line(of: record(tags)) }

    #expect(line(["highway": "residential"]) == .init(field: "highway", distanceMetres: 1000))
    #expect(line(["waterway": "river"]) == .init(field: "waterway", distanceMetres: 20_000))
    #expect(line(["route": "bus"])?.field == "route" && line(["railway": "rail"])?.field == "railway")
    for tags in [["highway": "services"], ["waterway": "dam"], ["railway": "station"], ["amenity": "cafe"], [:]] {
      #expect(line(tags) == nil)
    }
  }

  @Test func objectsWithoutAKeyOfAPlaceAreSkipped() throws {
    let mapping = try #require(Mapping(builtIn: "osm"))
    var cafes = mapping
    cafes.take(anyOf: [("amenity", ["cafe", "bar"])])

    #expect(mapping.place(of: record(["highway": "residential"])) == nil)
    #expect(mapping.place(of: record(["highway": "bus_stop"])) != nil)
    #expect(cafes.place(of: record(["name": "A"])) == nil)
    #expect(cafes.place(of: record(["amenity": "bar"])) != nil)
  }

  @Test func geoJSONOfOgr2ogrIsMapped() throws {
    let text = #"""
      {"type":"Feature","properties":{"osm_id":"5","name":"A","other_tags":"\"amenity\"=>\"cafe\",\"note:x\"=>\"a\\\"b\""},"geometry":{"type":"Point","coordinates":[1,2]}}
      {"type":"Feature","properties":{"osm_id":null,"osm_way_id":"6","name":"B","shop":"bakery"},"geometry":{"type":"MultiPolygon","coordinates":[[[[0,0],[4,0],[4,4],[3,4],[3,1],[1,1],[1,4],[0,4],[0,0]]]]}}
      """#

    let rows = parse(text, .geoJSONSequence, "osm").rows.map(\.draft)

    #expect(rows.map(\.origin?.sourceID) == ["node/5", "way/6"])
    #expect(rows.map(\.category) == ["cafe", "bakery"])
    #expect(rows.first?.tags.dictionary == ["amenity": "cafe"])
    // Inside the U, not in its opening.
    let point = try #require(rows.last?.coordinate)
    #expect(point.latitude < 1 || point.longitude < 1 || point.longitude > 3)
  }

  @Test(arguments: [
    (#""a"=>"b""#, ["a": "b"]), (#" "a" => "b" , "c"=>"d""#, ["a": "b", "c": "d"]),
    ("\"a\"=>\"b\",\n\r\t\"c\"=>\"d\"\n", ["a": "b", "c": "d"]),
    (#""a"=>NULL, "c"=>"d""#, ["c": "d"]), (#""a"=>NULL"#, [:]),
    (#""a\"\\"=>"b\"c""#, [#"a"\"#: #"b"c"#]), (#""ü"=>"京""#, ["ü": "京"]),
    // What is malformed stays one text.
    (#""a"=>"b"#, nil), (#""a""b""#, nil), (#""a"="b""#, nil), (#""a"=>b"#, nil), (#""a"=>"b" "c"=>"d""#, nil),
    (#"a=>"b""#, nil), (#""a"=>"b\"#, nil), (#""a"=>"b";"c"=>"d""#, nil),
  ])
  func fieldsInATextOfHstoreAreUnpacked(text: String, tags: [ExactText: String]?) throws {
    var mapping = try #require(Mapping(builtIn: "osm"))
    let isAdded = mapping.takeAlso(anyOf: [("name", nil)])
    #expect(isAdded)

    let draft = try osm(["name": "A", "other_tags": text], mapping).get()

    #expect(draft.tags.dictionary == tags ?? ["other_tags": text])
  }

  /// Rules, and the values that they take and skip.
  private static let rules: [(String, [String], [String])] = [
    (#"{"any":{"k":["a","b"]}}"#, ["a", #"["x","b"]"#], ["c", #"["x","y"]"#, "[]", ""]),
    (#"{"any":["k","l"]}"#, ["a", "0"], [""]), (#"{"all":{"k":"*"}}"#, ["a"], [""]),
    (#"{"all":{"k":{"atLeast":0.5}}}"#, ["0.5", "1"], ["0.49", "x", ""]),
    (#"{"all":{"k":"a","name":"N"}}"#, ["a"], ["b"]), (#"{"all":{"k":"a","name":"M"}}"#, [], ["a"]),
    (#"{"either":[{"any":{"k":"a"}},{"all":"name","any":{"k":"b"}},{"all":"x","any":{"k":"c"}}]}"#, ["a", "b"], ["c"]),
    (#"{"any":{"k":["a","b"]},"either":[{"none":{"k":"a"}}]}"#, ["b"], ["a", "c"]),
    (#"{"none":{"k":"a"}}"#, ["b", ""], ["a"]), (#"{"none":{"k":"a"},"any":{"k":["b","c"]}}"#, ["b"], ["a", "d"]),
  ]

  @Test(arguments: rules)
  func recordsAreTakenByTheirValues(rule: String, taken: [String], skipped: [String]) throws {
    let mapping = try Mapping(
      yaml: #"{"name":"name","take":[\#(rule)],"point":{"latitude":"lat","longitude":"lat"}}"#)
    func isTaken(_ value: String) -> Bool {
      let fields = [("name", "N"), ("k", value), ("lat", "1")].map {
        JSONValue.Member(name: $0.0, value: .string($0.1))
      }
      return mapping.place(of: ForeignRecord(fields: fields, id: nil, kind: nil, geometry: nil)) != nil
    }

    #expect(taken.allSatisfy(isTaken) && !skipped.contains(where: isTaken))
    #expect(mapping.tally.skipped.first?.count ?? 0 == skipped.count)
  }

  @Test func membersOfAnObjectAreUnpackedAndOtherValuesKept() throws {
    let mapping = try Mapping(
      yaml: "name: name\nunpack: [more, count]\npoint: {latitude: 'p[0]', longitude: 'p[1]'}\ntags: {keep: all}")
    let text = #"{"name":"A","more":{"a":"b"},"count":5,"p":[1,2]}"#

    let row = try #require(parse(text, .ndjson, mapping).rows.first).draft

    #expect(row.tags.dictionary == ["a": "b", "count": "5"])
  }

  @Test(arguments: [("[]", 0), ("{}", 0), ("[1]", 1), ("false", 1), ("null", 0)])
  func emptyValueDoesNotExist(value: String, taken: Int) throws {
    let mapping = try Mapping(
      yaml: "name: name\ntake: [{any: [k]}]\npoint: {latitude: 'p[0]', longitude: 'p[1]'}")

    #expect(parse(#"{"name":"A","k":\#(value),"p":[1,2]}"#, .ndjson, mapping).rows.count == taken)
  }

  @Test func differentElementsOfAnArrayAreOneText() throws {
    let mapping = try Mapping(
      yaml: "name: [list.z, list.y]\npoint: {latitude: 'p[0]', longitude: 'p[1]'}\ntags: {keep: all}")
    let text = #"{"list":[{"y":"A"},{"y":"B"},{"y":"A"}],"k":["x","y","x"],"p":[1,2]}"#

    let row = try #require(parse(text, .ndjson, mapping).rows.first).draft

    #expect(row.name == "A;B" && row.tags.dictionary == ["k": "x;y"])
  }

  @Test func dataSetOfAnotherNameKeepsItsLicence() throws {
    var mapping = try #require(Mapping(builtIn: "osm"))
    mapping.setSource("vienna")
    let source = mapping.source

    #expect(source?.name == "vienna" && source?.licence == "ODbL-1.0")
    #expect(source?.attribution == "\u{A9} OpenStreetMap contributors")
  }

  // MARK: Tables

  @Test func namesOfColumnsThatPeopleUseAreRecognised() throws {
    let text = "ID;Title;LATITUDE;Lng;Type;Phone\n7;Caf\u{E9};52,5;13,4;bar;1\n"
    var mapping = try #require(Mapping(builtIn: "columns"))
    mapping.setSource("mine")

    let row = try #require(parse(text, .csv, mapping).rows.first).draft

    #expect(row.name == "Caf\u{E9}" && row.category == "bar")
    #expect(row.coordinate.latitude == 52.5 && row.coordinate.longitude == 13.4)
    #expect(row.origin == SourceReference(source: "mine", sourceID: "7"))
    #expect(row.tags.dictionary == ["Phone": "1", "Type": "bar"])
  }

  @Test func columnsThatTheFieldsOfThePlaceDoNotComeFromAreTags() throws {
    let text = "id,fid,name,Title,Description,lat,long,x,Y\n7,8,A,B,C,52.5,13.4,3,4\n"
    var mapping = try #require(Mapping(builtIn: "columns"))
    let withoutSource = try #require(parse(text, .csv, mapping).rows.first).draft
    mapping.setSource("mine")

    let row = try #require(parse(text, .csv, mapping).rows.first).draft

    #expect(row.name == "A" && row.origin?.sourceID == "7" && row.coordinate.longitude == 13.4)
    #expect(row.tags.dictionary == ["fid": "8", "Title": "B", "Description": "C", "x": "3", "Y": "4"])
    #expect(withoutSource.tags.dictionary["id"] == "7" && withoutSource.tags.pairs.count == row.tags.pairs.count + 1)
  }

  @Test func everyFieldOfATemplateIsUsed() throws {
    let mapping = try Mapping(
      yaml: "name: [missing, '{a.b} {c}']\npoint: {latitude: 'p[0]', longitude: 'p[1]'}\ntags: {keep: all}")

    let row = try #require(parse(#"{"a":{"b":"x"},"c":"y","d":"z","p":[1,2]}"#, .ndjson, mapping).rows.first).draft

    #expect(row.name == "x y" && row.tags.dictionary == ["d": "z"])
  }

  @Test func wellKnownTextGivesThePosition() throws {
    let row = try #require(parse("WKT,name\n\"POINT (13.4 52.5)\",A\n", .csv, "columns").rows.first).draft

    #expect(row.coordinate.latitude == 52.5 && row.coordinate.longitude == 13.4)
    #expect(row.tags.isEmpty)
  }

  @Test func namesOfFieldsAreComparedByTheirBytes() throws {
    let composed = "\"\u{E9}\":\"{\\\"name\\\":\\\"inner\\\"}\""
    let record = #"{"name":"outer","lat":1,"long":2,\#(composed)}"#
    for (name, result) in [("\u{E9}", "inner"), ("e\u{301}", "outer")] {
      let mapping = try Mapping(yaml: "name: name\nunpack: ['\(name)']\npoint: {latitude: lat, longitude: long}")

      #expect(parse(record, .ndjson, mapping).rows.first?.draft.name == result)
    }
  }

  @Test(arguments: [
    ("Bezeichnung;Breitengrad;Längengrad;Kategorie", "A;1,5;2;cafe"), ("Naam;Coördinaten;Kategoria", "A;1,5 2;cafe"),
    ("Title;Latitude;Longitude;Rubrik", "A;1°30'N;2° 0' E;cafe"), ("名称;座標;カテゴリー", "A;N1.5 E2;cafe"),
  ])
  func theMappingOfColumnsKnowsOtherLanguagesAndNotations(header: String, row: String) throws {
    let draft = try #require(parse("\(header)\n\(row)\n", .csv, "columns").rows.first).draft

    #expect(draft.name == "A" && draft.category == "cafe")
    #expect(draft.coordinate.latitude == 1.5 && draft.coordinate.longitude == 2)
  }

  @Test func everyNameOfAColumnIsInTheMappingOfColumns() throws {
    let text = try #require(BuiltInMappings.text(named: "columns"))
    for (field, names) in ColumnNames.names {
      if case .tag = field { continue }
      for name in names {
        let forms = [name, name.replacing(" ", with: "_"), name.replacing(" ", with: "")].map { $0.lowercased() }
        #expect(forms.contains { text.contains($0) }, "\(name)")
      }
    }
  }

  @Test func aRecordWithoutANameIsRejectedWithItsFields() {
    let parsed = parse("Nummer,lat,lon\n1,2,3\n", .csv, "columns")

    #expect(parsed.rejections.map(\.detail) == ["has no name; it has 'Nummer', 'lat', 'lon'"])
  }

  @Test func dumpOfGeoNamesIsRead() throws {
    let cells = [
      "2950159", "Berlin \"Mitte", "Berlin", "BER,Berlino", "52.52437", "13.41053", "P", "PPLC", "DE", "", "16", "00",
      "11000", "11000000", "3426354", "", "74", "Europe/Berlin", "2023-10-26",
    ]

    let row = try #require(parse(cells.joined(separator: "\t") + "\n", .csv, "geonames").rows.first).draft

    #expect(row.name == "Berlin \"Mitte" && row.category == "place:city")
    #expect(row.origin == SourceReference(source: "geonames", sourceID: "2950159"))
    #expect(row.tags.dictionary["population"] == "3426354")
    #expect(row.tags.dictionary["alt_name"] == "BER,Berlino")
  }

  @Test(arguments: [("0", nil), ("", nil), ("1", "1"), ("3426354", "3426354")])
  func populationOfZeroInGeoNamesIsUnknown(cell: String, population: String?) throws {
    let cells = [
      "1", "A", "A", "", "52.5", "13.4", "P", "PPL", "DE", "", "", "", "", "", cell, "", "74", "Europe/Berlin",
      "2023-10-26",
    ]

    let row = try #require(parse(cells.joined(separator: "\t") + "\n", .csv, "geonames").rows.first).draft

    #expect(row.tags.dictionary["population"] == population)
  }

  @Test(arguments: [
    ("{\"name\":\"\"}", "has no latitude"), ("{\"name\":\"A\",\"lat\":91,\"lon\":1}", "out of range"),
    ("{\"name\":\"A\",\"lat\":\"x\",\"lon\":1}", "must be a number"), ("{\"lat\":1,\"lon\":1}", "has no name"),
    ("[]", "object"),
    (
      #"{"type":"Feature","geometry":{"type":"Point","coordinates":[1e999,2]},"properties":{"name":"A"}}"#,
      "no position"
    ),
  ])
  func invalidRecordsAreRejectedWithTheirReason(text: String, reason: String) {
    let parsed = parse(text, .ndjson, "columns")

    #expect(parsed.rows.isEmpty)
    #expect(parsed.rejections.first?.detail.contains(reason) == true, "\(parsed.rejections)")
  }

  @Test func tagsThatAreTooLongAreLeftOutAndCounted() throws {
    let mapping = try #require(Mapping(builtIn: "osm"))
    let long = String(repeating: "x", count: 2001)

    let draft = try mapping.place(of: record(["name": "A", "description": long, "shop": "tea"]))?.get()

    #expect(draft?.tags.dictionary == ["shop": "tea"])
    #expect(mapping.tally.omittedTags == 1)
  }

  // MARK: Files

  @Test(arguments: BuiltInMappings.names)
  func builtInMappingIsValid(name: String) throws {
    let mapping = try Mapping(yaml: try #require(BuiltInMappings.text(named: name)))

    #expect(name == "columns" || mapping.source?.attribution?.isEmpty == false)
  }

  @Test func mappingMayBeJSON() throws {
    let mapping = try Mapping(
      yaml:
        #"{"source":{"name":"s"},"name":"a.b[1]","sourceId":"{k}-{n}","point":{"latitude":"p[0]","longitude":"p[1]"}}"#)

    let row = try #require(parse(#"{"a":{"b":["x","y"]},"k":"c","n":5,"p":[1,2]}"#, .ndjson, mapping).rows.first).draft

    #expect(row.name == "y" && row.origin == SourceReference(source: "s", sourceID: "c-5"))
  }

  @Test(arguments: [
    ("", "empty"), ("name: [", "not valid YAML"), ("nam: a", "'nam' is unknown"), ("name: a..b", "'a..b'"),
    ("name: '{a'", "'{a'"), ("name: a\ncategory: [amenity]", "members"),
    ("name: a\ncategory: [amenity: x]", "amenity=cafe"),
    ("name: a\ntake: [{when: b}]", "'when'"), ("name: a\ntable: {separator: x}", "separator must be"),
    ("source: {name: x}", "has no name"), ("name: a\ntags: {keep: {}}", "string"), ("name: 'a[-1]'", "'a[-1]'"),
    ("name: {value: {value: a, when: b}, when: c}", "one condition"),
    ("name: a\ntake: [{any: {k: {atLeast: 1, x: 2}}}]", "atLeast with a number"),
    ("name: a\ntake: [{either: [{any: k, otherwise: x}]}]", "a rule of either has no member 'otherwise'"),
    ("name: a\ntake: [{otherwise: x}]", "must have any, all or none"),
    ("name: a\ncategoryValues: {only: words}", "identifiers"), ("name: a\ncategoryValues: {x: y}", "'x'"),
    ("name: a\npieces: {any: k}", "within"), ("name: a\npieces: {any: k, within: 0}", "1 to 100000"),
    ("name: a\npieces: {all: k, within: 5}", "must have any"),
  ])
  func invalidMappingIsAnErrorThatNamesThePart(text: String, reason: String) {
    let error = #expect(throws: YAMLFileError.self) { try Mapping(yaml: text) }

    #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
  }

  @Test(arguments: [(16, true), (17, false)]) func pathHasAtMost16Steps(steps: Int, isValid: Bool) {
    let path = Array(repeating: "a", count: steps).joined(separator: ".")

    #expect(((try? Mapping(yaml: "name: \(path)")) != nil) == isValid)
  }

  @Test(arguments: [(49_998, true), (49_999, false)])
  func mappingHasAtMost50000Parts(elements: Int, isValid: Bool) {
    let list = Array(repeating: "b", count: elements).joined(separator: ",")

    #expect(((try? Mapping(yaml: "name: a\nunpack: [\(list)]\n")) != nil) == isValid)
  }

  @Test func aliasesThatMultiplyAreRejected() {
    let values = Array(repeating: "a", count: 300).joined(separator: ",")
    let fields = (1..<300).map { "k\($0): *values" }.joined(separator: ",")

    let error = #expect(throws: YAMLFileError.self) {
      try Mapping(yaml: "name: a\ntake:\n- any: {k0: &values [\(values)],\(fields)}\n")
    }

    #expect(error?.description.contains("parts") == true, "\(error?.description ?? "")")
  }

  // MARK: Opening hours in other forms

  @Test func columnsOfWeekdaysBecomeOpeningHours() throws {
    let text =
      "id;Name;lat;lon;Montag von;Montag bis;Dienstag von;Dienstag bis;Mittwoch von;Mittwoch bis;"
      + "Donnerstag von;Donnerstag bis;Freitag von;Freitag bis;k\n1;A;48,2;16,3;9;17;9;17;9;17;9;17;geschlossen;;v\n"

    let row = try #require(parse(text, .csv, "columns").rows.first)

    #expect(row.draft.tags.dictionary == ["id": "1", "opening_hours": "Mo-Th 09:00-17:00; Fr off", "k": "v"])
  }

  @Test func membersOfOtherVocabulariesBecomeOpeningHours() throws {
    let text = """
      {"id":"1","name":"A","lat":1,"lon":2,"openingHoursSpecification":{"dayOfWeek":"Monday","opens":"09:00","closes":"17:00"}}
      {"id":"2","name":"B","lat":1,"lon":2,"opening_hours":{"periods":[{"open":{"day":1,"time":"0900"},"close":{"day":1,"time":"1700"}}]}}
      {"id":"3","name":"C","lat":1,"lon":2,"opening_hours":"24/7","openingHours":"Mo 9-17"}
      {"id":"4","name":"D","lat":1,"lon":2,"openingHours":"when I like"}
      """

    let rows = parse(text, .ndjson, "columns").rows

    #expect(
      rows.map(\.draft.tags.dictionary) == [
        ["id": "1", "opening_hours": "Mo 09:00-17:00"], ["id": "2", "opening_hours": "Mo 09:00-17:00"],
        ["id": "3", "opening_hours": "24/7", "openingHours": "Mo 9-17"], ["id": "4", "openingHours": "when I like"],
      ])
    #expect(rows.map(\.unreadableHours) == [nil, nil, nil, "openingHours: when I like"])
  }

  @Test func aMappingDecidesAboutTheFieldsOfOpeningHours() throws {
    func tags(_ mapping: String) throws -> [ExactText: String]? {
      let text =
        #"{"name":"A","lat":1,"long":2,"mon":"9-17","tue":"9-17","wed":"9-17","thu":"9-17","fri":"","x":"Su 9-12"}"#
      let mapping = try Mapping(yaml: "name: name\npoint: {latitude: lat, longitude: long}\ntags: \(mapping)\n")
      return parse(text, .ndjson, mapping).rows.first?.draft.tags.dictionary
    }
    let hours = "Mo-Th 09:00-17:00"

    #expect(try tags("{keep: none}") == [:])
    #expect(try tags("{keep: [opening_hours]}") == ["opening_hours": hours])
    #expect(try tags("{keep: [opening_hours, mon]}") == ["opening_hours": hours, "mon": "9-17"])
    #expect(try tags("{keep: all, drop: [x]}") == ["opening_hours": hours])
    #expect(
      try tags("{keep: none, set: {opening_hours: x, monday: mon}}") == ["opening_hours": "Su 9-12", "monday": "9-17"])
  }

  // MARK: Orders of coordinates

  @Test(arguments: ["coordonneesXY", "xy", "lon_lat", "coordinates"])
  func pairWithTheLongitudeFirstIsRead(name: String) throws {
    let csv = "id,name,\(name)\n1,A,\"[2.3522, 48.8566]\"\n"
    let json = #"{"id":"1","name":"A","\#(name)":[2.3522,48.8566]}"#

    for parsed in [parse(csv, .csv, "columns"), parse(json, .ndjson, "columns")] {
      let row = try #require(parsed.rows.first, "\(parsed)")
      #expect(row.draft.coordinate.latitude == 48.8566 && row.draft.coordinate.longitude == 2.3522)
    }
  }

  @Test func otherRowsTellTheOrderOfAPair() throws {
    let text = "id,name,Location\n1,A,\"-71.06, 42.36\"\n2,B,\"-122.42, 37.77\"\n3,C,POINT (-87.63 41.88)\n"

    #expect(parse(text, .csv, "columns").rows.map(\.draft.coordinate.latitude) == [42.36, 37.77, 41.88])
  }

  @Test func orderThatStaysOpenIsAWarning() throws {
    let mapping = try #require(Mapping(builtIn: "columns"))

    let rows = parse(#"{"id":"1","name":"A","location":"2.35, 48.85"}"#, .ndjson, mapping).rows

    #expect(rows.map(\.draft.coordinate.latitude) == [2.35])
    #expect(mapping.tally.warnings.count == 1 && mapping.tally.warnings[0].contains("'location'"))
  }

  // MARK: Helpers

  private func record(_ tags: [String: String]) -> ForeignRecord {
    ForeignRecord(
      fields: tags.map { .init(name: $0.key, value: .string($0.value)) }, id: .number("7"), kind: "node",
      geometry: .object([
        .init(name: "type", value: .string("Point")),
        .init(name: "coordinates", value: .array([.number("1"), .number("2")])),
      ]))
  }

  private func osm(_ tags: [String: String], _ given: Mapping? = nil) throws -> Result<PointDraft, InvalidRecord> {
    let mapping = try #require(given ?? Mapping(builtIn: "osm"))
    return try #require(mapping.place(of: record(tags)))
  }

  // MARK: Examples in the documentation

  @Test func stopsOfGTFSAreMapped() throws {
    let text = """
      stop_id,stop_code,stop_name,tts_stop_name,stop_desc,stop_lat,stop_lon,zone_id,stop_url,location_type,parent_station,\
      stop_timezone,wheelchair_boarding,level_id,platform_code,stop_access
      S1,,Main Station,,,48.2,16.3,,,1,,Europe/Vienna,1,,,
      S1:2,102,Main Station,,Towards the centre,48.2001,16.3001,A,https://example.org/s1,0,S1,,2,L1,2,1
      S1:e,,Exit A,,,48.2002,16.3002,,,2,S1,,0,,,
      S1:n,,,,,,,,,3,S1,,,,,
      S1:b,,,,,,,,,4,S1:2,,,,,
      S2,,Village,,,191,16.3,,,,,,,,,

      """

    let parsed = parse(text, .csv, try documentedMapping("gtfs-stops.yaml"))

    #expect(parsed.rows.map(\.draft.category) == ["station", "platform", "entrance"])
    #expect(parsed.rows.map(\.draft.origin?.sourceID) == ["S1", "S1:2", "S1:e"])
    #expect(
      parsed.rows.map(\.draft.tags.dictionary) == [
        ["wheelchair": "yes"],
        [
          "ref": "102", "description": "Towards the centre", "website": "https://example.org/s1", "local_ref": "2",
          "gtfs:zone_id": "A", "gtfs:parent_station": "S1", "gtfs:level_id": "L1", "wheelchair": "no",
        ],
        ["gtfs:parent_station": "S1"],
      ])
    #expect(parsed.rejections.map(\.number) == [6])
    #expect(parsed.rejections.map(\.origin) == [SourceReference(source: "gtfs", sourceID: "S2")])
  }

  @Test func savedPlacesOfGoogleAreMappedInBothForms() throws {
    let text = #"""
      {"type":"FeatureCollection","features":[
      {"type":"Feature","geometry":{"type":"Point","coordinates":[16.37,48.2]},"properties":{"date":"2024-05-01T10:00:00Z",
      "google_maps_url":"http://maps.google.com/?cid=1","location":{"address":"Straße 1, 1010 Wien","country_code":"AT",
      "name":"Café Eins"}}},
      {"type":"Feature","geometry":{"type":"Point","coordinates":[2.1,1.1]},"properties":{"Google Maps URL":
      "http://maps.google.com/?cid=2","Location":{"Address":"Street 2","Business Name":"Two","Country Code":"US",
      "Geo Coordinates":{"Latitude":"1.1","Longitude":"2.1"}},"Published":"2018-01-01T00:00:00Z","Title":"Two",
      "Updated":"2018-01-01T00:00:00Z"}},
      {"type":"Feature","geometry":{"type":"Point","coordinates":[0,0]},"properties":{"date":"2023-01-01T00:00:00Z",
      "google_maps_url":"http://maps.google.com/?q=1,2"}}]}
      """#

    let parsed = parse(text, .geoJSON, try documentedMapping("google-saved-places.yaml"))

    #expect(parsed.rejections.isEmpty)
    #expect(parsed.rows.map(\.draft.name) == ["Café Eins", "Two"])
    #expect(parsed.rows.map(\.draft.coordinate.latitude) == [48.2, 1.1])
    #expect(parsed.rows.map(\.draft.origin?.sourceID) == (1...2).map { "http://maps.google.com/?cid=\($0)" })
    #expect(
      parsed.rows.map(\.draft.tags.dictionary) == [
        [
          "addr:full": "Straße 1, 1010 Wien", "addr:country": "AT", "saved": "2024-05-01T10:00:00Z",
          "url": "http://maps.google.com/?cid=1",
        ],
        [
          "addr:full": "Street 2", "addr:country": "US", "saved": "2018-01-01T00:00:00Z",
          "url": "http://maps.google.com/?cid=2",
        ],
      ])
  }

  @Test func placesOfFoursquareAreMappedFromNDJSONAndCSV() throws {
    let label = "Dining and Drinking > Cafe, Coffee, and Tea House > Coffee Shop"
    let json = #"""
      {"fsq_place_id":"4a1","name":"One","latitude":48.2,"longitude":16.37,"address":"Straße 1","locality":"Wien",\#
      "region":"Wien","postcode":"1010","admin_region":null,"post_town":null,"po_box":null,"country":"AT",\#
      "date_created":"2010-01-01","date_refreshed":"2024-10-01","date_closed":null,"tel":"01 234","website":\#
      "https://one.example","email":"a@one.example","facebook_id":17,"instagram":"one","twitter":"one",\#
      "fsq_category_ids":["4bf58dd8d48988d1e0931735"],"fsq_category_labels":["\#(label)","Retail"],\#
      "placemaker_url":"https://foursquare.com/placemakers/review-place/4a1","unresolved_flags":null}
      {"fsq_place_id":"4a2","name":"Closed","latitude":1,"longitude":2,"date_closed":"2020-01-01"}
      {"fsq_place_id":"4a3","name":"None","latitude":1,"longitude":2,"unresolved_flags":["doesnt_exist"]}
      {"fsq_place_id":"4a4","name":"Without a position","latitude":null,"longitude":null}

      """#
    let csv = """
      fsq_place_id,name,latitude,longitude,address,locality,region,postcode,country,date_refreshed,date_closed,tel,\
      website,email,facebook_id,instagram,twitter,fsq_category_labels,unresolved_flags
      4a1,One,48.2,16.37,Straße 1,Wien,Wien,1010,AT,2024-10-01,,01 234,https://one.example,a@one.example,17,one,one,\
      "[""\(label)"",""Retail""]",
      4a2,Closed,1,2,,,,,,,2020-01-01,,,,,,,,
      4a3,None,1,2,,,,,,,,,,,,,,,"[""doesnt_exist""]"
      4a4,Without a position,,,,,,,,,,,,,,,,,

      """

    for (text, format) in [(json, PointFormat.ndjson), (csv, .csv)] {
      let parsed = parse(text, format, try documentedMapping("foursquare.yaml"))

      #expect(parsed.rows.map(\.draft.name) == ["One"])
      #expect(parsed.rows.first?.draft.category == "cafe")
      #expect(parsed.rows.first?.draft.origin == SourceReference(source: "foursquare", sourceID: "4a1"))
      var tags = parsed.rows.first?.draft.tags.dictionary ?? [:]
      #expect(tags.removeValue(forKey: "foursquare:categories")?.contains(label) == true)
      #expect(
        tags == [
          "addr:full": "Straße 1", "addr:city": "Wien", "addr:state": "Wien", "addr:postcode": "1010",
          "addr:country": "AT", "phone": "01 234", "website": "https://one.example", "email": "a@one.example",
          "contact:facebook": "17", "contact:instagram": "one", "contact:twitter": "one",
          "foursquare:refreshed": "2024-10-01",
        ])
      #expect(parsed.rejections.map(\.origin?.sourceID) == ["4a4"])
    }
  }

  @Test func nameFieldReplacesTheNameOfAMapping() throws {
    var mapping = try documentedMapping("foursquare.yaml")

    #expect(mapping.setNameField("locality") && !mapping.setNameField("a["))

    let text = #"{"fsq_place_id":"1","name":"One","locality":"Wien","latitude":1,"longitude":2}"#
    #expect(parse(text, .ndjson, mapping).rows.map(\.draft.name) == ["Wien"])
  }

  /// Returns the mapping of a block of docs/import.md, which begins with a comment that names its file.
  private func documentedMapping(_ name: String) throws -> Mapping {
    let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/import.md")
    let blocks = try String(contentsOf: page, encoding: .utf8).split(separator: "```yaml\n").dropFirst()
    let block = try #require(blocks.first { $0.hasPrefix("# \(name)\n") })
    return try Mapping(yaml: String(try #require(block.split(separator: "```").first)))
  }

  private func parse(_ text: String, _ format: PointFormat, _ name: String) -> Parsed {
    guard let mapping = Mapping(builtIn: name) else { return Parsed() }
    return parse(text, format, mapping)
  }

  private func parse(_ text: String, _ format: PointFormat, _ mapping: Mapping) -> Parsed {
    var parser = PointParser(format: format, mapping: mapping)
    var rows: [PointParser.Row] = []
    var parsed = Parsed()
    do {
      try parser.consume(text.utf8, into: &rows)
      try parser.finish(into: &rows)
    } catch {
      Issue.record("\(error)")
    }
    for row in rows {
      switch row {
      case .success(let row): parsed.rows.append(row)
      case .failure(let rejection): parsed.rejections.append(rejection)
      }
    }
    return parsed
  }
}

/// The rows and rejections of a parsed text.
private struct Parsed {
  var rows: [ImportRow] = []
  var rejections: [RejectedRow] = []
}

/// The built-in mappings.
@Suite struct BuiltInMappingTests {
  @Test func builtInTreeHasTheirCategories() throws {
    let tree = CategoryTree.builtIn
    for name in BuiltInMappings.names {
      let mapping = try #require(Mapping(builtIn: name))
      for category in mapping.category.names.values {
        #expect(tree.number(ofNameInData: ExactText(category)) != nil, "\(name): \(category)")
      }
      let text = try #require(BuiltInMappings.text(named: name))
      for match in text.matches(of: /- (?:feature_code|feature_class)=\w+: (\S+)/) {
        #expect(tree.number(ofNameInData: ExactText(String(match.1))) != nil, "\(name): \(match.1)")
      }
    }
  }
}
