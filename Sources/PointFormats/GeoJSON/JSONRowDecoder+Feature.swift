import JSONText
import Points

/// The parts of a Feature whose meaning depends on others.
private struct FeatureParts {
  /// The `id` of the Feature, which may be a number.
  var id: String?

  /// The `id` of the properties where it is no UUID.
  var propertyID: JSONReader?

  /// The name of that member as it is spelled.
  var propertyIDName: JSONReader.Text?

  var hasGeometry = false

  /// The `type`; `nil` when it is missing.
  var type: String?

  /// The position of the `tags` of the properties, which take precedence over properties of the same name and so are
  /// read last.
  var tags: JSONReader?
}

extension JSONRowDecoder {
  /// Reads a GeoJSON Feature (RFC 7946, section 3.2) and returns its fields, valid or not.
  mutating func featureDraft(from reader: inout JSONReader) throws(JSONError) -> RowDraft {
    var draft = RowDraft(pointerPrefix: "/properties")
    var parts = FeatureParts()
    tags.removeAll()
    try reader.enterObject()
    var names = JSONReader.MemberNames()
    while let name = try reader.nextMember(&names) {
      if name.isEqual(to: "properties") {
        try readProperties(from: &reader, into: &draft, &parts)
      } else if name.isEqual(to: "geometry") {
        parts.hasGeometry = true
        try readGeometry(from: &reader, into: &draft)
      } else if name.isEqual(to: "type"), try reader.nextKind() == .string {
        parts.type = try reader.string(of: try reader.readString())
      } else if name.isEqual(to: "id") {
        parts.id = try text(from: &reader)
      } else if name.isEqual(to: "crs") {
        let value = try? JSONReader.value(of: try reader.skipValue())
        if let system = CoordinateSystem.unsupportedName(in: value) {
          draft.reject(nil, "/crs", CoordinateSystem.explanation(unsupported: system))
        }
      } else {
        try reader.skipValue()
      }
    }
    if parts.type != "Feature" {
      draft.reject(nil, "/type", "must be 'Feature'" + (parts.type.map { ", got '\($0.prefix(40))'" } ?? ""))
    }
    if !parts.hasGeometry { draft.rejectGeometry("/geometry", "is missing") }
    try settleID(parts, of: &draft)
    // A source without an id in it is a mere remark, as OpenStreetMap has it.
    draft.settleOrigin(
      options, pointerPrefix: "/properties", loneSourceIsTag: options.unknownFields == .tags, tags: &tags)
    if var reader = parts.tags { try readTags("/properties/tags", from: &reader, into: &draft) }
    draft.finishTags(&tags)
    return draft
  }

  /// Uses the ids of the Feature and of its properties: as the place's where one is a UUID, as the key under a source
  /// where there is one, and that of the properties else as a tag.
  private mutating func settleID(_ parts: FeatureParts, of draft: inout RowDraft) throws(JSONError) {
    if let id = parts.id {
      if draft.id == nil { draft.id = PointID(id) }
      if draft.id == nil { hasForeignIDs = true }
    }
    draft.ownID = parts.id ?? draft.id?.description
    guard var reader = parts.propertyID, let name = parts.propertyIDName else { return }
    var copy = reader
    if draft.ownID == nil, options.source != nil, options.idField == nil, let id = try text(from: &copy) {
      draft.ownID = id
    } else {
      try readUnknown(name, pointerPrefix: "/properties", from: &reader, into: &draft)
    }
  }

  // MARK: Properties

  private mutating func readProperties(
    from reader: inout JSONReader,
    into draft: inout RowDraft,
    _ parts: inout FeatureParts
  ) throws(JSONError) {
    let kind = try reader.nextKind()
    guard kind == .object else {
      try reader.skipValue()
      if kind != .null { draft.reject(nil, "/properties", "must be an object, got \(kind.description)") }
      return
    }
    try reader.enterObject()
    var names = JSONReader.MemberNames()
    while let name = try reader.nextMember(&names) {
      if isIDField(name) {
        try readKey(named: name, pointerPrefix: "/properties", from: &reader, into: &draft)
        continue
      }
      guard let field = name.field else {
        try readUnknown(name, pointerPrefix: "/properties", from: &reader, into: &draft)
        continue
      }
      // The coordinates are those of the geometry.
      if field != .latitude, field != .longitude {
        guard try isFirst(field, name, from: &reader, into: &draft) else { continue }
      }
      switch field {
      case .name, .category, .source, .sourceID: try readText(field, named: name, from: &reader, into: &draft)
      case .id:
        var copy = reader
        if try copy.nextKind() == .string, let id = PointID(utf8: try copy.readString().bytes) {
          draft.id = id
          reader = copy
        } else {
          parts.propertyID = reader
          parts.propertyIDName = name
          try reader.skipValue()
        }
      case .tags:
        parts.tags = reader
        try reader.skipValue()
      case .latitude, .longitude, .serviceMade: try reader.skipValue()
      }
    }
  }

  // MARK: Geometry

  private func readGeometry(from reader: inout JSONReader, into draft: inout RowDraft) throws(JSONError) {
    let kind = try reader.nextKind()
    guard kind == .object else {
      try reader.skipValue()
      draft.rejectGeometry("/geometry", "must be a Point, got \(kind.description)")
      return
    }
    var type: String?
    var coordinates: JSONReader?
    try reader.enterObject()
    var names = JSONReader.MemberNames()
    while let name = try reader.nextMember(&names) {
      if name.isEqual(to: "type"), try reader.nextKind() == .string {
        type = try reader.string(of: try reader.readString())
      } else if name.isEqual(to: "coordinates") {
        coordinates = reader
        try reader.skipValue()
      } else {
        try reader.skipValue()
      }
    }
    guard type == "Point" else {
      draft.rejectGeometry(
        "/geometry/type",
        "must be 'Point'" + (type.map { ", got '\($0.prefix(40))'" } ?? "")
      )
      return
    }
    guard var coordinates, try coordinates.nextKind() == .array else {
      draft.rejectGeometry("/geometry/coordinates", "must be an array of longitude and latitude")
      return
    }
    try readPosition(from: &coordinates, into: &draft)
  }

  private func readPosition(from reader: inout JSONReader, into draft: inout RowDraft) throws(JSONError) {
    try reader.enterArray()
    func nextNumber() throws(JSONError) -> UnsafeBufferPointer<UInt8>? {
      guard try reader.nextElement(), try reader.nextKind() == .number else { return nil }
      return try reader.readNumber()
    }
    guard let longitude = try nextNumber(), let latitude = try nextNumber() else {
      draft.rejectGeometry("/geometry/coordinates", "must be an array of longitude and latitude, both numbers")
      return
    }
    draft.setDegrees(longitude, of: .longitude, pointer: "/geometry/coordinates/0")
    draft.setDegrees(latitude, of: .latitude, pointer: "/geometry/coordinates/1")
  }
}

extension RowDraft {
  /// Rejects the coordinates.
  fileprivate mutating func rejectGeometry(_ pointer: String, _ detail: String) {
    reject(.latitude, pointer, detail)
    skipMissing([.longitude])
  }
}
