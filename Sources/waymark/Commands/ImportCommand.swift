import ArgumentParser
import Foundation
import Hosting
import OpenStreetMap
import PointFormats
import PointMapping
import Points
import PostgresClient
import PostgresStore
import ServerFeatures
import TextFiles

/// `waymark import`: imports files of places into PostgreSQL, or sends them to a server.
struct ImportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Imports files of places into the database, or sends them to a server.",
    discussion: """
      Reads GeoJSON, GeoJSON text sequences, NDJSON and CSV, also compressed with gzip, and OpenStreetMap's files: \
      .osm.pbf, .osm, and changes in .osc. Of another file it says what the file is and the command that converts it. \
      A place that exists already, by its id or by its source and sourceId, is replaced where it differs. The import \
      is one transaction: when it is interrupted, nothing has been imported. Invalid rows are rejected and reported by \
      file and line; rows are numbered over all files. Exits with 65 where rows were rejected and none was accepted, \
      and with --strict where any was rejected or coordinates are implausible: 0, 0, swapped, whole degrees, or one \
      for many rows, of which warnings say the number and examples.

      A row without an id, and without source and sourceId, is a new place each time. --source NAME uses its id in its \
      own data set as the sourceId, so that importing the file again updates its place.

      --mapping says how the fields of another data set become places. --replace-source NAME also deletes the places of \
      a source that the files no longer have, at most a fifth of them unless --max-deletions allows more. The place of a \
      rejected row is kept if the row has its id; otherwise the row counts as one deletion more.

      Fields and tags of a source's places that were changed by requests keep their values, and places that were deleted \
      by requests stay deleted; the summary counts both. Where the source has changed such a field too, --conflicts \
      source takes its value.

      --areas imports named areas instead: GeoJSON, GeoJSON text sequences and NDJSON of polygons, and the named \
      boundaries of OpenStreetMap's files. --source, --id-field, --replace-source and --licence are as for places, but \
      --replace-source does not keep the area of a rejected row.

      With --url the files go to a running server, whatever its store: one request and one transaction for each file, \
      or for all with a mapping, --bbox, --polygon, --areas or files of OpenStreetMap.

      Examples:
        waymark import town.osm.pbf
        waymark import --replace-source osm --dry-run town.osm.pbf
        waymark import --mapping overture --min-confidence 0.5 places.geojsonseq
        waymark import places.geojson airports.csv
        curl -s https://example.org/places.ndjson | waymark import --format ndjson -
        waymark import --areas town.osm.pbf
        waymark import --source stops --id-field stop_id stops.csv
        waymark import --url https://places.example.org --api-key wm_… places.csv
      """
  )

  @OptionGroup var database: SettingOptions<DatabaseSettings>

  @OptionGroup var server: ClientOptions

  @Option(help: "geojson, geojsonseq, ndjson, csv or json. (default: by each file's name or content)")
  var format: String?

  @Option(
    help: ArgumentHelp(
      "Encoding of the files, such as windows-1250, ISO-8859-2 or Shift_JIS. (default: by each file's content)",
      valueName: "name"))
  var charset: String?

  @Flag(help: "Import named areas, with their geometries, instead of places.")
  var areas = false

  @Flag(help: "Report what would be done, and change nothing.")
  var dryRun = false

  @Flag(help: "Import nothing when a row is invalid.")
  var atomic = false

  @Flag(
    help: """
      Import into an empty table of the role's own, and create its indexes after that: faster for millions of rows. \
      Nobody reads or writes places meanwhile.
      """)
  var exclusive = false

  @Flag(
    help: """
      Exit with 65 when any row was rejected or coordinates are implausible; the others are imported all the same. With \
      --replace-source, nothing is imported when a row is rejected.
      """)
  var strict = false

  @Option(
    help: ArgumentHelp("Delete the places of this source that the files do not have.", valueName: "name"))
  var replaceSource: String?

  @Option(
    help: ArgumentHelp(
      "Import nothing if --replace-source would delete more places: a number, or a percentage of the source's places.",
      discussion:
        "A percentage allows \(DeletionLimit.smallestShare) in any case. (default: \(DeletionLimit.standard))",
      valueName: "limit"))
  var maxDeletions: String?

  @OptionGroup(title: "Edited places") var edits: EditOptions

  @OptionGroup var rows: RowOptionFlags

  @OptionGroup(title: "Foreign data sets") var mapping: MappingOptions

  @OptionGroup(title: "Area") var area: AreaOptions

  @Argument(help: "Files to import; - is the standard input.")
  var files: [String] = []

  func validate() throws {
    if files.isEmpty, mapping.printMapping == nil { throw ValidationError("Missing expected argument '<files> ...'") }
  }

  func run() async throws {
    if let name = mapping.printMapping { return try printMapping(named: name) }
    if areas { return try await importAreas() }
    let input = try input()
    let notes = ImportNotes()
    let report: ImportReport
    if let target = try server.target() {
      report = try await send(input, to: target, notes)
    } else {
      report = try await importIntoDatabase(input, notes)
    }
    let summary = ImportSummary(report: report, isDryRun: dryRun)
    (summary.lines + input.counts.lines).forEach { StandardOutput.print($0) }
    if report.rejected > 0, report.accepted == 0 { throw Exit.because("no row could be used", Exit.badData) }
    if report.rejected > 0, strict { throw Exit.because("rows were rejected, which --strict forbids", Exit.badData) }
    if notes.implausibleWarnings > 0, strict {
      throw Exit.because("coordinates are implausible, which --strict forbids", Exit.badData)
    }
  }

  private func printMapping(named name: String) throws {
    guard let text = BuiltInMappings.text(named: name) else {
      let names = BuiltInMappings.names.joined(separator: ", ")
      throw Exit.because("--print-mapping must be one of \(names), got '\(name)'", Exit.usage)
    }
    print(text, terminator: "")
  }

  // MARK: Input

  private func input() throws -> ImportInput {
    let maps = files.filter { OSMFile.Format(fileName: $0) != nil }
    guard maps.isEmpty || maps.count == files.count else {
      throw Exit.because("files of OpenStreetMap and others can't be imported together", Exit.usage)
    }
    let mapping = try mapping.configured(fallback: maps.isEmpty ? nil : "osm", rows: rows)
    let options = try rows.options()
    let sources = try self.mapping.sources(mapping, source: options.source ?? replaceSource)
    let removal = try removal()
    let contents: ImportInput.Contents
    if let mapping, !maps.isEmpty {
      contents = try area.contents(maps, mapping)
      if case .changes = contents, removal != nil {
        throw Exit.because("--replace-source does not go with change files", Exit.usage)
      }
    } else {
      contents = .files(try namedFiles(), try area.selection())
    }
    if charset != nil, !maps.isEmpty {
      throw Exit.because("--charset does not go with files of OpenStreetMap", Exit.usage)
    }
    return ImportInput(
      contents: contents, mapping: mapping, options: options, charset: try textCharset(), sources: sources,
      removal: removal, conflicts: try edits.policy(), assumeEditedSince: try edits.time())
  }

  private func textCharset() throws -> TextCharset? {
    guard let charset else { return nil }
    if let known = TextCharset(named: charset) { return known }
    throw Exit.because("--charset must be one of \(TextCharset.names), got '\(charset)'", Exit.usage)
  }

  /// Returns the places to delete: those of the source to replace that no row means.
  func removal() throws -> ImportRemoval? {
    guard let name = replaceSource else {
      if maxDeletions != nil { throw Exit.because("--max-deletions needs --replace-source", Exit.usage) }
      return nil
    }
    guard (try? RowOptions(source: name)) != nil else {
      throw Exit.because("--replace-source '\(name)' is no name of a source", Exit.usage)
    }
    guard let maxDeletions else { return .others(source: name) }
    guard let limit = DeletionLimit(maxDeletions) else {
      throw Exit.because(
        "--max-deletions must be a number of places, or a percentage from 0% to 100%, got '\(maxDeletions)'",
        Exit.usage)
    }
    return .others(source: name, limit: limit)
  }

  private func namedFiles() throws -> [PointFiles.File] {
    guard let name = format else { return files.map { PointFiles.File(named: $0) } }
    guard let format = PointFormat(name: name) else { throw Exit.unknownFormat(name) }
    return files.map { PointFiles.File(path: $0, format: format) }
  }

  /// A Boolean value that indicates whether nothing is imported if a row is rejected.
  var takesAllOrNothing: Bool { atomic || strict && replaceSource != nil }

  private func options(_ input: ImportInput) -> ImportOptions {
    var options = ImportOptions(
      mode: takesAllOrNothing ? .atomic : .partial, dryRun: dryRun, removal: input.removal,
      sources: input.sources, isExclusive: exclusive)
    options.conflicts = input.conflicts
    options.assumeEditedSince = input.assumeEditedSince
    return options
  }

  // MARK: Server

  private func send(_ input: ImportInput, to target: ServerTarget, _ notes: ImportNotes) async throws -> ImportReport {
    guard !database.namesDatabase else {
      throw Exit.because("--url and --database-url can't be given both", Exit.usage)
    }
    if exclusive { throw Exit.because("--exclusive needs a database, not --url", Exit.usage) }
    if case .changes = input.contents { throw Exit.because("change files need a database, not --url", Exit.usage) }
    let reporter = reporter(of: files)
    defer { reporter.finish() }
    // Rows that are parsed here have their fields under a place's own names.
    let server = ImportServer(
      target, options(input), rows: input.isSentAsFiles ? input.options : .standard, charset: input.charset,
      notes: notes,
      onProgress: { path, bytes in reporter.report(path: path, bytesOfFile: bytes, rows: nil) },
      onWarning: { warning in
        reporter.finish()
        StandardError.warn(warning)
      })
    do {
      guard case .files(let files, _) = input.contents, input.isSentAsFiles else {
        let rejections = RejectedRows(notesPlaces: input.removal != nil)
        let batches = input.batches(notes: notes, reporter: reporter, onRejection: { rejections.reject($0) })
        var report = try await server.importing(batches, rejections)
        reporter.finish()
        notes.warnings.forEach { StandardError.warn($0) }
        report.locateRejections(notes.location)
        return report
      }
      guard files.count == 1 || !takesAllOrNothing && replaceSource == nil else {
        let option = atomic ? "--atomic" : "--replace-source"
        throw Exit.because("\(option) with --url takes one file, as each is sent by itself", Exit.usage)
      }
      return try await server.importing(files)
    } catch let error as ImportServerError {
      reporter.finish()
      throw Exit.because(error, error.exitCode)
    }
  }

  // MARK: Database

  private func importIntoDatabase(_ input: ImportInput, _ notes: ImportNotes) async throws -> ImportReport {
    let configuration = try database.configuration()
    do {
      let store = try configuration.makeStore()
      // Before the files are parsed, which may take a while.
      try await store.checkReadiness()
      let report = try await importing(input, into: store, notes)
      await store.shutDown()
      return report
    } catch let error as PointStoreError {
      throw Exit.because(error, didNothing: "nothing was imported")
    } catch let error as ConfigurationError {
      throw Exit.because(error, Exit.usage)
    } catch let error as RejectedImport {
      throw Exit.because(ImportSummary.rejection(of: error.report), Exit.badData)
    } catch let error as TooManyDeletions {
      throw Exit.because("\(error); nothing was imported; --max-deletions allows more", Exit.badData)
    } catch {
      throw Exit.because("\(error); nothing was imported", error is MigrationError ? Exit.failed : Exit.badData)
    }
  }

  private func importing(
    _ input: ImportInput, into store: PostgresStore, _ notes: ImportNotes
  ) async throws -> ImportReport {
    let rejections = RejectedRows(notesPlaces: input.removal != nil)
    let reporter = reporter(of: files)
    defer { reporter.finish() }
    var options = options(input)
    options.rejected = { rejections.places }
    let onRejection: @Sendable (RejectedRow) -> Void = { rejections.reject($0) }
    var batches = input.batches(notes: notes, reporter: reporter, onRejection: onRejection)
    if case .changes(let files, let selection) = input.contents, let mapping = input.mapping {
      let changes = OSMChanges(mapping: mapping, onRejection: onRejection)
      for file in files { try await changes.read(file, selection, reporter: reporter) }
      try await changes.findPositions(in: store)
      let rows = changes.rows()
      batches = RowBatches {
        var rows = RowBatches(counting: input.counts, rows).makeAsyncIterator()
        return {
          let batch = try await rows.next()
          if let batch { notes.note(batch) }
          return batch
        }
      }
      options.removal = changes.removal
    }
    var report: ImportReport
    if options.mode == .atomic {
      let all = AllOrNothing(batches) { rejections.report }
      report = try await store.importRows(all, options: options)
      guard report.rejected == 0 else {
        report.locateRejections(notes.location)
        throw RejectedImport(report: report)
      }
    } else {
      report = try await store.importRows(batches, options: options)
    }
    report.add(rejections.report)
    report.locateRejections(notes.location)
    reporter.finish()
    notes.warnings.forEach { StandardError.warn($0) }
    if let warning = notes.keyWarning { StandardError.warn("\(warning) (--source and --id-field)") }
    return report
  }

  func reporter(of paths: [String]) -> ProgressReporter {
    let sizes = paths.map { path in
      (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? nil
    }
    let total = sizes.contains { $0 == nil } ? nil : sizes.reduce(0) { $0 + ($1 ?? 0) }
    return ProgressReporter(totalBytes: total, isTerminal: StandardError.isTerminal)
  }
}

/// The options of `waymark import` for places that were edited.
struct EditOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Values of fields that were edited and that the source has changed since: edits or source. (default: edits)",
      valueName: "edits|source"))
  var conflicts: String?

  @Option(
    help: ArgumentHelp(
      "Take fields that differ from the files as edited, of places whose last change is not before this time.",
      discussion: "For changes of the time before the service kept edits. Places with edits are left out.",
      valueName: "time"))
  var assumeEditedSince: String?

  /// Returns the treatment of conflicts.
  ///
  /// - Throws: the exit code 64 for an invalid value, after an error message.
  func policy() throws -> ConflictPolicy {
    guard let conflicts else { return .edits }
    guard let policy = ConflictPolicy(rawValue: conflicts.lowercased()) else {
      throw Exit.because("--conflicts must be edits or source, got '\(conflicts)'", Exit.usage)
    }
    return policy
  }

  /// Returns the time from which changes are taken as edits; `nil` if none are.
  ///
  /// - Throws: the exit code 64 for an invalid value, after an error message.
  func time() throws -> Timestamp? {
    guard let text = assumeEditedSince else { return nil }
    guard let time = Timestamp(rfc3339: text) else {
      throw Exit.because(
        "--assume-edited-since must be a time such as 2026-11-21T10:15:00Z, got '\(text)'", Exit.usage)
    }
    return time
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

  @Option(help: ArgumentHelp("Member or column that is the name. (default: name)", valueName: "name"))
  var nameField: String?

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
      return try RowOptions(unknownFields: unknown, source: source, idField: idField, nameField: nameField)
    } catch {
      switch error {
      case .source(let detail): throw Exit.because("--source '\(source ?? "")': \(detail)", Exit.usage)
      case .idField("needs a source"): throw Exit.because("--id-field needs --source", Exit.usage)
      case .nameField(let detail): throw Exit.because("--name-field '\(nameField ?? "")': \(detail)", Exit.usage)
      case .idField(let detail): throw Exit.because("--id-field '\(idField ?? "")': \(detail)", Exit.usage)
      }
    }
  }
}

/// The report of an import in words.
struct ImportSummary {
  let report: ImportReport
  let isDryRun: Bool

  /// A line of counts, one for the edits that were kept, if any, then one for each rejection with details.
  var lines: [String] {
    let rows = report.created + report.updated + report.unchanged + report.rejected
    let deleted = report.deleted.map { "\($0) deleted, " } ?? ""
    let kept = report.kept > 0 ? "\(report.kept) kept, " : ""
    let counts = "\(report.created) created, \(report.updated) updated, \(report.unchanged) unchanged, "
    var lines = [
      "\(rows) rows: \(counts)\(deleted)\(kept)\(report.rejected) rejected\(isDryRun ? " (dry run: nothing was changed)" : "")"
    ]
    if report.keptEdits > 0 {
      let places = report.keptEdits == 1 ? "1 place keeps" : "\(report.keptEdits) places keep"
      lines.append("edits: \(places) them, \(report.conflicts) in a new conflict with the source")
    }
    lines += Self.lines(of: report)
    return lines
  }

  /// Returns the explanation for an import that took nothing because rows are invalid: a line, then one for each of
  /// them.
  static func rejection(of report: ImportReport) -> String {
    let isCut = report.rejected >= ImportReport.maximumRejections
    let count = "\(isCut ? "at least " : "")\(report.rejected) \(report.rejected == 1 ? "row is" : "rows are") invalid"
    return (["\(count); nothing was imported"] + lines(of: report)).joined(separator: "\n")
  }

  private static func lines(of report: ImportReport) -> [String] {
    var lines = report.rejections.map { row in
      let location = row.location.description
      return "row \(row.number)\(location.isEmpty ? "" : " (\(location))"): \(row.detail)".escapingControls()
    }
    let more = report.rejected - report.rejections.count
    if more > 0 { lines.append("and \(more) more rows") }
    return lines
  }
}
