import Basics
import JSONText
import OpeningHours
package import Points
import Synchronization
import TextFiles

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
