import Foundation
import Gzip
import TestSupport
import Testing
import TextFiles

/// Tests of tables in ZIP archives.
@Suite struct ZipArchiveReaderTests {
  private typealias Entry = TestArchive.Entry

  private static let table = Array("name,lat,long\nCafé,1,2\n".utf8)

  /// The reader of archives with a table in CSV or GeoJSON, of which those with a file of Word are documents.
  private static let archives = ZipArchiveReader {
    String(decoding: $0, as: UTF8.self).contains("word/")
  } isTable: {
    $0.hasSuffix(".csv") || $0.hasSuffix(".geojson")
  }

  /// Returns the text of the file that has the bytes, as it is read.
  private func text(_ bytes: [UInt8]) async throws -> [UInt8] {
    let file = FileManager.default.temporaryDirectory.appending(path: "archive-\(UUID().uuidString).zip")
    try Data(bytes).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    var (text, read): (FileText, [UInt8]) = (FileText(path: file.path, archives: Self.archives), [])
    while let chunk = try await text.next() { read += chunk }
    return read
  }

  @Test func theOneTableOfAnArchiveIsRead() async throws {
    let long = Self.table + Array(repeating: Array("more,1,2\n".utf8), count: 100_000).flatMap(\.self)
    let others = [
      Entry(name: "readme.pdf", text: [1]), Entry(name: "data/", text: []), Entry(name: "__MACOSX/a.csv", text: [2]),
    ]

    let stored = TestArchive.bytes(of: others + [Entry(name: "data/a.csv", text: Self.table)])
    let packed = TestArchive.bytes(
      of: [Entry(name: "a.csv", text: long, packed: try TestArchive.deflated(long), method: 8)] + others)

    #expect(try await text(stored) == Self.table)
    #expect(try await text(packed) == long)
  }

  @Test func archivesThatCannotBeReadAreErrors() async throws {
    let table = Entry(name: "a.csv", text: Self.table)
    var (encrypted, other, damaged, large) = (table, table, table, table)
    encrypted.flags = 1
    other.method = 12
    damaged.packed = Array("name,lat,long\nCafé,1,3\n".utf8)
    large.size = 0xFFFF_FFFF
    let whole = TestArchive.bytes(of: [table])
    let cases: [(bytes: [UInt8], reason: String)] = [
      (
        TestArchive.bytes(of: [table, Entry(name: "b.geojson", text: [])]),
        "the archive has 2 tables, 'a.csv', 'b.geojson'; unpack"
      ),
      (TestArchive.bytes(of: [encrypted]), "'a.csv' in the archive is encrypted"),
      (TestArchive.bytes(of: [other]), "by method 12"),
      (TestArchive.bytes(of: [damaged]), "'a.csv' in the archive is damaged"),
      (TestArchive.bytes(of: [large]), "is in ZIP64"),
      (Array(whole.dropLast(30)), "no directory at its end"),
    ]
    for (bytes, reason) in cases {
      let error = await #expect(throws: FileError.self) { _ = try await text(bytes) }

      #expect(error?.reason.contains(reason) == true, "\(reason): \(error?.reason ?? "")")
    }
  }

  @Test func aTableThatUnpacksToTooMuchIsAnError() async throws {
    let zeros = [UInt8](repeating: 0x0A, count: 40 << 20)
    let bytes = TestArchive.bytes(of: [
      Entry(name: "a.csv", text: zeros, packed: try TestArchive.deflated(zeros), method: 8)
    ])

    await #expect(throws: GzipError.self) { _ = try await text(bytes) }
  }

  @Test func otherArchivesAndDocumentsAreReadAsTheyAre() async throws {
    let table = Entry(name: "a.csv", text: Self.table)

    for name in ["a.bin", "word/document.xml", "xl/workbook.xml", "mimetype"] {
      let others = name == "a.bin" ? [] : [table]
      let bytes = TestArchive.bytes(of: [Entry(name: name, text: [1])] + others)

      #expect(try await text(bytes) == bytes)
    }
  }

  @Test func damagedArchivesAreErrorsOrRead() async throws {
    let whole = TestArchive.bytes(of: [
      Entry(name: "a.csv", text: Self.table, packed: try TestArchive.deflated(Self.table), method: 8)
    ])
    for index in whole.indices {
      var bytes = whole
      bytes[index] ^= 0xFF
      do {
        _ = try await text(bytes)
      } catch is FileError {
        // The damage was found in the archive.
      } catch is GzipError {
        // The damage was found in the table.
      }
    }
  }
}
