import Basics
import Geo
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
  private let nameField: [UInt8]?

  private let mapping: (any RecordMapping)?

  /// A Boolean value that indicates whether the decoder reads the rows of an import: geometries other than points
  /// count too, and rows with a null geometry are skipped.
  private let isImport: Bool

  /// The number of rows that were skipped, as their geometry is null.
  private(set) var rowsWithoutGeometry = 0

  /// A Boolean value that indicates whether a Feature had an `id` that is no UUID, which is dropped without a source.
  var hasForeignIDs = false

  /// A Boolean value that indicates whether a row may be an object of fields.
  var acceptsPlaces: Bool { accepts != .features }

  /// A decoder of other rows of the same text.
  var forOtherRows: JSONRowDecoder {
    var other = self
    (other.rowsWithoutGeometry, other.hasForeignIDs) = (0, false)
    return other
  }

  /// Adds what a decoder of other rows has counted.
  mutating func add(_ other: JSONRowDecoder) {
    rowsWithoutGeometry += other.rowsWithoutGeometry
    hasForeignIDs = hasForeignIDs || other.hasForeignIDs
  }

  /// The tags of the current row.
  var tags = TagsBuilder()

  private var schedules = RecordSchedules()

  init(
    accepts: Acceptance, options: RowOptions, mapping: (any RecordMapping)? = nil, isImport: Bool = false
  ) {
    self.isImport = isImport
    self.accepts = accepts
    self.options = options
    self.mapping = mapping
    idField = options.idField.map { Array($0.utf8) }
    nameField = options.nameField.map { Array($0.utf8) }
  }

  /// Returns the row of a text, or its rejection; `nil` if the mapping does not take it.
  mutating func row(_ number: Int, of text: UnsafeBufferPointer<UInt8>) -> PointParser.Row? {
    do {
      guard let mapping else {
        let draft = try draft(of: text)
        if draft.hasNullGeometry {
          rowsWithoutGeometry += 1
          return nil
        }
        return draft.row(number)
      }
      guard var record = try ForeignRecord(json: text) else {
        return .failure(RejectedRow(number: number, detail: "must be an object"))
      }
      record.schedule = schedules.schedule(of: record.fields)
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
    // Members that are coordinates or a geometry only where no other member has the coordinates.
    var weakMembers: [(field: PointField?, name: JSONReader.Text, value: JSONReader)] = []
    tags.removeAll()
    try reader.enterObject()
    var names = JSONReader.MemberNames()
    while let name = try reader.nextMember(&names) {
      if isIDField(name) {
        try readKey(named: name, pointerPrefix: "", from: &reader, into: &draft)
      } else if let field = field(of: name) {
        if field == .latitude || field == .longitude, isImport, PointField.isWeak(name.bytes) {
          weakMembers.append((field, name, reader))
          try reader.skipValue()
          continue
        }
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
        if isImport, accepts == .placesAndFeatures, name.isEqual(to: "geometry") {
          weakMembers.append((nil, name, reader))
          try reader.skipValue()
          continue
        }
        if tagsObject != nil, !readsTagsLast { return .tagsMustBeReadLast }
        try readUnknown(name, pointerPrefix: "", from: &reader, into: &draft)
      }
    }
    let hasCoordinates = draft.has(.latitude) || draft.has(.longitude)
    for (field, name, value) in weakMembers {
      var reader = value
      if let field {
        if draft.take(field) {
          try read(field, named: name, from: &reader, into: &draft)
          continue
        }
      } else if !hasCoordinates, !weakMembers.contains(where: { $0.field != nil }) {
        try readMemberGeometry(from: &reader, into: &draft)
        continue
      }
      if tagsObject != nil, !readsTagsLast { return .tagsMustBeReadLast }
      try readUnknown(name, pointerPrefix: "", from: &reader, into: &draft)
    }
    draft.settleOrigin(options, pointerPrefix: "", loneSourceIsTag: false, tags: &tags)
    if readsTagsLast, var tagsObject { try readTags("/tags", from: &tagsObject, into: &draft) }
    schedules.settle(&draft, &tags)
    draft.finishTags(&tags)
    return .place(draft)
  }

  /// Returns `true` if a field is given for the first time; otherwise rejects it and skips its value.
  private func isFirst(
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
  private func isIDField(_ name: JSONReader.Text) -> Bool { idField.map(name.isEqual) ?? false }

  /// Returns the field of a place that a member stands for; `nil` if it is none.
  private func field(of name: JSONReader.Text) -> PointField? {
    guard let nameField else { return name.field }
    if name.isEqual(to: nameField) { return .name }
    return name.field == .name ? nil : name.field
  }

  /// Reads the value of the member that is the `sourceId`.
  private func readKey(
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
  private mutating func readUnknown(
    _ name: JSONReader.Text, pointerPrefix: String, from reader: inout JSONReader, into draft: inout RowDraft
  ) throws(JSONError) {
    guard options.unknownFields == .reject else {
      if isImport, schedules.mayInclude(name.bytes) { return try readScheduleMember(name, from: &reader, into: &draft) }
      return try readTag(name, from: &reader)
    }
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
    case _ where field.isWritableText: try readText(field, named: name, from: &reader, into: &draft)
    case .id where options.source != nil && options.idField == nil:
      draft.ownID = try text(from: &reader)
      draft.id = draft.ownID.flatMap { PointID($0) }
    case .id:
      guard let text = try string(.id, named: name, from: &reader, into: &draft) else { return draft.id = nil }
      draft.id = PointID(text)
      if draft.id == nil {
        let advice = isImport ? RowDraft.idAdvice : ""
        draft.reject(
          .id, try pointer(to: name, of: draft, reader), "must be a UUID, got '\(text.prefix(40))'\(advice)")
      }
    case .latitude, .longitude:
      let pointer = "/" + (try reader.string(of: name))
      guard let text = try number(field, pointer, from: &reader, into: &draft) else { return }
      draft.setDegrees(text, of: field, pointer: pointer)
    default: try reader.skipValue()
    }
  }
}

// MARK: Values

extension JSONRowDecoder {
  /// Reads the value of a field that is a text, in an object or in a Feature's properties.
  private func readText(
    _ field: PointField, named name: JSONReader.Text, from reader: inout JSONReader, into draft: inout RowDraft
  ) throws(JSONError) {
    draft.setText(try string(field, named: name, from: &reader, into: &draft), of: field)
  }

  /// Returns a member's name as a reference token, cut where it is long.
  private func token(_ name: String) -> String {
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
  private mutating func readTag(_ key: JSONReader.Text, from reader: inout JSONReader) throws(JSONError) {
    switch try reader.nextKind() {
    case .null: try reader.readNull()
    case .string: tags.append(key: key, value: try reader.readString())
    case .boolean, .number, .array, .object: tags.append(key: key, value: try reader.skipValue())
    }
  }

  /// Reads a member that may hold opening hours in another form than a text, beside others.
  private mutating func readScheduleMember(
    _ name: JSONReader.Text, from reader: inout JSONReader, into draft: inout RowDraft
  ) throws(JSONError) {
    let kind = try reader.nextKind()
    if kind == .string, name.isEqual(to: "opening_hours") {
      var copy = reader
      let first = try copy.readString().bytes.first
      if first != nil, first != UInt8(ascii: "{"), first != UInt8(ascii: "[") {
        return try readTag(name, from: &reader)
      }
    }
    let bytes = try reader.skipValue()
    let value = try JSONReader.value(of: bytes)
    let tag: String? =
      switch value {
      case .null: nil
      case .string(let text): text
      default: String(decoding: bytes, as: UTF8.self)
      }
    draft.scheduleMembers.append(.init(name: try reader.string(of: name), value: value, tag: tag))
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
  fileprivate func isEqual(to name: [UInt8]) -> Bool {
    guard hasEscapes else { return bytes.elementsEqual(name) }
    var unescaped: [UInt8] = []
    append(to: &unescaped)
    return unescaped == name
  }

  /// The field of a place that this name stands for; `nil` if it is none.
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
  private mutating func featureDraft(from reader: inout JSONReader) throws(JSONError) -> RowDraft {
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
    schedules.settle(&draft, &tags)
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
      guard let field = field(of: name) else {
        try readUnknown(name, pointerPrefix: "/properties", from: &reader, into: &draft)
        continue
      }
      // The coordinates are those of the geometry.
      if field != .latitude, field != .longitude {
        guard try isFirst(field, name, from: &reader, into: &draft) else { continue }
      }
      switch field {
      case _ where field.isWritableText: try readText(field, named: name, from: &reader, into: &draft)
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
      default: try reader.skipValue()
      }
    }
  }

  // MARK: Geometry

  /// Reads the member `geometry` of an object of fields: GeoJSON, or well-known text.
  private func readMemberGeometry(from reader: inout JSONReader, into draft: inout RowDraft) throws(JSONError) {
    guard try reader.nextKind() == .string else { return try readGeometry(from: &reader, into: &draft) }
    let text = try reader.string(of: try reader.readString())
    let point = Array(text.utf8).withUnsafeBufferPointer { WellKnownPoint(text: $0) }
    draft.setPosition(point, pointer: "/geometry")
  }

  private func readGeometry(from reader: inout JSONReader, into draft: inout RowDraft) throws(JSONError) {
    let kind = try reader.nextKind()
    guard kind == .object else {
      try reader.skipValue()
      if kind == .null, isImport { draft.hasNullGeometry = true }
      draft.rejectGeometry("/geometry", "must be a Point, got \(kind.description)")
      return
    }
    let whole = reader
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
      if isImport, let type, Self.geometryTypes.contains(type) {
        return try readShape(from: whole, type: type, into: &draft)
      }
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

  /// The types of geometries other than a point (RFC 7946, section 3.1).
  private static let geometryTypes: Set = [
    "MultiPoint", "LineString", "MultiLineString", "Polygon", "MultiPolygon", "GeometryCollection",
  ]

  /// Reads a geometry that is no point: the position is inside an area, or in the middle of a line.
  private func readShape(
    from reader: JSONReader, type: String, into draft: inout RowDraft
  ) throws(JSONError) {
    var reader = reader
    let geometry = try JSONReader.value(of: try reader.skipValue())
    guard let position = GeoJSONPosition.position(of: geometry), Coordinate.latitudes.contains(position.latitude),
      Coordinate.longitudes.contains(position.longitude)
    else {
      draft.rejectGeometry("/geometry", "must have positions in degrees, got a \(type) without any or out of range")
      return
    }
    (draft.latitude, draft.longitude) = (position.latitude, position.longitude)
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

/// The reference system of a GeoJSON text's coordinates, which the member `crs` of GeoJSON before RFC 7946 names.
enum CoordinateSystem {
  /// The names of WGS 84 in degrees that programs write, in lower case. The order of the axes in GeoJSON is longitude
  /// and latitude under each of them.
  private static let supportedNames: Set = [
    "urn:ogc:def:crs:ogc:1.3:crs84", "urn:ogc:def:crs:ogc::crs84", "urn:ogc:def:crs:ogc:1.3:crs84h",
    "urn:ogc:def:crs:ogc::crs84h", "ogc:crs84", "crs84", "urn:ogc:def:crs:epsg::4326", "urn:ogc:def:crs:epsg::4979",
    "epsg:4326", "epsg:4979", "wgs84", "wgs 84", "http://www.opengis.net/def/crs/ogc/1.3/crs84",
    "http://www.opengis.net/def/crs/ogc/0/crs84h", "https://www.opengis.net/def/crs/ogc/1.3/crs84",
    "http://www.opengis.net/def/crs/epsg/0/4326", "https://www.opengis.net/def/crs/epsg/0/4326",
    "http://www.opengis.net/gml/srs/epsg.xml#4326",
  ]

  /// Returns the name of the system that a `crs` member gives; `nil` for WGS 84 and where it names none.
  static func unsupportedName(in value: JSONValue?) -> String? {
    guard let properties = value?["properties"], let name = name(of: value?["type"], properties) else { return nil }
    let unversioned = name.lowercased().replacing(/^urn:ogc:def:crs:epsg:[0-9.]+:/, with: "urn:ogc:def:crs:epsg::")
    return supportedNames.contains(unversioned) ? nil : name
  }

  /// Returns the explanation for a user.
  static func explanation(unsupported name: String) -> String {
    """
    its coordinates are in the reference system '\(name.prefix(100))', but must be WGS 84, longitude before latitude in \
    degrees; convert the file first, as 'ogr2ogr -t_srs EPSG:4326 -lco RFC7946=YES' does
    """
  }

  private static func name(of type: JSONValue?, _ properties: JSONValue) -> String? {
    switch (type, properties["name"], properties["code"], properties["href"]) {
    case (.string("EPSG"), _, .number(let code)?, _): "EPSG:\(code)"
    case (_, .string(let name)?, _, _): name
    case (_, _, _, .string(let link)?): link
    default: nil
    }
  }
}

/// The reason why an outermost object can't be scanned.
enum MemberError: Error {
  /// The text is not JSON.
  case syntax(String)
  /// It is a response of the Overpass API.
  case overpass
  /// Its `type` is this one, or none, and has no features.
  case type(String?)
  /// Its coordinates are in this reference system, which is not WGS 84.
  case coordinates(String)
}

/// An incremental scanner of the outermost object, which finds its members `features`, `type` and `crs`.
struct MemberScanner {
  /// An event that ends a scan.
  enum Event {
    /// The array `features` has been entered.
    case features
    /// The object has ended.
    case end
  }

  private enum State {
    case beforeName(isFirst: Bool)
    case name
    case beforeColon
    case beforeValue
    case value
    case afterValue
  }

  /// The member whose value is kept.
  private enum Kept {
    case nothing, type, coordinateSystem
  }

  private var state = State.beforeName(isFirst: true)
  private var value = BracketScanner()

  /// The name being read, or the value of `type`, quotation marks included, as far as they are worth keeping.
  private var text: [UInt8] = []
  private var isEscaped = false
  private var kept = Kept.nothing
  private var type: String?

  /// The members of interest so far, none of which may stand twice.
  private var names: Set<ExactText> = []

  /// The limit of what is kept of a name: none of interest is longer, even where each letter is an escape.
  private static let maximumTextLength = 128

  /// The limit of what is kept of a value: the description of a reference system takes several lines.
  private static let maximumValueLength = 4096

  var isFeature: Bool { type == "Feature" }

  /// Goes on behind the array `features`, which the caller has read.
  mutating func endValue() { state = .afterValue }

  /// Scans up to the next event, or the end of the bytes.
  ///
  /// - Throws: ``MemberError`` when the text is not an object, or its `type` is none that has features.
  mutating func scan(_ bytes: UnsafeBufferPointer<UInt8>, position: inout Int) throws(MemberError) -> Event? {
    while position < bytes.count {
      let byte = bytes[position]
      if case .name = state {
        takeNameByte(byte)
        position += 1
        continue
      }
      if case .value = state {
        try scanValue(bytes, position: &position)
        continue
      }
      guard !byte.isWhiteSpace else {
        position += 1
        continue
      }
      if let event = try take(byte, position: &position) { return event }
    }
    return nil
  }

  private mutating func take(_ byte: UInt8, position: inout Int) throws(MemberError) -> Event? {
    switch (state, byte) {
    case (.beforeName, UInt8(ascii: "\"")):
      state = .name
      text = [byte]
    case (.beforeName(isFirst: true), UInt8(ascii: "}")), (.afterValue, UInt8(ascii: "}")):
      position += 1
      return .end
    case (.beforeName, _): throw .syntax("a member's name must be a string")
    case (.beforeColon, UInt8(ascii: ":")): state = .beforeValue
    case (.beforeColon, _): throw .syntax("a colon must follow a member's name")
    case (.beforeValue, _): return try beginValue(byte, position: &position)
    case (.afterValue, UInt8(ascii: ",")): state = .beforeName(isFirst: false)
    case (.afterValue, _): throw .syntax("an object must go on with a comma or end")
    case (.name, _), (.value, _): return nil
    }
    position += 1
    return nil
  }

  private mutating func takeNameByte(_ byte: UInt8) {
    if text.count < Self.maximumTextLength { text.append(byte) }
    if isEscaped {
      isEscaped = false
    } else if byte == UInt8(ascii: "\\") {
      isEscaped = true
    } else if byte == UInt8(ascii: "\"") {
      state = .beforeColon
    }
  }

  private mutating func beginValue(_ byte: UInt8, position: inout Int) throws(MemberError) -> Event? {
    let name = string
    if let name, ["type", "features", "crs"].contains(name), !names.insert(ExactText(name)).inserted {
      throw .syntax("duplicate member /\(name)")
    }
    if name == "elements", byte == UInt8(ascii: "[") { throw .overpass }
    if name == "features", byte == UInt8(ascii: "["), !isFeature {
      position += 1
      return .features
    }
    if [UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ":")].contains(byte) {
      throw .syntax("a value cannot start here")
    }
    kept = name == "type" ? .type : name == "crs" ? .coordinateSystem : .nothing
    text = []
    value = BracketScanner()
    state = .value
    return nil
  }

  private mutating func scanValue(_ bytes: UnsafeBufferPointer<UInt8>, position: inout Int) throws(MemberError) {
    let start = position
    let outcome = value.scan(bytes, position: &position)
    let limit = kept == .type ? Self.maximumTextLength : Self.maximumValueLength
    if kept != .nothing, text.count < limit { text.append(contentsOf: bytes[start..<position].prefix(limit)) }
    switch outcome {
    case .more: return
    case .mismatch: throw .syntax("the brackets do not match")
    case .end:
      state = .afterValue
      switch kept {
      case .nothing: return
      case .coordinateSystem:
        let value = try? JSONReader.value(of: text)
        if let name = CoordinateSystem.unsupportedName(in: value) { throw .coordinates(name) }
      case .type:
        type = string
        guard let type, type == "FeatureCollection" || type == "Feature" else {
          throw .type(type)
        }
      }
    }
  }

  /// The kept bytes as a JSON string; `nil` when they are none, or were cut.
  private var string: String? {
    guard case .string(let string)? = try? JSONReader.value(of: text) else { return nil }
    return string
  }
}
