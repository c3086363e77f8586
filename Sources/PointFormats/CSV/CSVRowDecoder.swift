import JSONText
import Points

/// A decoder of one place from the fields of a CSV record.
struct CSVRowDecoder: Sendable {
  private let header: CSVHeader
  private let options: RowOptions
  private var tags = TagsBuilder()

  /// Creates a decoder from the header.
  ///
  /// - Throws: ``FormatError`` when the header is invalid.
  init(header text: UnsafeBufferPointer<UInt8>, fields: [CSVRecord.Field], options: RowOptions) throws(FormatError) {
    var names: [String] = []
    for field in fields {
      guard let name = field.withBytes(in: text, { UTF8Bytes.string(of: $0.trimmed) }) else {
        throw FormatError(reason: "column \(names.count + 1) of the header is not UTF-8")
      }
      names.append(name)
    }
    header = try CSVHeader(names, options: options)
    self.options = options
  }

  /// Returns the row of a record, or its rejection.
  mutating func row(
    _ number: Int,
    of text: UnsafeBufferPointer<UInt8>,
    fields: [CSVRecord.Field]
  ) -> PointParser.Row {
    guard fields.count == header.columns.count else {
      let detail = "has \(fields.count) columns, but the header has \(header.columns.count)"
      return .failure(RejectedRow(number: number, detail: detail))
    }
    var draft = RowDraft()
    tags.removeAll()
    var tagsObject: Int?
    for (index, column) in header.columns.enumerated() {
      switch column {
      case .field(.tags): tagsObject = index
      case .field(let field): fields[index].withBytes(in: text) { read(field, from: $0, into: &draft) }
      case .key: draft.key = fields[index].withBytes(in: text) { string(.sourceID, $0.trimmed, &draft) }
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
      if !text.isEmpty { draft.setDegrees(text, of: field, pointer: field == .latitude ? "/lat" : "/long") }
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
