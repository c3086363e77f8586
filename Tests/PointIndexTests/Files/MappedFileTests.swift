import Basics
import Dispatch
import Foundation
import Points
import SyntheticData
import TestSupport
import Testing

@testable import PointIndex

@Suite struct MappedFileTests {
  /// A file of a segment of synthetic places, which is verified in several steps, in a folder of its own.
  private struct File {
    let folder = "\(NSTemporaryDirectory())/mapped-\(UUID().uuidString)"
    let name: SegmentFileName
    let snapshot: PointSnapshot

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
      snapshot = built.reading(try files.save(built, standingFor: "1"))
      name = try #require(snapshot.parts.first?.segment.fileName)
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
    var undamaged: [FileColumn] = []
    for column in FileColumn.allCases {
      guard let range = try file.open().range(of: column), let last = range.last else {
        undamaged.append(column)
        continue
      }
      for offset in Set([range.lowerBound, (range.lowerBound + last) / 2, last]) {
        try file.flipBit(at: offset)
        #expect(throws: IndexFileError("the file is damaged"), "\(column), \(offset)") { try file.open().verify() }
        try file.flipBit(at: offset)
      }
    }
    try file.open().verify()
    // Synthetic places have decimal coordinates, and no hours of public holidays.
    #expect(undamaged == [.coordinates, .hoursCalendars])
  }

  @Test func missingBytesAreFound() throws {
    let file = try File()
    defer { file.remove() }
    let mapped = try file.open()

    #expect(truncate(file.path, off_t(mapped.byteCount / 2)) == 0)

    #expect(throws: IndexFileError("the file is shorter than when it was written")) { try mapped.verify() }
  }

  @Test func threadsFindPlacesWhileTheirFileIsVerified() throws {
    let file = try File()
    defer { file.remove() }
    let queries = try file.snapshot.page(matching: PointQuery(limit: 24)).points.map { place in
      PointQuery(proximity: .init(center: place.point.draft.coordinate))
    }
    let expected = try queries.map { try file.snapshot.page(matching: $0).points.map(\.point) }
    for _ in 0..<5 {
      let files = try IndexFiles(folder: file.folder, verifiedAtStart: 0)
      let loaded = try #require(try files.load(text: .init())).snapshot
      DispatchQueue.concurrentPerform(iterations: queries.count) { number in
        let found = try? loaded.page(matching: queries[number]).points.map(\.point)
        #expect(found == expected[number])
      }
    }
  }

  @Test func columnThatIsNotVerifiedYetIsWrittenToAnotherFile() throws {
    let file = try File()
    defer { file.remove() }
    let column = try file.open().column(.texts, as: UInt8.self)
    var writer = try SegmentFileWriter(path: "\(file.folder)/other", placeCount: 1, hashKey: .random())
    try writer.append(.texts, column)
    let name = SegmentFileName(name: "other", checksum: try writer.finish())

    let other = try SegmentFile(name, in: file.folder)

    #expect(try other.column(.texts, as: UInt8.self).array == column.array)
  }

  #if os(Linux)
    /// Checks that a process has ended with an error about its file, which it has removed. Removes the folder.
    private static func expectEnd(_ result: ExitTest.Result?, because reason: String) throws {
      let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
      let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("waymark: error: ") }, "\(text)")
      let path = try #require(line.dropFirst("waymark: error: ".count).split(separator: " ").first)
      #expect(line == "waymark: error: \(path) \(reason): the process ends, and the next start builds the index")
      #expect(!FileManager.default.fileExists(atPath: String(path)))
      let folder = URL(fileURLWithPath: String(path)).deletingLastPathComponent().path
      // As the next start finds it.
      #expect(throws: IndexFileError.self) { try IndexFiles(folder: folder).load(text: .init()) }
      try FileManager.default.removeItem(atPath: folder)
    }

    @Test func readingDamageEndsTheProcessAndReadingTheRestDoesNot() async throws {
      let result = await #expect(processExitsWith: .exitCode(1), observing: [\.standardErrorContent]) {
        let file = try File()
        let segment = try file.open()
        let damaged = try #require(segment.range(of: .texts)).upperBound - 1
        try file.flipBit(at: damaged)
        let (ids, texts) = (try segment.column(.ids, as: PointID.self), try segment.column(.texts, as: UInt8.self))
        // In other parts of the file than the damage.
        guard damaged > 2 << 20, ids.array.contains(.sample(7)) else { exit(2) }
        print(texts.pointer[texts.count - 1])
        exit(3)
      }
      try Self.expectEnd(result, because: "is damaged")
    }

    @Test func damageThatNoSearchReadsEndsTheProcessToo() async throws {
      let result = await #expect(processExitsWith: .exitCode(1), observing: [\.standardErrorContent]) {
        let file = try File()
        try file.flipBit(at: try #require(try file.open().range(of: .texts)).upperBound - 1)
        let files = try IndexFiles(folder: file.folder, verifiedAtStart: 0)
        let loaded = try files.load(text: .init())
        try await Task.sleep(for: .seconds(60))
        withExtendedLifetime(loaded) {}
        exit(3)
      }
      try Self.expectEnd(result, because: "is damaged")
    }

    @Test func readingAFileThatWasMadeShorterEndsTheProcess() async throws {
      let result = await #expect(processExitsWith: .exitCode(1), observing: [\.standardErrorContent]) {
        let file = try File()
        let segment = try file.open()
        try segment.verify()
        guard truncate(file.path, 100_000) == 0 else { exit(2) }
        let texts = try segment.column(.texts, as: UInt8.self)
        print(texts.pointer[texts.count - 1])
        exit(3)
      }
      try Self.expectEnd(result, because: "was made shorter, or can't be read")
    }

    @Test func otherFaultsEndTheProcessAsBefore() async throws {
      await #expect(processExitsWith: .signal(SIGSEGV)) {
        let file = try File()
        let ids = try file.open().column(.ids, as: PointID.self)
        // The columns are read-only, also once they are verified.
        UnsafeMutablePointer(mutating: ids.pointer).pointee = .sample(1)
        exit(3)
      }
      await #expect(processExitsWith: .signal(SIGSEGV)) {
        let file = try File()
        raise(SIGSEGV)
        file.remove()
        exit(3)
      }
    }
  #endif
}
