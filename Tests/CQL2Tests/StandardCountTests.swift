import CQL2
import Foundation
import JSONText
import Testing

/// The abstract tests of OGC 21-065 over Natural Earth's populated places.
@Suite(.enabled(if: StandardData.exists))
struct StandardCountTests {
  struct Expectation: CustomTestStringConvertible {
    let filter: String
    let count: Int
    var testDescription: String { filter }
  }

  static let expectations: [Expectation] = {
    let file = try? String(contentsOf: StandardData.folder.appending(path: "expected-counts.tsv"), encoding: .utf8)
    return (file ?? "").split(separator: "\n").dropFirst().compactMap { line in
      let fields = line.split(separator: "\t")
      return Int(fields[2]).map { Expectation(filter: String(fields[1]), count: $0) }
    }
  }()

  static let places = Result {
    try PlaceRecord.places(at: StandardData.folder.appending(path: "populated-places.geojson"))
  }

  @Test func thereAreNinetyTwoFilters() {
    #expect(Self.expectations.count == 92)
  }

  @Test(arguments: expectations)
  func textSelectsAsManyPlacesAsTheStandardSays(expectation: Expectation) throws {
    let expression = try FilterExpression(text: expectation.filter)
    #expect(try PlaceRecord.count(of: expression, in: Self.places.get()) == expectation.count)
  }

  @Test(arguments: expectations)
  func jsonSelectsAsManyPlacesAsTheStandardSays(expectation: Expectation) throws {
    let json = try FilterExpression(text: expectation.filter).json
    let expression = try FilterExpression(json: json)
    #expect(try PlaceRecord.count(of: expression, in: Self.places.get()) == expectation.count)
  }
}

/// A feature of a GeoJSON file, with its properties by their numbers.
struct PlaceRecord: FilterRecord {
  static let properties: [String: FilterProperty] = {
    let types: [(String, FilterType)] = [
      ("geom", .geometry), ("name", .string), ("adm0name", .string), ("adm1name", .string), ("pop_max", .integer),
      ("pop_min", .integer), ("pop_other", .integer), ("date", .date), ("start", .timestamp), ("end", .timestamp),
      ("boolean", .boolean),
    ]
    var properties: [String: FilterProperty] = [:]
    for (number, (name, type)) in types.enumerated() { properties[name] = FilterProperty(number: number, type: type) }
    return properties
  }()

  let values: [FilterValue]

  func value(ofProperty number: Int) -> FilterValue { values[number] }

  static func places(at file: URL) throws -> [PlaceRecord] {
    guard case .array(let features)? = try JSONReader.value(of: Data(contentsOf: file))["features"] else { return [] }
    return features.map { feature in
      var values = [FilterValue](repeating: .null, count: properties.count)
      for (name, property) in properties {
        switch (property.type, feature["properties"]?[name]) {
        case (.geometry, _):
          guard case .array(let coordinates)? = feature["geometry"]?["coordinates"],
            case .number(let x) = coordinates[0], case .number(let y) = coordinates[1],
            let x = Double(x), let y = Double(y)
          else { continue }
          values[property.number] = .point(x: x, y: y)
        case (.boolean, .bool(let value)?): values[property.number] = .boolean(value)
        // The file's times have no zone; they are in UTC.
        case (.timestamp, .string(let text)?):
          values[property.number] = FilterValue(text + "Z", as: .timestamp) ?? .null
        case (_, .number(let text)?), (_, .string(let text)?):
          values[property.number] = FilterValue(text, as: property.type) ?? .null
        default: break
        }
      }
      return PlaceRecord(values: values)
    }
  }

  static func filter(_ expression: FilterExpression) throws -> CompiledFilter {
    try CompiledFilter(expression) { name throws(FilterError) in
      guard let property = properties[name] else { throw .unknownProperty(name) }
      return property
    }
  }

  static func count(of expression: FilterExpression, in places: [PlaceRecord]) throws -> Int {
    let filter = try filter(expression)
    return places.count { filter.matches($0) }
  }
}
