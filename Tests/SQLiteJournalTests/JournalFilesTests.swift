import Foundation
import MemoryStore
import Points
import TestSupport
import Testing

@testable import SQLiteJournal

@Suite struct JournalFilesTests {
  enum Event: CaseIterable {
    case removed
    case replaced
    case moved
    case folderMoved
  }

  private func happen(_ event: Event, to path: String) throws {
    let files = FileManager.default
    switch event {
    case .removed: try files.removeItem(atPath: path)
    case .replaced:
      try files.copyItem(atPath: path, toPath: path + ".copy")
      try files.removeItem(atPath: path)
      try files.moveItem(atPath: path + ".copy", toPath: path)
    case .moved: try files.moveItem(atPath: path, toPath: path + ".old")
    case .folderMoved:
      let folder = URL(filePath: path).deletingLastPathComponent().path
      try files.moveItem(atPath: folder, toPath: folder + "-old")
    }
  }

  @Test(arguments: Event.allCases, ["", "-wal"])
  func writeIsNotAcknowledgedOnceAFileIsNoLongerAtItsPath(event: Event, suffix: String) async throws {
    let folder = try JournalFolder()
    let journal = try await SQLiteJournal.open(path: folder.path)
    let store = try await MemoryStore(journal: journal)
    let kept = try await store.create(try .sample("kept"), once: nil)

    try happen(event, to: folder.path + suffix)
    let error = await #expect(throws: PointWriteError.self) { try await store.create(try .sample("lost"), once: nil) }

    guard case .store(.unavailable(let reason)) = try #require(error) else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.contains(folder.path))
    #expect(reason.contains(event == .replaced ? "replaced" : "removed"))
    #expect(try await store.allPoints() == [kept])
    await #expect(throws: PointStoreError.self) { try await store.importRows([.sample("lost too", 1, 1)]) }
    await journal.close()
    if event == .folderMoved {
      let old = URL(filePath: folder.path).deletingLastPathComponent().path + "-old"
      try FileManager.default.removeItem(atPath: old)
    }
  }

  private static func mode(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }

  @Test func newFilesAndBackupsAreForTheirOwnerAlone() async throws {
    let folder = try JournalFolder()
    let journal = try await SQLiteJournal.open(path: folder.path)
    let store = try await MemoryStore(journal: journal)
    _ = try await store.create(try .sample("kept"), once: nil)

    try await journal.backUp(to: folder.path + ".copy")

    for suffix in ["", "-wal", ".copy"] { #expect(try Self.mode(folder.path + suffix) == 0o600, "\(suffix)") }
    await journal.close()
  }

  @Test func modeOfAnExistingFileStays() async throws {
    let folder = try JournalFolder()
    try Data().write(to: URL(filePath: folder.path))
    try #require(chmod(folder.path, 0o640) == 0)

    let journal = try await SQLiteJournal.open(path: folder.path)
    let store = try await MemoryStore(journal: journal)
    _ = try await store.create(try .sample("kept"), once: nil)

    for suffix in ["", "-wal"] { #expect(try Self.mode(folder.path + suffix) == 0o640, "\(suffix)") }
    await journal.close()
  }

  @Test func fileAtTheEndOfALinkIsForItsOwnerAlone() async throws {
    let folder = try JournalFolder()
    let target = folder.path + ".target"
    try FileManager.default.createSymbolicLink(atPath: folder.path, withDestinationPath: target)

    let journal = try await SQLiteJournal.open(path: folder.path)
    let store = try await MemoryStore(journal: journal)
    _ = try await store.create(try .sample("kept"), once: nil)

    #expect(try Self.mode(target) == 0o600)
    await journal.close()
  }

  @Test func fileThatWasMovedBackIsNotWritten() async throws {
    let folder = try JournalFolder()
    let store = try await MemoryStore(journal: try await SQLiteJournal.open(path: folder.path))
    _ = try await store.create(try .sample("kept"), once: nil)
    try FileManager.default.moveItem(atPath: folder.path, toPath: folder.path + ".old")
    await #expect(throws: PointWriteError.self) { try await store.create(try .sample("lost"), once: nil) }

    try FileManager.default.moveItem(atPath: folder.path + ".old", toPath: folder.path)

    await #expect(throws: PointWriteError.self) { try await store.create(try .sample("lost"), once: nil) }
    #expect(store.count == 1)
  }
}
