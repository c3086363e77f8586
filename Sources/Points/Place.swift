public import Geo
public import JSONText

/// What is said of a place by whoever describes it: everything but what the service adds.
///
/// A value of this type keeps all the rules of the HTTP contract; nothing past its construction checks them again.
public struct Place: Hashable, Sendable {
  /// 1 to 500 Unicode scalars, without control characters, trimmed of white space.
  @ComparedByBytes public private(set) var name: String

  /// At most 100 Unicode scalars, without control characters, trimmed of white space; never empty.
  @ComparedByBytes public private(set) var category: String?

  /// Where it is.
  public let coordinate: Coordinate

  /// What else is known of it.
  public let tags: Tags

  /// Where the description came from.
  public let origin: Origin?

  /// Where a description came from; unique among the places of a store.
  public struct Origin: Hashable, Sendable {
    /// The data set, for example `osm`.
    @ComparedByBytes public private(set) var source: String

    /// The place's name in that data set.
    @ComparedByBytes public private(set) var sourceID: String

    /// Takes an origin that a store kept; ``Place/init(name:category:coordinate:tags:source:sourceID:)`` checks one.
    public init(source: String, sourceID: String) {
      self.source = source
      self.sourceID = sourceID
    }
  }

  /// How long a name may be, in Unicode scalars.
  public static let maximumNameLength = 500

  /// How long a category may be, in Unicode scalars.
  public static let maximumCategoryLength = 100

  /// How long a source and a source's id may be, in Unicode scalars each.
  public static let maximumOriginLength = 200

  /// Creates a description of a place, trimming the texts; an empty category, source or source id counts as none.
  ///
  /// - Throws: ``InvalidPlace`` with every rule that is broken.
  public init(
    name: String,
    category: String? = nil,
    coordinate: Coordinate,
    tags: Tags = .none,
    source: String? = nil,
    sourceID: String? = nil
  ) throws(InvalidPlace) {
    var violations: [PlaceViolation] = []
    func checked(_ text: String, _ pointer: String, _ maximumLength: Int) -> String {
      let trimmed = text.trimmingWhiteSpace()
      if let detail = trimmed.complaint(maximumLength: maximumLength) {
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
      violations.append(.init(pointer: "/source", detail: "must be given where sourceId is"))
    } else if source != nil, sourceID == nil {
      violations.append(.init(pointer: "/sourceId", detail: "must be given where source is"))
    }
    guard violations.isEmpty else { throw InvalidPlace(violations) }
    self.name = name
    self.category = category
    self.coordinate = coordinate
    self.tags = tags
    if let source, let sourceID {
      origin = Origin(source: source, sourceID: sourceID)
    } else {
      origin = nil
    }
  }

  /// Takes a description that a store kept and that may have been damaged since.
  ///
  /// - Throws: ``InvalidPlace`` with every rule that is broken; a text that is not trimmed breaks one too.
  public init(
    verifyingName name: String,
    category: String?,
    coordinate: Coordinate,
    tags: Tags,
    source: String?,
    sourceID: String?
  ) throws(InvalidPlace) {
    self = try Place(
      name: name, category: category, coordinate: coordinate, tags: tags, source: source, sourceID: sourceID)
    let kept = [name, category, source, sourceID].lazy.map { $0?.utf8.count }
    let taken = [self.name, self.category, origin?.source, origin?.sourceID].lazy.map { $0?.utf8.count }
    // What is trimmed is shorter, and what is empty is none.
    guard kept.elementsEqual(taken) else {
      throw InvalidPlace([.init(pointer: "", detail: "must have its texts trimmed and not empty")])
    }
  }

  /// Takes a description that a store kept, without checking the rules again.
  public init(
    storedName name: String,
    category: String?,
    coordinate: Coordinate,
    tags: Tags,
    origin: Origin?
  ) {
    self.name = name
    self.category = category
    self.coordinate = coordinate
    self.tags = tags
    self.origin = origin
  }
}

extension String {
  fileprivate func trimmingWhiteSpace() -> String {
    // Most texts begin and end with printable ASCII, which needs no look at Unicode's tables.
    if let first = utf8.first, let last = utf8.last, 0x21..<0x7F ~= first, 0x21..<0x7F ~= last { return self }
    let scalars = unicodeScalars
    guard let first = scalars.first, let last = scalars.last else { return self }
    if !first.properties.isWhitespace, !last.properties.isWhitespace { return self }
    guard let start = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
      let end = scalars.lastIndex(where: { !$0.properties.isWhitespace })
    else { return "" }
    return String(scalars[start...end])
  }

  fileprivate func complaint(maximumLength: Int) -> String? {
    if utf8.count > maximumLength {
      let length = unicodeScalars.count
      if length > maximumLength { return "must have at most \(maximumLength) characters, got \(length)" }
    }
    return hasControlCharacters ? "must not contain control characters" : nil
  }

  /// Whether a scalar is of the general category Cc: U+0000 to U+001F and U+007F to U+009F, now and for ever.
  private var hasControlCharacters: Bool {
    var previous: UInt8 = 0
    for byte in utf8 {
      if byte < 0x20 || byte == 0x7F || (previous == 0xC2 && byte < 0xA0) { return true }
      previous = byte
    }
    return false
  }
}
