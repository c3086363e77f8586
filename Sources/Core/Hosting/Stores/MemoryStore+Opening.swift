import CBundledSample
import Logging
package import MemoryStore
import PointFormats
import Points
import Synchronization

extension MemoryStore {
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
  package static let sampleName = "sample"
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
