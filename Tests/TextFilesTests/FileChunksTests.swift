import Foundation
import Testing
import TextFiles

@Suite struct FileChunksTests {
  /// Returns the chunks of a file of ten digits.
  private func chunks(_ range: Range<Int>?) async throws -> (chunks: [String], byteCount: Int?) {
    let path = FileManager.default.temporaryDirectory.appending(path: "chunks-\(UUID().uuidString)").path
    try Data("0123456789".utf8).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    var iterator = FileChunks(path: path, chunkSize: 4, range: range).makeAsyncIterator()
    var chunks: [String] = []
    while let chunk = try await iterator.next() { chunks.append(String(decoding: chunk, as: UTF8.self)) }
    return (chunks, await iterator.byteCount)
  }

  @Test(arguments: [(nil, ["0123", "4567", "89"]), (3..<8, ["3456", "7"]), (5..<5, [])] as [(Range<Int>?, [String])])
  func aFileIsReadInChunks(range: Range<Int>?, expected: [String]) async throws {
    let read = try await chunks(range)

    #expect(read.chunks == expected)
    #expect(read.byteCount == 10)
  }

  @Test(arguments: [("/nowhere/a.csv", "No such file or directory"), ("/tmp", "Is a directory")])
  func whatIsNoFileIsAnErrorWithItsPath(path: String, reason: String) async {
    var iterator = FileChunks(path: path).makeAsyncIterator()

    let error = await #expect(throws: FileError.self) { try await iterator.next() }

    #expect(error?.description == "\(path): \(reason)")
  }
}
