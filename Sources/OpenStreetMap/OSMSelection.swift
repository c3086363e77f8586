package import Geo
package import Basics

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
