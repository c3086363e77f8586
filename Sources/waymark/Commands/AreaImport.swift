import ArgumentParser
import Foundation
import Geo
import Hosting
import JSONText
import OpenStreetMap
import PointFormats
import Points
import PostgresClient
import PostgresStore
import ServerFeatures
import TextFiles

extension ImportCommand {
  /// Imports areas, all in one transaction.
  func importAreas() async throws {
    try checkOptionsOfAreas()
    let options = try rows.options()
    let sources = try sourcesOfAreas(options)
    let reader = AreaFiles(options: options)
    var read: (rows: [AreaRow], report: ImportReport)
    do {
      read = try await reader.read(files, format: try areaFormat(), reporter: reporter(of: files))
    } catch let error as FileError {
      throw Exit.because("\(error); nothing was imported", Exit.badData)
    }
    let mode: ImportMode = takesAllOrNothing ? .atomic : .partial
    let removal = try removal()
    if let warning = AreaRows.keyWarning(keylessRows: reader.keylessRows) {
      StandardError.warn("\(warning) (--source and --id-field)")
    }
    if takesAllOrNothing, read.report.rejected > 0 {
      throw Exit.because(ImportSummary.rejection(of: read.report), Exit.badData)
    }
    var report: ImportReport
    if let target = try server.target() {
      guard !database.namesDatabase else {
        throw Exit.because("--url and --database-url can't be given both", Exit.usage)
      }
      do throws(ImportServerError) {
        let server = ImportServer(
          target, path: "/areas/import",
          ImportOptions(mode: mode, dryRun: dryRun, removal: removal, sources: sources), rows: .standard,
          notes: ImportNotes(), onProgress: { _, _ in }, onWarning: { StandardError.warn($0) })
        report = try await server.importing(read.rows)
      } catch {
        throw Exit.because(error, error.exitCode)
      }
    } else {
      report = try await store(
        read.rows, ImportOptions(mode: mode, dryRun: dryRun, removal: removal, sources: sources))
    }
    report.add(read.report)
    if takesAllOrNothing, report.rejected > 0 { throw Exit.because(ImportSummary.rejection(of: report), Exit.badData) }
    (ImportSummary(report: report, isDryRun: dryRun).lines + reader.skipped).forEach { StandardOutput.print($0) }
    if report.rejected > 0, report.accepted == 0 { throw Exit.because("no row could be used", Exit.badData) }
    if report.rejected > 0, strict { throw Exit.because("rows were rejected, which --strict forbids", Exit.badData) }
  }

  /// Returns the data sets to register.
  private func sourcesOfAreas(_ options: RowOptions) throws -> [DataSource] {
    let maps = files.count { OSMFile.Format(fileName: $0) != nil }
    if maps > 0, maps < files.count, options.source == nil {
      throw Exit.because("files of OpenStreetMap and others can be imported together with --source only", Exit.usage)
    }
    if options.nameField != nil { throw Exit.because("--name-field does not go with --areas", Exit.usage) }
    if maps > 0, options.idField != nil {
      throw Exit.because("--id-field does not go with files of OpenStreetMap", Exit.usage)
    }
    let mapping = try mapping.configured(fallback: maps > 0 ? "osm" : nil, rows: rows)
    return try self.mapping.sources(mapping, source: options.source)
  }

  private func store(_ rows: [AreaRow], _ options: ImportOptions) async throws -> ImportReport {
    let configuration = try database.configuration()
    do {
      let store = try configuration.makeStore()
      try await store.checkReadiness()
      let report = try await AreaEditor(PostgresAreas(store)).importRows(
        rows, mode: options.mode, dryRun: options.dryRun,
        replacing: options.removal.flatMap { removal in removal.limit.map { (removal.source, $0) } })
      if !options.dryRun, report.accepted > 0 { try await store.register(options.namedSources) }
      await store.shutDown()
      return report
    } catch PointWriteError.store(let error) {
      throw Exit.because(error, didNothing: "nothing was imported")
    } catch let error as PointStoreError {
      throw Exit.because(error, didNothing: "nothing was imported")
    } catch let error as ConfigurationError {
      throw Exit.because(error, Exit.usage)
    } catch let error as TooManyDeletions {
      throw Exit.because("\(error); nothing was imported; --max-deletions allows more", Exit.badData)
    } catch let error as EmptyReplacement {
      throw Exit.because("\(error); nothing was imported", Exit.badData)
    } catch {
      throw Exit.because("\(error); nothing was imported", Exit.failed)
    }
  }

  private func areaFormat() throws -> PointFormat? {
    guard let name = format else { return nil }
    guard let format = PointFormat(name: name) else { throw Exit.unknownFormat(name) }
    return format
  }

  private func checkOptionsOfAreas() throws {
    let others = [
      exclusive ? "--exclusive" : nil, charset == nil ? nil : "--charset",
      edits.conflicts == nil ? nil : "--conflicts", edits.assumeEditedSince == nil ? nil : "--assume-edited-since",
      rows.unknownFields == "tags" ? nil : "--unknown-fields", mapping.mapping == nil ? nil : "--mapping",
      area.bbox == nil ? nil : "--bbox", area.polygon == nil ? nil : "--polygon",
    ].compactMap(\.self)
    if let option = others.first { throw Exit.because("\(option) does not go with --areas", Exit.usage) }
  }
}

/// A reader of the areas of files.
final class AreaFiles {
  private let options: RowOptions

  /// The lines about boundaries that are left out.
  private(set) var skipped: [String] = []

  /// The number of rows that have neither an id nor an origin.
  private(set) var keylessRows = 0

  /// Creates a reader.
  ///
  /// - Parameter options: the data set of the rows that name none, `osm` for OpenStreetMap's without it, and the member
  ///   that is the `sourceId` in it.
  init(options: RowOptions) { self.options = options }

  /// Returns the rows of files, numbered over all, and those that are rejected.
  ///
  /// - Throws: ``FileError``.
  func read(
    _ paths: [String], format: PointFormat?, reporter: ProgressReporter
  ) async throws -> (rows: [AreaRow], report: ImportReport) {
    defer { reporter.finish() }
    var (rows, report, lastRow): ([AreaRow], ImportReport, Int) = ([], ImportReport(), 0)
    for path in paths {
      if let mapFormat = OSMFile.Format(fileName: path) {
        try readMap(OSMFile(path: path, format: mapFormat), after: &lastRow, into: &rows, &report, reporter)
        continue
      }
      let text = try await text(of: path)
      let format = format ?? Self.format(of: path, text)
      do throws(FormatError) {
        let found = try text.withUnsafeBufferPointer { bytes throws(FormatError) in
          try AreaRows(bytes, format: format, firstRow: lastRow + 1, options: options)
        }
        keylessRows += found.keylessRows
        rows += found.rows
        var rejections = found.report
        rejections.locateRejections { _ in RowLocation(file: path) }
        report.add(rejections)
        lastRow = found.lastRow
      } catch {
        throw FileError(path: path, reason: error.reason)
      }
    }
    return (rows, report)
  }

  private func text(of path: String) async throws -> [UInt8] {
    var (file, text): (FileText, [UInt8]) = (FileText(path: path, archives: .tables), [])
    do {
      while let chunk = try await file.next() { text += chunk }
    } catch let error as FileError {
      throw error
    } catch {
      throw FileError(path: path, reason: "the file \(error)")
    }
    // Of a byte-order mark.
    return text.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(text.dropFirst(3)) : text
  }

  /// Returns the format that a file's name or text says.
  private static func format(of path: String, _ text: [UInt8]) -> PointFormat {
    if let format = PointFormat(fileName: path) { return format }
    if text.first == 0x1E { return .geoJSONSequence }
    // The first line of a text of lines is a value of its own.
    let line = text.prefix { $0 != UInt8(ascii: "\n") }
    return (try? JSONReader.value(of: line)) != nil && line.count < text.count - 1 ? .ndjson : .geoJSON
  }

  // MARK: OpenStreetMap

  /// The boundaries of administrations and postal codes, and other named ones.
  private static let boundaries = [
    OSMTagFilter("boundary", isForNamed: true), OSMTagFilter("boundary", ["postal_code"]),
  ]

  private func readMap(
    _ file: OSMFile, after lastRow: inout Int, into rows: inout [AreaRow], _ report: inout ImportReport,
    _ reporter: ProgressReporter
  ) throws {
    var selection = OSMSelection(filters: Self.boundaries, kinds: [.relation])
    selection.keepsOutlines = true
    do throws(OSMError) {
      let reader = try file.places(selection, onProgress: { reporter.report($0) })
      while let places = try reader.next() {
        for place in places {
          guard let outline = place.outline else { continue }
          lastRow += 1
          do throws(AreaRejection) {
            rows.append(try row(lastRow, of: place, outline))
          } catch {
            let detail = "relation/\(place.id)\(place["name"].map { " (\($0))" } ?? ""): \(error.reason)"
            report.reject(
              RejectedRow(number: lastRow, detail: detail, location: RowLocation(file: file.path)))
          }
        }
      }
      for (reason, count) in reader.report.skipped where count > 0 {
        skipped.append("\(file.path): \(count) boundaries left out: \(reason.explanation)")
      }
    } catch {
      throw FileError(path: file.path, reason: error.description)
    }
  }

  private struct AreaRejection: Error {
    let reason: String
  }

  private func row(
    _ number: Int, of place: OSMPlace, _ outline: OSMOutline
  ) throws(AreaRejection) -> AreaRow {
    if outline.missingWays > 0 {
      let ways = outline.missingWays == 1 ? "1 member is" : "\(outline.missingWays) members are"
      throw AreaRejection(reason: "\(ways) not in the file, or without nodes there")
    }
    if outline.polygons.isEmpty || outline.openWays > 0 {
      throw AreaRejection(reason: "its members do not join to closed rings: \(outline.openWays) are left")
    }
    var polygons: [[[Coordinate]]] = []
    for polygon in outline.polygons {
      polygons.append(
        polygon.map { $0.compactMap { try? Coordinate(latitude: $0.latitude, longitude: $0.longitude) } })
    }
    do throws(InvalidPoint) {
      let document = try AreaDocument(
        boundary: place.tags.map { ($0.key, $0.value) }, id: "relation/\(place.id)", source: options.source ?? "osm",
        polygons: polygons)
      return AreaRow(number: number, id: nil, draft: document.draft)
    } catch {
      throw AreaRejection(reason: error.description)
    }
  }
}
