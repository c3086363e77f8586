import Basics
import JSONText
import OpeningHours
import Points
import TextFiles

/// A parser of CSV.
///
/// A quotation mark that is left open would include the rows behind it in its field. The row of such a mark is
/// rejected, and parsing goes on with the next line.
struct CSVParser: RecordParser {
  private let options: RowOptions
  private let mapping: (any RecordMapping)?
  private var decoder: CSVRowDecoder?
  private var record: CSVRecord?

  private var isSkippingLine = false

  /// The number of bytes behind the header that are examined for the order of two coordinates in one column.
  private static let examinedBytes = 1 << 20

  /// A Boolean value that indicates whether the next line determines the separator.
  private var needsSeparator = true

  /// The error of the first line as a header, where others may be it; `nil` if that is not known yet.
  private var headerError: FormatError?

  /// The number of lines before the header.
  private var titleLines = 0

  /// The numbers of those that have a text, and the beginning of the first text.
  private var titles: (lines: [Int], first: String) = ([], "")

  /// The maximum number of lines before the header.
  private static let maximumTitleLines = 10

  /// The number of bytes that may yet be read a second time. It grows with each valid record, so that parsing stays
  /// linear in the text's length however often a quotation mark is left open.
  private var rereadingCredit = 8 << 20

  var hasForeignIDs: Bool { false }

  var rowsWithoutGeometry: Int { 0 }

  var remarks: [String] {
    let remarks = decoder?.remarks ?? []
    guard let first = titles.lines.first else { return remarks }
    if titles.lines.count == 1 { return ["line \(first) before the header was left out: '\(titles.first)'"] + remarks }
    let lines = titles.lines.map(String.init).joined(separator: ", ")
    return ["lines \(lines) before the header were left out, the first of them: '\(titles.first)'"] + remarks
  }

  init(options: RowOptions, mapping: (any RecordMapping)?) {
    self.options = options
    self.mapping = mapping
    if let separator = mapping?.table?.separator {
      record = CSVRecord(separator: separator, isUnquoted: mapping?.table?.isUnquoted ?? false)
      needsSeparator = false
    }
  }

  mutating func parse(
    _ bytes: UnsafeBufferPointer<UInt8>, isLast: Bool, progress: inout ParseProgress
  ) throws(FormatError) {
    var record =
      self.record.take()
      ?? CSVRecord(separator: UInt8(ascii: ","), isUnquoted: mapping?.table?.isUnquoted ?? false)
    defer { self.record = record }
    while true {
      if needsSeparator {
        guard let found = separator(bytes, isLast: isLast, &progress) else { return }
        record = CSVRecord(separator: found, isUnquoted: record.isUnquoted)
        needsSeparator = false
      }
      if decoder == nil, let columns = mapping?.table?.columns, let mapping {
        decoder = CSVRowDecoder(columns: columns, mapping: mapping)
      }
      if isSkippingLine, !skipLine(bytes, &progress) { break }
      if decoder?.needsPairOrders == true {
        let rest = UnsafeBufferPointer(rebasing: bytes[progress.start...])
        guard isLast || rest.count >= Self.examinedBytes else { return }
        decoder?.findPairOrders(
          in: UnsafeBufferPointer(rebasing: rest.prefix(Self.examinedBytes)),
          isWhole: rest.count <= Self.examinedBytes,
          CSVRecord(separator: record.separator, isUnquoted: record.isUnquoted))
      }
      // Up to the maximum length of a row, so that the outcome for a longer one is independent of how the text is cut.
      let limit = min(bytes.count, progress.start + progress.maximumRecordBytes + 1)
      let inReach = UnsafeBufferPointer(rebasing: bytes[..<limit])
      switch record.scan(inReach, from: progress.start, position: &progress.position) {
      case .end:
        try takeRecord(&record, endingAt: progress.position - 1, of: bytes, &progress)
        continue
      case .strayQuote:
        try rejectQuotes(&record, bytes, &progress)
        continue
      case .more: break
      }
      if progress.position - progress.start > progress.maximumRecordBytes {
        try rejectAsTooLong(&record, bytes, &progress)
        continue
      }
      guard isLast else { return }
      if record.isWithinQuotes {
        try rejectQuotes(&record, bytes, &progress)
        continue
      }
      if progress.start < bytes.count {
        record.finish(at: bytes.count - progress.start)
        try takeRecord(&record, endingAt: bytes.count, of: bytes, &progress)
      }
      break
    }
    if isLast, decoder == nil {
      throw headerError ?? FormatError(reason: "the text is empty; it must begin with a header row")
    }
  }

  /// Returns the separator that the next line determines or declares; `nil` if the line may go on.
  private func separator(
    _ bytes: UnsafeBufferPointer<UInt8>, isLast: Bool, _ progress: inout ParseProgress
  ) -> UInt8? {
    let start = UnsafeBufferPointer(rebasing: bytes[progress.start...])
    let isWhole = isLast || start.count > progress.maximumRecordBytes
    guard let found = CSVSeparator.separator(ofHeader: start, isWhole: isWhole) else { return nil }
    guard titleLines == 0, let declared = CSVSeparator.declared(in: start) else { return found }
    progress.start += declared.lineLength
    progress.position = progress.start
    return declared.separator
  }

  // MARK: Records

  private mutating func takeRecord(
    _ record: inout CSVRecord, endingAt end: Int, of bytes: UnsafeBufferPointer<UInt8>, _ progress: inout ParseProgress
  ) throws(FormatError) {
    defer { startRecord(&record, &progress) }
    let text = UnsafeBufferPointer(rebasing: bytes[progress.start..<end])
    rereadingCredit += text.count
    guard record.fields.count > 1 || record.fields.first?.isQuoted == true || !text.allSatisfy(\.isWhiteSpace) else {
      return
    }
    if decoder == nil {
      // A title or a date, in a cell of its own, is no header.
      let isTitle = record.fields.count { !$0.range.isEmpty } <= 1 && titleLines < Self.maximumTitleLines
      do throws(FormatError) {
        if isTitle, mapping != nil { throw FormatError(reason: "the text has one column only") }
        decoder = try CSVRowDecoder(header: text, fields: record.fields, options: options, mapping: mapping)
      } catch {
        let first = headerError ?? error
        guard isTitle else { throw first }
        headerError = first
        titleLines += 1
        noteTitle(record.fields, of: text, line: progress.line(in: bytes))
        needsSeparator = true
      }
    } else {
      let fields = record.fields
      progress.append(in: bytes) { number in
        decoder == nil ? Self.noHeader(number) : decoder?.row(number, of: text, fields: fields)
      }
    }
  }

  /// The maximum number of characters of a title in a remark.
  private static let maximumTitleLength = 60

  private mutating func noteTitle(_ fields: [CSVRecord.Field], of text: UnsafeBufferPointer<UInt8>, line: Int) {
    guard let field = fields.first(where: { !$0.range.isEmpty }) else { return }
    if titles.lines.isEmpty {
      titles.first = field.withBytes(in: text) {
        String(String(decoding: $0, as: UTF8.self).prefix(Self.maximumTitleLength))
      }
    }
    titles.lines.append(line)
  }

  /// Returns the row of a text without a header, which ``takeRecord(endingAt:of:_:)`` rules out.
  private static func noHeader(_ number: Int) -> PointParser.Row {
    .failure(RejectedRow(number: number, detail: "stands before the header"))
  }

  private func startRecord(_ record: inout CSVRecord, _ progress: inout ParseProgress) {
    progress.start = progress.position
    record.reset()
  }

  // MARK: Malformed records

  private mutating func rejectQuotes(
    _ record: inout CSVRecord, _ bytes: UnsafeBufferPointer<UInt8>, _ progress: inout ParseProgress
  ) throws(FormatError) {
    let detail = "has a quotation mark that neither ends its field nor is doubled, or a quoted field that does not end"
    guard decoder != nil else { throw FormatError(reason: "the header " + detail) }
    progress.reject(detail, in: bytes)
    goOnWithNextLine(&record, bytes, &progress)
  }

  private mutating func rejectAsTooLong(
    _ record: inout CSVRecord, _ bytes: UnsafeBufferPointer<UInt8>, _ progress: inout ParseProgress
  ) throws(FormatError) {
    if record.isWithinQuotes { return try rejectQuotes(&record, bytes, &progress) }
    guard decoder != nil else {
      throw FormatError(reason: "the header is longer than \(progress.maximumRecordBytes) bytes")
    }
    progress.rejectAsTooLong(in: bytes)
    isSkippingLine = true
    startRecord(&record, &progress)
  }

  /// Goes back to the line after the one in which the record started, where that may be read again; otherwise on to the
  /// next.
  private mutating func goOnWithNextLine(
    _ record: inout CSVRecord, _ bytes: UnsafeBufferPointer<UInt8>, _ progress: inout ParseProgress
  ) {
    let lineEnd = bytes[progress.start..<progress.position].firstIndex { $0.endsLine }
    if let lineEnd, progress.position - lineEnd <= rereadingCredit {
      rereadingCredit -= progress.position - lineEnd
      progress.position = lineEnd + 1
    } else {
      isSkippingLine = true
    }
    startRecord(&record, &progress)
  }

  /// Goes on behind the line's end; `false` when the bytes end before it.
  private mutating func skipLine(_ bytes: UnsafeBufferPointer<UInt8>, _ progress: inout ParseProgress) -> Bool {
    let lineEnd = bytes[progress.position...].firstIndex { $0.endsLine }
    progress.position = lineEnd.map { $0 + 1 } ?? bytes.count
    progress.start = progress.position
    isSkippingLine = lineEnd == nil
    return lineEnd != nil
  }
}

extension UInt8 {
  /// A Boolean value that indicates whether a line of a CSV file ends with this byte.
  fileprivate var endsLine: Bool { self == UInt8(ascii: "\n") || self == UInt8(ascii: "\r") }
}

/// The header of a CSV file: the meaning of its columns.
private struct CSVHeader {
  /// The meaning of a column.
  enum Column {
    case field(PointField)
    case tag(key: String)
    /// The column that the options name for the `sourceId`.
    case key
    /// A geometry as well-known text.
    case geometry
    /// Both coordinates in one text, or well-known text.
    case position(name: String)

    /// A Boolean value that indicates whether the column holds both coordinates.
    var isPosition: Bool {
      switch self {
      case .geometry, .position: true
      case .field, .tag, .key: false
      }
    }
  }

  /// The columns, from the left.
  let columns: [Column]

  /// Boolean values that indicate whether the columns may hold opening hours in another form than a text.
  let mayBeSchedule: [Bool]

  /// The fields of a place that the columns give. A column of tags as an object may give any tag.
  let given: GivenFields

  /// Creates a header from the names of the columns.
  ///
  /// - Throws: ``FormatError`` that names the column that has no name, stands twice or is missing.
  init(_ names: [String], options: RowOptions) throws(FormatError) {
    var columns: [Column] = []
    var seen: [ExactText: String] = [:]
    let meanings = Self.meanings(of: names, options)
    for (index, name) in names.enumerated() {
      guard !name.isEmpty else { throw FormatError(reason: "column \(index + 1) of the header has no name") }
      let meaning =
        if case .field(let field) = meanings[index], field.isWritable { "field \(field)" } else {
          "column \(name)"
        }
      if let other = seen.updateValue(name, forKey: ExactText(meaning)) {
        throw FormatError(
          reason: "the header has the column '\(name.prefix(40))' twice"
            + (other.hasSameBytes(as: name) ? "" : ", as '\(other)' too")
        )
      }
      if case .tag = meanings[index], options.unknownFields == .reject {
        throw FormatError(
          reason: "the header has the column '\(name.prefix(40))', which is not a field of a place")
      }
      columns.append(meanings[index])
    }
    var fields = Set(columns.compactMap { if case .field(let field) = $0 { field } else { nil } })
    if columns.contains(where: \.isPosition) { fields.formUnion([.latitude, .longitude]) }
    for field in PointField.allCases where field.isRequired && !fields.contains(field) {
      let name = field == .name ? options.nameField ?? field.name : field.name
      throw FormatError(reason: "the header has no column '\(name.prefix(40))'; it has \(Self.list(names))")
    }
    if let idField = options.idField, !names.contains(where: { $0.hasSameBytes(as: idField) }) {
      throw FormatError(reason: "the header has no column '\(idField.prefix(40))'; it has \(Self.list(names))")
    }
    if options.source != nil, options.idField == nil, fields.isDisjoint(with: [.id, .sourceID]) {
      throw FormatError(
        reason: "the header has no column 'id' or 'sourceId' whose values could be the sourceId, and idField "
          + "(--id-field) names no other; it has \(Self.list(names))")
    }
    self.columns = columns
    let tags = columns.map { if case .tag(let key) = $0 { key } else { String?.none } }
    let schedule = Set(ScheduleFields(names: tags)?.indices ?? [])
    mayBeSchedule = columns.indices.map(schedule.contains)
    var tagKeys = Set(tags.compactMap { $0.map { ExactText($0) } })
    if !schedule.isEmpty { tagKeys.insert("opening_hours") }
    // Without a sourceId beside it, a source may be a tag.
    if fields.contains(.source) { tagKeys.insert(ExactText(PointField.source.name)) }
    given = GivenFields(
      hasCategory: fields.contains(.category), tagKeys: fields.contains(.tags) ? nil : tagKeys)
  }

  /// Returns the meanings of columns: the fields by their own names, then those that are missing by other names.
  private static func meanings(of names: [String], _ options: RowOptions) -> [Column] {
    var columns: [Column?] = names.map { name in
      if options.idField.hasSameBytes(as: name) { return .key }
      if options.nameField.hasSameBytes(as: name) { return .field(.name) }
      let field = PointField(column: name)
      return field == .name && options.nameField != nil ? nil : field.map { .field($0) }
    }
    // Beside columns that can mean nothing else, y and x may be anything.
    for (field, weakName) in [(PointField.latitude, "y"), (.longitude, "x")] {
      func isWeak(_ index: Int) -> Bool { names[index].lowercased() == weakName }
      let same = columns.indices.filter { if case .field(field)? = columns[$0] { true } else { false } }
      if same.contains(where: { !isWeak($0) }) { for index in same where isWeak(index) { columns[index] = nil } }
    }
    func has(_ field: PointField) -> Bool {
      columns.contains { if case .field(field)? = $0 { true } else { false } }
    }
    let hasPosition = has(.latitude) || has(.longitude)
    // A file that has coordinates of its own keeps the text as a tag.
    let wellKnownText = has(.latitude) ? nil : names.firstIndex { $0.lowercased() == "wkt" }
    if let wellKnownText {
      for index in columns.indices {
        if case .field(.longitude)? = columns[index] { columns[index] = nil }
      }
      columns[wellKnownText] = .geometry
    }
    let unnamed = zip(names, columns).map { $1 == nil ? $0 : nil }
    let found = ColumnNames.find(in: unnamed, hasPosition: hasPosition) { field in
      switch field {
      case .field(.name): !has(.name) && options.nameField == nil
      case .field(let field): !has(field) && (wellKnownText == nil || ![.latitude, .longitude].contains(field))
      case .position: wellKnownText == nil && !hasPosition
      case .tag(let key): !names.contains { ExactText($0) == key }
      }
    }
    for (field, index) in found {
      columns[index] =
        switch field {
        case .field(let field): .field(field)
        case .position: .position(name: names[index])
        case .tag(let key): .tag(key: key.text)
        }
    }
    return zip(names, columns).map { name, column in column ?? .tag(key: name) }
  }

  private static func list(_ names: [String]) -> String {
    let shown = names.prefix(20).map { "'\($0.prefix(40))'" }.joined(separator: ", ")
    let more = names.count > 20 ? " and \(names.count - 20) more" : ""
    return shown + more
  }
}

/// A decoder of one place from the fields of a CSV record.
private struct CSVRowDecoder: Sendable {
  /// The meaning of the cells.
  private enum Meaning {
    case place(CSVHeader)
    /// Fields of these names of a foreign data set.
    case foreign([String], any RecordMapping)
  }

  private let meaning: Meaning
  private let options: RowOptions
  private var tags = TagsBuilder()
  private var schedules = RecordSchedules()

  /// The order of the coordinates in columns that hold both, by their indices.
  private var pairOrders: [Int: PairOrderFinder] = [:]

  /// A Boolean value that indicates whether the order depends on rows that have not been examined.
  private(set) var needsPairOrders = false

  /// Creates a decoder from the header.
  ///
  /// - Throws: ``FormatError`` when the header is invalid.
  init(
    header text: UnsafeBufferPointer<UInt8>, fields: [CSVRecord.Field], options: RowOptions,
    mapping: (any RecordMapping)?
  ) throws(FormatError) {
    var names: [String] = []
    for field in fields {
      guard let name = field.withBytes(in: text, { UTF8Bytes.string(of: $0.trimmed) }) else {
        throw FormatError(reason: "column \(names.count + 1) of the header is not UTF-8")
      }
      names.append(name)
    }
    // Separators behind the last column.
    while names.count > 1, names.last?.isEmpty == true { names.removeLast() }
    if let mapping {
      meaning = .foreign(mapping.mentionedNames.map { ColumnNames.renamed(names, except: $0) } ?? names, mapping)
    } else {
      meaning = .place(try CSVHeader(names, options: options))
    }
    self.options = options
    findPairs()
  }

  init(columns: [String], mapping: any RecordMapping) {
    meaning = .foreign(columns, mapping)
    options = .standard
    findPairs()
  }

  // MARK: Orders of coordinates

  private mutating func findPairs() {
    switch meaning {
    case .place(let header):
      for (index, column) in header.columns.enumerated() {
        if case .position(let name) = column { pairOrders[index] = PairOrderFinder(name: name) }
      }
    case .foreign(let names, let mapping):
      for name in mapping.pairFields(among: names) {
        if let index = names.firstIndex(where: { $0.hasSameBytes(as: name) }) {
          pairOrders[index] = PairOrderFinder(name: name)
        }
      }
    }
    needsPairOrders = pairOrders.values.contains(where: \.needsValues)
  }

  /// Finds the orders from the rows at the start of some bytes.
  ///
  /// - Parameters:
  ///   - isWhole: a Boolean value that indicates whether the text ends with these bytes, if not with a line.
  ///   - record: a scanner that has read nothing.
  mutating func findPairOrders(in bytes: UnsafeBufferPointer<UInt8>, isWhole: Bool, _ record: CSVRecord) {
    needsPairOrders = false
    var record = record
    var (start, position) = (0, 0)
    while case .end = record.scan(bytes, from: start, position: &position) {
      note(record.fields, of: UnsafeBufferPointer(rebasing: bytes[start..<position]))
      start = position
      record.reset()
    }
    if isWhole, !record.isWithinQuotes, start < bytes.count, position == bytes.count {
      record.finish(at: bytes.count - start)
      note(record.fields, of: UnsafeBufferPointer(rebasing: bytes[start...]))
    }
  }

  private mutating func note(_ fields: [CSVRecord.Field], of text: UnsafeBufferPointer<UInt8>) {
    for index in pairOrders.keys where index < fields.count {
      fields[index].withBytes(in: text) { pairOrders[index]?.note($0.trimmed) }
    }
  }

  /// The remarks about how the text was read, for a user.
  var remarks: [String] { pairOrders.values.compactMap(\.warning).sorted() }

  /// Returns the row of a record, or its rejection; `nil` if the mapping does not take it.
  mutating func row(
    _ number: Int,
    of text: UnsafeBufferPointer<UInt8>,
    fields: [CSVRecord.Field]
  ) -> PointParser.Row? {
    let count =
      switch meaning {
      case .place(let header): header.columns.count
      case .foreign(let names, _): names.count
      }
    // Separators behind the last column are no columns.
    guard fields.count == count || fields.count > count && fields[count...].allSatisfy(\.range.isEmpty) else {
      let detail = "has \(fields.count) columns, but the header has \(count)"
      let (id, origin) = fields.count > 1 ? identity(ofFirst: fields[0], of: text) : (nil, nil)
      return .failure(RejectedRow(number: number, detail: detail, id: id, origin: origin))
    }
    switch meaning {
    case .place(let header): return row(number, of: text, fields: fields, header)
    case .foreign(let names, let mapping):
      var members: [JSONValue.Member] = []
      members.reserveCapacity(fields.count)
      for (name, field) in zip(names, fields) {
        guard let value = field.withBytes(in: text, { UTF8Bytes.string(of: FormulaGuard.removed(from: $0)) }) else {
          return .failure(RejectedRow(number: number, detail: "/\(JSONPointer.escape(name)) must be UTF-8"))
        }
        members.append(.init(name: name, value: .string(value)))
      }
      // Empty fields are none of the record, but of a pair of times they are one half.
      let schedule = schedules.schedule(of: members)
      members.removeAll { if case .string("") = $0.value { true } else { false } }
      var record = ForeignRecord(fields: members, hasDecimalCommas: true)
      for finder in pairOrders.values { record.pairOrders[ExactText(finder.name.lowercased())] = finder.order }
      record.schedule = schedule
      return mapping.row(number, of: record)
    }
  }

  /// Returns the id and the origin of a record whose other cells may be in the wrong columns, if its first cell tells
  /// them.
  private func identity(
    ofFirst field: CSVRecord.Field, of text: UnsafeBufferPointer<UInt8>
  ) -> (PointID?, SourceReference?) {
    guard case .place(let header) = meaning, let column = header.columns.first,
      let value = field.withBytes(in: text, { UTF8Bytes.string(of: FormulaGuard.removed(from: $0.trimmed)) })
    else { return (nil, nil) }
    let origin = SourceReference(validating: options.source, sourceID: value)
    switch column {
    case .key: return (nil, origin)
    case .field(.id) where options.idField == nil: return (PointID(value), origin)
    case .field(.id): return (PointID(value), nil)
    case .field(.sourceID) where options.idField == nil: return (nil, origin)
    default: return (nil, nil)
    }
  }

  private mutating func row(
    _ number: Int, of text: UnsafeBufferPointer<UInt8>, fields: [CSVRecord.Field], _ header: CSVHeader
  ) -> PointParser.Row {
    var draft = RowDraft()
    draft.given = header.given
    tags.removeAll()
    var tagsObject: Int?
    for (index, column) in header.columns.enumerated() {
      switch column {
      case .field(.tags): tagsObject = index
      case .field(let field): fields[index].withBytes(in: text) { read(field, from: $0, into: &draft) }
      case .key: draft.key = fields[index].withBytes(in: text) { string(.sourceID, $0.trimmed, &draft) }
      case .geometry:
        fields[index].withBytes(in: text) { draft.setPosition(WellKnownPoint(text: $0), pointer: "/WKT") }
      case .position(let name):
        let finder = pairOrders[index] ?? PairOrderFinder(name: name)
        fields[index].withBytes(in: text) { draft.setPosition(ofText: $0.trimmed, by: finder) }
      case .tag(let key) where header.mayBeSchedule[index]:
        fields[index].withBytes(in: text) { readScheduleColumn(key, $0, into: &draft) }
      case .tag(let key):
        fields[index].withBytes(in: text) { bytes in
          if !bytes.isEmpty { tags.append(key: key, value: bytes) }
        }
      }
    }
    draft.settleOrigin(options, pointerPrefix: "", loneSourceIsTag: false, tags: &tags)
    // The object takes precedence over a column of the same name: of a key that is given twice the last value counts.
    if let tagsObject { fields[tagsObject].withBytes(in: text) { readTags(from: $0, into: &draft) } }
    schedules.settle(&draft, &tags)
    draft.finishTags(&tags)
    return draft.row(number)
  }

  /// Reads a column that may hold opening hours in another form than a text, beside others.
  private mutating func readScheduleColumn(
    _ key: String, _ bytes: UnsafeBufferPointer<UInt8>, into draft: inout RowDraft
  ) {
    let first = bytes.trimmed.first
    let isText = first != nil && first != UInt8(ascii: "{") && first != UInt8(ascii: "[")
    guard !(isText && key == "opening_hours"), let text = UTF8Bytes.string(of: bytes) else {
      return tags.append(key: key, value: bytes)
    }
    // An empty one too, so that the names are those of the row before.
    draft.scheduleMembers.append(.init(name: key, value: .string(text), tag: text.isEmpty ? nil : text))
  }

  private func read(_ field: PointField, from bytes: UnsafeBufferPointer<UInt8>, into draft: inout RowDraft) {
    switch field {
    case _ where field.isWritableText: draft.setText(string(field, bytes, &draft), of: field)
    case .latitude, .longitude:
      let text = bytes.trimmed
      let pointer = "/" + field.name
      if text.isEmpty { return }
      if let comma = text.firstIndex(of: UInt8(ascii: ",")) {
        var copy = Array(text)
        copy[comma] = UInt8(ascii: ".")
        copy.withUnsafeBufferPointer { copy in
          draft.setDegrees(DecimalText.value(of: copy) == nil ? text : copy, of: field, pointer: pointer)
        }
      } else {
        draft.setDegrees(text, of: field, pointer: pointer)
      }
    case .id:
      let text = bytes.trimmed
      draft.id = PointID(utf8: text)
      if options.source != nil, options.idField == nil {
        draft.ownID = string(.id, text, &draft)
      } else if draft.id == nil, !text.isEmpty {
        draft.reject(.id, "/id", "must be a UUID, got \(RowDraft.quote(text))\(RowDraft.idAdvice)")
      }
    default: return
    }
  }

  private func string(
    _ field: PointField, _ bytes: UnsafeBufferPointer<UInt8>, _ draft: inout RowDraft
  ) -> String? {
    if let text = UTF8Bytes.string(of: FormulaGuard.removed(from: bytes)) { return text }
    draft.reject(field, "must be UTF-8")
    return nil
  }

  private mutating func readTags(from bytes: UnsafeBufferPointer<UInt8>, into draft: inout RowDraft) {
    let text = bytes.trimmed
    guard !text.isEmpty else { return }
    var reader = JSONReader(text)
    var decoder = JSONRowDecoder(accepts: .placesAndFeatures, options: options)
    swap(&decoder.tags, &tags)
    defer { swap(&decoder.tags, &tags) }
    do {
      try decoder.readTags("/tags", from: &reader, into: &draft)
      try reader.finish()
    } catch {
      draft.reject(.tags, "/tags", "is \(error.description)")
    }
  }
}
