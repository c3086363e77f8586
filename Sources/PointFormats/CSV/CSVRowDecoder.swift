import Basics
import JSONText
import Points

/// A decoder of one place from the fields of a CSV record.
struct CSVRowDecoder: Sendable {
  /// The meaning of the cells.
  private enum Meaning {
    case place(CSVHeader)
    /// Fields of these names of a foreign data set.
    case foreign([String], any RecordMapping)
  }

  private let meaning: Meaning
  private let options: RowOptions
  private let hasDecimalCommas: Bool
  private var tags = TagsBuilder()

  /// Creates a decoder from the header.
  ///
  /// - Throws: ``FormatError`` when the header is invalid.
  init(
    header text: UnsafeBufferPointer<UInt8>, fields: [CSVRecord.Field], separator: UInt8, options: RowOptions,
    mapping: (any RecordMapping)?
  ) throws(FormatError) {
    var names: [String] = []
    for field in fields {
      guard let name = field.withBytes(in: text, { UTF8Bytes.string(of: $0.trimmed) }) else {
        throw FormatError(reason: "column \(names.count + 1) of the header is not UTF-8")
      }
      names.append(name)
    }
    meaning = if let mapping { .foreign(names, mapping) } else { .place(try CSVHeader(names, options: options)) }
    self.options = options
    hasDecimalCommas = separator != UInt8(ascii: ",")
  }

  /// Creates a decoder of a text without a header.
  init(columns: [String], mapping: any RecordMapping, separator: UInt8) {
    meaning = .foreign(columns, mapping)
    options = .standard
    hasDecimalCommas = separator != UInt8(ascii: ",")
  }

  /// Returns the row of a record, or its rejection; `nil` where the mapping does not take it.
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
    guard fields.count == count else {
      let detail = "has \(fields.count) columns, but the header has \(count)"
      return .failure(RejectedRow(number: number, detail: detail))
    }
    switch meaning {
    case .place(let header): return row(number, of: text, fields: fields, header)
    case .foreign(let names, let mapping):
      var members: [JSONValue.Member] = []
      members.reserveCapacity(fields.count)
      for (name, field) in zip(names, fields) where !field.range.isEmpty {
        guard let value = field.withBytes(in: text, { UTF8Bytes.string(of: FormulaGuard.removed(from: $0)) }) else {
          return .failure(RejectedRow(number: number, detail: "/\(JSONPointer.escape(name)) must be UTF-8"))
        }
        members.append(.init(name: name, value: .string(value)))
      }
      return mapping.row(number, of: ForeignRecord(fields: members, hasDecimalCommas: hasDecimalCommas))
    }
  }

  private mutating func row(
    _ number: Int, of text: UnsafeBufferPointer<UInt8>, fields: [CSVRecord.Field], _ header: CSVHeader
  ) -> PointParser.Row {
    var draft = RowDraft()
    tags.removeAll()
    var tagsObject: Int?
    for (index, column) in header.columns.enumerated() {
      switch column {
      case .field(.tags): tagsObject = index
      case .field(let field): fields[index].withBytes(in: text) { read(field, from: $0, into: &draft) }
      case .key: draft.key = fields[index].withBytes(in: text) { string(.sourceID, $0.trimmed, &draft) }
      case .geometry:
        fields[index].withBytes(in: text) { draft.setPosition(WellKnownPoint(text: $0), pointer: "/WKT") }
      case .tag(let key):
        fields[index].withBytes(in: text) { bytes in
          if !bytes.isEmpty { tags.append(key: key, value: bytes) }
        }
      }
    }
    draft.settleOrigin(options, pointerPrefix: "", loneSourceIsTag: false, tags: &tags)
    // The object takes precedence over a column of the same name: of a key that is given twice the last value counts.
    if let tagsObject { fields[tagsObject].withBytes(in: text) { readTags(from: $0, into: &draft) } }
    draft.finishTags(&tags)
    return draft.row(number)
  }

  private func read(_ field: PointField, from bytes: UnsafeBufferPointer<UInt8>, into draft: inout RowDraft) {
    switch field {
    case .name, .category, .source, .sourceID: draft.setText(string(field, bytes, &draft), of: field)
    case .latitude, .longitude:
      let text = bytes.trimmed
      let pointer = field == .latitude ? "/lat" : "/long"
      if text.isEmpty { return }
      if hasDecimalCommas, let comma = text.firstIndex(of: UInt8(ascii: ",")) {
        var copy = Array(text)
        copy[comma] = UInt8(ascii: ".")
        copy.withUnsafeBufferPointer { draft.setDegrees($0, of: field, pointer: pointer) }
      } else {
        draft.setDegrees(text, of: field, pointer: pointer)
      }
    case .id:
      let text = bytes.trimmed
      draft.id = PointID(utf8: text)
      if options.source != nil, options.idField == nil {
        draft.ownID = string(.id, text, &draft)
      } else if draft.id == nil, !text.isEmpty {
        draft.reject(.id, "/id", "must be a UUID, got \(RowDraft.quote(text))")
      }
    case .tags, .serviceMade: return
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
