import Basics
import Foundation
import Geo
import JSONText
import OpenStreetMap
import PointFormats
import PointMapping
import Testing

@Suite struct OpenStreetMapSelectionTests {
  @Test(arguments: [[], ["highway"], ["name"]] as [[String]])
  func readerSelectsTheObjectsThatTheMappingTakes(kept: [String]) throws {
    var mapping = try #require(Mapping(builtIn: "osm"))
    let isAdded = kept.isEmpty || mapping.takeAlso(anyOf: kept.map { ($0, nil) })
    #expect(isAdded)
    let filters = mapping.requiredFields.map { OSMTagFilter($0.name, $0.values, isForNamed: $0.isForNamed) }
    var objects: [[String: String]] = [[:], ["name": "A"], ["highway": "residential"], ["entrance": "yes"]]
    for filter in filters {
      let values: [String] = filter.values?.map(\.text) ?? ["x"]
      for value in values + ["other"] {
        objects.append([filter.key: value])
        objects.append(["name": "A"].merging([filter.key: value]) { $1 })
        objects.append(["building": "church"].merging([filter.key: value]) { $1 })
      }
    }
    var nodes = ""
    for (id, tags) in objects.enumerated() {
      nodes += "<node id=\"\(id)\" lat=\"1\" lon=\"2\" version=\"1\">"
      for (key, value) in tags { nodes += "<tag k=\"\(key)\" v=\"\(value)\"/>" }
      nodes += "</node>"
    }
    let path = FileManager.default.temporaryDirectory.appending(path: "waymark-\(UUID().uuidString).osm")
    defer { try? FileManager.default.removeItem(at: path) }
    try Data("<?xml version=\"1.0\"?><osm version=\"0.6\">\(nodes)</osm>".utf8).write(to: path)

    let reader = try OSMFile(path: path.path).places(OSMSelection(filters: filters))
    var selected: Set<Int64> = []
    while let places = try reader.next() { selected.formUnion(places.map(\.id)) }

    var taken: Set<Int64> = []
    for (id, tags) in objects.enumerated() {
      let fields = tags.map { JSONValue.Member(name: $0.key, value: .string($0.value)) }
      let record = ForeignRecord(
        fields: fields, id: .number("\(id)"), kind: "node", coordinate: try Coordinate(latitude: 1, longitude: 2))
      if mapping.place(of: record) != nil { taken.insert(Int64(id)) }
    }
    #expect(selected == taken)
  }
}
