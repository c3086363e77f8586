import Testing

@testable import OpenStreetMap

@Suite struct HostilePBFTests {
  private func error(of bytes: [UInt8]) -> OSMError? {
    do {
      _ = try places(of: bytes)
      return nil
    } catch {
      return error as? OSMError
    }
  }

  private func message(of bytes: [UInt8]) -> String { error(of: bytes)?.description ?? "no error" }

  private static let objects = [node(1, 1, 1, ["name": "A"]), way(2, [1], ["name": "B"])]

  @Test(arguments: [(4, "LZMA"), (5, "BZIP2"), (6, "LZ4"), (7, "ZSTD")] as [(UInt64, String)])
  func otherCompressionsAreNamed(field: UInt64, name: String) {
    let file = PBFBytes(blocks: [Self.objects], compression: .other(field: field))

    #expect(error(of: file.bytes) == .unsupportedCompression(name, offset: PBFBytes().bytes.count))
    #expect(message(of: file.bytes).contains(name))
  }

  @Test func everyTruncationIsAnError() {
    let start = PBFBytes().bytes.count
    let bytes = PBFBytes(blocks: [Self.objects]).bytes

    for count in 0..<bytes.count where count != start {
      #expect(error(of: Array(bytes[..<count])) != nil, "\(count) bytes")
    }
    #expect(error(of: Array(bytes.dropLast())) == .truncated(offset: start))
    #expect(error(of: []) == .malformed(offset: 0, "the file is empty"))
  }

  @Test func otherFilesAreNoPBF() {
    for text in ["<?xml version=\"1.0\"?><osm></osm>", "{\"type\":\"FeatureCollection\"}", "PK\u{3}\u{4}abcdefgh"] {
      #expect(message(of: Array(text.utf8)).contains("does not begin with a PBF blob header"))
    }
  }

  @Test func sizesOverTheLimitsAreRejected() {
    var header = PBFBytes()
    header.append(raw: [0, 1, 0, 1])
    var blob = PBFBytes()
    blob.append(type: "OSMData", blob: [], dataSize: 33 << 20)
    var huge = PBFBytes()
    huge.append(type: "OSMData", blob: [], dataSize: .max)
    var raw = PBFBytes()
    raw.append(type: "OSMData", [1], compression: .zlib, rawSize: 33 << 20)
    var negative = PBFBytes()
    negative.append(type: "OSMData", [1], compression: .zlib, rawSize: -1)

    #expect(message(of: header.bytes).contains("the blob header at byte"))
    #expect(message(of: blob.bytes).contains("34603008 bytes; the maximum is 33554432"))
    #expect(message(of: huge.bytes).contains("the maximum is 33554432"))
    #expect(message(of: raw.bytes).contains("the decompressed blob"))
    #expect(error(of: negative.bytes) != nil)
  }

  @Test func decompressionBombsAreRejected() {
    var long = PBFBytes()
    long.append(type: "OSMData", [UInt8](repeating: 0, count: 8 << 20), compression: .zlib)
    var hidden = PBFBytes()
    hidden.append(type: "OSMData", [UInt8](repeating: 0, count: 8 << 20), compression: .zlib, rawSize: 1000)

    #expect(message(of: long.bytes).contains("the decompressed blob"))
    #expect(message(of: hidden.bytes).contains("of another length than stated"))
  }

  @Test func blobsOfOtherTypesAreRejected() {
    var unknown = PBFBytes()
    unknown.append(type: "OSMIndex", [])
    var second = PBFBytes()
    second.append(type: "OSMHeader", [])

    #expect(message(of: unknown.bytes).contains("the type 'OSMIndex', expected OSMData"))
    #expect(message(of: second.bytes).contains("the type 'OSMHeader', expected OSMData"))
  }

  @Test func unknownRequiredFeaturesAreNamed() {
    #expect(
      error(of: PBFBytes(features: ["OsmSchema-V0.6", "HistoricalInformation"]).bytes)
        == .unsupportedFeature("HistoricalInformation"))
  }

  @Test(arguments: [(91.0, 0.0), (-90.1, 0), (0, 180.1), (0, -200)])
  func coordinatesOutOfRangeAreRejected(latitude: Double, longitude: Double) {
    let file = PBFBytes(blocks: [[node(17, latitude, longitude)]])

    #expect(message(of: file.bytes).hasPrefix("node 17 has no valid position"))
  }

  @Test func idsBeyond64BitsAreRejected() {
    let dense = denseBlock(ids: [.max, 1])

    #expect(error(of: dense) == .idOutOfRange(.node, "9223372036854775807 + 1"))
  }

  private func denseBlock(ids deltas: [Int64], coordinates: Int? = nil, tags: [UInt64] = []) -> [UInt8] {
    var (ids, values, pairs) = (WireWriter(), WireWriter(), WireWriter())
    for delta in deltas { ids.signed(delta) }
    for _ in 0..<(coordinates ?? deltas.count) { values.signed(0) }
    for tag in tags { pairs.varint(tag) }
    var (dense, group, block) = (WireWriter(), WireWriter(), WireWriter())
    dense.field(1, ids)
    dense.field(8, values)
    dense.field(9, values)
    dense.field(10, pairs)
    group.field(2, dense)
    block.field(2, group)
    var file = PBFBytes()
    file.append(type: "OSMData", block.bytes)
    return file.bytes
  }

  @Test func inconsistentArraysAreRejected() {
    #expect(message(of: denseBlock(ids: [1, 1], coordinates: 1)).contains("a number is missing"))
    #expect(message(of: denseBlock(ids: [1], coordinates: 2)).contains("different numbers"))
    #expect(message(of: denseBlock(ids: [1], tags: [5, 5, 0])).contains("a string that does not exist"))
    #expect(message(of: denseBlock(ids: [1], tags: [5])).contains("a number is missing"))
  }

  @Test func cyclicRelationsHaveNoPosition() throws {
    let file = try TestFile(
      PBFBytes(blocks: [
        [
          relation(1, [(.relation, 2, "")], ["type": "site", "name": "A"]),
          relation(2, [(.relation, 1, "")], ["type": "multipolygon", "name": "B"]),
        ]
      ]).bytes, name: "cycle.osm.pbf")

    #expect(try file.places().report.skipped == [.missingMembers: 2])
  }

  @Test func relationsThatShareALongWayTooOftenAreRejected() throws {
    let nodes = (0..<100).map { node(Int64($0), 1, Double($0) / 1000) }
    let long = way(1, nodes.map(\.id))
    let relations = (0..<300).map { relation(Int64($0), [(.way, 1, "")], ["type": "route", "name": "R"]) }

    let file = try TestFile(PBFBytes(blocks: [nodes, [long], relations]).bytes, name: "shared.osm.pbf")
    var options = OSMReaderOptions()
    options.freeRelationPositions = 0

    #expect { try file.places(options: options) } throws: { "\($0)".contains("relations refer to the same ways") }
  }

  @Test func damagedFilesNeverCrash() throws {
    // Raw blobs, so that the damage is not found by zlib's checksum.
    let bytes = PBFBytes(
      blocks: [
        Self.objects + [node(5, 2, 2), node(6, 2, 3), node(7, 3, 3)],
        [way(10, [5, 6, 7, 5], ["name": "W"])],
        [relation(11, [(.way, 10, "outer"), (.node, 5, "label")], ["type": "multipolygon", "name": "R"])],
      ], compression: .none
    ).bytes
    let file = try TestFile(bytes, name: "original.osm.pbf")
    var random = SeededGenerator(seed: 17)
    var (read, rejected) = (0, 0)

    #expect(try file.places().places.count == 4)
    for _ in 0..<1500 {
      var damaged = bytes
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let place = Int.random(in: 0..<damaged.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: damaged[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1: damaged[place] = UInt8.random(in: 0...255, using: &random)
        case 2: damaged.remove(at: place)
        default: damaged.insert(UInt8.random(in: 0...255, using: &random), at: place)
        }
      }
      // Any error must be one of the reader's.
      if error(of: damaged) == nil { read += 1 } else { rejected += 1 }
    }
    #expect(read > 50)
    #expect(rejected > 100)
  }
}
