import ArgumentParser
import Foundation
import PlaceFormats
import Points
import PostgresStore
import Synchronization

/// `waymark import`: puts files of places into PostgreSQL.
struct ImportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Puts files of places into the database.",
    discussion: """
      Reads GeoJSON, GeoJSON text sequences, NDJSON and CSV. A place that is there already, by its id or by its source \
      and sourceId, is replaced where it differs. All goes in by one transaction: when the import is broken off, nothing \
      has been imported. Rows that break a rule are left out and reported by their numbers, which go on from file to file.

      Examples:
        waymark import places.geojson airports.csv
        curl -s https://example.org/places.ndjson | waymark import --format ndjson -
        waymark import --dry-run places.csv
      """
  )

  @OptionGroup var database: DatabaseOptions

  @Option(help: "geojson, geojsonseq, ndjson, csv or json. (default: what each file's name ends in)")
  var format: String?

  @Flag(help: "Only say what would be done.")
  var dryRun = false

  @Flag(help: "Import nothing when a row breaks a rule.")
  var atomic = false

  @Argument(help: "Files to import; - is the standard input.")
  var files: [String]

  func run() async throws {
    let configuration = try database.configuration()
    let files = try namedFiles()
    do {
      let store = try PostgresStore(
        configuration: try PostgresConfiguration(configuration),
        migrations: try Migration.all(inDirectory: configuration.migrationsPath))
      let report = try await importing(files, into: store)
      await store.shutDown()
      ImportSummary(report: report, isDryRun: dryRun).lines.forEach { print($0) }
    } catch let error as PointStoreError {
      throw Exit.because(error, didNothing: "nothing was imported")
    } catch let error as ConfigurationError {
      throw Exit.because(error, Exit.usage)
    } catch {
      throw Exit.because("\(error); nothing was imported", error is MigrationError ? Exit.failed : Exit.badData)
    }
  }

  private func namedFiles() throws -> [PlaceFiles.File] {
    do {
      guard let name = format else { return try files.map { path in try PlaceFiles.File(path: path) } }
      guard let format = PlaceFormat(name: name) else { throw Exit.unknownFormat(name) }
      return files.map { PlaceFiles.File(path: $0, format: format) }
    } catch let error as FileError {
      throw Exit.because("\(error) with --format", Exit.usage)
    }
  }

  private func importing(_ files: [PlaceFiles.File], into store: PostgresStore) async throws -> ImportReport {
    let rejections = Mutex(ImportReport())
    let sizes = files.map { file in
      (try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int) ?? nil
    }
    let total = sizes.contains { $0 == nil } ? nil : sizes.reduce(0) { $0 + ($1 ?? 0) }
    let reporter = ProgressReporter(totalBytes: total, isTerminal: StandardError.isTerminal)
    defer { reporter.finish() }
    let places = PlaceFiles(
      files, onRejection: { row in rejections.withLock { $0.reject(row) } },
      onProgress: { reporter.report(path: $0.path, bytesOfFile: $0.bytesRead, rows: $0.rows) })
    var report: ImportReport
    if atomic {
      let all = AllOrNothing(places) { rejections.withLock { $0.rejections.first } }
      report = try await store.importRows(all, mode: .atomic, dryRun: dryRun)
      if let first = report.rejections.first { throw RejectedImport(row: first) }
    } else {
      report = try await store.importRows(places, mode: .partial, dryRun: dryRun)
    }
    report.add(rejections.withLock { $0 })
    return report
  }
}
