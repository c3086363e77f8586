import Foundation
import Points
import SyntheticData
import TestSupport
import Testing

@testable import PointIndex

@Suite struct MappedFileTests {
  /// A file of a segment of synthetic places, which several processors verify, in a folder of its own.
  private struct File {
    let folder = "\(NSTemporaryDirectory())/mapped-\(UUID().uuidString)"
    let name: SegmentFileName

    var path: String { "\(folder)/\(name.name)" }

    init() throws {
      var synthetic = try SyntheticPoints(seed: 4)
      let time = Timestamp(microsecondsSinceEpoch: 0)
      let points = try synthetic.rows(count: 12_000).enumerated().map { number, row in
        PointOfInterest(
          id: .sample(UInt64(number)), draft: row.draft, version: 1, createdAt: time, updatedAt: time)
      }
      let files = try IndexFiles(folder: folder)
      let built = PointSnapshot(ContiguousArray(points))
      let saved = built.reading(try files.save(built, standingFor: "1"))
      name = try #require(saved.parts.first?.segment.fileName)
    }

    func open() throws -> SegmentFile { try SegmentFile(name, in: folder) }

    /// Changes a bit of a byte, without replacing the file.
    func flipBit(at offset: Int) throws {
      let file = try OpenFile(path, O_RDWR)
      var byte: UInt8 = 0
      try withUnsafeMutableBytes(of: &byte) { bytes throws(IndexFileError) in _ = try file.read(bytes, at: offset) }
      byte ^= 4
      try withUnsafeBytes(of: byte) { bytes throws(IndexFileError) in try file.write(bytes, at: offset) }
    }

    func remove() { try? FileManager.default.removeItem(atPath: folder) }
  }

  @Test func damageOfEachColumnIsFound() throws {
    let file = try File()
    defer { file.remove() }
    let whole = try file.open()
    // Of more blocks than one processor verifies at a time.
    #expect(try #require(whole.range(of: .texts)).upperBound > 2 << 20)
    var undamaged: [FileColumn] = []
    for column in FileColumn.allCases {
      guard let range = whole.range(of: column), let last = range.last else {
        undamaged.append(column)
        continue
      }
      for offset in Set([range.lowerBound, (range.lowerBound + last) / 2, last]) {
        try file.flipBit(at: offset)
        #expect(throws: IndexFileError("\(file.name.name): the file is damaged"), "\(column), \(offset)") {
          try file.open()
        }
        try file.flipBit(at: offset)
      }
    }
    _ = try file.open()
    // Synthetic places have decimal coordinates, and no hours of public holidays.
    #expect(undamaged == [.coordinates, .hoursCalendars])
  }

  @Test func damagedIndexIsNotUsed() throws {
    let file = try File()
    defer { file.remove() }
    try file.flipBit(at: try #require(try file.open().range(of: .texts)).upperBound - 1)

    let files = try IndexFiles(folder: file.folder)

    #expect(throws: IndexFileError("\(file.name.name): the file is damaged")) { try files.load(text: .init()) }
  }

  @Test func bytesThatAreMissingWhenTheyAreVerifiedAreAnError() throws {
    let file = try File()
    defer { file.remove() }
    let opened = try OpenFile(file.path, O_RDONLY)
    let checksums = ContiguousArray<UInt32>(repeating: 0, count: 2)

    // The file ends within the first block.
    #expect(truncate(file.path, 1000) == 0)

    #expect(throws: IndexFileError("the file is shorter than when it was written")) {
      try MappedFile(opened, offset: 0, count: 2 * MappedFile.blockSize, checksums: checksums)
    }
  }

  #if os(Linux)
    @Test func readingAFileThatWasMadeShorterEndsTheProcess() async throws {
      await #expect(processExitsWith: .signal(SIGBUS)) {
        let file = try File()
        let texts = try file.open().column(.texts, as: UInt8.self)
        guard truncate(file.path, 100_000) == 0 else { exit(2) }
        // The mapping stays, and only the bytes are missing.
        try FileManager.default.removeItem(atPath: file.folder)
        print(texts.pointer[texts.count - 1])
        exit(3)
      }
    }
  #endif
}
