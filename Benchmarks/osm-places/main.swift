import Foundation
import Geo
import OpenStreetMap

// osm-places [--count] [--threads N] [--memory MIB] [--area FILE] [--bbox W,S,E,N] FILE
//
// Prints what the reader yields as NDJSON, or the counts. For scripts/conformance openstreetmap and scripts/bench osm.

func fail(_ message: String) -> Never {
  FileHandle.standardError.write(Data("osm-places: \(message)\n".utf8))
  exit(1)
}

func text(_ string: String) -> String {
  var text = "\""
  for scalar in string.unicodeScalars {
    switch scalar {
    case "\"", "\\": text += "\\\(scalar)"
    case _ where scalar.value < 0x20:
      let hex = String(scalar.value, radix: 16)
      text += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
    default: text.unicodeScalars.append(scalar)
    }
  }
  return text + "\""
}

func line(
  _ action: String?, _ kind: OSMKind, _ id: Int64, _ version: Int32?, _ tags: [OSMTag], _ position: OSMPosition?
) -> String {
  let tags = tags.map { "[\(text($0.key)),\(text($0.value))]" }.joined(separator: ",")
  return "{" + (action.map { "\"action\":\"\($0)\"," } ?? "") + "\"kind\":\"\(kind)\",\"id\":\(id),"
    + (version.map { "\"version\":\($0)," } ?? "")
    + (position.map { "\"lat\":\($0.latitude),\"lon\":\($0.longitude)," } ?? "") + "\"tags\":[\(tags)]}\n"
}

var arguments = Array(CommandLine.arguments.dropFirst())
@MainActor func option(_ name: String) -> String? {
  guard let index = arguments.firstIndex(of: name), index + 1 < arguments.count else { return nil }
  defer { arguments.removeSubrange(index...index + 1) }
  return arguments[index + 1]
}
@MainActor func flag(_ name: String) -> Bool {
  guard let index = arguments.firstIndex(of: name) else { return false }
  arguments.remove(at: index)
  return true
}

let isCount = flag("--count")
var options = OSMReaderOptions()
options.threads = option("--threads").flatMap { Int($0) }
if let mebibytes = option("--memory").flatMap({ Int($0) }) { options.locationMemoryBytes = mebibytes << 20 }
var selection = OSMSelection()
do {
  if let path = option("--area") { selection.area = try OSMArea(geoJSON: Array(Data(contentsOf: URL(filePath: path)))) }
  if let edges = option("--bbox")?.split(separator: ",").compactMap({ Double($0) }), edges.count == 4 {
    selection.box = try BoundingBox(west: edges[0], south: edges[1], east: edges[2], north: edges[3])
  }
  guard let path = arguments.first else { fail("a file is required") }
  let file = try OSMFile(path: path)
  let output = FileHandle.standardOutput
  let report: OSMReport
  if file.format == .changes {
    let reader = try file.changes(selection, options: options)
    while let changes = try reader.next() {
      guard !isCount else { continue }
      let lines = changes.map { line($0.action.rawValue, $0.kind, $0.id, $0.version, $0.tags, $0.position) }
      output.write(Data(lines.joined().utf8))
    }
    report = reader.report
  } else {
    let reader = try file.places(selection, options: options)
    while let places = try reader.next() {
      guard !isCount else { continue }
      let lines = places.map { place in
        let position = OSMPosition(latitude: place.latitude, longitude: place.longitude)
        return line(nil, place.kind, place.id, place.version, place.tags, position)
      }
      output.write(Data(lines.joined().utf8))
    }
    report = reader.report
  }
  let counts = OSMKind.allCases.map { "\($0) \(report.places[$0, default: 0]) of \(report.objects[$0, default: 0])" }
  let skipped = report.skipped.map { "\($0.key.rawValue) \($0.value)" }.sorted()
  let summary = (counts + skipped).joined(separator: ", ") + "\n"
  FileHandle.standardError.write(Data(summary.utf8))
} catch {
  fail("\(error)")
}
