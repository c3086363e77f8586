import Foundation
import Testing
import WaymarkClient

/// Tests of the Swift client against the built program: areas, routes, conditions, clusters, facets and tiles.
@Suite struct ClientMapTests {
  private let process: WaymarkProcess
  private let waymark: Waymark

  /// The methods of the client's requests.
  private let log = MethodLog()

  /// The rows, from south to north, and the columns, from west to east, of a grid of places in the southern Pacific,
  /// which are 0.1 degrees apart.
  private let rows = 12
  private let columns = 10

  init() async throws {
    process = try await WaymarkProcess(["serve", "--http-port", "0"])
    var configuration = LoaderConfiguration.withoutTotalTimeout
    configuration.interceptors = [log]
    waymark = try Waymark(port: try await process.port(), configuration: configuration)
    let places = try (0..<rows * columns).map { index in
      let (row, column) = (index / columns, index % columns)
      return PointImport.Row(
        draft: PointDraft(
          name: "P\(row)/\(column)", coordinate: try coordinate(row: Double(row), column: Double(column)),
          category: column == 0 ? "edge, 'west'" : "inner",
          tags: row.isMultiple(of: 2) ? ["a \"b\"": "it's \(column % 3)", "level": "\(row)"] : [:],
          origin: SourceReference(source: "grid", id: "\(index)")))
    }
    _ = try await waymark.importPlaces(PointImport(rows: places))
  }

  private func coordinate(row: Double, column: Double) throws -> Coordinate {
    try Coordinate(latitude: -50 + row / 10, longitude: -140 + column / 10)
  }

  /// The corners of the area around some rows and columns, with a margin of half the distance of the places.
  private func ring(rows: ClosedRange<Double>, columns: ClosedRange<Double>) throws -> [Coordinate] {
    let (south, north) = (rows.lowerBound - 0.5, rows.upperBound + 0.5)
    let (west, east) = (columns.lowerBound - 0.5, columns.upperBound + 0.5)
    return try [(south, west), (south, east), (north, east), (north, west)].map {
      try coordinate(row: $0.0, column: $0.1)
    }
  }

  private func names(_ filter: PointFilter, pageSize: Int? = nil) async throws -> [String] {
    var names: [String] = []
    for try await place in waymark.places(filter, pageSize: pageSize) { names.append(place.name) }
    return names
  }

  @Test func areaWithAHoleHasThePlacesBetween() async throws {
    let area = try SearchArea(
      ring(rows: 1...4, columns: 1...3), holes: [ring(rows: 2...3, columns: 2...2)])
    let expected: Set = [
      "P1/1", "P1/2", "P1/3", "P2/1", "P2/3", "P3/1", "P3/3", "P4/1", "P4/2", "P4/3",
    ]

    let places = try await waymark.places(in: area, pageSize: 1000).firstPage()
    let suggestions = try await waymark.suggestions(
      for: "P1/", filter: PointFilter(area: area), limit: 50)
    let file = try await waymark.exported(PointFilter(area: area), as: .csv)

    #expect(Set(places.map(\.name)) == expected)
    #expect(places.count == expected.count)
    #expect(suggestions.allSatisfy { $0.title.hasPrefix("P1/") })
    #expect(String(decoding: file, as: UTF8.self).split(separator: "\r\n").count == expected.count + 1)
  }

  @Test func textsOfAnAreaFindTheSamePlaces() async throws {
    let wkt = try SearchArea(
      wkt: """
        MULTIPOLYGON(((-140.05 -50.05, -139.95 -50.05, -139.95 -49.95, -140.05 -49.95, -140.05 -50.05)),
        ((-139.15 -48.95, -139.05 -48.95, -139.05 -48.85, -139.15 -48.85, -139.15 -48.95)))
        """)
    let geoJSON = try SearchArea(
      geoJSON: """
        {"type": "Feature", "properties": {}, "geometry": {"type": "Polygon", "coordinates":
        [[[-140.05, -50.05], [-139.95, -50.05], [-139.95, -49.95], [-140.05, -49.95], [-140.05, -50.05]]]}}
        """)

    #expect(try await Set(names(PointFilter(area: wkt))) == ["P0/0", "P11/9"])
    #expect(try await names(PointFilter(area: geoJSON)) == ["P0/0"])
  }

  @Test func pagesOfALongSearchContainEveryPlaceOnce() async throws {
    // Two sides of many positions, which are too long for an address.
    let steps = (0...400).map { Double($0) / 400 * 3 - 0.5 }
    let area = try SearchArea(
      steps.map { try coordinate(row: -0.5, column: $0) }
        + steps.reversed().map { try coordinate(row: 11.5, column: $0) })

    var pageSizes: [Int] = []
    var names: [String] = []
    var link: URL?
    for try await page in waymark.places(in: area, pageSize: 10).pages {
      pageSizes.append(page.value.count)
      names += page.value.map(\.name)
      link = link ?? page.nextPage
    }
    var rest: [String] = []
    for try await page in waymark.places(in: area, pageSize: 10).pages(from: try #require(link)) {
      rest += page.value.map(\.name)
    }

    #expect(Set(log.methods) == ["POST"])
    #expect(pageSizes == [10, 10, 10, 6])
    #expect(Set(names) == Set((0..<rows).flatMap { row in (0...2).map { "P\(row)/\($0)" } }))
    #expect(rest == Array(names.dropFirst(10)))
  }

  @Test func everyConditionOfALongSearchCounts() async throws {
    let long = (0..<300).map { "another category \($0)" }
    var filter = PointFilter(
      center: try coordinate(row: 0, column: 0), radiusMetres: 1e6,
      box: try BoundingBox(west: -140.05, south: -50.05, east: -139.45, north: -49.35),
      area: try SearchArea(ring(rows: 0...6, columns: 0...3)), categories: long + ["inner"],
      tags: ["a \"b\"": ["it's 1", "it's 2"]], condition: "\(tag: "level") IN \(["2", "4"])")
    let inBody = try await names(filter, pageSize: 2)
    let isInBody = log.methods.last == "POST"
    filter.categories = ["inner"]

    let inAddress = try await names(filter, pageSize: 2)

    #expect(isInBody)
    #expect(log.methods.last == "GET")
    #expect(Set(inBody) == ["P2/1", "P2/2", "P4/1", "P4/2"])
    #expect(inBody == inAddress)
  }

  @Test func placesAlongARouteAreInItsOrder() async throws {
    // East along the first row, then north along the last column.
    let line = [
      try coordinate(row: 0, column: 0), try coordinate(row: 0, column: 9), try coordinate(row: 11, column: 9),
    ]
    let expected = (0..<columns).map { "P0/\($0)" } + (1..<rows).map { "P\($0)/9" }
    let route = try SearchRoute(line, radiusMetres: 500)

    var places: [PointOfInterest] = []
    for try await place in waymark.places(along: route, pageSize: 7) { places.append(place) }
    let first = try await waymark.places(along: route, category: "edge, 'west'").firstPage()

    let along = places.compactMap(\.alongMetres)
    #expect(places.map(\.name) == expected)
    #expect(along.count == expected.count)
    #expect(along == along.sorted())
    #expect(places.allSatisfy { ($0.distanceMetres ?? .infinity) <= 500 })
    let length = line[0].distanceMetres(to: line[1]) + line[1].distanceMetres(to: line[2])
    #expect(abs((along.last ?? 0) - length) < 1)
    #expect(first.map(\.name) == ["P0/0"])
  }

  @Test func encodedAndLongRoutesFindTheSamePlaces() async throws {
    // (-50, -140), (-50, -139.5) with 5 and 6 decimal places.
    let short = try SearchRoute(polyline: "~rdpH~vnuY?_t`B", radiusMetres: 500)
    let precise = try SearchRoute(polyline: "~fwj~A~n|_jG?_qo]", precision: 6, radiusMetres: 500)
    let long = try SearchRoute(
      (0...500).map { try Coordinate(latitude: -50, longitude: -140 + Double($0) / 1000) }, radiusMetres: 500)
    let expected = (0...5).map { "P0/\($0)" }

    for route in [short, precise, long] {
      #expect(try await names(PointFilter(route: route), pageSize: 4) == expected)
    }
    #expect(log.methods.last == "POST")
  }

  @Test(arguments: ["edge, 'west'", "' OR TRUE OR category = '", "'\u{301} OR TRUE OR name <> '\u{301}", "\\%_\"--"])
  func quotedTextIsOnlyCompared(text: String) async throws {
    let area = try SearchArea(ring(rows: 0...11, columns: 0...9))

    let places = try await waymark.places(
      PointFilter(area: area, condition: "category = \(text)"), pageSize: 1000
    ).firstPage()

    #expect(places.count == (text == "edge, 'west'" ? rows : 0))
    #expect(places.allSatisfy { $0.category == text })
  }

  @Test func literalsOfEachTypeAreAccepted() async throws {
    let box = try BoundingBox(west: -140.05, south: -50.05, east: -139, north: -48.8)
    let isEarly: PointCondition = "createdAt < \(Date(timeIntervalSince1970: 0.25))"
    let isNorth: PointCondition = "lat > \(-49.55) AND long > \(-140) AND lat < \(-1e-7)"
    let isTagged: PointCondition = "\(tag: "a \"b\"") = \("it's 0") AND name LIKE \("P%") AND version >= \(1)"

    let found = try await names(PointFilter(box: box, condition: "NOT \(isEarly) AND \(isNorth) AND \(isTagged)"))
    let none = try await names(PointFilter(box: box, condition: "\(isEarly) OR \(false)"))

    #expect(Set(found) == Set([6, 8, 10].flatMap { row in [3, 6, 9].map { "P\(row)/\($0)" } }))
    #expect(none == [])
  }

  @Test func clustersCountEveryPlaceOnce() async throws {
    let filter = PointFilter(
      box: try BoundingBox(west: -145, south: -55, east: -135, north: -45), categories: ["inner"],
      tags: ["level": ["2", "4"]])

    let coarse = try await waymark.clusters(zoom: 2, filter: filter)
    let fine = try await waymark.clusters(zoom: 20, filter: filter)

    #expect(coarse.reduce(0) { $0 + $1.count } == 18)
    #expect(coarse.count < 18)
    #expect(coarse.allSatisfy { $0.category == "inner" })
    #expect(fine.count == 18)
    #expect(fine.allSatisfy { $0.count == 1 && $0.placeID != nil })
    let place = try await waymark.place(try #require(fine.first?.placeID))
    #expect(place.name == fine.first?.name)
  }

  @Test func facetsCountTheValues() async throws {
    let area = try SearchArea(ring(rows: 0...11, columns: 0...9))

    let facets = try await waymark.facets(
      by: [.tag("level"), .category], filter: PointFilter(area: area), limit: 3)

    #expect(facets.count == rows * columns)
    #expect(facets.facets.map(\.property) == [.tag("level"), .category])
    #expect(
      facets[.category]?.values == [
        PointFacet.Value("inner", count: 108), PointFacet.Value("edge, 'west'", count: 12),
      ])
    #expect(facets[.tag("level")]?.values.map(\.count) == [10, 10, 10])
    #expect(facets[.tag("level")]?.missingCount == 60)
  }

  @Test func tilesAreWhereTheTemplateSays() async throws {
    let tiles = try waymark.tiles(
      of: PointFilter(
        area: SearchArea(ring(rows: 0...11, columns: 0...9)), tags: ["level": ["2"]], condition: "name <> \("P2/0")"),
      tags: ["level"])
    let address = tiles.template.replacing("{z}", with: "0").replacing("{x}", with: "0").replacing("{y}", with: "0")

    let tile = try Data(contentsOf: #require(URL(string: address)))
    let json = try JSONSerialization.jsonObject(with: Data(contentsOf: tiles.descriptionURL))

    let description = try #require(json as? [String: Any])
    let layers = try #require(description["vector_layers"] as? [[String: Any]])
    #expect(Set(layers.compactMap { $0["id"] as? String }) == [VectorTiles.placesLayer, VectorTiles.clustersLayer])
    #expect(description["minzoom"] as? Int == VectorTiles.zoomLevels.lowerBound)
    #expect(description["maxzoom"] as? Int == VectorTiles.zoomLevels.upperBound)
    let described = try #require(description["tiles"] as? [String])
    #expect(described.map { $0.removingPercentEncoding } == [tiles.template.removingPercentEncoding])
    #expect(tile.range(of: Data(VectorTiles.clustersLayer.utf8)) != nil)
    #expect(tile.range(of: Data("P2/0".utf8)) == nil)
  }

  @Test func areaThatTheServiceRejectsIsATypedProblem() async throws {
    let filter = PointFilter(
      area: try SearchArea(
        wkt: "POLYGON((0 0, 180 0, 90 45, 0 0))"))

    let error = await #expect(throws: WaymarkError.self) { try await waymark.places(filter).firstPage() }

    guard case .problem(let problem)? = error else {
      Issue.record("\(error as Any)")
      return
    }
    #expect(problem.code == .invalidParameter)
    #expect(problem.errors.map(\.location) == [.parameter("within")])
  }
}
