package import Basics
import Geo
import JSONText
import Points

/// The fields of a row, valid or not, from which the row's place or its rejection is made.
struct RowDraft {
  var id: PointID?
  var name: String?
  var category: String?
  var latitude: Double?
  var longitude: Double?
  var tags = Tags.none
  var source: String?
  var sourceID: String?

  /// The value of the member that the options name for the `sourceId`.
  var key: String?

  /// The id of the row, a UUID or not.
  var ownID: String?

  /// The members or columns that may hold opening hours in another form than a text.
  var scheduleMembers: [RecordSchedules.Member] = []

  /// The first of them that cannot be parsed.
  var unreadableHours: String?

  /// The fields that the file of the row has.
  var given = GivenFields.all

  /// A Boolean value that indicates whether the row says that it has no geometry.
  var hasNullGeometry = false

  /// The violations so far.
  private(set) var violations: [PointViolation] = []

  /// The fields that have a violation, or need none.
  private var violatedFields: Set<PointField> = []

  /// The fields that have been given.
  private var givenFields: FieldSet = []

  /// The pointer to the object of the fields.
  let prefix: String

  init(pointerPrefix prefix: String = "") {
    self.prefix = prefix
  }

  /// Notes that a field is given, and returns `false` where it was before.
  mutating func take(_ field: PointField) -> Bool {
    !field.isWritable || givenFields.insert(FieldSet(field)).inserted
  }

  /// Returns a Boolean value that indicates whether a field has been given.
  func has(_ field: PointField) -> Bool { givenFields.contains(FieldSet(field)) }

  mutating func reject(_ field: PointField?, _ pointer: String, _ detail: String) {
    violations.append(.init(pointer: pointer, detail: detail))
    if let field { violatedFields.insert(field) }
  }

  /// Rejects the value of a field that is named as it is written, within the properties of a Feature or not.
  mutating func reject(_ field: PointField, _ detail: String) {
    reject(field, "\(prefix)/\(field.name)", detail)
  }

  /// Accepts that these fields are missing, because of another violation.
  mutating func skipMissing(_ fields: Set<PointField> = [.name, .latitude, .longitude]) {
    violatedFields.formUnion(fields)
  }

  mutating func reject(_ field: PointField, _ invalid: InvalidPoint) {
    for violation in invalid.violations { reject(field, prefix + violation.pointer, violation.detail) }
  }

  /// Sets a field that is a text.
  mutating func setText(_ text: String?, of field: PointField) {
    switch field {
    case .name: name = text
    case .category: category = text
    case .source: source = text
    case .sourceID: sourceID = text
    default: preconditionFailure("the field is no text that a client sets")
    }
  }

  /// Sets the latitude or the longitude from its text, or rejects it.
  mutating func setDegrees(_ text: UnsafeBufferPointer<UInt8>, of field: PointField, pointer: String) {
    let isLatitude = field == .latitude
    let value = DecimalText.value(of: text) ?? DegreesText.value(of: text, isLatitude: isLatitude)
    if isLatitude { latitude = value } else { longitude = value }
    if value.map((isLatitude ? Coordinate.latitudes : Coordinate.longitudes).contains) != true {
      let range = isLatitude ? "-90 to 90" : "-180 to 180"
      let advice = value == nil ? DegreesText.advice(on: String(decoding: text.prefix(40), as: UTF8.self)) : ""
      reject(field, pointer, "must be a number from \(range), got \(Self.quote(text))\(advice)")
    }
  }

  /// The advice for an id that is no UUID.
  static let idAdvice = "; with a source (--source, or source=) such an id is the sourceId"

  /// Sets the position from a point as well-known text, or rejects it.
  mutating func setPosition(_ point: WellKnownPoint?, pointer: String) {
    guard let point else {
      reject(.latitude, pointer, "must be a point as well-known text, such as POINT (13.4 52.5), in degrees")
      return skipMissing([.longitude])
    }
    (latitude, longitude) = (point.latitude, point.longitude)
  }

  /// Sets the position from a text with both coordinates, or rejects it.
  mutating func setPosition(ofText text: UnsafeBufferPointer<UInt8>, by finder: PairOrderFinder) {
    guard !text.isEmpty else { return }
    let position = PositionText.position(of: text, order: finder.order)
    guard let (latitude, longitude) = position, Coordinate.latitudes.contains(latitude),
      Coordinate.longitudes.contains(longitude)
    else {
      let noun =
        finder.order == .latitudeFirst ? "the latitude and the longitude" : "the longitude and the latitude"
      let isSwapped = position.map { SwappedCoordinates.areLikely(latitude: $0.latitude, longitude: $0.longitude) }
      reject(
        .latitude, "\(prefix)/\(JSONPointer.escape(finder.name))",
        "must be \(noun) in degrees, got \(Self.quote(text))"
          + (finder.found != nil && isSwapped == true ? SwappedCoordinates.remark : ""))
      return skipMissing([.longitude])
    }
    (self.latitude, self.longitude) = (latitude, longitude)
  }

  /// Determines the origin of the place, once all fields but the tags have been read: the row's own source and
  /// `sourceId` where it has both, otherwise the source of the options, if any, with the row's key.
  ///
  /// - Parameter loneSourceIsTag: a Boolean value that indicates whether a source without a `sourceId` is a tag rather
  ///   than an error. It is one in any case where the options give a source.
  mutating func settleOrigin(
    _ options: RowOptions, pointerPrefix: String, loneSourceIsTag: Bool, tags: inout TagsBuilder
  ) {
    if source?.isEmpty == true { source = nil }
    if sourceID?.isEmpty == true { sourceID = nil }
    if source != nil, sourceID != nil || violatedFields.contains(.sourceID) { return }
    if let source, options.source != nil || loneSourceIsTag {
      tags.append(key: "source", value: source)
      self.source = nil
    }
    guard let source = options.source else { return }
    guard !violatedFields.contains(.sourceID) else { return skipMissing([.source]) }
    guard let key = options.idField == nil ? sourceID ?? ownID : key, !key.isEmpty else {
      let field = options.idField ?? "id"
      reject(.sourceID, "\(pointerPrefix)/\(JSONPointer.escape(field))", "is missing, which is to be the sourceId")
      skipMissing([.source])
      return
    }
    self.source = source
    sourceID = key
  }

  /// Returns the row, or its rejection with every rule that it breaks.
  func row(_ number: Int) -> PointParser.Row {
    do {
      return .success(
        ImportRow(number: number, id: id, draft: try place(), unreadableHours: unreadableHours, given: given))
    } catch {
      var detail = Self.detail(of: error.violations)
      if let latitude, let longitude, SwappedCoordinates.areLikely(latitude: latitude, longitude: longitude) {
        detail += SwappedCoordinates.remark
      }
      let origin = SourceReference(validating: source, sourceID: sourceID)
      return .failure(RejectedRow(number: number, detail: detail, id: id, origin: origin))
    }
  }

  /// Returns the place.
  ///
  /// - Throws: ``InvalidPoint`` with every rule that it breaks.
  func place() throws(InvalidPoint) -> PointDraft {
    if violations.isEmpty, let name, let latitude, let longitude,
      let coordinate = try? Coordinate(latitude: latitude, longitude: longitude)
    {
      do {
        return try PointDraft(
          name: name, category: category, coordinate: coordinate, tags: tags, source: source, sourceID: sourceID)
      } catch {
        // The violations are collected below, with the others.
      }
    }
    throw InvalidPoint(allViolations)
  }

  // MARK: Violations

  /// The maximum number of violations in a rejection.
  private static let maximumViolations = 10

  private static func detail(of violations: [PointViolation]) -> String {
    let detail = InvalidPoint(Array(violations.prefix(maximumViolations))).description
    return violations.count > maximumViolations
      ? detail + "; and \(violations.count - maximumViolations) more" : detail
  }

  private var allViolations: [PointViolation] {
    var all = violations
    func isMissing(_ value: (some Any)?, _ field: PointField) -> Bool {
      value == nil && !violatedFields.contains(field)
    }
    if isMissing(name, .name) { all.append(.init(pointer: prefix + "/name", detail: "is missing")) }
    if isMissing(latitude, .latitude) { all.append(.init(pointer: "/lat", detail: "is missing")) }
    if isMissing(longitude, .longitude) { all.append(.init(pointer: "/long", detail: "is missing")) }
    do {
      _ = try PointDraft(
        name: name ?? "-",
        category: category,
        coordinate: try Coordinate(latitude: 0, longitude: 0),
        source: violatedFields.contains(.source) ? source ?? "-" : source,
        sourceID: violatedFields.contains(.sourceID) ? sourceID ?? "-" : sourceID
      )
    } catch let invalid as InvalidPoint {
      all += invalid.violations.map { .init(pointer: prefix + $0.pointer, detail: $0.detail) }
    } catch {
      // The coordinate is a valid one.
    }
    return all
  }

  /// Returns bytes as quoted text for a user, cut where they are long.
  static func quote(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
    let shown = String(decoding: bytes.prefix(40), as: UTF8.self)
    return bytes.count > 40 ? "'\(shown)…'" : "'\(shown)'"
  }
}

extension PointField {
  /// Creates the field that a member of a JSON object or a column of a CSV file stands for; `nil` if it is none.
  ///
  /// The spellings are the same in every format, in any case: `id`, `name`, `category`, `tags`, `source`, `sourceId` or
  /// `source_id`; `lat`, `latitude` or `y`; `long`, `lon`, `lng`, `longitude` or `x`. Those that the service or a search
  /// sets have the names that exports have, which are ignored.
  init?(name: UnsafeBufferPointer<UInt8>) {
    switch name.count {
    case 1 where name.isEqual(toLowercase: "y"): self = .latitude
    case 1 where name.isEqual(toLowercase: "x"): self = .longitude
    case 2 where name.isEqual(toLowercase: "id"): self = .id
    case 3 where name.isEqual(toLowercase: "lat"): self = .latitude
    case 3 where name.isEqual(toLowercase: "lon") || name.isEqual(toLowercase: "lng"): self = .longitude
    case 4 where name.isEqual(toLowercase: "name"): self = .name
    case 4 where name.isEqual(toLowercase: "long"): self = .longitude
    case 4 where name.isEqual(toLowercase: "tags"): self = .tags
    case 6 where name.isEqual(toLowercase: "source"): self = .source
    case 7 where name.isEqual(toLowercase: "version"): self = .version
    case 8 where name.isEqual(toLowercase: "category"): self = .category
    case 8 where name.isEqual(toLowercase: "sourceid"): self = .sourceID
    case 8 where name.isEqual(toLowercase: "distance"): self = .distance
    case 8 where name.isEqual(toLowercase: "latitude"): self = .latitude
    case 9 where name.isEqual(toLowercase: "longitude"): self = .longitude
    case 9 where name.isEqual(toLowercase: "source_id"): self = .sourceID
    case 9 where name.isEqual(toLowercase: "createdat"): self = .createdAt
    case 9 where name.isEqual(toLowercase: "updatedat"): self = .updatedAt
    case 10 where name.isEqual(toLowercase: "created_at"): self = .createdAt
    case 10 where name.isEqual(toLowercase: "updated_at"): self = .updatedAt
    case 11 where name.isEqual(toLowercase: "alongmetres"): self = .along
    default: return nil
    }
  }

  /// Creates the field that a column of a CSV file or a member of a merge patch stands for; `nil` if it is none.
  init?(column name: String) {
    let field = Array(name.utf8).withUnsafeBufferPointer { PointField(name: $0) }
    guard let field else { return nil }
    self = field
  }

  /// Returns a Boolean value that indicates whether the name of a coordinate may mean anything else: `x` and `y`.
  static func isWeak(_ name: UnsafeBufferPointer<UInt8>) -> Bool { name.count == 1 }

  /// The field in words.
  var noun: String {
    switch self {
    case .latitude: "latitude"
    case .longitude: "longitude"
    default: name
    }
  }
}

/// The options for the rows of an import.
package struct RowOptions: Hashable, Sendable {
  /// The treatment of members and columns that are no field of a place.
  package enum UnknownFields: String, CaseIterable, Hashable, Sendable {
    /// They become tags.
    case tags
    /// The row is rejected; in CSV the whole text is, since it is the header that names them.
    case reject
  }

  /// The treatment of members and columns that are no field of a place.
  package var unknownFields: UnknownFields

  /// The source of the rows that do not name their own together with a `sourceId`; `nil` if there is none.
  @ComparedByBytes package private(set) var source: String?

  /// The member or column whose value is the `sourceId` under ``source``; `nil` for the Feature's `id`, or the member
  /// or column `id` or `sourceId`.
  @ComparedByBytes package private(set) var idField: String?

  /// The member or column that is the name, where `name` is a tag; `nil` for `name`.
  @ComparedByBytes package private(set) var nameField: String?

  /// Creates options.
  ///
  /// - Throws: ``RowOptionError`` for a source that no place can have, an `idField` or a `nameField` that is another
  ///   field of a place, and an `idField` without a source.
  package init(
    unknownFields: UnknownFields = .tags, source: String? = nil, idField: String? = nil, nameField: String? = nil
  ) throws(RowOptionError) {
    if let source {
      if source.isEmpty { throw .source("must not be empty") }
      guard let coordinate = try? Coordinate(latitude: 0, longitude: 0) else { throw .source("can't be checked") }
      do {
        _ = try PointDraft(name: "-", coordinate: coordinate, source: source, sourceID: "-")
      } catch {
        throw .source(error.violations.first?.detail ?? "is invalid")
      }
    }
    switch idField.map(PointField.init(column:)) {
    case nil: self.idField = nil
    // These are the default fields.
    case .id??, .sourceID??: self.idField = nil
    case nil?: self.idField = idField
    case .some(.some): throw .idField("must not be a field of a place other than id and sourceId")
    }
    if idField != nil, source == nil { throw .idField("needs a source") }
    switch nameField.map(PointField.init(column:)) {
    case nil, .name??: self.nameField = nil
    case nil?: self.nameField = nameField
    case .some(.some): throw .nameField("must not be another field of a place")
    }
    if let nameField, idField.hasSameBytes(as: nameField) { throw .nameField("must not be the field of the ids") }
    self.unknownFields = unknownFields
    self.source = source
  }

  private init(unknownFields: UnknownFields) {
    self.unknownFields = unknownFields
    source = nil
    idField = nil
    nameField = nil
  }

  /// The default options of an import: unknown fields are tags.
  package static let standard = RowOptions(unknownFields: .tags)

  /// The options of a single place: unknown fields are errors, which finds a misspelt one.
  static let strict = RowOptions(unknownFields: .reject)
}

/// The reason why options for the rows of an import are invalid. The text goes on from the option's name.
package enum RowOptionError: Error, Hashable, Sendable {
  /// The source is invalid.
  case source(String)
  /// The name of the field of ids is invalid.
  case idField(String)
  /// The name of the field of names is invalid.
  case nameField(String)
}
