public import Basics
public import Geo
import SearchWords

/// The part of a point of interest that clients set; the service adds the id, the version and the times.
///
/// A value of this type satisfies all rules of the HTTP contract; nothing past its construction checks them again.
public struct PointDraft: Hashable, Sendable {
  /// 1 to 500 Unicode scalars, without control characters, trimmed of white space.
  @ComparedByBytes public private(set) var name: String

  /// At most 100 Unicode scalars, without control characters, trimmed of white space; never empty.
  @ComparedByBytes public private(set) var category: String?

  /// The position, in WGS 84.
  public let coordinate: Coordinate

  /// Further properties, as names and texts.
  public let tags: Tags

  /// The data set that the draft was imported from, and its id there.
  public let origin: SourceReference?

  /// The maximum length of a name, in Unicode scalars.
  public static let maximumNameLength = 500

  /// The maximum length of a category, in Unicode scalars.
  public static let maximumCategoryLength = CategoryTree.maximumNameLength

  /// The maximum length of a source and of an id in it, in Unicode scalars each.
  public static let maximumOriginLength = 200

  /// Creates a draft, trimming the texts; an empty category, source or source id counts as none.
  ///
  /// - Throws: ``InvalidPoint`` with all violations.
  public init(
    name: String,
    category: String? = nil,
    coordinate: Coordinate,
    tags: Tags = .none,
    source: String? = nil,
    sourceID: String? = nil
  ) throws(InvalidPoint) {
    var violations: [PointViolation] = []
    func checked(_ text: String, _ pointer: String, _ maximumLength: Int) -> String {
      let trimmed = text.trimmingWhiteSpace()
      if let detail = trimmed.violation(maximumLength: maximumLength) {
        violations.append(.init(pointer: pointer, detail: detail))
      }
      return trimmed
    }
    func optional(_ text: String?, _ pointer: String, _ maximumLength: Int) -> String? {
      let checked = checked(text ?? "", pointer, maximumLength)
      return checked.isEmpty ? nil : checked
    }
    let name = checked(name, "/name", Self.maximumNameLength)
    if name.isEmpty { violations.append(.init(pointer: "/name", detail: "must not be empty")) }
    let category = optional(category, "/category", Self.maximumCategoryLength)
    let source = optional(source, "/source", Self.maximumOriginLength)
    let sourceID = optional(sourceID, "/sourceId", Self.maximumOriginLength)
    if source == nil, sourceID != nil {
      violations.append(.init(pointer: "/source", detail: "must be given if sourceId is given"))
    } else if source != nil, sourceID == nil {
      violations.append(.init(pointer: "/sourceId", detail: "must be given if source is given"))
    }
    guard violations.isEmpty else { throw InvalidPoint(violations) }
    self.name = name
    self.category = category
    self.coordinate = coordinate
    self.tags = tags
    if let source, let sourceID {
      origin = SourceReference(source: source, sourceID: sourceID)
    } else {
      origin = nil
    }
  }

  /// Creates a draft from stored values that may have been damaged since.
  ///
  /// - Throws: ``InvalidPoint`` with all violations; a text that is not trimmed is one too.
  public init(
    verifyingName name: String,
    category: String?,
    coordinate: Coordinate,
    tags: Tags,
    source: String?,
    sourceID: String?
  ) throws(InvalidPoint) {
    self = try PointDraft(
      name: name, category: category, coordinate: coordinate, tags: tags, source: source, sourceID: sourceID)
    let kept = [name, category, source, sourceID].lazy.map { $0?.utf8.count }
    let taken = [self.name, self.category, origin?.source, origin?.sourceID].lazy.map { $0?.utf8.count }
    // A trimmed text is shorter, and an empty one is none.
    guard kept.elementsEqual(taken) else {
      throw InvalidPoint([.init(pointer: "", detail: "must have its texts trimmed and not empty")])
    }
  }

  /// Creates a draft from stored values, without validation.
  public init(
    storedName name: String,
    category: String?,
    coordinate: Coordinate,
    tags: Tags,
    origin: SourceReference?
  ) {
    self.name = name
    self.category = category
    self.coordinate = coordinate
    self.tags = tags
    self.origin = origin
  }
}

extension PointDraft {
  /// The number of bytes of the name and the tags.
  package var textBytes: Int { name.utf8.count + tags.json.utf8.count }
}

/// The data set that a point of interest was imported from, and its id there; unique among the points of a store.
public struct SourceReference: Hashable, Sendable {
  /// The name of the data set, for example `osm`.
  @ComparedByBytes public private(set) var source: String

  /// The id of the point of interest in that data set.
  @ComparedByBytes public private(set) var sourceID: String

  /// Creates a reference from stored values, without validation;
  /// ``PointDraft/init(name:category:coordinate:tags:source:sourceID:)`` validates.
  public init(source: String, sourceID: String) {
    self.source = source
    self.sourceID = sourceID
  }
}

extension SourceReference {
  /// Creates the reference of texts as a place has them, trimmed; `nil` if there are not both, or one is invalid.
  package init?(validating source: String?, sourceID: String?) {
    guard let coordinate = try? Coordinate(latitude: 0, longitude: 0),
      let origin = try? PointDraft(name: "-", coordinate: coordinate, source: source, sourceID: sourceID).origin
    else { return nil }
    self = origin
  }
}

/// A rule that a draft violates, with its position.
public struct PointViolation: Error, Hashable, Sendable {
  /// The field, as a JSON pointer (RFC 6901) such as `/lat`.
  public let pointer: String

  /// The rule, for a user: the rest of a sentence that begins with the field's name.
  public let detail: String

  public init(pointer: String, detail: String) {
    self.pointer = pointer
    self.detail = detail
  }
}

/// The error of a draft that violates rules, with all violations.
public struct InvalidPoint: Error, Hashable, Sendable, CustomStringConvertible {
  /// The violations, at least one, in the order of the fields.
  public let violations: [PointViolation]

  public init(_ violations: [PointViolation]) {
    self.violations = violations
  }

  /// All violations in one line, for a user.
  public var description: String {
    violations.map { $0.pointer.isEmpty ? $0.detail : "\($0.pointer) \($0.detail)" }.joined(separator: "; ")
  }
}

/// A data set that places come from, with its licence and attribution.
public struct DataSource: Hashable, Sendable {
  /// The name, as the source of its places.
  @ComparedByBytes public private(set) var name: String

  /// The licence, preferably as an SPDX identifier, such as `ODbL-1.0`.
  @ComparedByBytes public var licence: String?

  /// The attribution that the licence asks for.
  @ComparedByBytes public var attribution: String?

  /// The address of the data set or of its licence.
  @ComparedByBytes public var url: String?

  /// The maximum length of each text, in Unicode scalars.
  public static let maximumLength = 500

  /// Returns a Boolean value that indicates whether a text is an address that apps can link to: `http://` or `https://`
  /// and a host, without white space and control characters.
  public static func isAddress(_ text: String) -> Bool {
    guard let scheme = ["http://", "https://"].first(where: { text.hasPrefix($0) }) else { return false }
    let rest = text.unicodeScalars.dropFirst(scheme.unicodeScalars.count)
    guard let first = rest.first, !["/", "?", "#"].contains(first) else { return false }
    return rest.allSatisfy { !$0.properties.isWhitespace && $0.properties.generalCategory != .control }
  }

  public init(name: String, licence: String? = nil, attribution: String? = nil, url: String? = nil) {
    self.name = name
    self.licence = licence
    self.attribution = attribution
    self.url = url
  }

  /// Returns the data set with the values of another one where it has none.
  public func completed(by other: DataSource?) -> DataSource {
    DataSource(
      name: name, licence: licence ?? other?.licence, attribution: attribution ?? other?.attribution,
      url: url ?? other?.url)
  }
}
