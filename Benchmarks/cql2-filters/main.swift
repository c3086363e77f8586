import CQL2
import Foundation
import Basics
import JSONText

// cql2-filters PLACES
//
// Reads a CQL2 Text filter a line, as a JSON string, and prints a line for each: its encoding as CQL2 JSON, its text as
// it is printed, and the ids of the selected places; or the error. PLACES is a GeoJSON file of points with integers as
// ids and a member "queryables" with the type of each property. For scripts/conformance filters.

func fail(_ message: String) -> Never {
  FileHandle.standardError.write(Data("cql2-filters: \(message)\n".utf8))
  exit(1)
}

struct Place: FilterRecord {
  let id: String
  let values: [FilterValue]

  func value(ofProperty number: Int) -> FilterValue { values[number] }
}

/// Returns the value of a property of a feature.
func value(_ property: String, _ type: FilterType, of feature: JSONValue) -> FilterValue {
  if type == .geometry {
    guard case .array(let coordinates)? = feature["geometry"]?["coordinates"],
      case .number(let x)? = coordinates.first, case .number(let y)? = coordinates.last,
      let x = Double(x), let y = Double(y)
    else { return .null }
    return .point(x: x, y: y)
  }
  switch feature["properties"]?[property] {
  case .bool(let value)?: return .boolean(value)
  case .number(let text)?, .string(let text)?: return FilterValue(text, as: type) ?? .null
  case .array(let elements)?:
    return .array(
      elements.map { element in
        guard case .string(let text) = element else { return .null }
        return .string(ExactText(text))
      })
  default: return .null
  }
}

/// Returns the line for a filter.
func result(_ text: String, _ places: [Place], _ properties: [String: FilterProperty]) -> [UInt8] {
  var line = JSONWriter()
  line.beginObject()
  do {
    let expression = try FilterExpression(text: text)
    line.write(name: "json")
    expression.write(to: &line)
    line.write(member: "text", expression.text)
    do {
      let filter = try CompiledFilter(expression) { name throws(FilterError) in
        guard let property = properties[name] else { throw .unknownProperty(name) }
        return property
      }
      line.write(name: "ids")
      line.beginArray()
      for place in places where filter.matches(place) { line.write(json: place.id) }
      line.endArray()
    } catch {
      line.write(member: "error", "\(error)")
    }
  } catch {
    line.write(member: "error", "\(error)")
  }
  line.endObject()
  return line.sink
}

guard CommandLine.arguments.count == 2, let file = FileManager.default.contents(atPath: CommandLine.arguments[1]) else {
  fail("usage: cql2-filters PLACES")
}
let collection: JSONValue
do { collection = try JSONReader.value(of: file) } catch { fail("\(error)") }
guard case .object(let types)? = collection["queryables"], case .array(let features)? = collection["features"] else {
  fail("the file has no queryables or no features")
}
var properties: [String: FilterProperty] = [:]
for (number, member) in types.enumerated() {
  guard case .string(let name) = member.value, let type = FilterType(rawValue: name) else {
    fail("\(member.name) has no type")
  }
  properties[member.name] = FilterProperty(number: number, type: type)
}
let places = features.map { feature -> Place in
  guard case .number(let id)? = feature["id"] else { fail("a feature has no id") }
  let values = types.map { value($0.name, properties[$0.name]?.type ?? .string, of: feature) }
  return Place(id: id, values: values)
}
while let line = readLine() {
  guard case .string(let text)? = try? JSONReader.value(of: Array(line.utf8)) else {
    fail("a line is not a JSON string")
  }
  FileHandle.standardOutput.write(Data(result(text, places, properties) + [UInt8(ascii: "\n")]))
}
