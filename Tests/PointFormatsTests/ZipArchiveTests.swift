import Foundation
import Gzip
import PointFormats
import Points
import Testing

/// Tests of tables in ZIP archives.
@Suite struct ZipArchiveTests {
  private struct Entry {
    var name: String
    var text: [UInt8]
    var packed: [UInt8]?
    var flags: UInt16 = 0
    var method: UInt16 = 0
    var size: UInt32?
  }

  private static let table = Array("name,lat,long\nCafé,1,2\n".utf8)

  /// Returns the deflate stream of a text: a gzip without its header of 10 bytes and its trailer of 8.
  private static func deflated(_ text: [UInt8]) throws -> [UInt8] {
    var gzip: [UInt8] = []
    let encoder = try GzipEncoder()
    text.withUnsafeBytes { encoder.encode($0, into: &gzip) }
    encoder.finish(into: &gzip)
    return Array(gzip.dropFirst(10).dropLast(8))
  }

  private static func archive(_ entries: [Entry]) -> [UInt8] {
    func low(_ value: UInt32, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    var bytes: [UInt8] = []
    var directory: [UInt8] = []
    for entry in entries {
      var checksum = CRC32()
      entry.text.withUnsafeBytes { checksum.add($0) }
      let packed = entry.packed ?? entry.text
      let shared =
        low(UInt32(entry.flags), 2) + low(UInt32(entry.method), 2) + low(0, 4) + low(checksum.value, 4)
        + low(UInt32(packed.count), 4) + low(entry.size ?? UInt32(entry.text.count), 4)
        + low(UInt32(entry.name.utf8.count), 2) + low(0, 2)
      let offset = UInt32(bytes.count)
      bytes += [0x50, 0x4B, 3, 4, 20, 0] + shared + entry.name.utf8 + packed
      directory += [0x50, 0x4B, 1, 2, 20, 0, 20, 0] + shared + low(0, 2) + low(0, 2) + low(0, 2) + low(0, 4)
      directory += low(offset, 4) + entry.name.utf8
    }
    let count = low(UInt32(entries.count), 2)
    let end = [0x50, 0x4B, 5, 6] + low(0, 4) + count + count + low(UInt32(directory.count), 4)
    return bytes + directory + end + low(UInt32(bytes.count), 4) + low(0, 2)
  }

  /// Returns the names of the places in an archive.
  private func names(_ bytes: [UInt8]) async throws -> [String] {
    let file = FileManager.default.temporaryDirectory.appending(path: "waymark-\(UUID().uuidString).zip")
    try Data(bytes).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    var names: [String] = []
    for try await batch in PointFiles([.init(named: file.path)], onRejection: { _ in }) {
      names += batch.map(\.draft.name)
    }
    return names
  }

  @Test func theOneTableOfAnArchiveIsRead() async throws {
    let long = Self.table + Array(repeating: Array("more,1,2\n".utf8), count: 100_000).flatMap(\.self)
    let others = [
      Entry(name: "readme.pdf", text: [1]), Entry(name: "data/", text: []), Entry(name: "__MACOSX/a.csv", text: [2]),
    ]

    let stored = Self.archive(others + [Entry(name: "data/a.csv", text: Self.table)])
    let packed = Self.archive([Entry(name: "a.csv", text: long, packed: try Self.deflated(long), method: 8)] + others)

    #expect(try await names(stored) == ["Café"])
    #expect(try await names(packed).count == 100_001)
  }

  @Test func archivesThatCannotBeReadAreErrors() async throws {
    let table = Entry(name: "a.csv", text: Self.table)
    let zeros = [UInt8](repeating: 0x0A, count: 40 << 20)
    var (encrypted, other, damaged, large) = (table, table, table, table)
    encrypted.flags = 1
    other.method = 12
    damaged.packed = Array("name,lat,long\nCafé,1,3\n".utf8)
    large.size = 0xFFFF_FFFF
    let whole = Self.archive([table])
    let cases: [(bytes: [UInt8], reason: String)] = [
      (
        Self.archive([table, Entry(name: "b.geojson", text: [])]),
        "the archive has 2 tables, 'a.csv', 'b.geojson'; unpack"
      ),
      (Self.archive([encrypted]), "'a.csv' in the archive is encrypted"), (Self.archive([other]), "by method 12"),
      (Self.archive([damaged]), "'a.csv' in the archive is damaged"), (Self.archive([large]), "is in ZIP64"),
      (Array(whole.dropLast(30)), "no directory at its end"),
      (
        Self.archive([Entry(name: "a.csv", text: zeros, packed: try Self.deflated(zeros), method: 8)]),
        "more than 100 times"
      ),
      (Self.archive([Entry(name: "a.bin", text: [1])]), "the file is a ZIP archive; unpack it first"),
      (Self.archive([Entry(name: "a.shp", text: [1])]), "a ZIP archive with a Shapefile"),
      (Self.archive([Entry(name: "xl/workbook.xml", text: [1]), table]), "an Excel workbook"),
    ]
    for (bytes, reason) in cases {
      let error = await #expect(throws: FileError.self) { _ = try await names(bytes) }

      #expect(error?.reason.contains(reason) == true, "\(reason): \(error?.reason ?? "")")
    }
  }

  @Test func damagedArchivesAreErrorsOrRead() async throws {
    let whole = Self.archive([Entry(name: "a.csv", text: Self.table, packed: try Self.deflated(Self.table), method: 8)])
    for index in whole.indices {
      var bytes = whole
      bytes[index] ^= 0xFF
      do {
        _ = try await names(bytes)
      } catch is FileError {
        // The damage was found.
      }
    }
  }
}
