package import Basics

/// The three kinds of OpenStreetMap objects.
package enum OSMKind: String, CaseIterable, Hashable, Sendable {
  case node, way, relation
}

/// A tag of an object.
package struct OSMTag: Hashable, Sendable {
  /// The key, such as `amenity`.
  @ComparedByBytes package var key: String

  /// The value, such as `cafe`.
  @ComparedByBytes package var value: String

  package init(_ key: String, _ value: String) {
    self.key = key
    self.value = value
  }
}

/// An object that a selection keeps, reduced to a point.
package struct OSMPlace: Hashable, Sendable {
  /// The kind. Ids are unique only within a kind.
  package let kind: OSMKind

  /// The id; negative in files of editors that have not been uploaded.
  package let id: Int64

  /// The version, or nil if the file has none.
  package let version: Int32?

  /// The tags in the order of the file, all of them.
  package let tags: [OSMTag]

  /// Degrees north of the equator, -90…90.
  package let latitude: Double

  /// Degrees east of Greenwich, -180…180.
  package let longitude: Double

  /// The outline of a relation that is an area, where the selection keeps outlines.
  package var outline: OSMOutline?

  package init(kind: OSMKind, id: Int64, version: Int32?, tags: [OSMTag], latitude: Double, longitude: Double) {
    self.kind = kind
    self.id = id
    self.version = version
    self.tags = tags
    self.latitude = latitude
    self.longitude = longitude
  }

  /// The first value of a key, or nil.
  package subscript(key: String) -> String? { tags.first { $0.key.hasSameBytes(as: key) }?.value }
}

/// The outline of a relation that is an area.
package struct OSMOutline: Hashable, Sendable {
  /// The closed rings that the ways are joined to, of each polygon the outer one first. The last position of a ring is
  /// its first.
  package let polygons: [[[OSMPosition]]]

  /// The number of ways that are members and are not in the file with all of their nodes.
  package let missingWays: Int

  /// The number of ways that are part of no ring.
  package let openWays: Int
}

/// A change of one object in a change file.
package struct OSMChange: Hashable, Sendable {
  /// The kinds of changes.
  package enum Action: String, Hashable, Sendable {
    /// The object is new, and is a place.
    case create
    /// The object has a new version, which is a place. The previous one need not have been a place.
    case modify
    /// The object has been deleted, or has a new version that the selection does not keep.
    case delete
  }

  /// The kind of the change.
  package let action: Action

  /// The kind.
  package let kind: OSMKind

  /// The id.
  package let id: Int64

  /// The new version, or nil if the file has none.
  package let version: Int32?

  /// The tags of the new version; none for a deletion.
  package let tags: [OSMTag]

  /// The new position. It is nil for a deletion, and for a way or relation with nodes that the change file does not
  /// contain: such a place keeps the position that it has.
  package let position: OSMPosition?

  package init(action: Action, kind: OSMKind, id: Int64, version: Int32?, tags: [OSMTag], position: OSMPosition?) {
    self.action = action
    self.kind = kind
    self.id = id
    self.version = version
    self.tags = tags
    self.position = position
  }
}

/// A position in decimal degrees (WGS 84).
package struct OSMPosition: Hashable, Sendable, BitwiseCopyable {
  /// Degrees north of the equator, -90…90.
  package let latitude: Double

  /// Degrees east of Greenwich, -180…180.
  package let longitude: Double

  package init(latitude: Double, longitude: Double) {
    self.latitude = latitude
    self.longitude = longitude
  }
}
