import Basics
import Foundation
package import Geo
package import JSONText
package import Points

/// The JSON of named areas: an object of the fields, or a GeoJSON Feature with the fields as its properties.
package enum AreaJSON {
  /// Writes an area as an object.
  package static func write(_ area: Area, withGeometry: Bool, to json: inout JSONWriter<[UInt8]>) {
    json.beginObject()
    json.write(member: "id", area.id.description)
    writeFields(of: area, to: &json)
    if withGeometry { writeGeometry(of: area.draft.outline, to: &json) }
    json.endObject()
  }

  /// Appends a row of an import, as a line.
  package static func append(_ row: AreaRow, to text: inout [UInt8]) {
    var json = JSONWriter()
    json.beginObject()
    if let id = row.id { json.write(member: "id", id.description) }
    writeFields(of: row.draft, to: &json)
    writeGeometry(of: row.draft.outline, to: &json)
    json.endObject()
    text += json.sink
    text.append(UInt8(ascii: "\n"))
  }

  fileprivate static func writeFields(of area: Area, to json: inout JSONWriter<[UInt8]>) {
    writeFields(of: area.draft, to: &json)
    json.write(name: "version")
    json.write(integer: area.version)
    json.write(member: "createdAt", area.createdAt.description)
    json.write(member: "updatedAt", area.updatedAt.description)
  }

  private static func writeFields(of draft: AreaDraft, to json: inout JSONWriter<[UInt8]>) {
    json.write(member: "name", draft.name)
    if !draft.names.isEmpty {
      json.write(name: "names")
      json.write(json: draft.names.json)
    }
    json.write(member: "kind", draft.kind.rawValue)
    if let level = draft.level { json.write(member: "level", level) }
    json.write(name: "importance")
    json.write(number: draft.importance)
    json.write(name: "tags")
    json.write(json: draft.tags.json)
    if let origin = draft.origin {
      json.write(member: "source", origin.source)
      json.write(member: "sourceId", origin.sourceID)
    }
  }

  /// Writes the member `geometry`.
  private static func writeGeometry(of outline: AreaOutline, to json: inout JSONWriter<[UInt8]>) {
    json.write(name: "geometry")
    var geometry = GeometryWriter(outline, to: &json)
    while !geometry.write(to: &json) {}
  }

  /// Returns an outline as a geometry of GeoJSON.
  package static func geometry(of outline: AreaOutline) -> [UInt8] {
    var json = JSONWriter()
    var geometry = GeometryWriter(outline, to: &json)
    while !geometry.write(to: &json) {}
    return json.sink
  }

  /// Returns the fields of an area but its geometry.
  fileprivate static func fields(of area: Area) -> JSONValue {
    var json = JSONWriter()
    write(area, withGeometry: false, to: &json)
    return (try? JSONReader.value(of: json.sink)) ?? .null
  }

  /// The maximum number of bytes of a position.
  private static let positionBytes = 27

  /// An upper estimate of the number of bytes of an area.
  package static func estimatedBytes(of area: Area, withGeometry: Bool) -> Int {
    let draft = area.draft
    var bytes = 512 + draft.name.utf8.count + draft.names.json.utf8.count + draft.tags.json.utf8.count
    if let origin = draft.origin { bytes += origin.source.utf8.count + origin.sourceID.utf8.count }
    let outline = draft.outline
    // The first position of a ring is repeated.
    if withGeometry { bytes += (outline.positionCount + outline.ringCount) * positionBytes + outline.ringCount * 6 }
    return bytes
  }
}

/// A writer of a geometry, some positions at a time.
private struct GeometryWriter {
  /// The number of positions that are written at a time.
  private static let positionCount = 512

  private let outline: AreaOutline
  private var ring = 0
  private var index = 0
  private var polygon = -1

  /// Writes the beginning of the geometry.
  init(_ outline: AreaOutline, to json: inout JSONWriter<[UInt8]>) {
    self.outline = outline
    json.beginObject()
    json.write(member: "type", outline.isMultiple ? "MultiPolygon" : "Polygon")
    json.write(name: "coordinates")
    if outline.isMultiple { json.beginArray() }
  }

  /// Writes some positions.
  ///
  /// - Returns: `true` if the geometry has ended.
  mutating func write(to json: inout JSONWriter<[UInt8]>) -> Bool {
    guard ring < outline.ringCount else {
      json.endArray()
      if outline.isMultiple { json.endArray() }
      json.endObject()
      return true
    }
    let (positions, polygon) = outline.ring(at: ring)
    if polygon != self.polygon {
      if self.polygon >= 0 { json.endArray() }
      json.beginArray()
      self.polygon = polygon
    }
    if index == 0 { json.beginArray() }
    // The first position is that behind the last too.
    let end = min(index + Self.positionCount, positions.count + 1)
    for number in index..<end {
      let position = positions[positions.startIndex + (number < positions.count ? number : 0)]
      let (longitude, latitude) = position.degrees
      json.beginArray()
      json.write(number: longitude)
      json.write(number: latitude)
      json.endArray()
    }
    index = end
    if index > positions.count {
      json.endArray()
      (ring, index) = (ring + 1, 0)
    }
    return false
  }
}

/// The text of areas, made in pieces of some 32 KiB whatever the number of their positions.
package struct AreaPieces {
  /// The form of the text.
  package enum Form: Sendable {
    /// An array of objects without geometries.
    case summaries
    /// A FeatureCollection.
    case collection
    /// One object.
    case object
    /// One Feature.
    case feature
    /// An object a line.
    case lines
    /// A text sequence of Features (RFC 8142).
    case sequence

    /// A Boolean value that indicates whether areas have their geometries.
    package var hasGeometry: Bool { if case .summaries = self { false } else { true } }
  }

  private enum State {
    case beginning, areas, end
  }

  /// The number of bytes at which a piece ends.
  package static let pieceBytes = 32 * 1024

  private var areas: ArraySlice<Area>
  private let form: Form
  private var state = State.beginning
  private var json = JSONWriter()

  /// The rest of the first area, which has begun.
  private var geometry: GeometryWriter?

  package init(_ areas: ArraySlice<Area>, as form: Form) { (self.areas, self.form) = (areas, form) }

  /// An upper estimate of the number of bytes of the text.
  package var estimatedBytes: Int {
    areas.reduce(64) { $0 + AreaJSON.estimatedBytes(of: $1, withGeometry: form.hasGeometry) }
  }

  /// Returns the next piece; `nil` at the end.
  package mutating func next() -> [UInt8]? {
    while json.sink.count < Self.pieceBytes, writeNext() {}
    guard !json.sink.isEmpty else { return nil }
    var piece: [UInt8] = []
    swap(&piece, &json.sink)
    return piece
  }

  /// Writes a little.
  ///
  /// - Returns: `false` at the end.
  private mutating func writeNext() -> Bool {
    switch state {
    case .beginning:
      begin()
      state = .areas
    case .areas:
      if let area = areas.first {
        write(area)
      } else {
        end()
        state = .end
      }
    case .end: return false
    }
    return true
  }

  private mutating func begin() {
    switch form {
    case .summaries: json.beginArray()
    case .collection:
      json.beginObject()
      json.write(member: "type", "FeatureCollection")
      json.write(name: "features")
      json.beginArray()
    case .object, .feature, .lines, .sequence: break
    }
  }

  private mutating func end() {
    switch form {
    case .summaries: json.endArray()
    case .collection:
      json.endArray()
      json.endObject()
    case .object, .feature, .lines, .sequence: break
    }
  }

  private mutating func write(_ area: Area) {
    if geometry == nil {
      switch form {
      case .summaries:
        AreaJSON.write(area, withGeometry: false, to: &json)
        areas = areas.dropFirst()
        return
      case .object, .lines:
        json.beginObject()
        json.write(member: "id", area.id.description)
        AreaJSON.writeFields(of: area, to: &json)
      case .collection, .feature, .sequence:
        if case .sequence = form { json.sink.append(0x1E) }
        json.beginObject()
        json.write(member: "type", "Feature")
        json.write(member: "id", area.id.description)
      }
      json.write(name: "geometry")
      geometry = GeometryWriter(area.draft.outline, to: &json)
    }
    guard geometry?.write(to: &json) ?? true else { return }
    geometry = nil
    areas = areas.dropFirst()
    switch form {
    case .summaries: break
    case .object, .lines: json.endObject()
    case .collection, .feature, .sequence:
      json.write(name: "properties")
      json.beginObject()
      AreaJSON.writeFields(of: area, to: &json)
      json.endObject()
      json.endObject()
    }
    switch form {
    case .lines, .sequence:
      json.sink.append(UInt8(ascii: "\n"))
      // The lines are texts of their own.
      json = JSONWriter(json.sink)
    default: break
    }
  }
}

/// One area described by a JSON value.
package struct AreaDocument: Sendable {
  /// The way in which members that are no fields are treated.
  package enum Style: Sendable {
    /// They are errors, as in the body of a single write.
    case strict
    /// They are tags, or fields by other names, as in a file of other programs.
    ///
    /// - Parameters:
    ///   - source: the data set of a row that names none, whose id is that of the row.
    ///   - idField: the member whose value is the `sourceId` in that data set; `nil` for `sourceId` or the id.
    case row(source: String?, idField: String?)
  }

  /// The id; `nil` if there is none, or it is no UUID.
  package let id: PointID?

  /// A Boolean value that indicates whether there is an id that is no UUID.
  package let hasForeignID: Bool
  package let draft: AreaDraft

  /// Creates a document from an object of the fields, or from a Feature.
  ///
  /// - Throws: `InvalidPoint` with the violations.
  package init(_ value: JSONValue, style: Style) throws(InvalidPoint) {
    try self.init(value, style: style, positions: .inGeometry)
  }

  /// Creates a document from an area whose fields a merge patch (RFC 7396) changes.
  ///
  /// - Throws: `InvalidPoint` with the violations.
  package init(_ area: Area, changedBy patch: JSONValue) throws(InvalidPoint) {
    // The positions of a large area would be many values.
    var (others, geometry): ([JSONValue.Member], JSONValue?) = ([], nil)
    guard case .object(let members) = patch else {
      throw InvalidPoint([.init(pointer: "", detail: "must be an object, got \(patch.kind)")])
    }
    for member in members {
      if member.name.hasSameBytes(as: "geometry") { geometry = member.value } else { others.append(member) }
    }
    let fields = AreaJSON.fields(of: area).merging(.object(others))
    let outline = area.draft.outline
    let type = JSONValue.string(outline.isMultiple ? "MultiPolygon" : "Polygon")
    switch geometry {
    case .object?:
      guard geometry?["coordinates"] == nil else {
        let present = JSONValue.object([.init(name: "type", value: type)])
        let changed = present.merging(geometry ?? .null)
        try self.init(fields.merging(.object([.init(name: "geometry", value: changed)])), style: .strict)
        return
      }
      guard geometry?["type"] == nil || geometry?["type"] == type else {
        throw InvalidPoint([.init(pointer: "/geometry/coordinates", detail: "must be given if the type changes")])
      }
      fallthrough
    case nil: try self.init(fields, style: .strict, positions: .of(outline))
    case let other?:
      try self.init(fields.merging(.object([.init(name: "geometry", value: other)])), style: .strict)
    }
  }

  /// Creates a document from the text of a row of an import.
  ///
  /// - Throws: `InvalidPoint` with the violations.
  fileprivate init(_ text: AreaText, style: Style) throws(InvalidPoint) {
    if let rejection = text.rejection { throw InvalidPoint([.init(pointer: "", detail: rejection)]) }
    if let malformation = text.coordinates?.malformation {
      throw InvalidPoint([.init(pointer: "", detail: "is not valid JSON: \(malformation)")])
    }
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONReader.value(of: text.json)
    } catch {
      throw InvalidPoint([.init(pointer: "", detail: "is not valid JSON: \(error.reason)")])
    }
    try self.init(value, style: style, positions: text.coordinates.map(Positions.read) ?? .inGeometry)
  }

  /// The place where the positions of a document are.
  fileprivate enum Positions {
    case inGeometry
    /// Apart from the geometry, which has `null` in their place.
    case read(AreaCoordinates)
    case of(AreaOutline)
  }

  private init(_ value: JSONValue, style: Style, positions: Positions) throws(InvalidPoint) {
    guard case .object(let members) = value else {
      throw InvalidPoint([.init(pointer: "", detail: "must be an object, got \(value.kind)")])
    }
    let isFeature = value["type"] == .string("Feature")
    var fields = AreaFields(prefix: isFeature ? "/properties" : "", style: style)
    switch positions {
    case .inGeometry: break
    case .read(let coordinates): fields.coordinates = coordinates
    case .of(let outline): fields.take(outline)
    }
    if isFeature {
      if let id = value["id"] { fields.take("id", id, pointer: "/id") }
      if let geometry = value["geometry"] { fields.takeGeometry(geometry) }
      switch value["properties"] {
      case .object(let properties)?: for member in properties { fields.take(member.name, member.value) }
      case nil, .null?: break
      case let other?: fields.violate("/properties", "must be an object, got \(other.kind)")
      }
    } else {
      for member in members { fields.take(member.name, member.value) }
    }
    (id, hasForeignID, draft) = try fields.document()
  }

  /// Creates a document from the tags of a boundary in OpenStreetMap.
  ///
  /// - Throws: `InvalidPoint` with the violations.
  package init(
    boundary tags: some Sequence<(key: String, value: String)>, id: String, source: String, polygons: [[[Coordinate]]]
  ) throws(InvalidPoint) {
    var fields = AreaFields(prefix: "", style: .row(source: source, idField: nil))
    fields.take("id", .string(id))
    for tag in tags { fields.takeTag(tag.key, tag.value) }
    fields.takeGeometry(polygons: polygons)
    (self.id, hasForeignID, draft) = try fields.document()
  }
}

/// The fields of an area while they are read.
private struct AreaFields {
  private let prefix: String
  private let style: AreaDocument.Style
  private var violations: [PointViolation] = []
  private var id: String?

  /// The value of the member that is the `sourceId` by the style.
  private var key: String?
  private var texts: [ExactText: String] = [:]
  private var level: Int?
  private var importance: Double?
  private var names: Tags?
  private var tags: Tags?
  private var others: [(key: String, value: String)] = []
  private var otherNames: [(key: String, value: String)] = []
  private var outline: AreaOutline?
  private var hasGeometry = false

  /// The positions of the geometry that is taken first, if they are not in it.
  var coordinates: AreaCoordinates?

  private static let ignored: Set = ["version", "createdAt", "updatedAt", "distance", "bbox"]
  private static let textFields: Set = ["name", "kind", "source", "sourceId"]

  init(prefix: String, style: AreaDocument.Style) { (self.prefix, self.style) = (prefix, style) }

  private var isStrict: Bool { if case .strict = style { true } else { false } }

  mutating func violate(_ pointer: String, _ detail: String) {
    violations.append(.init(pointer: pointer, detail: detail))
  }

  mutating func take(_ name: String, _ value: JSONValue, pointer: String? = nil) {
    let pointer = pointer ?? "\(prefix)/\(JSONPointer.escape(name))"
    if value.isNull { return }
    if case .row(_, let idField?) = style, idField.hasSameBytes(as: name) {
      guard let text = value.scalarText else {
        return violate(pointer, "must be a string or a number, got \(value.kind)")
      }
      return key = text
    }
    if Self.ignored.contains(name) { return }
    switch name {
    case "id":
      if let text = value.scalarText {
        id = id ?? text
      } else {
        violate(pointer, "must be a string, got \(value.kind)")
      }
    case _ where Self.textFields.contains(name):
      guard let text = isStrict ? value.string : value.scalarText else {
        return violate(pointer, "must be a string, got \(value.kind)")
      }
      texts[ExactText(name)] = text
    case "level":
      guard let number = value.number, let whole = Int(exactly: number) else {
        return violate(pointer, "must be an integer")
      }
      level = whole
    case "importance":
      guard let number = value.number else { return violate(pointer, "must be a number") }
      importance = number
    case "names":
      // Those of Overture are in an object of their own.
      if !isStrict, case .string(let primary)? = value["primary"] {
        texts["name"] = texts["name"] ?? primary
        switch value["common"] {
        case .object(let common):
          otherNames += common.compactMap { member in member.value.string.map { (member.name, $0) } }
        case .array(let pairs):
          // As their program writes maps: pairs of a language and a name.
          otherNames += pairs.compactMap { pair in
            guard case .array(let parts) = pair, parts.count == 2, let language = parts[0].string else { return nil }
            return parts[1].string.map { (language, $0) }
          }
        default: break
        }
        return
      }
      names = tags(value, pointer)
    case "tags":
      guard case .object(let members) = value else { return tags = tags(value, pointer) }
      // As in places, numbers and Booleans become text, and null is no tag.
      let texts = members.filter { $0.value != .null }.map { member in
        JSONValue.Member(name: member.name, value: member.value.scalarText.map(JSONValue.string) ?? member.value)
      }
      tags = tags(.object(texts), pointer)
    case "geometry": takeGeometry(value)
    default: takeOther(name, value, pointer)
    }
  }

  private mutating func takeOther(_ name: String, _ value: JSONValue, _ pointer: String) {
    guard !isStrict else { return violate(pointer, "is not a field of an area") }
    // Nested values of other programs are left out.
    guard let text = value.scalarText else { return }
    if name.hasPrefix("name:") {
      otherNames.append((String(name.dropFirst("name:".count)), text))
    } else {
      others.append((name, text))
    }
  }

  private mutating func tags(_ value: JSONValue, _ pointer: String) -> Tags? {
    do {
      return try Tags(value)
    } catch {
      violations += error.violations.map {
        .init(pointer: pointer + $0.pointer.dropFirst("/tags".count), detail: $0.detail)
      }
      return nil
    }
  }

  // MARK: Geometry

  /// Takes a tag of OpenStreetMap, of which `name` alone is a field.
  mutating func takeTag(_ key: String, _ value: String) {
    if key.hasSameBytes(as: "name") {
      texts["name"] = value
    } else {
      takeOther(key, .string(value), "")
    }
  }

  mutating func takeGeometry(polygons: [[[Coordinate]]]) {
    hasGeometry = true
    do throws(AreaOutlineError) {
      outline = try AreaOutline(polygons: polygons, isMultiple: polygons.count > 1)
    } catch {
      violate("/geometry", "is not an area: \(error)")
    }
  }

  mutating func takeGeometry(_ value: JSONValue) {
    hasGeometry = true
    do throws(PointViolation) {
      outline = try Self.outline(value, coordinates.take())
    } catch {
      violations.append(error)
    }
  }

  mutating func take(_ outline: AreaOutline) {
    hasGeometry = true
    self.outline = outline
  }

  private static func outline(
    _ value: JSONValue, _ coordinates: AreaCoordinates?
  ) throws(PointViolation) -> AreaOutline {
    let pointer = "/geometry"
    guard let type = value["type"]?.string, ["Polygon", "MultiPolygon"].contains(type) else {
      throw PointViolation(pointer: pointer, detail: "must be a Polygon or a MultiPolygon in GeoJSON")
    }
    if let coordinates { return try coordinates.outline(isMultiple: type == "MultiPolygon") }
    let at = pointer + "/coordinates"
    let values = try elements(value["coordinates"], at)
    var polygons: [[[Coordinate]]] = []
    if type == "Polygon" {
      polygons.append(try rings(values, at))
    } else {
      for (index, value) in values.enumerated() {
        polygons.append(try rings(try elements(value, "\(at)/\(index)"), "\(at)/\(index)"))
      }
    }
    do {
      return try AreaOutline(polygons: polygons, isMultiple: type == "MultiPolygon")
    } catch {
      throw PointViolation(pointer: pointer, detail: "is not an area: \(error)")
    }
  }

  private static func elements(_ value: JSONValue?, _ pointer: String) throws(PointViolation) -> [JSONValue] {
    guard case .array(let elements)? = value, !elements.isEmpty else {
      throw PointViolation(pointer: pointer, detail: "must be an array that is not empty")
    }
    return elements
  }

  private static func rings(_ values: [JSONValue], _ pointer: String) throws(PointViolation) -> [[Coordinate]] {
    var rings: [[Coordinate]] = []
    for (index, value) in values.enumerated() {
      let at = "\(pointer)/\(index)"
      let positions = try elements(value, at)
      var ring: [Coordinate] = []
      ring.reserveCapacity(positions.count)
      for (index, position) in positions.enumerated() {
        guard case .array(let numbers) = position, numbers.count >= 2, let longitude = numbers[0].number,
          let latitude = numbers[1].number,
          let coordinate = try? Coordinate(latitude: latitude, longitude: longitude)
        else {
          throw PointViolation(
            pointer: "\(at)/\(index)",
            detail: "must be a longitude from -180 to 180 and a latitude from -90 to 90")
        }
        ring.append(coordinate)
      }
      guard ring.count >= 4, EarthCentred(ring[0]) == EarthCentred(ring[ring.count - 1]) else {
        throw PointViolation(
          pointer: at, detail: "must be a ring of at least four positions, of which the last is the first")
      }
      rings.append(ring)
    }
    return rings
  }

  // MARK: The area

  consuming func document() throws(InvalidPoint) -> (id: PointID?, hasForeignID: Bool, draft: AreaDraft) {
    inferFields()
    if !hasGeometry { violate("/geometry", "is missing") }
    if texts["name"] == nil { violate("\(prefix)/name", "is missing") }
    var kind = AreaKind.custom
    if let text = texts["kind"] {
      if let known = AreaKind(rawValue: text) {
        kind = known
      } else {
        let kinds = AreaKind.allCases.map(\.rawValue).joined(separator: ", ")
        violate("\(prefix)/kind", "must be one of \(kinds), got '\(text.prefix(50))'")
      }
    }
    let foundID = id.flatMap { PointID($0) }
    settleOrigin()
    var found: AreaDraft?
    do throws(InvalidPoint) {
      let names = try otherNames.isEmpty ? self.names ?? .none : Tags(otherNames + (self.names?.pairs ?? []))
      let tags = try others.isEmpty ? self.tags ?? .none : Tags(others + (self.tags?.pairs ?? []))
      if let outline {
        found = try AreaDraft(
          name: texts["name"] ?? "", names: names, kind: kind, level: level, importance: importance ?? 0,
          outline: outline, tags: tags, source: texts["source"], sourceID: texts["sourceId"])
      }
    } catch {
      violations += error.violations.filter { $0.pointer != "/name" || texts["name"] != nil }
        .map { .init(pointer: prefix + $0.pointer, detail: $0.detail) }
    }
    guard violations.isEmpty, let found else { throw InvalidPoint(violations) }
    return (foundID, id != nil && foundID == nil, found)
  }

  /// Determines the origin of a row, by the rules of rows of places: its own source and `sourceId` if it has both,
  /// otherwise the source of the style, if any, with the row's key.
  private mutating func settleOrigin() {
    guard case .row(let source, let idField) = style else { return }
    for field in ["source", "sourceId"] where texts[ExactText(field)]?.isEmpty == true {
      texts[ExactText(field)] = nil
    }
    if texts["source"] != nil, texts["sourceId"] != nil { return }
    // A source without an id in it is a mere remark of a Feature.
    if source != nil || !prefix.isEmpty, let remark = texts.removeValue(forKey: "source") {
      others.append(("source", remark))
    }
    guard let source else { return }
    guard let key = idField == nil ? texts["sourceId"] ?? id : key, !key.isEmpty else {
      return violate(
        "\(prefix)/\(JSONPointer.escape(idField ?? "id"))",
        "is missing, which is to be the sourceId; idField (--id-field) names another member")
    }
    texts["source"] = source
    texts["sourceId"] = key
  }

  /// Sets fields of rows of other programs: those of OpenStreetMap's boundaries by `admin_level` and `boundary`, those of
  /// Overture's divisions by `subtype`.
  private mutating func inferFields() {
    guard !isStrict else { return }
    func other(_ key: String) -> String? { others.first { $0.key.hasSameBytes(as: key) }?.value }
    if level == nil, let text = other("admin_level"), let number = Int(text), AreaDraft.levels.contains(number) {
      level = number
    }
    // Ten digits have the importance of the whole earth.
    if importance == nil, let text = other("population"), let population = Double(text), population >= 1 {
      importance = min((log10(population) * 10).rounded() / 100, 1)
    }
    if let postcode = other("postal_code"), other("boundary") == "postal_code" {
      texts["kind"] = texts["kind"] ?? AreaKind.postcode.rawValue
      texts["name"] = texts["name"] ?? postcode
    }
    if texts["kind"] == nil, other("boundary") == "administrative", let level {
      texts["kind"] = AreaKind(adminLevel: level).rawValue
    }
    if let subtype = other("subtype") {
      if other("class") == "maritime" {
        violate("/class", "is a maritime area; the land of the same division is a row of its own")
      }
      let kind: AreaKind? =
        switch subtype {
        case "country", "dependency": .country
        case "macroregion", "region", "macrocounty", "county": .region
        case "localadmin", "locality": .city
        case "borough", "macrohood", "neighborhood", "microhood": .district
        default: nil
        }
      texts["kind"] = texts["kind"] ?? kind?.rawValue
    }
  }
}

extension AreaKind {
  /// Creates the kind of an administrative boundary by its level in OpenStreetMap, whose meaning differs between
  /// countries.
  package init(adminLevel: Int) {
    self =
      switch adminLevel {
      case ...2: .country
      case 3...6: .region
      case 7...8: .city
      default: .district
      }
  }
}

extension JSONValue {
  fileprivate var isNull: Bool { if case .null = self { true } else { false } }

  fileprivate var string: String? { if case .string(let text) = self { text } else { nil } }

  fileprivate var number: Double? {
    guard case .number(let text) = self, let number = Double(text), number.isFinite else { return nil }
    return number
  }

  /// The text of a string, a number or a Boolean value; `nil` for any other value.
  fileprivate var scalarText: String? {
    switch self {
    case .string(let text), .number(let text): text
    case .bool(let isSet): isSet ? "true" : "false"
    case .null, .array, .object: nil
    }
  }
}

/// The rows of texts of areas, each of which is accepted or rejected.
package struct AreaRows: Sendable {
  package private(set) var rows: [AreaRow] = []
  package private(set) var report = ImportReport()

  /// The number of rows that have neither an id nor an origin.
  package private(set) var keylessRows = 0

  /// An estimate of the number of bytes that the rows take.
  package private(set) var byteCount = 0

  /// The number of the last row.
  package private(set) var lastRow: Int
  private let style: AreaDocument.Style

  /// Creates rows without any.
  ///
  /// - Parameters:
  ///   - firstRow: the number of the first row.
  ///   - options: the data set of the rows that name none, and the member that is their `sourceId` in it.
  package init(firstRow: Int = 1, options: RowOptions = .standard) {
    style = .row(source: options.source, idField: options.idField)
    lastRow = firstRow - 1
  }

  /// Creates rows from a text in a format that has them one after another, or in a collection.
  ///
  /// - Parameters:
  ///   - firstRow: the number of the first row.
  ///   - options: the data set of the rows that name none, and the member that is their `sourceId` in it.
  /// - Throws: ``FormatError`` if the text is none of the format.
  package init(
    _ text: UnsafeBufferPointer<UInt8>, format: PointFormat, firstRow: Int = 1, options: RowOptions = .standard
  ) throws(FormatError) {
    self.init(firstRow: firstRow, options: options)
    var splitter = try AreaSplitter(format: format)
    var rest = text[...]
    while !rest.isEmpty {
      let chunk = rest.prefix(Self.chunkBytes)
      rest = rest[chunk.endIndex...]
      for area in try splitter.areas(in: UnsafeBufferPointer(rebasing: chunk)) { append(area) }
    }
    for area in try splitter.end() { append(area) }
  }

  /// Returns the warning for rows that have neither an id nor an origin: each import creates their areas again; `nil`
  /// if there are none.
  package static func keyWarning(keylessRows count: Int) -> String? {
    guard count > 0 else { return nil }
    let rows =
      count == 1
      ? "1 row has neither an id nor a source and sourceId: another import of it creates its area"
      : "\(count) rows have neither an id nor a source and sourceId: another import of them creates their areas"
    return "\(rows) again; a source for all rows, and a field of ids if it is not 'id', would prevent that"
  }

  /// The number of bytes that are divided at a time.
  private static let chunkBytes = 1 << 16

  /// Appends the row of a text. O(n) for n positions.
  package mutating func append(_ text: AreaText) {
    lastRow += 1
    do throws(InvalidPoint) {
      let document = try AreaDocument(text, style: style)
      if document.id == nil, document.draft.origin == nil { keylessRows += 1 }
      rows.append(AreaRow(number: lastRow, id: document.id, draft: document.draft))
      byteCount += Self.byteCount(of: document.draft)
    } catch {
      report.reject(RejectedRow(number: lastRow, detail: error.description))
    }
  }

  private static func byteCount(of draft: AreaDraft) -> Int {
    // The heads of the arrays of an outline, and of texts.
    let texts = draft.name.utf8.count + draft.names.json.utf8.count + draft.tags.json.utf8.count
    return MemoryLayout<AreaRow>.stride + 256 + texts + draft.outline.byteCount
  }
}
