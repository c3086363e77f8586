import CBundledSample
import Logging
import MemoryStore
import PointFormats
import PointIndex
import Points
import SQLiteJournal
import Synchronization

extension MemoryStore {
  /// Opens the file in which the places are kept, and loads them.
  ///
  /// - Parameters:
  ///   - files: returns the files of the index, once the file is open, so that no other process uses either. They are
  ///     not used if damaged rows are left out: the index would not show that they are missing.
  ///   - skipsDamaged: a Boolean value that indicates whether damaged rows are left out, instead of nothing being
  ///     loaded.
  static func open(
    path: String, files: () -> IndexFiles?, skipsDamaged: Bool, text: TextIndexConfiguration = .init(),
    clock: MonotoneClock, logger: Logger
  ) async throws(PointStoreError) -> (MemoryStore, SQLiteJournal, IndexFiles?) {
    let damagedRows = DamagedRows(logger: logger)
    guard skipsDamaged else {
      let journal = try await SQLiteJournal.open(path: path, damagedRows: damagedRows)
      let files = files()
      return (try await MemoryStore(journal: journal, files: files, text: text, clock: clock), journal, files)
    }
    let damage = DamageReport(path: path, logger: logger)
    let journal = try await SQLiteJournal.open(path: path, damagedRows: damagedRows) { damage.note($0) }
    let memory = try await MemoryStore(journal: journal, text: text, clock: clock)
    damage.finish()
    return (memory, journal, nil)
  }

  /// Loads places into an empty store from files, or from the bundled sample.
  func load(files: [String], logger: Logger) async throws {
    let rejections = Mutex(ImportReport())
    // A start has no report of warnings.
    let notes = ImportNotes(examinesRows: false)
    let onRejection: @Sendable (RejectedRow) -> Void = { row in rejections.withLock { $0.reject(row) } }
    var report: ImportReport
    if files == [Self.sampleName] {
      let parser = PointParser(format: .geoJSON)
      report = try await load(PointFileReader(BundledSample.chunks, parser: parser, onRejection: onRejection))
    } else {
      let places = PointFiles(
        try files.map { path in try PointFiles.File(path: path) }, requiresUsableRow: true, notes: notes,
        onRejection: onRejection)
      report = try await load(places)
    }
    report.add(rejections.withLock { $0 })
    report.locateRejections(notes.location)
    for row in report.rejections {
      var metadata: Logger.Metadata = ["row": .stringConvertible(row.number), "reason": "\(row.detail)"]
      if let file = row.location.file { metadata["file"] = "\(file)" }
      if let line = row.location.line { metadata["line"] = .stringConvertible(line) }
      logger.warning("a row was left out", metadata: metadata)
    }
    logger.info(
      "places were loaded",
      metadata: [
        "places": .stringConvertible(report.created), "rejected": .stringConvertible(report.rejected),
        "from": "\(files == [Self.sampleName] ? "the bundled sample" : files.joined(separator: ","))",
      ])
  }

  /// The name that stands for the bundled sample in `DATA_FILE`.
  static let sampleName = "sample"
}

/// The landmarks that come with the program.
private enum BundledSample {
  /// The sample's GeoJSON, in one chunk.
  static var chunks: AsyncStream<[UInt8]> {
    AsyncStream { continuation in
      continuation.yield(Array(UnsafeBufferPointer(start: waymark_sample_bytes(), count: waymark_sample_count())))
      continuation.finish()
    }
  }
}

/// The log lines of damaged rows that are left out of a file of kept places: one each for the first ones, then their
/// number.
private final class DamageReport: Sendable {
  /// The number of rows that have a line of their own.
  private static let maximumLines = 100

  private let path: String
  private let logger: Logger
  private let count = Mutex(0)

  init(path: String, logger: Logger) {
    self.path = path
    self.logger = logger
  }

  func note(_ damage: JournalDamage) {
    let number = count.withLock { count in
      count += 1
      return count
    }
    guard number <= Self.maximumLines else { return }
    logger.error("a damaged row was left out", metadata: ["path": "\(path)", "row": "\(damage)"])
  }

  func finish() {
    let count = count.withLock { $0 }
    guard count > 0 else { return }
    logger.error("damaged rows were left out", metadata: ["path": "\(path)", "rows": "\(count)"])
  }
}
