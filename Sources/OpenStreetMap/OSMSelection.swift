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
}

/// A condition on one tag.
package struct OSMTagFilter: Hashable, Sendable {
  /// The key.
  @ComparedByBytes package var key: String

  /// The accepted values, or nil if every value but `no` is accepted.
  package var values: Set<ExactText>?

  package init(_ key: String, _ values: [String]? = nil) {
    self.key = key
    self.values = values.map { Set($0.map { ExactText($0) }) }
  }

  /// Creates a filter from `key`, `key=value` or `key=value,value`; `key=*` is `key`. Returns nil if the key is empty.
  package init?(parsing text: String) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard let key = parts.first, !key.isEmpty else { return nil }
    self.key = String(key)
    values =
      parts.count == 1 || parts[1] == "*" ? nil : Set(parts[1].split(separator: ",").map { ExactText(String($0)) })
  }

  /// The filters for points of interest: named objects, and those with a key that places have.
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
  }

  private let values: [ExactText: Values]

  init(_ filters: [OSMTagFilter]) {
    var values: [ExactText: Values] = [:]
    for filter in filters {
      let key = ExactText(filter.key)
      switch (values[key], filter.values) {
      case (.allButNo, _), (_, nil): values[key] = .allButNo
      case (.only(let known), let more?): values[key] = .only(known.union(more))
      case (nil, let accepted?): values[key] = .only(accepted)
      }
    }
    self.values = values
  }

  subscript(key: String) -> Values? { values[ExactText(key)] }
}

/// Matches the tags of the objects of one block. A string of the block is compared with the filters once.
struct TagMatcher {
  private enum Class: UInt8 { case unknown, noKey, anyValue, someValues }

  private let rules: TagRules
  private var classes: [Class]

  init(_ rules: TagRules, _ block: PrimitiveBlock) {
    self.rules = rules
    classes = Array(repeating: .unknown, count: block.stringCount)
  }

  /// Returns a Boolean value that indicates whether one of the tags matches one of the filters.
  @inline(__always)
  mutating func matches(_ pairs: [TagPair], in block: PrimitiveBlock) throws(OSMError) -> Bool {
    for pair in pairs {
      // The block has checked the indexes.
      switch classes[Int(pair.key)] {
      case .noKey: continue
      case .unknown: try classify(pair.key, in: block)
      default: break
      }
      if try accepts(pair, in: block) { return true }
    }
    return false
  }

  private mutating func classify(_ key: UInt32, in block: PrimitiveBlock) throws(OSMError) {
    classes[Int(key)] =
      switch rules[try block.text(key)] {
      case nil: .noKey
      case .allButNo: .anyValue
      case .only: .someValues
      }
  }

  private func accepts(_ pair: TagPair, in block: PrimitiveBlock) throws(OSMError) -> Bool {
    switch classes[Int(pair.key)] {
    case .unknown, .noKey: return false
    case .anyValue: return try !block.bytes(pair.value).elementsEqual("no".utf8)
    case .someValues:
      guard case .only(let values) = rules[try block.text(pair.key)] else { return false }
      return values.contains(ExactText(try block.text(pair.value)))
    }
  }
}
