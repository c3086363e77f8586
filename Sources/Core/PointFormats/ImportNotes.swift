import Basics
import JSONText
import OpeningHours
package import Points
import Synchronization

/// Notes about the rows of an import: the position of each, and those that another import would create again.
package final class ImportNotes: Sendable {
  /// The rows of one text.
  private struct Text {
    let path: String?
    let format: PointFormat?
    let firstRow: Int
    let lines: RowLines
  }

  private struct State {
    var texts: [Text] = []
    var keylessRows = 0
    var hasForeignIDs = false
    var proposedField: String?
    var encodings: [(path: String?, name: String)] = []
    var rowsWithoutGeometry = 0
    var checks = RowChecks()
    var implausibleWarnings = 0
    var hours = HoursChecks()
    var remarks: [String] = []
    var entities: (count: Int, example: String)?
  }

  private let state = Mutex(State())

  /// A Boolean value that indicates whether the rows that were read are examined, for the warnings.
  private let examinesRows: Bool

  package init(examinesRows: Bool = true) { self.examinesRows = examinesRows }

  /// The number of bytes of memory by which rows are compared with others.
  var byteCount: Int { state.withLock { $0.checks.byteCount + $0.hours.byteCount } }

  /// Returns the location of a row: its own where it has one, otherwise that of its number.
  package func location(of rejection: RejectedRow) -> RowLocation {
    if rejection.location != RowLocation() { return rejection.location }
    return state.withLock { state in
      guard let text = state.texts.last(where: { $0.firstRow <= rejection.number }) else { return RowLocation() }
      return Self.location(
        ofRow: rejection.number, line: text.lines.line(ofRow: rejection.number), path: text.path, format: text.format,
        firstRow: text.firstRow)
    }
  }

  /// The warning for rows that have neither an id nor a source: each import creates their places again; `nil` where
  /// there are none.
  package var keyWarning: String? {
    state.withLock { state in
      guard state.keylessRows > 0 else { return nil }
      let rows =
        state.keylessRows == 1
        ? "1 row has neither an id nor a source and sourceId: another import of it creates its place"
        : "\(state.keylessRows) rows have neither an id nor a source and sourceId: another import of them creates their places"
      let field = state.proposedField
      let advice =
        if state.hasForeignIDs {
          "a source for all rows makes each Feature's id the sourceId"
        } else if let field {
          "a source for all rows and '\(field)' as the field of ids would prevent that, where each row's '\(field)' differs"
        } else {
          "a source for all rows and a field that differs in each row would prevent that"
        }
      return "\(rows) again; \(advice)"
    }
  }

  /// The maximum number of texts whose encodings are reported, and of remarks.
  private static let maximumEncodings = 10

  /// Remarks about the texts and their rows, for a user.
  package var warnings: [String] {
    state.withLock { state in
      var warnings = state.encodings.map { path, name in
        (path.map { "\($0): " } ?? "") + "the text was read as \(name), as it is not in UTF-8"
      }
      if state.rowsWithoutGeometry > 0 {
        let rows = state.rowsWithoutGeometry == 1 ? "1 row was" : "\(state.rowsWithoutGeometry) rows were"
        warnings.append("\(rows) skipped, as the geometry is null")
      }
      warnings += state.remarks
      if let warning = state.checks.duplicateWarning { warnings.append(warning) }
      if let warning = state.hours.warning { warnings.append(warning) }
      if let (count, example) = state.entities {
        let names = count == 1 ? "the name of 1 row has" : "the names of \(count) rows have"
        warnings.append("\(names) characters as HTML writes them, such as '\(example)', which are kept as they are")
      }
      return warnings + state.checks.implausible
    }
  }

  /// The number of the ``warnings`` that are about implausible coordinates.
  package var implausibleWarnings: Int {
    state.withLock { $0.checks.implausible.count + $0.implausibleWarnings }
  }

  // MARK: Notes

  /// Notes warnings about implausible coordinates that another program printed.
  package func note(implausibleWarnings count: Int) {
    state.withLock { $0.implausibleWarnings += count }
  }

  /// Notes a row that is outside the area of the import, and inside when its coordinates are swapped.
  package func noteSwappedInArea(_ row: Int) {
    state.withLock { $0.checks.noteSwappedInArea(row) }
  }

  /// Notes a row that was rejected.
  func note(_ rejection: RejectedRow) {
    guard rejection.detail.hasSuffix(SwappedCoordinates.remark) else { return }
    state.withLock { $0.checks.note(rejection) }
  }

  /// Notes that a text has been read to its end.
  func end(_ parser: PointParser, path: String?) {
    state.withLock { state in
      state.texts.append(
        Text(path: path, format: parser.format, firstRow: parser.firstRow, lines: parser.lines))
      if parser.hasForeignIDs { state.hasForeignIDs = true }
      state.rowsWithoutGeometry += parser.rowsWithoutGeometry
      if let name = parser.detectedEncoding, state.encodings.count < Self.maximumEncodings {
        state.encodings.append((path, name))
      }
      for remark in parser.remarks where state.remarks.count < Self.maximumEncodings {
        state.remarks.append((path.map { "\($0): " } ?? "") + remark)
      }
    }
  }

  /// Notes rows that were read.
  package func note(_ rows: some Sequence<ImportRow>) {
    guard examinesRows else { return }
    state.withLock { state in
      for row in rows {
        state.checks.note(row)
        state.hours.note(row.draft.tags, unreadable: row.unreadableHours)
        if Self.hasEntity(row.draft.name) {
          state.entities = (
            (state.entities?.count ?? 0) + 1, state.entities?.example ?? String(row.draft.name.prefix(60))
          )
        }
        guard row.id == nil, row.draft.origin == nil else { continue }
        // Only the first without a key is examined.
        if state.keylessRows == 0 { state.proposedField = Self.proposedField(in: row.draft.tags) }
        state.keylessRows += 1
      }
    }
  }

  /// Returns a Boolean value that indicates whether a text has a character reference of HTML, such as `&amp;` or `&#39;`.
  private static func hasEntity(_ text: String) -> Bool {
    guard text.utf8.contains(UInt8(ascii: "&")) else { return false }
    return text.contains(
      /&(amp|lt|gt|quot|apos|nbsp|[a-zA-Z](acute|grave|uml|circ|tilde|cedil)|#[0-9]{1,6}|#x[0-9a-fA-F]{1,6});/)
  }

  static func location(
    ofRow row: Int, line: Int?, path: String?, format: PointFormat?, firstRow: Int
  ) -> RowLocation {
    let isFeature = format == .geoJSON || format == .geoJSONSequence
    let file = path == FileChunks.standardInputPath ? "standard input" : path
    return RowLocation(file: file, line: line, feature: isFeature ? row - firstRow + 1 : nil)
  }

  /// The names of ids in well-known data sets, in the order of preference; any other name that ends in `id` comes
  /// after.
  private static let idNames = [
    "id", "@id", "osm_id", "fid", "gid", "ogc_fid", "objectid", "uuid", "ref", "ident", "code", "iata", "icao",
    "wikidata",
  ]

  private static func proposedField(in tags: Tags) -> String? {
    let names = tags.pairs.map(\.key)
    for name in idNames {
      if let field = names.first(where: { $0.lowercased() == name }) { return field }
    }
    return names.first { $0.lowercased().hasSuffix("id") }
  }
}

/// The rows whose opening hours cannot be parsed.
struct HoursChecks {
  private static let maximumExamples = 3
  private static let maximumKnown = 4_096

  private var count = 0
  private var unreadable = 0
  private var examples: [String] = []

  /// Texts that can be parsed, which many rows share.
  private var known: Set<ExactText> = []

  /// The number of bytes of the texts that are known, with 64 for the heads of each.
  private(set) var byteCount = 0

  /// - Parameter unreadable: the hours of other fields of the row that cannot be parsed; `nil` if there are none.
  mutating func note(_ tags: Tags, unreadable: String? = nil) {
    if let unreadable {
      count += 1
      return add(unreadable)
    }
    var json = tags.json
    guard let text = json.withUTF8({ HoursTags($0).hours.flatMap(HoursTags.text) }) else { return }
    count += 1
    if known.contains(ExactText(text)) { return }
    if (try? HoursExpression(text: text)) != nil {
      if known.count < Self.maximumKnown {
        known.insert(ExactText(text))
        byteCount += text.utf8.count + 64
      }
      return
    }
    add(text)
  }

  private mutating func add(_ text: String) {
    unreadable += 1
    if examples.count < Self.maximumExamples, !examples.contains(where: { $0.hasSameBytes(as: text) }) {
      examples.append(text)
    }
  }

  /// The warning for them; `nil` if there are none.
  var warning: String? {
    guard unreadable > 0 else { return nil }
    let texts = examples.map { "'\($0.prefix(60))'" }.joined(separator: ", ")
    return "opening_hours of \(unreadable) of \(count) rows that have them cannot be parsed, such as \(texts): whether "
      + "these places are open is unknown"
  }
}

/// The lines on which rows start, in memory that does not grow with regular texts.
///
/// Rows at equal distances, such as those of NDJSON, take one run however many they are. Beyond
/// ``maximumRuns`` runs, the lines of later rows are unknown.
struct RowLines: Sendable {
  /// Rows whose lines are at equal distances.
  private struct Run {
    let firstRow: Int
    let firstLine: Int
    var stride: Int
    var count: Int
  }

  /// The limit of memory: 2 MiB.
  static let maximumRuns = 1 << 16

  private var runs: [Run] = []

  /// The number of bytes of memory.
  var byteCount: Int { runs.count * MemoryLayout<Run>.stride }

  /// Appends the line of a row. Rows come in order, without gaps.
  mutating func append(_ line: Int, ofRow row: Int) {
    if var run = runs.last, row == run.firstRow + run.count {
      if run.count == 1 { run.stride = line - run.firstLine }
      if line == run.firstLine + run.stride * run.count {
        run.count += 1
        runs[runs.count - 1] = run
        return
      }
    }
    guard runs.count < Self.maximumRuns else { return }
    runs.append(Run(firstRow: row, firstLine: line, stride: 1, count: 1))
  }

  /// Appends the lines of a part of the text, before which there were other lines and rows.
  mutating func append(_ part: RowLines, linesBefore: Int, rowsBefore: Int) {
    for run in part.runs {
      for index in 0..<run.count {
        append(linesBefore + run.firstLine + index * run.stride, ofRow: rowsBefore + run.firstRow + index)
      }
    }
  }

  /// Returns the line of a row; `nil` if it is not known. The time is logarithmic in the number of runs.
  func line(ofRow row: Int) -> Int? {
    var range = 0..<runs.count
    while range.count > 0 {
      let middle = range.lowerBound + range.count / 2
      let run = runs[middle]
      if row < run.firstRow {
        range = range.lowerBound..<middle
      } else if row >= run.firstRow + run.count {
        range = middle + 1..<range.upperBound
      } else {
        return run.firstLine + (row - run.firstRow) * run.stride
      }
    }
    return nil
  }
}

/// A counter of the lines of a text that comes in chunks. A line ends with LF, CR or both.
struct LineCounter {
  /// The line of the last position, counted from 1.
  private var line = 1

  /// The position in the current bytes up to which line ends have been counted.
  private var position = 0

  /// The last byte that was counted.
  private var lastByte: UInt8 = 0

  init() {}

  /// Creates a counter of the lines from a position on, where a line starts after a line feed.
  init(from position: Int) {
    self.position = position
    lastByte = 0x0A
  }

  /// Continues with the counter of the part from the last position on.
  mutating func append(_ part: LineCounter) {
    line += part.line - 1
    (position, lastByte) = (part.position, part.lastByte)
  }

  /// Returns the line of a position. Positions must not decrease; the time is linear in the distance to the last one.
  mutating func line(at position: Int, in bytes: UnsafeBufferPointer<UInt8>) -> Int {
    guard position > self.position else { return line }
    // Each byte is compared with the one before it in memory, so that the compiler can compare many at once.
    var ends = Self.ends(bytes[self.position], after: lastByte)
    for index in self.position + 1..<position { ends &+= Self.ends(bytes[index], after: bytes[index - 1]) }
    line += ends
    lastByte = bytes[position - 1]
    self.position = position
    return line
  }

  /// Returns 1 if a byte ends a line: a carriage return, or a line feed that none precedes; otherwise 0.
  private static func ends(_ byte: UInt8, after previous: UInt8) -> Int {
    (byte == 0x0D ? 1 : 0) &+ (byte == 0x0A && previous != 0x0D ? 1 : 0)
  }

  /// Counts the bytes that are about to be dropped from the start of the current ones.
  mutating func drop(_ count: Int, of bytes: UnsafeBufferPointer<UInt8>) {
    _ = line(at: count, in: bytes)
    position -= count
  }
}
