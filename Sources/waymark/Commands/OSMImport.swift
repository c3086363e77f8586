import ArgumentParser
import Dispatch
import Foundation
import Geo
import JSONText
import OpenStreetMap
import PointFormats
import PointMapping
import Points
import PostgresStore
import ServerFeatures
import Synchronization
import TextFiles

/// The options of `waymark import` for the area of the places.
struct AreaOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Take only places in this box, in degrees.", valueName: "west,south,east,north"))
  var bbox: String?

  @Option(help: ArgumentHelp("Take only places in the polygons of this GeoJSON file.", valueName: "file"))
  var polygon: String?

  /// Returns the selection of the area.
  ///
  /// - Throws: an exit code for an invalid value or file, after an error message.
  func selection(_ filters: [OSMTagFilter] = []) throws -> OSMSelection {
    var selection = OSMSelection(filters: filters, box: try bbox.map { try BoundingBox(option: $0) })
    if let polygon { selection.area = try Self.area(polygon) }
    return selection
  }

  /// Returns OpenStreetMap's files with the selection of their objects.
  ///
  /// - Throws: an exit code for an invalid value or file, after an error message.
  func contents(_ paths: [String], _ mapping: Mapping) throws -> ImportInput.Contents {
    let selection = try selection(
      mapping.requiredFields.map { OSMTagFilter($0.name, $0.values, isForNamed: $0.isForNamed) })
    let files: [OSMFile]
    do {
      files = try paths.map { path throws(OSMError) in try OSMFile(path: path) }
    } catch {
      throw Exit.because(error, Exit.usage)
    }
    let changes = files.count { $0.format == .changes }
    guard changes == 0 || changes == files.count else {
      throw Exit.because("change files and others can't be imported together", Exit.usage)
    }
    return changes > 0 ? .changes(files, selection) : .map(files, selection)
  }

  private static func area(_ path: String) throws -> OSMArea {
    guard let text = FileManager.default.contents(atPath: path) else {
      throw Exit.because("\(path): can't be read", Exit.badData)
    }
    do {
      return try OSMArea(geoJSON: Array(text))
    } catch {
      throw Exit.because("\(path) \(error)", Exit.badData)
    }
  }
}

/// A reader of the rows of OpenStreetMap's files, on a thread of its own queue, as reading blocks.
///
/// Unchecked: the mutable properties are accessed on the serial queue alone.
final class OSMRowReader: @unchecked Sendable {
  private let queue = DispatchQueue(label: "waymark.osm-reading")
  private let selection: OSMSelection
  private let mapping: Mapping
  private let counts: ImportCounts
  private let reporter: ProgressReporter
  private let onRejection: @Sendable (RejectedRow) -> Void
  private var files: ArraySlice<OSMFile>
  private var reader: OSMPlaceReader?
  private var rowNumber = 0
  private var pieces = LinePieces()
  private var joinedRows: [ImportRow]?

  init(
    _ files: [OSMFile], _ selection: OSMSelection, mapping: Mapping, counts: ImportCounts, reporter: ProgressReporter,
    onRejection: @escaping @Sendable (RejectedRow) -> Void
  ) {
    self.files = files[...]
    self.selection = selection
    self.mapping = mapping
    self.counts = counts
    self.reporter = reporter
    self.onRejection = onRejection
  }

  /// Returns the rows of the next places; `nil` behind the last file.
  ///
  /// - Throws: `FileError` when a file can't be read.
  func next() async throws -> [ImportRow]? {
    try Task.checkCancellation()
    let result = await withCheckedContinuation {
      (continuation: CheckedContinuation<Result<[ImportRow]?, FileError>, Never>) in
      queue.async { continuation.resume(returning: Result { () throws(FileError) in try self.nextRows() }) }
    }
    return try result.get()
  }

  private func nextRows() throws(FileError) -> [ImportRow]? {
    while let file = files.first {
      do throws(OSMError) {
        if self.reader == nil {
          self.reader = try file.places(selection, onProgress: { [reporter] in reporter.report($0) })
        }
        guard let reader = self.reader else { return nil }
        if let places = try reader.next() {
          let rows = rows(of: places, in: file)
          if rows.isEmpty { continue }
          return rows
        }
        note(reader.report)
      } catch {
        throw FileError(path: file.path, reason: error.description)
      }
      reader = nil
      files.removeFirst()
    }
    return nextJoinedRows()
  }

  /// Returns the rows of lines, once all of their pieces have been read.
  private func nextJoinedRows() -> [ImportRow]? {
    if joinedRows == nil {
      counts.skip("pieces of a line that is one place", count: pieces.joinedCount)
      joinedRows = pieces.joinedRows()
      pieces = LinePieces()
    }
    guard let rest = joinedRows, !rest.isEmpty else {
      reporter.reportPhase("storing")
      return nil
    }
    let batch = Array(rest.prefix(Self.joinedBatchCount))
    joinedRows = Array(rest.dropFirst(batch.count))
    counts.add(batch)
    return batch
  }

  private static let joinedBatchCount = 4096

  private func note(_ report: OSMReport) {
    for kind in OSMKind.allCases { counts.add(kind: "\(kind.rawValue)s", count: report.places[kind, default: 0]) }
    for (reason, count) in report.skipped { counts.skip(reason.explanation, count: count) }
  }

  /// Returns the rows of places, which are mapped on all cores.
  private func rows(of places: [OSMPlace], in file: OSMFile) -> [ImportRow] {
    let chunk = 256
    let first = rowNumber + 1
    rowNumber += places.count
    let parts = Mutex([Int: [MappedPlace]]())
    DispatchQueue.concurrentPerform(iterations: (places.count + chunk - 1) / chunk) { part in
      let range = part * chunk..<min((part + 1) * chunk, places.count)
      let rows = range.compactMap { mapping.mapped(places[$0], number: first + $0, file: file.path) }
      parts.withLock { $0[part] = rows }
    }
    var rows: [ImportRow] = []
    for (_, part) in parts.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
      for row in part {
        switch row {
        case .row(let row): rows.append(row)
        case .piece(let row, let line): pieces.add(row, of: line)
        case .rejection(let rejection): onRejection(rejection)
        }
      }
    }
    counts.add(rows)
    return rows
  }
}

/// The result of mapping a place of a file.
private enum MappedPlace {
  case row(ImportRow)
  case piece(ImportRow, LinePieces.Line)
  case rejection(RejectedRow)
}

extension Mapping {
  /// Returns the row of a place, or its rejection; `nil` where the mapping does not take it.
  fileprivate func mapped(_ place: OSMPlace, number: Int, file: String) -> MappedPlace? {
    let record = ForeignRecord(
      fields: place.tags.map { .init(name: $0.key, value: .string($0.value)) }, id: .number("\(place.id)"),
      kind: place.kind.rawValue, coordinate: try? Coordinate(latitude: place.latitude, longitude: place.longitude))
    switch self.place(of: record) {
    case nil: return nil
    case .success(let draft):
      let row = ImportRow(number: number, id: nil, draft: draft)
      guard place.kind != .node, let line = line(of: record) else { return .row(row) }
      return .piece(row, line)
    case .failure(let invalid):
      let detail = "\(place.kind.rawValue)/\(place.id): \(invalid.detail)"
      var row = RejectedRow(number: number, detail: detail, location: RowLocation(file: file))
      row.origin = invalid.origin
      return .rejection(row)
    }
  }
}

extension OSMReport.SkipReason {
  var explanation: String {
    switch self {
    case .outsideArea: "outside the area"
    case .missingNodes: "without nodes in the file"
    case .missingMembers: "without members in the file"
    case .openRings: "open rings"
    case .noGeometry: "no geometry"
    }
  }
}

/// The changes of OpenStreetMap's change files: the last one of each object.
final class OSMChanges {
  private struct Key: Hashable {
    let kind: OSMKind
    let id: Int64
  }

  private let mapping: Mapping
  private let onRejection: @Sendable (RejectedRow) -> Void
  private var changes: [Key: (change: OSMChange, file: String)] = [:]
  private var order: [Key] = []
  private var positions: [Key: OSMPosition] = [:]

  init(mapping: Mapping, onRejection: @escaping @Sendable (RejectedRow) -> Void) {
    self.mapping = mapping
    self.onRejection = onRejection
  }

  /// Reads a file; its changes replace those of the same objects before.
  ///
  /// - Throws: `FileError` when it can't be read.
  func read(_ file: OSMFile, _ selection: OSMSelection, reporter: ProgressReporter) async throws {
    do throws(OSMError) {
      let reader = try file.changes(selection, onProgress: { reporter.report($0) })
      while let batch = try reader.next() {
        for change in batch {
          let key = Key(kind: change.kind, id: change.id)
          if changes.updateValue((change, file.path), forKey: key) == nil { order.append(key) }
        }
      }
    } catch {
      throw FileError(path: file.path, reason: error.description)
    }
  }

  /// Finds the positions of changed places whose nodes are not in the files.
  ///
  /// - Throws: `PointStoreError`.
  func findPositions(in store: some PointStore) async throws {
    guard let source = mapping.source?.name else { return }
    for key in order {
      guard let change = changes[key]?.change, change.action != .delete, change.position == nil else { continue }
      let query = PointQuery(source: .init(name: source, sourceID: Self.sourceID(of: key)), limit: 1)
      guard let place = try await store.page(matching: query).points.first?.point else { continue }
      let coordinate = place.draft.coordinate
      positions[key] = OSMPosition(latitude: coordinate.latitude, longitude: coordinate.longitude)
    }
  }

  /// Returns the rows of the created and modified places.
  func rows() -> RowBatches {
    var batches: [[ImportRow]] = []
    var batch: [ImportRow] = []
    for (index, key) in order.enumerated() {
      guard let (change, file) = changes[key], change.action != .delete else { continue }
      guard let position = change.position ?? positions[key] else {
        mapping.tally.skip("without a position in the change file")
        continue
      }
      let place = OSMPlace(
        kind: change.kind, id: change.id, version: change.version, tags: change.tags, latitude: position.latitude,
        longitude: position.longitude)
      switch mapping.mapped(place, number: index + 1, file: file) {
      case nil: break
      case .row(let row)?: batch.append(row)
      case .piece?: mapping.tally.skip("pieces of lines, which need an extract")
      case .rejection(let rejection)?: onRejection(rejection)
      }
      if batch.count == 1000 {
        batches.append(batch)
        batch = []
      }
    }
    if !batch.isEmpty { batches.append(batch) }
    return RowBatches { [batches] in
      var rest = batches[...]
      return { rest.popFirst() }
    }
  }

  /// The places that were deleted, or are no longer taken.
  var removal: ImportRemoval? {
    guard let source = mapping.source?.name else { return nil }
    let deleted = order.filter { changes[$0]?.change.action == .delete }.map { Self.sourceID(of: $0) }
    return .places(source: source) { deleted }
  }

  private static func sourceID(of key: Key) -> String { "\(key.kind.rawValue)/\(key.id)" }
}
