import Foundation
import Gzip
import PointFormats
import Points
import Synchronization
import TestSupport
import Testing
import TextFiles

@Suite struct PointFilesTests {
  @Test func rowsAreNumberedOverAllFiles() async throws {
    let folder = try TemporaryFolder()
    let files = [
      try folder.file("a.ndjson", #"{"name":"A","lat":1,"long":2}"# + "\nx\n"),
      try folder.file("b.csv", "name,lat,long\nB,1,2\nC,91,2\n"),
      try folder.file("c.geojson", #"{"type":"FeatureCollection","features":[]}"#),
      try folder.file("d.jsonl", #"{"name":"D","lat":1,"long":2}"#),
    ]
    let rejected = Mutex<[Int]>([])
    let places = PointFiles(try files.map { try PointFiles.File(path: $0) }) { row in
      rejected.withLock { $0.append(row.number) }
    }

    var names: [Int: String] = [:]
    for try await batch in places { for row in batch { names[row.number] = row.draft.name } }

    #expect(names == [1: "A", 3: "B", 5: "D"])
    #expect(rejected.withLock { $0 } == [2, 4])
  }

  @Test func filesCompressedWithGzipAreUnpacked() async throws {
    let folder = try TemporaryFolder()
    let text = (0..<5_000).map { #"{"name":"\#($0 * 7919)","lat":1,"long":2}"# + "\n" }.joined()
    var gzip: [UInt8] = []
    let encoder = try GzipEncoder()
    Array(text.utf8).withUnsafeBytes { encoder.encode($0, into: &gzip) }
    encoder.finish(into: &gzip)
    let whole = try folder.file("a.ndjson.gz", gzip)
    let cut = try folder.file("b.NDJSON.GZ", Array(gzip.dropLast(9)))

    var count = 0
    for try await batch in PointFiles([try PointFiles.File(path: whole)], onRejection: { _ in }) {
      count += batch.count
    }

    #expect(count == 5_000)
    let error = await #expect(throws: FileError.self) {
      for try await _ in PointFiles([try PointFiles.File(path: cut)], onRejection: { _ in }) {}
    }
    #expect(error?.description == "\(cut): the file ends before its gzip does")
  }

  @Test func progressIsReportedInBytesAndRows() async throws {
    let folder = try TemporaryFolder()
    let line = #"{"name":"A","lat":1,"long":2}"# + "\n"
    let path = try folder.file("a.ndjson", String(repeating: line, count: 20_000))
    let steps = Mutex<[PointFiles.Progress]>([])
    let places = PointFiles([.init(path: path, format: .ndjson)], onRejection: { _ in }) { step in
      steps.withLock { $0.append(step) }
    }

    var count = 0
    for try await batch in places { count += batch.count }

    let told = steps.withLock { $0 }
    #expect(count == 20_000)
    #expect(told.count > 1)
    #expect(told.map(\.bytesRead) == told.map(\.bytesRead).sorted())
    #expect(told.last?.bytesRead == 20_000 * line.utf8.count)
    #expect(told.allSatisfy { $0.byteCount == 20_000 * line.utf8.count && $0.path == path })
    #expect(told.last?.rows == 20_000)
  }

  @Test func aFileThatIsNotThereIsAnErrorWithItsPath() async {
    let places = PointFiles([.init(path: "/nowhere/a.csv", format: .csv)]) { _ in }

    await #expect(throws: FileError(path: "/nowhere/a.csv", reason: "No such file or directory")) {
      for try await _ in places {}
    }
  }

  @Test func aFileThatIsNotOfItsFormatIsAnErrorWithItsPath() async throws {
    let folder = try TemporaryFolder()
    let path = try folder.file("a.csv", "")
    let places = PointFiles([try .init(path: path)]) { _ in }

    await #expect(throws: FileError(path: path, reason: "the text is empty; it must begin with a header row")) {
      for try await _ in places {}
    }
  }

  @Test func fileNameWithoutAKnownFormatIsAnError() {
    #expect(throws: FileError.self) { try PointFiles.File(path: "places.xlsx") }
    #expect(throws: FileError.self) { try PointFiles.File(path: "-") }
  }

  @Test func aFolderIsAnError() async throws {
    let folder = try TemporaryFolder()
    let places = PointFiles([.init(path: folder.path, format: .csv)]) { _ in }

    await #expect(throws: FileError.self) { for try await _ in places {} }
  }

  @Test func theOneTableOfAnArchiveIsRead() async throws {
    let folder = try TemporaryFolder()
    let table = Array("name,lat,long\nCafé,1,2\n".utf8)
    func names(_ entries: [TestArchive.Entry]) async throws -> [String] {
      let path = try folder.file("a.zip", TestArchive.bytes(of: entries))
      var names: [String] = []
      for try await batch in PointFiles([.init(named: path)], onRejection: { _ in }) {
        names += batch.map(\.draft.name)
      }
      return names
    }

    let packed = TestArchive.Entry(name: "a.CSV", text: table, packed: try TestArchive.deflated(table), method: 8)
    #expect(try await names([.init(name: "readme.pdf", text: [1]), packed]) == ["Café"])

    for (name, reason) in [
      ("a.bin", "the file is a ZIP archive; unpack it first"), ("a.shp", "a ZIP archive with a Shapefile"),
      ("b.geojson", "the archive has 2 tables, 'b.geojson', 'a.CSV'; unpack"),
      ("xl/workbook.xml", "an Excel workbook"),
    ] {
      let others = ["a.bin", "a.shp"].contains(name) ? [] : [packed]
      let error = await #expect(throws: FileError.self) { try await names([.init(name: name, text: [1])] + others) }

      #expect(error?.reason.contains(reason) == true, "\(reason): \(error?.reason ?? "")")
    }
  }

  @Test func aTableThatUnpacksToTooMuchIsAnErrorOfItsFile() async throws {
    let folder = try TemporaryFolder()
    let lines = [UInt8](repeating: 0x0A, count: 40 << 20)
    let entry = TestArchive.Entry(name: "a.csv", text: lines, packed: try TestArchive.deflated(lines), method: 8)
    let path = try folder.file("a.zip", TestArchive.bytes(of: [entry]))

    let error = await #expect(throws: FileError.self) {
      for try await _ in PointFiles([.init(named: path)], onRejection: { _ in }) {}
    }

    #expect(error?.reason.contains("more than 100 times") == true)
  }
}

/// The data sets that are shared beside the project, each read whole.
@Suite struct SharedDataTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "shared/data")

  @Test(
    .enabled(if: FileManager.default.fileExists(atPath: folder.path), "../shared/data is not there"),
    arguments: [("navaids.ndjson", 11_008), ("airports.csv", 7698), ("osm-places.geojson", 2662)]
  )
  func everyRowIsRead(name: String, rows: Int) async throws {
    let rejected = Mutex<[RejectedRow]>([])
    let file = try PointFiles.File(path: Self.folder.appending(path: name).path)

    var count = 0
    for try await batch in PointFiles([file], onRejection: { row in rejected.withLock { $0.append(row) } }) {
      count += batch.count
    }

    #expect(count == rows)
    #expect(rejected.withLock { $0 } == [])
  }
}

/// A folder that is removed with the last reference to it.
private final class TemporaryFolder: Sendable {
  private let url = FileManager.default.temporaryDirectory.appending(path: "waymark-\(UUID().uuidString)")

  var path: String { url.path }

  init() throws {
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(at: url)
  }

  /// Writes a file and returns its path.
  func file(_ name: String, _ bytes: [UInt8]) throws -> String {
    let file = url.appending(path: name)
    try Data(bytes).write(to: file)
    return file.path
  }

  /// Writes a file and returns its path.
  func file(_ name: String, _ text: String) throws -> String {
    let file = url.appending(path: name)
    try Data(text.utf8).write(to: file)
    return file.path
  }
}
