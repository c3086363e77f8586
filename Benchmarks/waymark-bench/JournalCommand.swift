import ArgumentParser
import Foundation
import MemoryStore
import Points
import SQLiteJournal
import SyntheticData
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// `waymark-bench journal`: the writing, loading and backup of the file of a memory store.
struct JournalCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "journal",
    abstract: "Measures how long the file of a memory store takes to write, to load and to back up.",
    discussion: """
      Writes the seconds of processor time in the program (user time), which other programs disturb less than the clock: \
      of one import, and the least of several loads. Then the duration of a backup and the longest wait of a write \
      beside it, by the clock.
      """
  )

  @Argument(help: "The number of synthetic places.") var places = 300_000
  @Option(help: "The number of loads and backups.") var rounds = 5

  func validate() throws {
    if places < 1 { throw ValidationError("places must be at least 1, got \(places)") }
    if rounds < 1 { throw ValidationError("--rounds must be at least 1, got \(rounds)") }
  }

  func run() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "waymark-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "places.db").path
    let file = try await SQLiteJournal.open(path: path)
    let journal = MeasuredJournal(journal: file)
    let store = try await MemoryStore(journal: journal)
    var synthetic = try SyntheticPoints(seed: 1, content: .names)
    let (batches, continuation) = AsyncStream.makeStream(of: [ImportRow].self)
    continuation.yield(try synthetic.rows(count: places))
    continuation.finish()
    _ = try await store.importRows(batches, options: ImportOptions())
    print("import: \(journal.commits.withLock { $0 }) s")

    var loads: [Double] = []
    for _ in 0..<rounds {
      let start = UserTime.seconds
      _ = try await file.load(after: nil)
      loads.append(UserTime.seconds - start)
    }
    print("load: \(loads.min() ?? 0) s")

    let place = try PointDraft(name: "A", coordinate: synthetic.anywhere())
    for _ in 0..<rounds {
      let clock = ContinuousClock()
      let isDone = Mutex(false)
      async let backup = clock.measure {
        defer { isDone.withLock { $0 = true } }
        try await file.backUp(to: path + ".copy")
      }
      var wait = Duration.zero
      while !isDone.withLock({ $0 }) {
        wait = max(wait, try await clock.measure { _ = try await store.create(place, once: nil) })
      }
      print("backup: \(try await backup), longest wait of a write: \(wait)")
    }
  }
}

/// A journal that measures the processor time of its commits.
private final class MeasuredJournal: PointJournal {
  let journal: SQLiteJournal
  let commits = Mutex(0.0)

  init(journal: SQLiteJournal) {
    self.journal = journal
  }

  func load(after anchor: JournalAnchor?) async throws(PointStoreError) -> JournalContents {
    try await journal.load(after: anchor)
  }

  func commit(_ batch: JournalBatch) async throws(PointStoreError) {
    let start = UserTime.seconds
    try await journal.commit(batch)
    commits.withLock { $0 += UserTime.seconds - start }
  }

  func beginRun(_ number: UInt64) async throws(PointStoreError) -> (runs: [ChangeRun], dropped: Int64) {
    try await journal.beginRun(number)
  }

  func changes(
    after version: Int64, _ id: PointID, upTo last: Int64, limit: Int
  ) async throws(PointStoreError) -> (changes: [PointChange], hasMore: Bool) {
    try await journal.changes(after: version, id, upTo: last, limit: limit)
  }

  func dropRemovals(before version: Int64) async throws(PointStoreError) -> (count: Int, dropped: Int64) {
    try await journal.dropRemovals(before: version)
  }
}

/// The processor time that this process has spent outside the kernel.
private enum UserTime {
  static var seconds: Double {
    var usage = tms()
    times(&usage)
    return Double(usage.tms_utime) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }
}
