import CQL2
import Geo
import Basics
import Points
import SyntheticData
import TestSupport
import Testing

@testable import PointIndex

extension MapCell {
  fileprivate var label: String { "\(level)/\(x)/\(y)" }
}

@Suite struct MapTests {
  /// Checks that all cells of some levels are those of the reference.
  private static func check(_ places: ChangingPlaces, levels: [Int]) throws {
    let reference = places.reference
    for level in levels {
      let expected = reference.cells(ofLevel: level)
      let found = try #require(
        try places.snapshot.cells(matching: CellQuery(box: nil, level: level), limit: 1_000_000))
      #expect(found.count == expected.count, "level \(level)")
      #expect(found.reduce(0) { $0 + $1.count } == places.points.count)
      for cell in found {
        let other = try #require(expected[cell.label], "\(cell.label)")
        #expect(cell.count == other.count, "\(cell.label)")
        #expect(cell.category == other.category, "\(cell.label)")
        #expect(cell.id == other.sample.id, "\(cell.label)")
        #expect(cell.name == other.sample.draft.name)
        guard cell.count > 1 else { continue }
        let position = MapReference.position(cell.center)
        #expect(abs(position.x - other.x / other.count) <= 2 && abs(position.y - other.y / other.count) <= 2)
      }
    }
  }

  @Test(arguments: 0..<4)
  func cellsAfterRandomChangesAreThoseOfTheReference(seed: UInt64) throws {
    var places = try ChangingPlaces([0, 300, 5_000, 20_000][Int(seed)], seed: seed)

    for _ in 0..<4 {
      try places.change(batches: 30, sizes: [1, 1, 5, 60, 600, 3_000])

      try Self.check(places, levels: [0, 4, 7, 11, 17, 26])
    }
  }

  @Test func countsOfEveryLevelAddUpAfterHundredThousandChanges() throws {
    var places = try ChangingPlaces(30_000, seed: 9)

    try places.change(batches: 2_000, sizes: [1, 99])

    for level in 0...26 {
      let cells = try #require(try places.snapshot.cells(matching: CellQuery(box: nil, level: level), limit: .max))
      #expect(cells.reduce(0) { $0 + $1.count } == places.points.count)
    }
    try Self.check(places, levels: [4, 13])
  }

  @Test func tilesOfALevelHaveEveryPlaceOnce() throws {
    var places = try ChangingPlaces(6_000, seed: 3)
    try places.change(batches: 40, sizes: [1, 100])
    let reference = places.reference

    for zoom in [0, 3, 8, 13, 14, 22] {
      let tiles = Dictionary(grouping: reference.points) { MapReference.cell(ofLevel: zoom, $0) }
      for (name, points) in tiles {
        let tile = try #require(Self.tile(name))
        let read = try VectorTileReader(try places.snapshot.tile(matching: TileQuery(tile: tile)))
        #expect(read.placeCount == points.count, "\(name)")
        #expect(places.snapshot.contentVersion(of: tile).count == points.count)
        let byID = Dictionary(uniqueKeysWithValues: points.map { ($0.id.description, $0) })
        for place in read.places {
          let point = try #require(byID[place.text("id") ?? ""], "\(name)")
          #expect(place.text("name") == point.draft.name)
          #expect(place.text("category") == point.draft.category)
          let (x, y) = MapReference.position(point.draft.coordinate)
          let scale = Double(1 << zoom) * 4096 / 4_294_967_296
          #expect(abs(Double(x) * scale - Double(tile.x * 4096 + place.x)) <= max(2, scale))
          #expect(abs(Double(y) * scale - Double(tile.y * 4096 + place.y)) <= max(2, scale))
        }
        if zoom > TileQuery.clusterMaximumZoom { #expect(read.clusters.isEmpty) }
        for cluster in read.clusters { #expect((cluster.number("count") ?? 0) > 1) }
      }
    }
  }

  private static func tile(_ name: String) -> TileAddress? {
    let numbers = name.split(separator: "/").compactMap { Int($0) }
    return TileAddress(zoom: numbers[0], x: numbers[1], y: numbers[2])
  }

  @Test func contentVersionDependsOnThePlacesOfTheTileAlone() throws {
    var places = try ChangingPlaces(4_000, seed: 5)
    var versions: [TileAddress: (content: [PointOfInterest], version: ContentVersion)] = [:]

    for _ in 0..<60 {
      try places.change(batches: 1, sizes: [1, 7])
      // Built anew, without the history.
      let other = PointSnapshot(ContiguousArray(places.points.values.sorted { $0.version > $1.version }))
      for zoom in [0, 2, 6, 9, 13, 19] {
        let tiles = Dictionary(grouping: places.reference.points) { MapReference.cell(ofLevel: zoom, $0) }
        for (name, content) in tiles {
          let tile = try #require(Self.tile(name))
          let version = places.snapshot.contentVersion(of: tile)
          #expect(version == other.contentVersion(of: tile))
          if let former = versions[tile] { #expect((former.version == version) == (former.content == content)) }
          versions[tile] = (content, version)
        }
      }
    }
  }

  @Test func tileOfManyPlacesIsClusteredAtAnyZoom() throws {
    let time = Timestamp(microsecondsSinceEpoch: 0)
    let points = try (0..<10_001).map { number in
      PointOfInterest(
        id: .sample(UInt64(number)), draft: try ImportRow.sample("P\(number)", 1e-6 * Double(number + 1), 0.001).draft,
        version: 1, createdAt: time, updatedAt: time)
    }
    let tile = try #require(TileAddress(zoom: 15, x: 16_384, y: 16_383))

    let full = PointSnapshot(ContiguousArray(points))
    let most = full.applying(.init(removals: [.sample(77)]))

    #expect(try VectorTileReader(full.tile(matching: TileQuery(tile: tile))).places.isEmpty)
    #expect(try VectorTileReader(full.tile(matching: TileQuery(tile: tile))).placeCount == 10_001)
    #expect(try VectorTileReader(most.tile(matching: TileQuery(tile: tile))).places.count == 10_000)
  }

  @Test func manyPlacesAtOnePositionAreOneCell() throws {
    var snapshot = PointSnapshot()
    let time = Timestamp(microsecondsSinceEpoch: 0)
    for batch in 0..<30 {
      let points = try (0..<40).map { number in
        PointOfInterest(
          id: .sample(UInt64(batch * 40 + number)),
          draft: try ImportRow.sample("P", 48.5, 9.25, category: "c\(batch)-\(number)").draft, version: 1,
          createdAt: time, updatedAt: time)
      }
      snapshot = snapshot.applying(.init(puts: ContiguousArray(points)))
    }

    for level in [0, 5, 20, 26] {
      let cells = try #require(try snapshot.cells(matching: CellQuery(box: nil, level: level), limit: 10))
      #expect(cells.map(\.count) == [1_200])
      #expect(cells.first?.category == "c0-0")
    }
    let emptied = snapshot.applying(.init(removals: (0..<1_200).map { .sample(UInt64($0)) }))
    #expect(try emptied.cells(matching: CellQuery(box: nil, level: 5), limit: 10)?.isEmpty == true)
  }

  @Test func filteredCellsAreThoseOfTheMatchingPlaces() throws {
    var places = try ChangingPlaces(5_000, seed: 11)
    try places.change(batches: 20, sizes: [1, 200])
    let filter = try PropertyFilter(
      try FilterExpression(text: "cuisine = 'thai'"), queryables: Queryables())
    let queries: [(PointQuery, (PointOfInterest) -> Bool)] = [
      (
        PointQuery(categories: [ExactText("bar"), ExactText("école")]),
        { ["bar", "école"].contains($0.draft.category) }
      ),
      (PointQuery(source: .init(name: "s1")), { $0.draft.origin?.source == "s1" }),
      (PointQuery(source: .init(name: "s1", sourceID: "61")), { $0.draft.origin?.sourceID == "61" }),
      (PointQuery(filter: filter), { $0.draft.tags.json.contains("thai") }),
    ]

    for (query, matches) in queries {
      let matching = MapReference(points: places.reference.points.filter(matches))
      for level in [2, 9, 15] {
        let expected = matching.cells(ofLevel: level)
        let cells = try #require(
          try places.snapshot.cells(matching: CellQuery(box: nil, level: level, filters: query), limit: 100_000))
        #expect(
          Set(cells.map { "\($0.label) \($0.count) \($0.category ?? "-") \($0.id)" })
            == Set(expected.map { "\($0.key) \($0.value.count) \($0.value.category ?? "-") \($0.value.sample.id)" }))
      }
      for (name, points) in Dictionary(grouping: matching.points, by: { MapReference.cell(ofLevel: 14, $0) }) {
        let tile = try #require(Self.tile(name))
        let read = try VectorTileReader(places.snapshot.tile(matching: TileQuery(tile: tile, filters: query)))
        #expect(Set(read.places.compactMap { $0.text("id") }) == Set(points.map(\.id.description)))
      }
    }
  }

  /// Returns the places on all pages of a query.
  private static func places(of text: String, _ filters: PointQuery, in snapshot: PointSnapshot) throws -> Set<PointID>
  {
    var ids: Set<PointID> = []
    var query = TextQuery(text: text, filters: filters, limit: 7)
    repeat {
      let page = try snapshot.page(matching: query)
      for match in page.matches { ids.insert(match.point.id) }
      query.after = page.next
    } while query.after != nil
    return ids
  }

  @Test func placesThatMatchATextAreThoseOfAllPages() throws {
    var places = try ChangingPlaces(3_000, seed: 37)
    try places.change(batches: 20, sizes: [1, 100])
    let filter = try PropertyFilter(
      try FilterExpression(text: "cuisine = 'thai'"), queryables: Queryables())
    let bars = PointQuery(categories: [ExactText("bar")])
    let queries: [(String, PointQuery)] = [
      ("P7", PointQuery()), ("v0 P12", PointQuery()), ("museum P", PointQuery()), ("musuem P4", PointQuery()),
      ("P1", bars), ("P2", PointQuery(filter: filter)), ("zzzzzz", PointQuery()),
    ]

    for (text, filters) in queries {
      let ids = try Self.places(of: text, filters, in: places.snapshot)
      let matching = MapReference(points: places.reference.points.filter { ids.contains($0.id) })
      for level in [3, 12] {
        let expected = matching.cells(ofLevel: level).mapValues(\.count)
        let query = CellQuery(box: nil, level: level, filters: filters, text: ExactText(text))
        let cells = try #require(try places.snapshot.cells(matching: query, limit: 100_000))
        var found: [String: Int] = [:]
        for cell in cells { found[cell.label] = cell.count }
        #expect(found == expected, "\(text)")
      }
      for (name, points) in Dictionary(grouping: matching.points, by: { MapReference.cell(ofLevel: 15, $0) }) {
        let tile = try #require(Self.tile(name))
        let query = TileQuery(tile: tile, filters: filters, text: ExactText(text))
        let read = try VectorTileReader(places.snapshot.tile(matching: query))
        let found = Set(read.places.compactMap { $0.text("id") })
        #expect(found == Set(points.map(\.id.description)))
      }
      let facets = try places.snapshot.facets(
        matching: FacetQuery(facets: [.category], filters: filters, text: ExactText(text)))
      #expect(facets.count == ids.count)
    }
  }

  @Test func namesThatLookLikeIDsAreOneValueWithThem() throws {
    let time = Timestamp(microsecondsSinceEpoch: 0)
    func id(_ number: Int) -> String { PointID.sample(UInt64(number)).description }
    var points: ContiguousArray<PointOfInterest> = []
    for number in 0..<9 {
      let category = number == 5 ? id(8) : nil
      let row = try ImportRow.sample(id(number % 2 * 3), 0.001, 0.001, category: category)
      points.append(
        PointOfInterest(
          id: .sample(UInt64(number)), draft: row.draft, version: 1, createdAt: time, updatedAt: time))
    }
    let tile = try #require(TileAddress(zoom: 15, x: 16_384, y: 16_383))

    // The reader rejects repeated values.
    let read = try VectorTileReader(PointSnapshot(points).tile(matching: TileQuery(tile: tile)))

    let ids: [String?] = (0..<9).map { id($0) }
    let names: [String?] = points.map { $0.draft.name }
    #expect(read.places.map { $0.text("id") } == ids)
    #expect(read.places.map { $0.text("name") } == names)
  }

  @Test func cellsThatTouchABoxAreWhole() throws {
    let places = try ChangingPlaces(3_000, seed: 13)
    let boxes = [
      try BoundingBox(west: -71, south: -22, east: -69.9, north: -20.9),
      try BoundingBox(west: 170, south: -90, east: -169, north: 90),
      try BoundingBox(west: 10, south: -80, east: 9, north: 80),
      try BoundingBox(west: -180, south: -90, east: 180, north: 90),
    ]

    for box in boxes {
      for level in [4, 9] {
        let expected = places.reference.cells(ofLevel: level)
        let cells = try #require(
          try places.snapshot.cells(matching: CellQuery(box: box, level: level), limit: 100_000))
        #expect(Set(cells.map(\.label)).count == cells.count)
        for cell in cells { #expect(cell.count == expected[cell.label]?.count) }
        let touched = places.reference.points.filter { box.contains($0.draft.coordinate) }
          .map { MapReference.cell(ofLevel: level, $0) }
        #expect(Set(touched).isSubset(of: cells.map(\.label)))
      }
      let single = try #require(try places.snapshot.cells(matching: CellQuery(box: box, level: nil), limit: 10_000))
      #expect(
        single.map(\.id) == places.reference.points.filter { box.contains($0.draft.coordinate) }.map(\.id))
    }
  }

  @Test func moreCellsThanTheLimitAreNone() throws {
    let places = try ChangingPlaces(3_000, seed: 17)
    let all = try #require(try places.snapshot.cells(matching: CellQuery(box: nil, level: 20), limit: 10_000))

    for filters in [PointQuery(), PointQuery(source: .init(name: "s0"))] {
      let cells = try #require(
        try places.snapshot.cells(matching: CellQuery(box: nil, level: 20, filters: filters), limit: all.count))
      let query = CellQuery(box: nil, level: 20, filters: filters)
      #expect(try places.snapshot.cells(matching: query, limit: cells.count)?.count == cells.count)
      #expect(try places.snapshot.cells(matching: query, limit: cells.count - 1) == nil)
    }
    #expect(try places.snapshot.cells(matching: CellQuery(box: nil, level: nil), limit: 2_999) == nil)
  }

  @Test func wantedTagsAreAttributes() throws {
    let places = try ChangingPlaces(500, seed: 19)
    let point = try #require(places.reference.points.first { $0.draft.coordinate.latitude < 80 })
    let tile = TileAddress(containing: MercatorPosition(point.draft.coordinate), zoom: 22)

    let read = try VectorTileReader(
      places.snapshot.tile(
        matching: TileQuery(tile: tile, tags: ["cuisine", "empty", "none"].map { ExactText($0) })))

    let feature = try #require(read.places.first { $0.text("id") == point.id.description })
    #expect(feature.text("cuisine") == ["thai", "\"hot\"", "käse"][Int(point.id.low & 0xFFFF) % 3])
    #expect(feature.text("empty") == "")
    #expect(feature.text("none") == nil)
  }

  @Test func facetsCountTheMatchingPlaces() throws {
    var places = try ChangingPlaces(4_000, seed: 23)
    try places.change(batches: 20, sizes: [1, 150])
    let box = try BoundingBox(west: -130, south: -60, east: 40, north: 10)
    let cuisine = FacetQuery.Facet.tag(ExactText("cuisine"))

    for filters in [PointQuery(), PointQuery(box: box), PointQuery(box: box, source: .init(name: "s2"))] {
      let matching = places.reference.points.filter {
        (filters.box?.contains($0.draft.coordinate) ?? true)
          && (filters.source == nil || $0.draft.origin?.source == "s2")
      }
      let found = try places.snapshot.facets(
        matching: FacetQuery(facets: [.category, cuisine], filters: filters, limit: 3))

      let categories = Dictionary(grouping: matching.compactMap(\.draft.category)) { $0 }.mapValues(\.count)
      let expected = categories.sorted { left, right in
        left.value != right.value
          ? left.value > right.value : left.key.utf8.lexicographicallyPrecedes(right.key.utf8)
      }
      #expect(found.count == matching.count)
      #expect(found.counts[0].values == expected.prefix(3).map { Facets.Value(text: $0.key, count: $0.value) })
      #expect(found.counts[0].missing == matching.count { $0.draft.category == nil })
      #expect(found.counts[1].values.reduce(0) { $0 + $1.count } == matching.count)
      #expect(found.counts[1].missing == 0)
    }
  }

  @Test func facetsBeyondTheTimeLimitAreAnError() throws {
    let places = try ChangingPlaces(2_000, seed: 29)

    #expect(throws: PointStoreError.filterTimeout) {
      try places.snapshot.facets(matching: FacetQuery(facets: [.category], timeLimit: .seconds(-1)))
    }
  }

  @Test func categoriesInNoUseAreDropped() throws {
    var snapshot = PointSnapshot()
    let time = Timestamp(microsecondsSinceEpoch: 0)
    for number in 0..<5_000 {
      let point = PointOfInterest(
        id: .sample(1), draft: try ImportRow.sample("P", 1, 1, category: "c\(number)").draft, version: 1,
        createdAt: time, updatedAt: time)
      snapshot = snapshot.applying(.init(puts: [point]))
    }

    #expect(snapshot.pyramid.categories.texts.count < 2_000)
    #expect(try snapshot.cells(matching: CellQuery(box: nil, level: 3), limit: 5)?.first?.category == "c4999")
  }
}
