import Foundation
import Geo
import Points
import SyntheticData
import TestSupport
import Testing

@testable import PointIndex

@Suite struct IndexFilesTests {
  /// A folder that is removed with its last reference.
  private final class Folder: Sendable {
    let path = "\(NSTemporaryDirectory())/index-\(UUID().uuidString)"

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }

    var segments: [String] { get throws { try names().filter { $0.hasSuffix(".segment") } } }

    func bytes(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(name)")) }

    func write(_ bytes: Data, to name: String) throws {
      let url = URL(fileURLWithPath: "\(path)/\(name)")
      try? FileManager.default.removeItem(at: url)
      try bytes.write(to: url)
    }
  }

  private static func text(_ snapshot: PointSnapshot) -> [String] {
    ["p", "p1 v0", "museum", "v2"].flatMap { snapshot.names($0, completes: true, limit: 100) }
  }

  private static func tiles(_ snapshot: PointSnapshot) throws -> [[UInt8]] {
    try (0...5).map { zoom in
      try snapshot.tile(matching: TileQuery(tile: #require(TileAddress(zoom: zoom, x: 0, y: (1 << zoom) / 2))))
    }
  }

  /// Checks that a snapshot has the places, and that each index over them finds the same as that of another snapshot.
  private static func expect(
    _ snapshot: PointSnapshot, toEqual former: PointSnapshot, points: [PointID: PointOfInterest]
  ) throws {
    let all = try snapshot.page(matching: PointQuery(limit: points.count + 1)).points.map(\.point)
    #expect(all == points.values.sorted { $0.id < $1.id })
    #expect(snapshot.categoryCounts(in: nil) == former.categoryCounts(in: nil))
    #expect(text(snapshot) == text(former))
    #expect(try tiles(snapshot) == tiles(former))
    for (id, point) in points {
      #expect(snapshot.point(id: id) == point)
      if let origin = point.draft.origin {
        #expect(snapshot.location(of: origin).map { snapshot.id(at: $0) } == id)
      }
    }
    #expect(snapshot.bounds == former.bounds)
    for pivot in [0, 1 << 40, UInt64.max / 2, .max] as [UInt64] {
      #expect(snapshot.point(shuffledAtOrAfter: pivot) == former.point(shuffledAtOrAfter: pivot))
    }
  }

  @Test(arguments: [0, 1, 40, 6_000])
  func savedSnapshotIsReadAsItWas(count: Int) throws {
    let folder = Folder()
    var places = try ChangingPlaces(count, seed: UInt64(count))
    try places.change(batches: 6, sizes: [1, 30, 400])

    do {
      let files = try IndexFiles(folder: folder.path)
      #expect(try files.load(text: .init()) == nil)
      _ = try files.save(places.snapshot, standingFor: "état 1")
    }
    let files = try IndexFiles(folder: folder.path)
    let loaded = try #require(try files.load(text: .init()))

    #expect(loaded.state == "état 1")
    try Self.expect(loaded.snapshot, toEqual: places.snapshot, points: places.points)
  }

  @Test func loadedSnapshotIsChangedLikeAnyOther() throws {
    let folder = Folder()
    var places = try ChangingPlaces(5_000, seed: 3)
    let files = try IndexFiles(folder: folder.path)
    _ = try files.save(places.snapshot, standingFor: "1")
    let loaded = try #require(try files.load(text: .init())).snapshot

    let former = places.points
    try places.change(batches: 20, sizes: [1, 300, 2_000])
    let puts = places.points.filter { former[$0.key] != $0.value }
    let next = loaded.applying(
      .init(puts: ContiguousArray(puts.values), removals: former.keys.filter { places.points[$0] == nil }))

    try Self.expect(next, toEqual: places.snapshot, points: places.points)
  }

  @Test func savingWritesOnlyNewSegmentsAndRemovesThoseOfFormerManifests() throws {
    let folder = Folder()
    let files = try IndexFiles(folder: folder.path)
    var places = try ChangingPlaces(6_000, seed: 5)
    let saved = try files.save(places.snapshot, standingFor: "1")
    let first = try folder.segments
    let reading = places.snapshot.reading(saved)
    #expect(reading.parts.allSatisfy { $0.segment.fileName != nil })

    let next = reading.applying(.init(removals: Array(places.points.keys.prefix(10))))
    #expect(try files.save(next, standingFor: "2").isEmpty)
    #expect(try folder.segments == first)
    #expect(try files.load(text: .init())?.snapshot.count == next.count)

    try places.change(batches: 1, sizes: [5_900])
    #expect(try !files.save(places.snapshot, standingFor: "3").isEmpty)
    #expect(try Set(folder.segments).isDisjoint(with: first))
    #expect(try files.load(text: .init())?.state == "3")
    // Mappings of removed files stay valid.
    try Self.expect(reading, toEqual: reading, points: reading.allPoints())
  }

  @Test func concurrentSavesLeaveTheFilesOfOneManifest() async throws {
    let folder = Folder()
    let files = try IndexFiles(folder: folder.path)
    let snapshots = try (1...4).map { try ChangingPlaces(200 * $0, seed: UInt64($0)).snapshot }

    for _ in 0..<5 {
      await withTaskGroup { group in
        for snapshot in snapshots {
          group.addTask { #expect(throws: Never.self) { try files.save(snapshot, standingFor: "\(snapshot.count)") } }
        }
      }
      let loaded = try #require(try files.load(text: .init()))
      #expect(loaded.state == "\(loaded.snapshot.count)")
      #expect(try folder.segments.count == loaded.snapshot.parts.count)
    }
  }

  @Test func piecesAreOneSnapshotAndStayUntilTheyAreRemoved() throws {
    let folder = Folder()
    let files = try IndexFiles(folder: folder.path)
    let places = try ChangingPlaces(9_000, seed: 8)
    let all = Array(places.points.values)
    let pieces = try [0..<5_000, 5_000..<8_999, 8_999..<9_000].map { range in
      try files.writePiece(PointBuffer(ContiguousArray(all[range])), text: .init())
    }
    let other = try files.writePiece(PointBuffer(ContiguousArray(all.prefix(10))), text: .init())
    // A write of the index before does not remove them.
    _ = try files.save(PointSnapshot(), standingFor: "before")
    #expect(try files.load(text: .init())?.snapshot.count == 0)
    #expect(try folder.segments.count == 4)

    files.remove([other])
    let snapshot = PointSnapshot(pieces, text: .init())
    #expect(snapshot.bytesInMemory == 0)
    #expect(try files.save(snapshot, standingFor: "1").isEmpty)
    files.remove(pieces)

    #expect(try folder.segments.count == 3)
    let loaded = try #require(try files.load(text: .init())).snapshot
    try Self.expect(snapshot, toEqual: places.snapshot, points: places.points)
    try Self.expect(loaded, toEqual: places.snapshot, points: places.points)
  }

  @Test func estimateOfWhatSearchesReadIsThatOfTheirColumns() throws {
    var synthetic = try SyntheticPoints(seed: 4, content: .names)
    let rows = try synthetic.rows(count: 50_000)
    let points = rows.enumerated().map { number, row in
      PointOfInterest(
        id: .sample(UInt64(number)), draft: row.draft, version: 1, createdAt: .init(microsecondsSinceEpoch: 0),
        updatedAt: .init(microsecondsSinceEpoch: 0))
    }
    let snapshot = PointSnapshot(ContiguousArray(points))
    let cold = ["records", "texts", "source references", "map"]

    let resident = snapshot.memory.filter { !cold.contains($0.name) }.reduce(0) { $0 + $1.bytes } / points.count

    #expect((PointSnapshot.residentBytesPerPoint * 6 / 10...PointSnapshot.residentBytesPerPoint).contains(resident))
  }

  @Test func otherFieldsOfTextsHaveTheFilesRejected() throws {
    let folder = Folder()
    let files = try IndexFiles(folder: folder.path)
    _ = try files.save(try ChangingPlaces(10, seed: 1).snapshot, standingFor: "1")

    #expect(throws: IndexFileError("the fields that are searched have changed")) {
      try files.load(text: .init(nameTags: ["name"]))
    }
  }

  @Test func folderIsUsedByOneAtATime() throws {
    let folder = Folder()
    let files = try IndexFiles(folder: folder.path)

    #expect(throws: IndexFileError.self) { try IndexFiles(folder: folder.path) }
    withExtendedLifetime(files) {}
  }

  /// The kinds of damage to a file.
  enum Damage: CaseIterable {
    case flippedBit, zeros, truncation, longer, missing, other, empty
  }

  @Test(arguments: Damage.allCases, [false, true])
  func damagedFilesAreRejected(_ damage: Damage, isManifest: Bool) throws {
    let folder = Folder()
    let files = try IndexFiles(folder: folder.path)
    _ = try files.save(try ChangingPlaces(9_000, seed: 9).snapshot, standingFor: "1")
    let name =
      isManifest
      ? "manifest" : try #require(try folder.segments.max { try folder.bytes($0).count < folder.bytes($1).count })
    let bytes = try folder.bytes(name)
    var random = SeededGenerator(seed: 11)
    for round in 0..<40 {
      var damaged = bytes
      // The head, the columns and the checksums at the end.
      let position = round < 2 ? [8, bytes.count - 2][round] : Int.random(in: 0..<bytes.count, using: &random)
      switch damage {
      case .flippedBit: damaged[position] ^= 1 << UInt8(round % 8)
      case .zeros: damaged.resetBytes(in: position..<min(position + 4096, bytes.count))
      case .truncation: damaged.removeLast(bytes.count - position)
      case .longer: damaged.append(contentsOf: [UInt8](repeating: 7, count: round + 1))
      case .missing, .other, .empty: break
      }
      switch damage {
      case .missing: try FileManager.default.removeItem(atPath: "\(folder.path)/\(name)")
      case .other: try folder.write(Data("#!/bin/sh\n".utf8), to: name)
      case .empty: try folder.write(Data(), to: name)
      default: try folder.write(damaged, to: name)
      }
      if damaged == bytes, [.flippedBit, .zeros].contains(damage) { continue }
      // The bytes between columns are not read, but are of the checksummed blocks.
      if damage == .missing, isManifest {
        #expect(try files.load(text: .init()) == nil)
      } else {
        #expect(throws: IndexFileError.self, "\(position)") { try files.load(text: .init()) }
      }
      if [.missing, .other, .empty].contains(damage) { break }
    }
    // A damaged manifest names no files.
    if isManifest { #expect(try folder.segments.isEmpty) }
    try folder.write(bytes, to: name)
    if !isManifest { #expect(try files.load(text: .init())?.snapshot.count == 9_000) }
  }

  @Test func leftoversOfAStoppedWriteAreRemoved() throws {
    let folder = Folder()
    let files = try IndexFiles(folder: folder.path)
    let places = try ChangingPlaces(100, seed: 2)
    _ = try files.save(places.snapshot, standingFor: "1")
    let names = try folder.names()
    try folder.write(Data("half".utf8), to: "0123.segment")
    try folder.write(Data("half".utf8), to: "manifest.new")

    #expect(try files.load(text: .init())?.state == "1")
    #expect(try folder.segments == names.filter { $0.hasSuffix(".segment") })
    _ = try files.save(places.snapshot, standingFor: "2")

    #expect(try folder.names().count == names.count)
    #expect(try files.load(text: .init())?.state == "2")
  }

  @Test func failedSaveLeavesTheFormerFiles() throws {
    let folder = Folder()
    let files = try IndexFiles(folder: folder.path)
    _ = try files.save(try ChangingPlaces(10, seed: 2).snapshot, standingFor: "1")
    // The name of the manifest's next version is taken by a folder.
    try FileManager.default.createDirectory(atPath: "\(folder.path)/manifest.new", withIntermediateDirectories: false)

    #expect(throws: IndexFileError.self) { try files.save(try ChangingPlaces(20, seed: 3).snapshot, standingFor: "2") }

    #expect(try folder.segments.count == 1)
    #expect(try files.load(text: .init())?.state == "1")
  }

  @Test func folderThatCannotBeCreatedIsAnError() {
    let error = #expect(throws: IndexFileError.self) { try IndexFiles(folder: "/proc/waymark") }

    #expect(error?.description == "mkdir /proc/waymark: No such file or directory")
  }
}

extension PointSnapshot {
  fileprivate func allPoints() throws -> [PointID: PointOfInterest] {
    let points = try page(matching: PointQuery(limit: count + 1)).points.map(\.point)
    return Dictionary(uniqueKeysWithValues: points.map { ($0.id, $0) })
  }
}
