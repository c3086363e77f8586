import JSONText
import Points

/// Reads one place from a JSON text: an object of its fields, or a GeoJSON Feature.
struct JSONRowDecoder: Sendable {
  /// What a row may be.
  enum Acceptance: Sendable {
    case features
    case places
    case placesAndFeatures
  }

  private let accepts: Acceptance

  /// Whether a row may be an object of fields.
  var acceptsPlaces: Bool { accepts != .features }

  /// Gathers the tags of one row after another.
  var tags = TagsBuilder()

  init(accepts: Acceptance) {
    self.accepts = accepts
  }

  /// The row that the text is, or why it is none.
  mutating func row(_ number: Int, of text: UnsafeBufferPointer<UInt8>) -> PlaceParser.Row {
    do {
      return try draft(of: text).row(number)
    } catch {
      return .failure(RejectedRow(number: number, detail: error.description))
    }
  }

  /// What the text says of a place.
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
    if acceptsPlaces, let draft = try placeDraft(from: &reader) {
      try reader.finish()
      return draft
    }
    reader = JSONReader(text)
    let draft = try featureDraft(from: &reader)
    try reader.finish()
    return draft
  }

  /// The place whose fields are an object's members; `nil` as soon as the object turns out to be a Feature.
  private mutating func placeDraft(from reader: inout JSONReader) throws(JSONError) -> RowDraft? {
    var draft = RowDraft()
    try reader.enterObject()
    while let name = try reader.nextMember() {
      if let field = name.field {
        try read(field, named: name, from: &reader, into: &draft)
      } else if name.isEqual(to: "type"), try reader.nextKind() == .string {
        if try reader.readString().isEqual(to: "Feature"), accepts == .placesAndFeatures { return nil }
        draft.reject(nil, "/type", "is not a field of a place")
      } else {
        try reader.skipValue()
        draft.reject(nil, "/" + token(try reader.string(of: name)), "is not a field of a place")
      }
    }
    return draft
  }

  private mutating func read(
    _ field: PlaceField,
    named name: JSONReader.Text,
    from reader: inout JSONReader,
    into draft: inout RowDraft
  ) throws(JSONError) {
    switch field {
    case .name: draft.name = try string(.name, "/name", from: &reader, into: &draft)
    case .category: draft.category = try string(.category, "/category", from: &reader, into: &draft)
    case .source: draft.source = try string(.source, "/source", from: &reader, into: &draft)
    case .sourceID: draft.sourceID = try string(.sourceID, "/sourceId", from: &reader, into: &draft)
    case .id:
      guard let text = try string(.id, "/id", from: &reader, into: &draft) else { return draft.id = nil }
      draft.id = PointID(text)
      if draft.id == nil { draft.reject(.id, "/id", "must be a UUID, got '\(text.prefix(40))'") }
    case .latitude:
      guard let text = try number(.latitude, "/lat", from: &reader, into: &draft) else { return }
      draft.setLatitude(text, pointer: "/lat")
    case .longitude:
      let pointer = "/" + (try reader.string(of: name))
      guard let text = try number(.longitude, pointer, from: &reader, into: &draft) else { return }
      if draft.longitude != nil { draft.reject(.longitude, pointer, "gives the longitude a second time") }
      draft.setLongitude(text, pointer: pointer)
    case .tags:
      tags.removeAll()
      try readTags("/tags", from: &reader, into: &draft)
      draft.finishTags(&tags)
    case .serviceMade: try reader.skipValue()
    }
  }
}

// MARK: Values

extension JSONRowDecoder {
  /// A member's name as a reference token, cut where it is long.
  private func token(_ name: String) -> String {
    JSONPointer.escape(name.utf8.count > 40 ? "\(name.prefix(40))…" : name)
  }

  /// The string that stands next; `nil` for null, and for anything else, which is rejected.
  func string(
    _ field: PlaceField,
    _ pointer: String,
    from reader: inout JSONReader,
    into draft: inout RowDraft
  ) throws(JSONError) -> String? {
    let kind = try reader.nextKind()
    if kind == .string { return try reader.string(of: try reader.readString()) }
    try reader.skipValue()
    if kind != .null { draft.reject(field, pointer, "must be a string, got \(kind.description)") }
    return nil
  }

  /// The number that stands next, as text; `nil` for anything else, which is rejected.
  func number(
    _ field: PlaceField,
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

  /// Adds the members of the object that stands next to the tags; null is an object of none.
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
    while let key = try reader.nextMember() {
      let kind = try reader.nextKind()
      if kind == .string {
        tags.append(key: key, value: try reader.readString())
      } else {
        try reader.skipValue()
        draft.reject(
          .tags,
          "\(pointer)/\(token(try reader.string(of: key)))",
          "must be a string, got \(kind.description)"
        )
      }
    }
  }
}

extension RowDraft {
  /// Takes the tags gathered, or says what is wrong with them.
  mutating func finishTags(_ builder: inout TagsBuilder) {
    do {
      tags = try builder.build()
    } catch {
      reject(.tags, error)
    }
  }
}

extension JSONReader.Text {
  /// The field of a place that a member of this name is.
  var field: PlaceField? {
    guard hasEscapes else { return PlaceField(member: bytes) }
    var unescaped: [UInt8] = []
    append(to: &unescaped)
    return unescaped.withUnsafeBufferPointer { PlaceField(member: $0) }
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
