import Geo
import JSONText
import Points

/// What has been read of a row, until it is a place or is rejected with all that is wrong with it.
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

  /// The id that the row gives itself, a UUID or not.
  var ownID: String?

  /// What was found wrong so far.
  private(set) var violations: [PlaceViolation] = []

  /// The fields with which something is wrong already.
  private var violatedFields: Set<PlaceField> = []

  /// What stands before the pointers of the rules that a place checks itself.
  private let prefix: String

  init(pointerPrefix prefix: String = "") {
    self.prefix = prefix
  }

  mutating func reject(_ field: PlaceField?, _ pointer: String, _ detail: String) {
    violations.append(.init(pointer: pointer, detail: detail))
    if let field { violatedFields.insert(field) }
  }

  /// Leaves it at what was found: that these fields are missing is not worth saying.
  mutating func skipMissing(_ fields: Set<PlaceField> = [.name, .latitude, .longitude]) {
    violatedFields.formUnion(fields)
  }

  mutating func reject(_ field: PlaceField, _ invalid: InvalidPlace) {
    for violation in invalid.violations { reject(field, prefix + violation.pointer, violation.detail) }
  }

  /// Takes a latitude from its text, or says what is wrong with it.
  mutating func setLatitude(_ text: UnsafeBufferPointer<UInt8>, pointer: String) {
    latitude = DecimalText.value(of: text)
    if latitude.map(Coordinate.latitudes.contains) != true {
      reject(.latitude, pointer, "must be a number from -90 to 90, got \(Self.quote(text))")
    }
  }

  /// Takes a longitude from its text, or says what is wrong with it.
  mutating func setLongitude(_ text: UnsafeBufferPointer<UInt8>, pointer: String) {
    longitude = DecimalText.value(of: text)
    if longitude.map(Coordinate.longitudes.contains) != true {
      reject(.longitude, pointer, "must be a number from -180 to 180, got \(Self.quote(text))")
    }
  }

  /// Settles where the place comes from, once all but the tags has been read: the row's own source and `sourceId` where
  /// it has both, otherwise the source of the options, if any, with the row's key.
  ///
  /// - Parameter loneSourceIsTag: whether a source without a `sourceId` is a tag rather than an error. It is one in any
  ///   case where the options give a source.
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

  /// The row, or its rejection with every rule that it breaks.
  func row(_ number: Int) -> PlaceParser.Row {
    do {
      return .success(ImportRow(number: number, id: id, place: try place()))
    } catch {
      return .failure(RejectedRow(number: number, detail: Self.detail(of: error.violations)))
    }
  }

  /// The place.
  ///
  /// - Throws: ``InvalidPlace`` with every rule that it breaks.
  func place() throws(InvalidPlace) -> Place {
    if violations.isEmpty, let name, let latitude, let longitude,
      let coordinate = try? Coordinate(latitude: latitude, longitude: longitude)
    {
      do {
        return try Place(
          name: name, category: category, coordinate: coordinate, tags: tags, source: source, sourceID: sourceID)
      } catch {
        // All of it is found below, with what else is wrong.
      }
    }
    throw InvalidPlace(allViolations)
  }

  // MARK: What is wrong

  /// How many violations a rejection tells.
  private static let maximumViolations = 10

  private static func detail(of violations: [PlaceViolation]) -> String {
    let detail = InvalidPlace(Array(violations.prefix(maximumViolations))).description
    return violations.count > maximumViolations
      ? detail + "; and \(violations.count - maximumViolations) more" : detail
  }

  private var allViolations: [PlaceViolation] {
    var all = violations
    func isMissing(_ value: (some Any)?, _ field: PlaceField) -> Bool {
      value == nil && !violatedFields.contains(field)
    }
    if isMissing(name, .name) { all.append(.init(pointer: prefix + "/name", detail: "is missing")) }
    if isMissing(latitude, .latitude) { all.append(.init(pointer: "/lat", detail: "is missing")) }
    if isMissing(longitude, .longitude) { all.append(.init(pointer: "/long", detail: "is missing")) }
    do {
      _ = try Place(
        name: name ?? "-",
        category: category,
        coordinate: try Coordinate(latitude: 0, longitude: 0),
        source: violatedFields.contains(.source) ? source ?? "-" : source,
        sourceID: violatedFields.contains(.sourceID) ? sourceID ?? "-" : sourceID
      )
    } catch let invalid as InvalidPlace {
      all += invalid.violations.map { .init(pointer: prefix + $0.pointer, detail: $0.detail) }
    } catch {
      // The coordinate is a valid one.
    }
    return all
  }

  /// Bytes as they are shown to a user, cut where they are long.
  static func quote(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
    let shown = String(decoding: bytes.prefix(40), as: UTF8.self)
    return bytes.count > 40 ? "'\(shown)…'" : "'\(shown)'"
  }
}
