import Geo
import PointFormats
import Points
import Testing

/// Tests of the order of two coordinates in one column.
@Suite struct PairOrderTests {
  private func parse(_ name: String, _ values: [String], chunkSize: Int = .max) async throws -> (
    rows: [ImportRow], rejections: [RejectedRow], warnings: [String]
  ) {
    let text = "name,\(name)\n" + values.enumerated().map { "n\($0.offset),\"\($0.element)\"\n" }.joined()
    let notes = ImportNotes()
    let parsed = Parsed(text, .csv, chunkSize: chunkSize)
    for try await _ in PointFileReader(
      [Array(text.utf8)].async, parser: PointParser(format: .csv), notes: notes, onRejection: { _ in })
    {}
    return (parsed.rows, parsed.rejections, notes.warnings)
  }

  private static let separators = ["[%, $]", "%,$", "%;$", "% $", "(% $)", "%, $", "POINT(% $)", "POINT (% $)"]

  @Test(arguments: separators)
  func nameOfTheColumnDecides(form: String) async throws {
    let text = form.replacing("%", with: "2.3522").replacing("$", with: "48.8566")
    for name in ["coordonneesXY", "xy", "lonlat", "long_lat", "lng lat", "Longitude Latitude", "Coordonnées XY"] {
      let (rows, _, warnings) = try await parse(name, [text])

      #expect(rows.first?.draft.coordinate.latitude == 48.8566, "\(name) \(text)")
      #expect(rows.first?.draft.coordinate.longitude == 2.3522)
      #expect(warnings == [])
    }
  }

  @Test(arguments: ["geo_point_2d", "latlng", "lat_lon", "Latitude, Longitude", "緯度経度", "위경도"])
  func nameWithTheLatitudeFirstDecides(name: String) async throws {
    let column = name.contains(",") ? "\"\(name)\"" : name
    let (rows, _, warnings) = try await parse(column, ["[48.8566, 2.3522]", "48.8566 2.3522"])

    #expect(rows.map(\.draft.coordinate.latitude) == [48.8566, 48.8566] && warnings == [])
  }

  @Test(arguments: ["coordinates", "geometry.coordinates", "geometry_coordinates"])
  func arraysOfColumnsNamedAsThoseOfGeoJSONHaveTheLongitudeFirst(name: String) async throws {
    let (rows, _, warnings) = try await parse(name, ["[2.3522, 48.8566]", "[2.3522,48.8566,35.1]"])

    #expect(rows.map(\.draft.coordinate.latitude) == [48.8566, 48.8566] && warnings == [])
  }

  @Test(arguments: ["location", "Koordinaten", "coordinates", "gps"])
  func aLongitudeBeyond90DecidesForAllRows(name: String) async throws {
    for form in ["% $", "%, $", "[%, $]", "%;$"] {
      func text(_ first: String, _ second: String) -> String {
        form.replacing("%", with: first).replacing("$", with: second)
      }
      let longitudes = ["-71.06", "-122.42", "-87.63"]
      let latitudes = ["42.36", "37.77", "41.88"]
      let xy = try await parse(name, zip(longitudes, latitudes).map { text($0, $1) })
      let yx = try await parse(name, zip(latitudes, longitudes).map { text($0, $1) })

      for (rows, _, warnings) in [xy, yx] {
        #expect(rows.map(\.draft.coordinate.latitude) == [42.36, 37.77, 41.88], "\(name) \(form)")
        #expect(rows.map(\.draft.coordinate.longitude) == [-71.06, -122.42, -87.63])
        #expect(warnings == [])
      }
    }
  }

  @Test func orderThatStaysOpenIsWarnedOf() async throws {
    let open = try await parse("location", ["[2.35, 48.85]", "[4.83, 45.76]"])
    let letters = try await parse("location", ["48.85 N, 2.35 E", "N45.76 E4.83"])

    #expect(open.rows.map(\.draft.coordinate.latitude) == [2.35, 4.83])
    #expect(
      open.warnings == [
        "the two coordinates of 'location' were read as latitude and longitude, as neither its name nor its values tell "
          + "the order; 'lat_long' or 'long_lat' as its name would"
      ])
    #expect(letters.warnings == [])
  }

  @Test func rowsThatContradictTheOrderAreRejectedAsSwapped() async throws {
    let (rows, rejections, warnings) = try await parse("lnglat", ["-122.42, 37.77", "37.77, -122.42"])

    #expect(rows.count == 1)
    #expect(
      rejections.map(\.detail) == [
        "/lnglat must be the longitude and the latitude in degrees, got '37.77, -122.42'; the latitude and the longitude "
          + "may be swapped"
      ])
    #expect(warnings.contains { $0.contains("may be swapped") })
  }

  @Test(arguments: [1, 7, 64, 1_000])
  func orderIsIndependentOfTheChunks(size: Int) async throws {
    let values = (0..<200).map { $0 == 150 ? "-122.5 37.5" : "-71.5 42.5" }
    let (rows, _, _) = try await parse("location", values, chunkSize: size)

    #expect(rows.count == 200 && rows.allSatisfy { $0.draft.coordinate.latitude > 37 })
  }

  @Test func geoJSONInAColumnIsRead() async throws {
    let (rows, _, warnings) = try await parse("geometry", [#"{""type"":""Point"",""coordinates"":[2.35,48.85]}"#])

    #expect(rows.map(\.draft.coordinate.latitude) == [48.85] && warnings == [])
  }
}
