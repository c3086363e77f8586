import Geo
import JSONText
import TestSupport
import Testing

@testable import PointFormats
@testable import Points

/// Tests that the lists of fields are those of the table.
@Suite struct FieldSetTests {
  private static func set(_ givers: PointField.Giver...) -> FieldSet {
    FieldSet(PointField.members.filter { givers.contains($0.giver) }.map { FieldSet($0) })
  }

  /// A place with a value of each field.
  private static func completePlace() throws -> FoundPoint {
    let draft = try PointDraft(
      name: "A", category: "cafe", coordinate: try Coordinate(latitude: 1, longitude: 2), tags: try Tags(["k": "v"]),
      source: "s", sourceID: "1")
    let time = Timestamp(microsecondsSinceEpoch: 0)
    let point = PointOfInterest(id: .sample(1), draft: draft, version: 1, createdAt: time, updatedAt: time)
    var found = FoundPoint(point: point, distanceMetres: 3, alongMetres: 4)
    (found.attribution, found.label, found.score) = ("a", "l", 5)
    found.match = TextMatch.Name(key: "name", text: "A", ranges: [])
    var state = PlaceState(state: .open, timeZone: "Europe/Vienna")
    (state.openUntil, state.opensAt) = ("u", "o")
    found.state = state
    return found
  }

  private static func names(_ value: JSONValue?) -> [String] {
    guard case .object(let members)? = value else { return [] }
    return members.map(\.name)
  }

  @Test func fieldsHaveTheNamesAndTheOrderOfTheTable() {
    #expect(FieldSet.all.union(.derived).fields == PointField.members)
  }

  @Test func setsOfFieldsFollowFromTheirOrigins() {
    #expect(FieldSet.all == Self.set(.client, .service, .search))
    #expect(FieldSet.derived == Self.set(.request))
    #expect(FieldSet.ofSearch == Self.set(.search))
    #expect(FieldSet.administrative == Self.set(.service).union([.source, .sourceID]))
    #expect(FieldSet.standard == FieldSet.all.subtracting(.administrative))
  }

  @Test func encodedPlacesHaveTheFieldsInOrder() throws {
    let found = try Self.completePlace()
    let fields = FieldSet.all.union(.derived)
    var (json, feature, csv): ([UInt8], [UInt8], [UInt8]) = ([], [], [])

    PointJSON.append(found, fields: fields, to: &json)
    PointGeoJSON.append(found, fields: fields, to: &feature)
    PointCSV.append([found], fields: fields, to: &csv)

    let names = PointField.members.map(\.name)
    #expect(Self.names(try JSONReader.value(of: json)) == names)
    #expect(Self.names(try JSONReader.value(of: feature)["properties"]) == PointField.properties.map(\.name))
    #expect(String(decoding: csv, as: UTF8.self).hasPrefix(names.joined(separator: ",") + "\r\n"))
    #expect(!String(decoding: csv, as: UTF8.self).contains(",,"))
  }

  @Test(arguments: PointField.members) func aSetOfOneFieldIsThatField(field: PointField) throws {
    let found = try Self.completePlace()
    var (json, csv): ([UInt8], [UInt8]) = ([], [])

    PointJSON.append(found, fields: FieldSet(field), to: &json)
    PointCSV.append([found], fields: FieldSet(field), to: &csv)

    #expect(FieldSet(name: field.name) == FieldSet(field))
    #expect(Self.names(try JSONReader.value(of: json)) == [field.name])
    #expect(String(decoding: csv, as: UTF8.self).hasPrefix(field.name + "\r\n"))
  }

  @Test(arguments: PointField.members) func readersKnowTheFieldsThatAreStoredOrOfASearch(field: PointField) {
    let isKnown = field.giver != .request

    for name in [field.name, field.name.uppercased(), field.column ?? field.name] {
      #expect(PointField(column: name) == (isKnown ? field : nil), "\(name)")
    }
  }

  @Test func everyTextThatAClientSetsIsRead() throws {
    let fields = PointField.allCases.filter(\.isWritableText)
    let members = fields.map { "\"\($0.name)\":\"\($0.name) 1\"" }.joined(separator: ",")

    let document = try PointDocument(#"{"lat":1,"long":2,\#(members)}"#.utf8)
    let row = try #require(
      Parsed(
        "lat,long,\(fields.map(\.name).joined(separator: ","))\n1,2,\(fields.map { $0.name + " 1" }.joined(separator: ","))\n",
        .csv
      ).rows.first)

    var json: [UInt8] = []
    PointFileWriter.append(ImportRow(number: 1, id: nil, draft: document.draft), to: &json)
    let value = try JSONReader.value(of: json)
    for field in fields { #expect(value[field.name] == .string(field.name + " 1")) }
    #expect(row.draft == document.draft)
  }
}
