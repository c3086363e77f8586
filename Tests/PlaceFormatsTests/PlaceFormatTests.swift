import PlaceFormats
import Testing

@Suite struct PlaceFormatTests {
  @Test(arguments: [
    ("a.json", PlaceFormat.json), ("/x.csv/a.GeoJSON", .geoJSON), ("a.geojsons", .geoJSONSequence),
    ("a.geojsonl", .geoJSONSequence), ("a.geojsonseq", .geoJSONSequence), ("a.ndjson", .ndjson), ("a.b.jsonl", .ndjson),
    ("a.CSV", .csv),
  ])
  func aFileNameTellsTheFormat(name: String, format: PlaceFormat) {
    #expect(PlaceFormat(fileName: name) == format)
  }

  @Test(arguments: ["", "-", "csv", "a.", "a.csv.gz", "a.csv/b", "a.xlsx"])
  func otherFileNamesDoNot(name: String) {
    #expect(PlaceFormat(fileName: name) == nil)
  }

  @Test(arguments: [
    ("application/json", PlaceFormat.json), ("application/geo+json", .geoJSON),
    ("Application/Geo+JSON-seq", .geoJSONSequence), ("application/x-ndjson;charset=utf-8", .ndjson),
    (" text/csv ; header=present", .csv),
  ])
  func aMediaTypeTellsTheFormat(type: String, format: PlaceFormat) {
    #expect(PlaceFormat(mediaType: type) == format)
  }

  @Test(arguments: ["", ";", "text/plain", "application/geo+jsonx", "*/*"])
  func otherMediaTypesDoNot(type: String) {
    #expect(PlaceFormat(mediaType: type) == nil)
  }

  @Test(arguments: PlaceFormat.allCases)
  func aFormatIsFoundByItsOwnNameAndMediaType(format: PlaceFormat) {
    #expect(PlaceFormat(name: format.rawValue.uppercased()) == format)
    #expect(PlaceFormat(mediaType: format.mediaType) == format)
  }
}
