import Geo
import OpenStreetMap
import PointFormats
import PointMapping
import Points
import Synchronization
import TextFiles

/// The files of an import, and the way in which their records become places.
struct ImportInput: Sendable {
  /// The files.
  enum Contents: Sendable {
    case files([PointFiles.File], OSMSelection)
    case map([OSMFile], OSMSelection)
    case changes([OSMFile], OSMSelection)
  }

  let contents: Contents

  /// The mapping; `nil` where fields are named as a place's.
  let mapping: Mapping?

  let options: RowOptions

  /// The encoding of the files; `nil` if each file determines it.
  let charset: TextCharset?

  /// The data sets to register.
  let sources: [DataSource]

  /// The places to delete; `nil` for none.
  let removal: ImportRemoval?

  /// The values of fields that were edited and that the source has changed too.
  let conflicts: ConflictPolicy

  /// The time from which changes of places without edits are taken as edits; `nil` if none are.
  let assumeEditedSince: Timestamp?

  /// The counts of the rows that are read.
  let counts: ImportCounts

  init(
    contents: Contents, mapping: Mapping?, options: RowOptions, charset: TextCharset?,
    sources: [DataSource], removal: ImportRemoval?, conflicts: ConflictPolicy, assumeEditedSince: Timestamp?
  ) {
    self.contents = contents
    self.mapping = mapping
    self.options = options
    self.charset = charset
    self.sources = sources
    self.removal = removal
    self.conflicts = conflicts
    self.assumeEditedSince = assumeEditedSince
    counts = ImportCounts(tally: mapping?.tally ?? ImportTally(), listsCategories: mapping != nil)
  }

  /// A Boolean value that indicates whether a server can parse the files: it has no mappings and no areas.
  var isSentAsFiles: Bool {
    guard case .files(_, let area) = contents else { return false }
    return mapping == nil && area.isEverywhere
  }

  /// Returns the rows in batches; none for change files.
  func batches(
    notes: ImportNotes, reporter: ProgressReporter, onRejection: @escaping @Sendable (RejectedRow) -> Void
  ) -> RowBatches {
    switch contents {
    case .files(let files, let area):
      let rows = PointFiles(
        files, options: mapping == nil ? options : .standard, mapping: mapping, charset: charset, notes: notes,
        onRejection: onRejection,
        onProgress: { reporter.report(path: $0.path, bytesOfFile: $0.bytesRead, rows: $0.rows) })
      return RowBatches(
        counting: counts, area.isEverywhere ? RowBatches(rows) : RowBatches(rows, in: area, counts, notes))
    case .map(let files, let selection):
      guard let mapping else { return RowBatches { { nil } } }
      return RowBatches { [counts] in
        let reader = OSMRowReader(
          files, selection, mapping: mapping, counts: counts, reporter: reporter, onRejection: onRejection)
        return {
          let rows = try await reader.next()
          if let rows { notes.note(rows) }
          return rows
        }
      }
    case .changes: return RowBatches { { nil } }
    }
  }
}

/// Batches of rows from any input.
struct RowBatches: AsyncSequence, Sendable {
  typealias Element = [ImportRow]

  private let begin: @Sendable () -> () async throws -> [ImportRow]?

  /// Creates the batches that a closure returns, one after another; the outer closure begins from the first.
  init(_ begin: @escaping @Sendable () -> () async throws -> [ImportRow]?) {
    self.begin = begin
  }

  /// Creates the batches of another sequence.
  init<Base: AsyncSequence & Sendable>(_ base: Base) where Base.Element == [ImportRow] {
    self.init {
      var iterator = base.makeAsyncIterator()
      return { try await iterator.next() }
    }
  }

  /// Creates the batches of another sequence without the rows outside an area.
  init<Base: AsyncSequence & Sendable>(
    _ base: Base, in area: OSMSelection, _ counts: ImportCounts, _ notes: ImportNotes
  ) where Base.Element == [ImportRow] {
    self.init {
      var iterator = base.makeAsyncIterator()
      return {
        while let batch = try await iterator.next() {
          let rows = batch.filter { row in
            let coordinate = row.draft.coordinate
            let isInside = area.contains(latitude: coordinate.latitude, longitude: coordinate.longitude)
            if !isInside, area.contains(latitude: coordinate.longitude, longitude: coordinate.latitude) {
              notes.noteSwappedInArea(row.number)
            }
            return isInside
          }
          counts.skip(OSMReport.SkipReason.outsideArea.explanation, count: batch.count - rows.count)
          if !rows.isEmpty { return rows }
        }
        return nil
      }
    }
  }

  /// Creates the batches of another sequence, whose rows are counted.
  init<Base: AsyncSequence & Sendable>(counting counts: ImportCounts, _ base: Base) where Base.Element == [ImportRow] {
    self.init {
      var iterator = base.makeAsyncIterator()
      return {
        let batch = try await iterator.next()
        if let batch { counts.add(batch) }
        return batch
      }
    }
  }

  func makeAsyncIterator() -> Iterator { Iterator(nextBatch: begin()) }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate let nextBatch: () async throws -> [ImportRow]?

    mutating func next() async throws -> [ImportRow]? { try await nextBatch() }
  }
}

/// The counts of the rows that an import read, by category and by kind, for its report.
final class ImportCounts: Sendable {
  private struct State {
    var categories: [String: Int] = [:]
    var kinds: [String: Int] = [:]
    var withoutCategory = 0
  }

  /// The maximum number of categories that are listed.
  private static let maximumCategories = 20

  private let state = Mutex(State())
  private let tally: ImportTally
  private let listsCategories: Bool

  /// Creates counts of nothing.
  ///
  /// - Parameters:
  ///   - tally: the counts of skipped records.
  ///   - listsCategories: a Boolean value that indicates whether categories are counted.
  init(tally: ImportTally, listsCategories: Bool) {
    self.tally = tally
    self.listsCategories = listsCategories
  }

  /// Counts rows.
  func add(_ rows: [ImportRow]) {
    guard listsCategories else { return }
    state.withLock { state in
      for row in rows {
        if let category = row.draft.category {
          state.categories[category, default: 0] += 1
        } else {
          state.withoutCategory += 1
        }
      }
    }
  }

  /// Counts places of a kind, such as nodes.
  func add(kind: String, count: Int) {
    guard count > 0 else { return }
    state.withLock { $0.kinds[kind, default: 0] += count }
  }

  /// Counts records that were skipped.
  func skip(_ reason: String, count: Int) {
    if count > 0 { tally.skip(reason, count: count) }
  }

  /// The counts as lines of text.
  var lines: [String] {
    let state = state.withLock { $0 }
    var lines: [String] = []
    if !state.kinds.isEmpty { lines.append("kinds: " + Self.list(state.kinds, limit: .max)) }
    var categories = Self.list(state.categories, limit: Self.maximumCategories)
    if state.withoutCategory > 0 {
      categories += (categories.isEmpty ? "" : ", ") + "none \(state.withoutCategory)"
    }
    if !categories.isEmpty { lines.append("categories: " + categories) }
    let skipped = tally.skipped
    if !skipped.isEmpty {
      let count = skipped.reduce(0) { $0 + $1.count }
      lines.append("skipped \(count): " + skipped.map { "\($0.reason) \($0.count)" }.joined(separator: ", "))
    }
    if tally.omittedTags > 0 {
      lines.append("\(tally.omittedTags) tags were left out, as they are too long or too many")
    }
    lines += tally.warnings
    return lines
  }

  private static func list(_ counts: [String: Int], limit: Int) -> String {
    let sorted = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    let shown = sorted.prefix(limit).map { "\($0.key) \($0.value)" }
    return (shown + (sorted.count > limit ? ["\(sorted.count - limit) others"] : [])).joined(separator: ", ")
  }
}
