import JSONText
import Points

/// A decoder of one place in JSON: an object of its fields, or a GeoJSON Feature.
struct JSONRowDecoder: Sendable {
  /// The forms that a row may have.
  enum Acceptance: Sendable {
    case features
    case places
    case placesAndFeatures
  }

  private let accepts: Acceptance

  let options: RowOptions

  private let idField: [UInt8]?

  private let mapping: (any RecordMapping)?

  /// A Boolean value that indicates whether a Feature had an `id` that is no UUID, which is dropped without a source.
  var hasForeignIDs = false

  /// A Boolean value that indicates whether a row may be an object of fields.
  var acceptsPlaces: Bool { accepts != .features }

  /// The tags of the current row.
  var tags = TagsBuilder()

  init(accepts: Acceptance, options: RowOptions, mapping: (any RecordMapping)? = nil) {
    self.accepts = accepts
    self.options = options
    self.mapping = mapping
    idField = options.idField.map { Array($0.utf8) }
  }

  /// Returns the row of a text, or its rejection; `nil` where the mapping does not take it.
  mutating func row(_ number: Int, of text: UnsafeBufferPointer<UInt8>) -> PointParser.Row? {
    do {
      guard let mapping else { return try draft(of: text).row(number) }
      guard let record = try ForeignRecord(json: text) else {
        return .failure(RejectedRow(number: number, detail: "must be an object"))
      }
      return mapping.row(number, of: record)
    } catch {
      return .failure(RejectedRow(number: number, detail: error.description))
    }
  }

  /// Returns the fields of a text, valid or not.
  ///
  /// - Throws: `JSONError` when it is not JSON.
  mutating func draft(of text: UnsafeBufferPointer<UInt8>) throws(JSONError) -> RowDraft {
    var reader = JSONReader(text)
    let kind = try reader.nextKind()
    guard kind == .object else {
      try reader.skipValue()
      try reader.finish()
      var draft = RowDraft()
      draft.reject(nil, "", "must be an object, got \(kind.description)")
      draft.skipMissing()
      return draft
    }
    if acceptsPlaces {
      var outcome = try placeDraft(from: &reader, readsTagsLast: false)
      if case .tagsMustBeReadLast = outcome {
        reader = JSONReader(text)
        outcome = try placeDraft(from: &reader, readsTagsLast: true)
      }
      if case .place(let draft) = outcome {
        try reader.finish()
        return draft
      }
    }
    reader = JSONReader(text)
    let draft = try featureDraft(from: &reader)
    try reader.finish()
    return draft
  }

  /// The outcome of reading an object's members as the fields of a place.
  private enum PointOutcome {
    case place(RowDraft)
    /// The object is a Feature.
    case feature
    /// A member that is a tag follows `tags`: as `tags` takes precedence, it must be read last.
    case tagsMustBeReadLast
  }

  /// Reads an object's members as the fields of a place.
  ///
  /// - Parameter readsTagsLast: a Boolean value that indicates whether `tags` is read after the other members, which
  ///   takes a second pass over it.
  private mutating func placeDraft(
    from reader: inout JSONReader, readsTagsLast: Bool
  ) throws(JSONError) -> PointOutcome {
    var draft = RowDraft()
    var tagsObject: JSONReader?
    tags.removeAll()
    try reader.enterObject()
    var names = JSONReader.MemberNames()
    while let name = try reader.nextMember(&names) {
      if isIDField(name) {
        try readKey(named: name, pointerPrefix: "", from: &reader, into: &draft)
      } else if let field = name.field {
        guard try isFirst(field, name, from: &reader, into: &draft) else { continue }
        guard field == .tags else {
          try read(field, named: name, from: &reader, into: &draft)
          continue
        }
        tagsObject = reader
        if readsTagsLast { try reader.skipValue() } else { try readTags("/tags", from: &reader, into: &draft) }
      } else {
        if accepts == .placesAndFeatures, name.isEqual(to: "type"), try reader.nextKind() == .string {
          var copy = reader
          if try copy.readString().isEqual(to: "Feature") { return .feature }
        }
        if tagsObject != nil, !readsTagsLast { return .tagsMustBeReadLast }
        try readUnknown(name, pointerPrefix: "", from: &reader, into: &draft)
      }
    }
    draft.settleOrigin(options, pointerPrefix: "", loneSourceIsTag: false, tags: &tags)
    if readsTagsLast, var tagsObject { try readTags("/tags", from: &tagsObject, into: &draft) }
    draft.finishTags(&tags)
    return .place(draft)
  }

  /// Returns `true` where a field is given for the first time; else rejects it and skips its value.
  func isFirst(
    _ field: PointField, _ name: JSONReader.Text, from reader: inout JSONReader, into draft: inout RowDraft
  ) throws(JSONError) -> Bool {
    if draft.take(field) { return true }
    draft.reject(field, try pointer(to: name, of: draft, reader), "gives the \(field.noun) a second time")
    try reader.skipValue()
    return false
  }

  /// Returns the pointer to a member of the object of the fields.
  private func pointer(
    to name: JSONReader.Text, of draft: RowDraft, _ reader: JSONReader
  ) throws(JSONError) -> String {
    "\(draft.prefix)/\(token(try reader.string(of: name)))"
  }

  /// Returns a Boolean value that indicates whether the options name the member for the `sourceId`.
  func isIDField(_ name: JSONReader.Text) -> Bool {
    guard let idField else { return false }
    guard name.hasEscapes else { return name.bytes.elementsEqual(idField) }
    var unescaped: [UInt8] = []
    name.append(to: &unescaped)
    return unescaped == idField
  }

  /// Reads the value of the member that is the `sourceId`.
  func readKey(
    named name: JSONReader.Text, pointerPrefix: String, from reader: inout JSONReader, into draft: inout RowDraft
  ) throws(JSONError) {
    let kind = try reader.nextKind()
    if let key = try text(from: &reader) {
      draft.key = key
    } else if kind != .null {
      let pointer = "\(pointerPrefix)/\(token(try reader.string(of: name)))"
      draft.reject(.sourceID, pointer, "must be a string or a number, got \(kind.description)")
    }
  }

  /// Reads a member that is no field of a place.
  mutating func readUnknown(
    _ name: JSONReader.Text, pointerPrefix: String, from reader: inout JSONReader, into draft: inout RowDraft
  ) throws(JSONError) {
    guard options.unknownFields == .reject else { return try readTag(name, from: &reader) }
    try reader.skipValue()
    draft.reject(nil, "\(pointerPrefix)/\(token(try reader.string(of: name)))", "is not a field of a place")
  }

  private mutating func read(
    _ field: PointField,
    named name: JSONReader.Text,
    from reader: inout JSONReader,
    into draft: inout RowDraft
  ) throws(JSONError) {
    switch field {
    case .name, .category, .source, .sourceID: try readText(field, named: name, from: &reader, into: &draft)
    case .id where options.source != nil && options.idField == nil:
      draft.ownID = try text(from: &reader)
      draft.id = draft.ownID.flatMap { PointID($0) }
    case .id:
      guard let text = try string(.id, named: name, from: &reader, into: &draft) else { return draft.id = nil }
      draft.id = PointID(text)
      if draft.id == nil {
        draft.reject(.id, try pointer(to: name, of: draft, reader), "must be a UUID, got '\(text.prefix(40))'")
      }
    case .latitude, .longitude:
      let pointer = "/" + (try reader.string(of: name))
      guard let text = try number(field, pointer, from: &reader, into: &draft) else { return }
      draft.setDegrees(text, of: field, pointer: pointer)
    case .tags, .serviceMade: try reader.skipValue()
    }
  }
}

// MARK: Values

extension JSONRowDecoder {
  /// Reads the value of a field that is a text, in an object or in a Feature's properties.
  func readText(
    _ field: PointField, named name: JSONReader.Text, from reader: inout JSONReader, into draft: inout RowDraft
  ) throws(JSONError) {
    draft.setText(try string(field, named: name, from: &reader, into: &draft), of: field)
  }

  /// Returns a member's name as a reference token, cut where it is long.
  func token(_ name: String) -> String {
    JSONPointer.escape(name.utf8.count > 40 ? "\(name.prefix(40))…" : name)
  }

  /// Reads a string; returns `nil` for null, and for anything else, which is rejected.
  private func string(
    _ field: PointField, named name: JSONReader.Text, from reader: inout JSONReader, into draft: inout RowDraft
  ) throws(JSONError) -> String? {
    let kind = try reader.nextKind()
    if kind == .string { return try reader.string(of: try reader.readString()) }
    try reader.skipValue()
    if kind != .null {
      draft.reject(field, try pointer(to: name, of: draft, reader), "must be a string, got \(kind.description)")
    }
    return nil
  }

  /// Reads a string, or a number as its text; returns `nil` for anything else, which is skipped.
  func text(from reader: inout JSONReader) throws(JSONError) -> String? {
    switch try reader.nextKind() {
    case .string: return try reader.string(of: try reader.readString())
    case .number: return String(decoding: try reader.readNumber(), as: UTF8.self)
    default:
      try reader.skipValue()
      return nil
    }
  }

  /// Reads the value of a tag: a string as it is, anything else as its JSON text; null is no tag.
  mutating func readTag(_ key: JSONReader.Text, from reader: inout JSONReader) throws(JSONError) {
    switch try reader.nextKind() {
    case .null: try reader.readNull()
    case .string: tags.append(key: key, value: try reader.readString())
    case .boolean, .number, .array, .object: tags.append(key: key, value: try reader.skipValue())
    }
  }

  /// Reads a number as its text; returns `nil` for anything else, which is rejected.
  func number(
    _ field: PointField,
    _ pointer: String,
    from reader: inout JSONReader,
    into draft: inout RowDraft
  ) throws(JSONError) -> UnsafeBufferPointer<UInt8>? {
    let kind = try reader.nextKind()
    if kind == .number { return try reader.readNumber() }
    let text = RowDraft.quote(try reader.skipValue())
    draft.reject(field, pointer, "must be a number, got \(kind == .null ? "null" : text)")
    return nil
  }

  /// Reads an object and adds its members to the tags; null is an object of none.
  mutating func readTags(
    _ pointer: String,
    from reader: inout JSONReader,
    into draft: inout RowDraft
  ) throws(JSONError) {
    let kind = try reader.nextKind()
    guard kind == .object else {
      try reader.skipValue()
      if kind != .null { draft.reject(.tags, pointer, "must be an object of strings, got \(kind.description)") }
      return
    }
    try reader.enterObject()
    var names = JSONReader.MemberNames()
    while let key = try reader.nextMember(&names) {
      switch try reader.nextKind() {
      case .array, .object:
        let kind = try reader.nextKind()
        try reader.skipValue()
        let pointer = "\(pointer)/\(token(try reader.string(of: key)))"
        draft.reject(.tags, pointer, "must be a string, a number or a boolean, got \(kind.description)")
      default: try readTag(key, from: &reader)
      }
    }
  }
}

extension RowDraft {
  /// Sets the tags of the row, or rejects them.
  mutating func finishTags(_ builder: inout TagsBuilder) {
    do {
      tags = try builder.build()
    } catch {
      reject(.tags, error)
    }
  }
}

extension JSONReader.Text {
  /// The field of a place that this name stands for; `nil` where it is none.
  var field: PointField? {
    guard hasEscapes else { return PointField(name: bytes) }
    var unescaped: [UInt8] = []
    append(to: &unescaped)
    return unescaped.withUnsafeBufferPointer { PointField(name: $0) }
  }
}

extension JSONReader.Kind {
  /// The kind in words, for a user.
  var description: String {
    switch self {
    case .null: "null"
    case .boolean: "a boolean"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}
