package import Basics
package import Geo

/// The objects of a file that become places.
///
/// An object is kept if one of its tags matches one of the ``filters``, its kind is one of ``kinds``, the
/// ``predicate`` accepts it, and its point is in the ``box`` and in the ``area``.
package struct OSMSelection: Sendable {
  /// The filters, of which one must match. They are applied to every object, so they are data rather than code.
  package var filters: [OSMTagFilter]

  /// The kinds of objects.
  package var kinds: Set<OSMKind>

  /// A Boolean value that indicates whether relations that are areas have their outlines, and are kept without a point
  /// inside too.
  package var keepsOutlines = false

  /// A further condition on the tags of objects that match a filter, or nil. It is called on several threads, and
  /// must return the same value for the same object.
  package var predicate: (@Sendable (OSMKind, [OSMTag]) -> Bool)?

  /// The box that the point must be in, or nil.
  package var box: BoundingBox?

  /// The area that the point must be in, or nil.
  package var area: OSMArea?

  package init(
    filters: [OSMTagFilter] = OSMTagFilter.places,
    kinds: Set<OSMKind> = Set(OSMKind.allCases),
    box: BoundingBox? = nil,
    area: OSMArea? = nil,
    predicate: (@Sendable (OSMKind, [OSMTag]) -> Bool)? = nil
  ) {
    self.filters = filters
    self.kinds = kinds
    self.box = box
    self.area = area
    self.predicate = predicate
  }

  /// A Boolean value that indicates whether objects are kept wherever they are.
  package var isEverywhere: Bool { box == nil && area == nil }

  /// Returns a Boolean value that indicates whether a position is in the box and in the area.
  package func contains(latitude: Double, longitude: Double) -> Bool {
    if let box {
      guard let coordinate = try? Coordinate(latitude: latitude, longitude: longitude), box.contains(coordinate) else {
        return false
      }
    }
    return area?.contains(OSMPosition(latitude: latitude, longitude: longitude)) ?? true
  }
}

/// A condition on one tag.
package struct OSMTagFilter: Hashable, Sendable {
  /// The key.
  @ComparedByBytes package var key: String

  /// The accepted values, or nil if every value but `no` is accepted.
  package var values: Set<ExactText>?

  /// A Boolean value that indicates whether the object must have a `name` too.
  package var isForNamed = false

  package init(_ key: String, _ values: [String]? = nil, isForNamed: Bool = false) {
    self.key = key
    self.isForNamed = isForNamed
    self.values = values.map { Set($0.map { ExactText($0) }) }
  }

  /// The filters of a selection where none is given: named objects, and those with a key that places have.
  package static let places: [OSMTagFilter] =
    [
      "name", "amenity", "shop", "tourism", "leisure", "historic", "office", "craft", "healthcare", "public_transport",
      "place", "emergency",
    ].map { OSMTagFilter($0) } + [
      OSMTagFilter("railway", ["station", "halt", "tram_stop", "subway_entrance"]),
      OSMTagFilter("aeroway", ["aerodrome", "heliport", "helipad", "terminal", "gate"]),
      OSMTagFilter("highway", ["bus_stop", "rest_area", "services"]),
      OSMTagFilter("natural", ["peak", "volcano", "spring", "beach", "cave_entrance", "hot_spring", "geyser"]),
      OSMTagFilter("man_made", ["lighthouse", "tower", "windmill", "watermill", "observatory", "obelisk"]),
    ]
}

/// The filters of a selection, arranged for lookups by key.
struct TagRules: Sendable {
  /// The accepted values of a key.
  enum Values: Sendable {
    case allButNo
    case only(Set<ExactText>)

    fileprivate func contains(_ value: String) -> Bool {
      switch self {
      case .allButNo: !value.hasSameBytes(as: "no")
      case .only(let values): values.contains(ExactText(value))
      }
    }

    fileprivate func union(_ other: Values) -> Values {
      guard case .only(let values) = self, case .only(let others) = other else { return .allButNo }
      return .only(values.union(others))
    }
  }

  /// The accepted values of a key, of any object and of named ones.
  struct Rule: Sendable {
    fileprivate(set) var ofAll: Values?
    fileprivate(set) var ofNamed: Values?
  }

  private var rules: [ExactText: Rule] = [:]

  init(_ filters: [OSMTagFilter]) {
    for filter in filters {
      let values = filter.values.map { Values.only($0) } ?? .allButNo
      let path = filter.isForNamed ? \Rule.ofNamed : \.ofAll
      rules[ExactText(filter.key), default: Rule()][keyPath: path] =
        rules[ExactText(filter.key)]?[keyPath: path]?.union(values) ?? values
    }
  }

  subscript(key: String) -> Rule? { rules[ExactText(key)] }
}

/// Matches the tags of the objects of one block. A string of the block is compared with the filters once.
struct TagMatcher {
  private enum Class: UInt8 { case unknown, noKey, anyValue, someValues, name }

  /// The objects that a tag selects.
  private enum Decision: UInt8 { case none, all, named }

  private let rules: TagRules
  private var classes: [Class]
  private var decisions: [UInt64: Decision] = [:]
  private var nameIndex: UInt32?

  init(_ rules: TagRules, _ block: PrimitiveBlock) {
    self.rules = rules
    classes = Array(repeating: .unknown, count: block.stringCount)
  }

  /// Returns a Boolean value that indicates whether one of the tags matches one of the filters.
  @inline(__always)
  mutating func matches(_ pairs: [TagPair], in block: PrimitiveBlock) throws(OSMError) -> Bool {
    var (isNamed, matchesIfNamed) = (false, false)
    for pair in pairs {
      // The block has checked the indexes.
      if classes[Int(pair.key)] == .unknown { try classify(pair.key, in: block) }
      switch classes[Int(pair.key)] {
      case .unknown, .noKey: continue
      case .name: isNamed = true
      case .anyValue: if try !block.bytes(pair.value).elementsEqual("no".utf8) { return true }
      case .someValues:
        let index = pair.key
        if index == nameIndex { isNamed = true }
        switch try decision(pair, in: block) {
        case .none: continue
        case .all: return true
        case .named: matchesIfNamed = true
        }
      }
    }
    return isNamed && matchesIfNamed
  }

  private mutating func classify(_ key: UInt32, in block: PrimitiveBlock) throws(OSMError) {
    let text = try block.text(key)
    let isName = text.hasSameBytes(as: "name")
    if isName { nameIndex = key }
    classes[Int(key)] =
      switch rules[text]?.ofAll {
      case .allButNo?: .anyValue
      case .only?: .someValues
      case nil: rules[text] != nil ? .someValues : isName ? .name : .noKey
      }
  }

  private mutating func decision(_ pair: TagPair, in block: PrimitiveBlock) throws(OSMError) -> Decision {
    let number = UInt64(pair.key) << 32 | UInt64(pair.value)
    if let known = decisions[number] { return known }
    let (rule, value) = (rules[try block.text(pair.key)], try block.text(pair.value))
    let decision: Decision =
      rule?.ofAll?.contains(value) == true ? .all : rule?.ofNamed?.contains(value) == true ? .named : .none
    decisions[number] = decision
    return decision
  }
}
