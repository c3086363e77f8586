import ArgumentParser
import Foundation
import PointFormats
import Points
import PostgresStore
import Synchronization

/// `waymark import`: imports files of places into PostgreSQL, or sends them to a server.
struct ImportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Imports files of places into the database, or sends them to a server.",
    discussion: """
      Reads GeoJSON, GeoJSON text sequences, NDJSON and CSV. A place that exists already, by its id or by its source and \
      sourceId, is replaced where it differs. The import is one transaction: when it is interrupted, nothing has been \
      imported. Invalid rows are rejected and reported by file and line; rows are numbered over all files. Exits with 65 \
      where rows were rejected and none was accepted, and with --strict where any was rejected.

      A row without an id, and without source and sourceId, is a new place each time. --source NAME uses its id in its \
      own data set as the sourceId, so that importing the file again updates its place.

      With --url the files go to a running server, whatever its store: one request and one transaction for each file.

      Examples:
        waymark import places.geojson airports.csv
        curl -s https://example.org/places.ndjson | waymark import --format ndjson -
        waymark import --dry-run places.csv
        waymark import --source stops --id-field stop_id stops.csv
        waymark import --url https://places.example.org --api-key wm_… places.csv
      """
  )

  @OptionGroup var database: SettingOptions<DatabaseSettings>

  @OptionGroup var server: ClientOptions

  @Option(help: "geojson, geojsonseq, ndjson, csv or json. (default: what each file's name ends in)")
  var format: String?

  @Flag(help: "Report what would be done, and change nothing.")
  var dryRun = false

  @Flag(help: "Import nothing when a row is invalid.")
  var atomic = false

  @Flag(help: "Exit with 65 when any row was rejected; the others are imported all the same.")
  var strict = false

  @OptionGroup var rows: RowOptionFlags

  @Argument(help: "Files to import; - is the standard input.")
  var files: [String]

  func run() async throws {
    let files = try namedFiles()
    let options = try rows.options()
    let report: ImportReport
    if let target = try server.target() {
      report = try await send(files, to: target, options)
    } else {
      report = try await importIntoDatabase(files, options)
    }
    ImportSummary(report: report, isDryRun: dryRun).lines.forEach { print($0) }
    if report.rejected > 0, report.accepted == 0 { throw Exit.because("no row could be used", Exit.badData) }
    if report.rejected > 0, strict { throw Exit.because("rows were rejected, which --strict forbids", Exit.badData) }
  }

  private func send(
    _ files: [PointFiles.File], to target: ServerTarget, _ options: RowOptions
  ) async throws -> ImportReport {
    guard !database.namesDatabase else {
      throw Exit.because("--url and --database-url can't be given both", Exit.usage)
    }
    guard files.count == 1 || !atomic else {
      throw Exit.because("--atomic with --url takes one file, as each is sent by itself", Exit.usage)
    }
    let reporter = reporter(of: files)
    defer { reporter.finish() }
    let server = ImportServer(
      target, isAtomic: atomic, isDryRun: dryRun, options: options,
      onProgress: { path, bytes in reporter.report(path: path, bytesOfFile: bytes, rows: nil) },
      onWarning: { warning in
        reporter.finish()
        StandardError.warn(warning)
      })
    do {
      return try await server.importing(files)
    } catch {
      reporter.finish()
      throw Exit.because(error, error.exitCode)
    }
  }

  private func importIntoDatabase(_ files: [PointFiles.File], _ options: RowOptions) async throws -> ImportReport {
    let configuration = try database.configuration()
    do {
      let store = try PostgresStore(
        configuration: try PostgresConfiguration(configuration),
        migrations: try Migration.all(inDirectory: configuration.migrationsPath))
      // Before the files are parsed, which may take a while.
      try await store.checkReadiness()
      let report = try await importing(files, options, into: store)
      await store.shutDown()
      return report
    } catch let error as PointStoreError {
      throw Exit.because(error, didNothing: "nothing was imported")
    } catch let error as ConfigurationError {
      throw Exit.because(error, Exit.usage)
    } catch let error as RejectedImport {
      throw Exit.because(ImportSummary.rejection(of: error.report), Exit.badData)
    } catch {
      throw Exit.because("\(error); nothing was imported", error is MigrationError ? Exit.failed : Exit.badData)
    }
  }

  private func namedFiles() throws -> [PointFiles.File] {
    do {
      guard let name = format else { return try files.map { path in try PointFiles.File(path: path) } }
      guard let format = PointFormat(name: name) else { throw Exit.unknownFormat(name) }
      return files.map { PointFiles.File(path: $0, format: format) }
    } catch let error as FileError {
      throw Exit.because("\(error) with --format", Exit.usage)
    }
  }

  private func importing(
    _ files: [PointFiles.File], _ options: RowOptions, into store: PostgresStore
  ) async throws -> ImportReport {
    let rejections = Mutex(ImportReport())
    let notes = ImportNotes()
    let reporter = reporter(of: files)
    defer { reporter.finish() }
    let places = PointFiles(
      files, options: options, notes: notes, onRejection: { row in rejections.withLock { $0.reject(row) } },
      onProgress: { reporter.report(path: $0.path, bytesOfFile: $0.bytesRead, rows: $0.rows) })
    var report: ImportReport
    if atomic {
      let all = AllOrNothing(places) { rejections.withLock { $0 } }
      report = try await store.importRows(all, mode: .atomic, dryRun: dryRun)
      guard report.rejected == 0 else {
        report.locateRejections(notes.location)
        throw RejectedImport(report: report)
      }
    } else {
      report = try await store.importRows(places, mode: .partial, dryRun: dryRun)
    }
    report.add(rejections.withLock { $0 })
    report.locateRejections(notes.location)
    if let warning = notes.keyWarning {
      reporter.finish()
      StandardError.warn("\(warning) (--source and --id-field)")
    }
    return report
  }

  private func reporter(of files: [PointFiles.File]) -> ProgressReporter {
    let sizes = files.map { file in
      (try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int) ?? nil
    }
    let total = sizes.contains { $0 == nil } ? nil : sizes.reduce(0) { $0 + ($1 ?? 0) }
    return ProgressReporter(totalBytes: total, isTerminal: StandardError.isTerminal)
  }
}

/// The options of `waymark import` for the parsing of rows.
struct RowOptionFlags: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Source of the rows that do not name their own; each row's id becomes its sourceId.", valueName: "name"))
  var source: String?

  @Option(
    help: ArgumentHelp(
      "Member or column that is the sourceId with --source. (default: a Feature's id, id or sourceId)",
      valueName: "name"))
  var idField: String?

  @Option(help: "tags: members and columns that are not fields of a place become tags; reject: they are errors.")
  var unknownFields = "tags"

  /// Returns the options.
  ///
  /// - Throws: the exit code 64 for an invalid value, after an error message.
  func options() throws -> RowOptions {
    guard let unknown = RowOptions.UnknownFields(rawValue: unknownFields.lowercased()) else {
      throw Exit.because("--unknown-fields must be tags or reject, got '\(unknownFields)'", Exit.usage)
    }
    do {
      return try RowOptions(unknownFields: unknown, source: source, idField: idField)
    } catch {
      switch error {
      case .source(let detail): throw Exit.because("--source '\(source ?? "")': \(detail)", Exit.usage)
      case .idField("needs a source"): throw Exit.because("--id-field needs --source", Exit.usage)
      case .idField(let detail): throw Exit.because("--id-field '\(idField ?? "")': \(detail)", Exit.usage)
      }
    }
  }
}
