import Foundation
import Gzip
import Testing
import TextFiles

/// The example of the README.
@Suite struct ReadmeExampleTests {
  @Test func rowsOfTheExampleAreRead() async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "table-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    // A text in Windows-1252, compressed with gzip.
    let table = Array("name;note\nCaf".utf8) + [0xE9] + Array(";\"a \"\"b\"\"; c\"\n".utf8)
    var gzip: [UInt8] = []
    let encoder = try GzipEncoder()
    table.withUnsafeBytes { encoder.encode($0, into: &gzip) }
    encoder.finish(into: &gzip)
    try Data(gzip).write(to: URL(filePath: path))

    let rows = try await Self.rows(path: path)

    #expect(rows == [["name", "note"], ["Café", "a \"b\"; c"]])
  }

  private static func rows(path: String) async throws -> [[String]] {
    var file = FileText(path: path)
    var decoder = ByteTextDecoder()
    var text: [UInt8] = []
    while let chunk = try await file.next() {
      try chunk.withUnsafeBufferPointer { bytes in try decoder.decode(bytes, into: &text) }
    }
    try decoder.finish(into: &text)

    let rows = text.withUnsafeBufferPointer { bytes in
      var rows: [[String]] = []
      var record = CSVRecord(separator: CSVSeparator.separator(ofHeader: bytes, isWhole: true) ?? 0x2C)
      var (start, position) = (0, 0)
      while case .end = record.scan(bytes, from: start, position: &position) {
        let line = UnsafeBufferPointer(rebasing: bytes[start..<position])
        rows.append(record.fields.map { $0.withBytes(in: line) { String(decoding: $0, as: UTF8.self) } })
        start = position
        record.reset()
      }
      return rows
    }
    return rows
  }
}
