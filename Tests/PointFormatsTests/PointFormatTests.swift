import PointFormats
import Testing

@Suite struct PointFormatTests {
  @Test(arguments: [
    ("a.json", PointFormat.json), ("/x.csv/a.GeoJSON", .geoJSON), ("a.geojsons", .geoJSONSequence),
    ("a.geojsonl", .geoJSONSequence), ("a.geojsonseq", .geoJSONSequence), ("a.ndjson", .ndjson), ("a.b.jsonl", .ndjson),
    ("a.CSV", .csv),
  ])
  func formatIsDerivedFromTheFileName(name: String, format: PointFormat) {
    #expect(PointFormat(fileName: name) == format)
  }

  @Test(arguments: ["", "-", "csv", "a.", "a.csv.gz", "a.csv/b", "a.xlsx"])
  func otherFileNamesHaveNoFormat(name: String) {
    #expect(PointFormat(fileName: name) == nil)
  }

  @Test(arguments: [
    ("application/json", PointFormat.json), ("application/geo+json", .geoJSON),
    ("Application/Geo+JSON-seq", .geoJSONSequence), ("application/x-ndjson;charset=utf-8", .ndjson),
    (" text/csv ; header=present", .csv),
  ])
  func formatIsDerivedFromTheMediaType(type: String, format: PointFormat) {
    #expect(PointFormat(mediaType: type) == format)
  }

  @Test(arguments: ["", ";", "text/plain", "application/geo+jsonx", "*/*"])
  func otherMediaTypesHaveNoFormat(type: String) {
    #expect(PointFormat(mediaType: type) == nil)
  }

  @Test(arguments: PointFormat.allCases)
  func aFormatIsFoundByItsOwnNameAndMediaType(format: PointFormat) {
    #expect(PointFormat(name: format.rawValue.uppercased()) == format)
    #expect(PointFormat(mediaType: format.mediaType) == format)
  }
}
