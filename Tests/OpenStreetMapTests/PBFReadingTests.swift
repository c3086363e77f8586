import Geo
import Testing

@testable import OpenStreetMap

@Suite struct PBFReadingTests {
  /// A square of 0.01 degrees around 50, 8, a cafe in it, and a street beside it.
  private static let town: [[ObjectDraft]] = [
    [
      node(1, 50, 8), node(2, 50, 8.01), node(3, 50.01, 8.01), node(4, 50.01, 8),
      node(5, 50.002, 8.003, ["amenity": "cafe", "name": "Café Ö"]), node(6, 50.02, 8, ["highway": "crossing"]),
      node(7, -50.5, -8.25, ["entrance": "main"]),
    ],
    [
      way(10, [1, 2, 3, 4, 1], ["building": "yes", "name": "Hall"]),
      way(11, [1, 2, 3], ["highway": "residential", "name": "Street"]),
      way(12, [4, 3], ["highway": "residential"]), way(13, [1, 2, 3]), way(14, [3, 4, 1]),
    ],
    [
      relation(20, [(.way, 14, "outer"), (.way, 13, "outer")], ["type": "multipolygon", "leisure": "park"]),
      relation(21, [(.way, 12, ""), (.node, 7, "entrance")], ["type": "site", "name": "Campus"]),
      relation(22, [(.way, 12, "")], ["type": "route"]),
    ],
  ]

  private static let centre = OSMPosition(latitude: 50.005, longitude: 8.005)

  private func expectTown(_ places: [OSMPlace], sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(places.map(\.id) == [5, 10, 11, 20, 21], sourceLocation: sourceLocation)
    #expect(places.map(\.kind) == [.node, .way, .way, .relation, .relation], sourceLocation: sourceLocation)
    #expect(places.map(\.version) == [3, 2, 2, 1, 1], sourceLocation: sourceLocation)
    #expect(
      places.map { OSMPosition(latitude: $0.latitude, longitude: $0.longitude) } == [
        OSMPosition(latitude: 50.002, longitude: 8.003), Self.centre,
        OSMPosition(latitude: 50.0017861, longitude: 8.01),
        Self.centre, OSMPosition(latitude: -50.5, longitude: -8.25),
      ], sourceLocation: sourceLocation)
    #expect(
      places.first?.tags == [OSMTag("amenity", "cafe"), OSMTag("name", "Café Ö")], sourceLocation: sourceLocation)
  }

  @Test(arguments: [true, false])
  func nodesWaysAndRelationsBecomePoints(isCompressed: Bool) throws {
    let file = PBFBytes(blocks: Self.town, compression: isCompressed ? .zlib : .none)

    expectTown(try places(of: file.bytes))
  }

  @Test func orderOfBlocksDoesNotMatter() throws {
    for order in [[2, 1, 0], [1, 0, 2], [0, 2, 1]] {
      expectTown(try places(of: PBFBytes(blocks: order.map { Self.town[$0] }).bytes))
    }
    expectTown(try places(of: PBFBytes(blocks: [Self.town.flatMap { $0 }]).bytes))
  }

  @Test func nodesAfterTheWaysOfALongFileAreFound() throws {
    // Long enough for the kinds of blocks to be guessed, wrongly.
    let filler = (0..<60).map { [node(1000 + Int64($0), 1, 1, $0 == 9 ? ["shop": "books"] : [:])] }
    let nodes = Self.town[0]
    let sorted = PBFBytes(blocks: filler + Self.town)
    let unsorted = PBFBytes(blocks: [Array(nodes[4...])] + filler + Self.town[1...] + [Array(nodes[..<4])])
    let hidden = PBFBytes(blocks: [Self.town[2], Self.town[1]] + filler + [nodes] + filler)

    for file in [sorted, unsorted, hidden] {
      let places = try places(of: file.bytes)
      let count = file.bytes == hidden.bytes ? 2 : 1
      #expect(places.filter { $0.id == 1009 }.count == count)
      expectTown(places.filter { $0.id != 1009 })
    }
  }

  @Test func threadsAndMemoryDoNotChangeThePlaces() throws {
    var blocks: [[ObjectDraft]] = []
    for block in 0..<40 {
      blocks.append((0..<300).map { node(Int64(block * 300 + $0) * 7 + 1, Double($0) / 10, Double(block)) })
    }
    for block in 0..<40 {
      blocks.append(
        (0..<30).map { number in
          let refs = (0..<10).map { Int64(block * 300 + number * 10 + $0) * 7 + 1 }
          return way(Int64(block * 30 + number), refs, ["name": "Way \(number)"])
        })
    }
    let file = try TestFile(PBFBytes(blocks: blocks).bytes, name: "many.osm.pbf")
    var options = OSMReaderOptions()
    options.threads = 1
    let expected = try file.places(options: options)
    options.threads = 5
    options.locationMemoryBytes = 5000
    let onDisk = try file.places(options: options)

    #expect(expected.places.count == 1200)
    #expect(onDisk.places == expected.places)
    #expect(onDisk.report == expected.report)
    #expect(expected.report.objects == [.node: 12000, .way: 1200])
  }

  @Test func boxAndAreaSelectByThePoint() throws {
    let file = try TestFile(PBFBytes(blocks: Self.town).bytes, name: "town.osm.pbf")
    let box = try BoundingBox(west: 8, south: 50, east: 8.004, north: 50.004)
    let area = try OSMArea(
      geoJSON: Array(
        #"{"type":"Polygon","coordinates":[[[8.0045,50],[8.02,50],[8.02,51],[8.0045,51],[8.0045,50]]]}"#.utf8))

    let inBox = try file.places(OSMSelection(box: box))
    let inArea = try file.places(OSMSelection(area: area))

    #expect(inBox.places.map(\.id) == [5])
    #expect(inBox.report.skipped == [.outsideArea: 4])
    #expect(inArea.places.map(\.id) == [10, 11, 20])
  }

  @Test func filtersKindsAndPredicateSelect() throws {
    let file = try TestFile(PBFBytes(blocks: Self.town).bytes, name: "town.osm.pbf")

    func ids(_ selection: OSMSelection) throws -> [Int64] { try file.places(selection).places.map(\.id) }

    #expect(try ids(OSMSelection(filters: [OSMTagFilter("highway", ["crossing"])])) == [6])
    #expect(try ids(OSMSelection(filters: [OSMTagFilter("highway")])) == [6, 11, 12])
    #expect(try ids(OSMSelection(kinds: [.relation])) == [20, 21])
    #expect(try ids(OSMSelection(predicate: { kind, tags in kind == .way && tags.count == 2 })) == [10, 11])
  }

  @Test func valueNoIsNoPlace() throws {
    let file = PBFBytes(blocks: [[node(1, 1, 1, ["shop": "no"]), node(2, 1, 1, ["shop": "no", "office": "yes"])]])

    #expect(try places(of: file.bytes).map(\.id) == [2])
  }

  @Test func skippedObjectsAreCounted() throws {
    let file = try TestFile(
      PBFBytes(blocks: [
        [node(1, 0, 0), node(2, 0, 1), node(3, 1, 1)],
        [way(1, [], ["name": "empty"]), way(2, [98, 99], ["name": "missing"]), way(3, [1, 2, 3])],
        [
          relation(1, [(.way, 3, "outer")], ["type": "multipolygon", "name": "open"]),
          relation(2, [(.way, 77, ""), (.relation, 2, "")], ["type": "site", "name": "itself"]),
          relation(3, [], ["type": "site", "name": "empty"]),
        ],
      ]).bytes, name: "skipped.osm.pbf")

    let (places, report) = try file.places()

    #expect(places.isEmpty)
    #expect(report.skipped == [.noGeometry: 2, .missingNodes: 1, .openRings: 1, .missingMembers: 1])
  }

  @Test func granularityAndOffsetsAreApplied() throws {
    var dense = WireWriter()
    var (ids, values, tags) = (WireWriter(), WireWriter(), WireWriter())
    ids.signed(-9)
    values.signed(25)
    for index in [1, 2, 0] as [UInt64] { tags.varint(index) }
    dense.field(1, ids)
    dense.field(8, values)
    dense.field(9, values)
    dense.field(10, tags)
    var (group, strings, block) = (WireWriter(), WireWriter(), WireWriter())
    group.field(2, dense)
    for string in ["", "name", "N"] { strings.field(1, bytes: string.utf8) }
    block.field(1, strings)
    block.field(2, group)
    block.field(17, 1000)
    block.field(19, UInt64(bitPattern: -5_000_000_000))
    block.field(20, 7_000_000_000)
    var file = PBFBytes()
    file.append(type: "OSMData", block.bytes)

    let place = try #require(try places(of: file.bytes).first)

    #expect(place.id == -9)
    #expect(place.version == nil)
    #expect(place.latitude == -4.999975)
    #expect(place.longitude == 7.000025)
  }

  @Test func readerMayBeDiscardedBeforeItsEnd() throws {
    let blocks = (0..<50).map { block in (0..<500).map { node(Int64(block * 500 + $0), 1, 1, ["name": "N"]) } }
    let file = try TestFile(PBFBytes(blocks: blocks).bytes, name: "many.osm.pbf")

    let reader = try OSMFile(path: file.path).places()

    #expect(try reader.next()?.count == 4096)
  }

  @Test func progressOfEachPhaseEndsAtItsTotal() throws {
    let file = try TestFile(PBFBytes(blocks: Self.town).bytes, name: "town.osm.pbf")
    let recorder = ProgressRecorder()
    let reader = try OSMFile(path: file.path).places { recorder.append($0) }
    while try reader.next() != nil {}

    #expect(recorder.last.map(\.phase) == [.scanRelations, .scanWays, .nodes, .ways, .relations])
    #expect(recorder.last.allSatisfy { $0.bytesDone == $0.bytesTotal && $0.bytesTotal > 0 })
  }
}
