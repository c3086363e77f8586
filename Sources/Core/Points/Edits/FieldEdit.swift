public import Basics
public import Geo

/// A field of a place whose value a client can edit, independently of the other fields; or the existence of the place.
public enum EditedField: Hashable, Sendable {
  case name, category
  /// The latitude and the longitude.
  case position
  /// The tag of a key.
  case tag(ExactText)
  /// The deletion of the place.
  case deletion

  private static let tagPrefix = "tags."

  /// The field as text: `name`, `category`, `position`, `tags.` with the key of a tag, or `deleted`.
  public var text: String {
    switch self {
    case .name: "name"
    case .category: "category"
    case .position: "position"
    case .tag(let key): Self.tagPrefix + key.text
    case .deletion: "deleted"
    }
  }

  /// Creates a field from its ``text``; `nil` for another text.
  public init?(text: String) {
    for field in [EditedField.name, .category, .position, .deletion] where field.text.hasSameBytes(as: text) {
      self = field
      return
    }
    guard text.utf8.starts(with: Self.tagPrefix.utf8) else { return nil }
    self = .tag(ExactText(String(Substring(text.utf8.dropFirst(Self.tagPrefix.utf8.count)))))
  }
}

extension EditedField: Comparable {
  /// Returns a Boolean value that indicates whether the text of the first field comes first by bytes.
  public static func < (left: EditedField, right: EditedField) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }
}

/// The value of a field of a place.
public enum FieldValue: Hashable, Sendable {
  /// There is no category, or no tag of the key.
  case none
  case text(ExactText)
  case position(Coordinate)

  /// The difference in degrees up to which two latitudes or longitudes are the same: some centimetres at most. Files
  /// round positions.
  package static let positionTolerance = 1e-7

  /// Returns a Boolean value that indicates whether the values are the same. Positions are within
  /// ``positionTolerance``.
  package func matches(_ other: FieldValue) -> Bool {
    guard case (.position(let left), .position(let right)) = (self, other) else { return self == other }
    return abs(left.latitude - right.latitude) <= Self.positionTolerance
      && abs(left.longitude - right.longitude) <= Self.positionTolerance
  }
}

/// An edit of a field of a place that came from a data set.
public struct FieldEdit: Hashable, Sendable {
  /// The edited field.
  public let field: EditedField

  /// The last known value of the data set. The place has another one. A deletion has none.
  public internal(set) var base: FieldValue

  /// The time of the edit.
  public internal(set) var since: Timestamp

  /// A Boolean value that indicates whether the data set has changed its value since the edit.
  public internal(set) var isConflict: Bool

  /// Creates an edit from stored values.
  public init(field: EditedField, base: FieldValue, since: Timestamp, isConflict: Bool = false) {
    self.field = field
    self.base = base
    self.since = since
    self.isConflict = isConflict
  }

  /// A Boolean value that indicates whether a field can have the base. A name is a text and a position a coordinate.
  package var isValid: Bool {
    switch (field, base) {
    case (.name, .text), (.category, .none), (.category, .text), (.position, .position), (.tag, .none), (.tag, .text),
      (.deletion, .none):
      true
    default: false
    }
  }
}

/// The author of a write of a single place.
public enum WriteAuthor: String, CaseIterable, Hashable, Sendable {
  /// A client, whose changes of places of a data set are edits: imports keep them.
  case client

  /// The data set of the place. Its values are merged with the edits of the place, as those of an import are.
  case source
}

/// The values that an import takes where both a client and the data set have changed a field.
public enum ConflictPolicy: String, CaseIterable, Hashable, Sendable {
  /// The place keeps the edit, which is marked as a conflict.
  case edits
  /// The place gets the value of the data set, and the edit is forgotten.
  case source
}

/// The fields of places that a file has. A field that it has not is no removal of an edited value.
public struct GivenFields: Hashable, Sendable {
  package let hasCategory: Bool

  /// The keys of the tags; `nil` for any tag.
  package let tagKeys: Set<ExactText>?

  /// All fields.
  public static let all = GivenFields(hasCategory: true, tagKeys: nil)

  /// Creates a set of fields with the name and the position, which each row has.
  ///
  /// - Parameter tagKeys: the keys of the tags; `nil` for any tag.
  public init(hasCategory: Bool, tagKeys: Set<ExactText>?) {
    self.hasCategory = hasCategory
    self.tagKeys = tagKeys
  }

  /// Returns a Boolean value that indicates whether the file has a field.
  package func contains(_ field: EditedField) -> Bool {
    switch field {
    case .name, .position: true
    case .category: hasCategory
    case .tag(let key): tagKeys?.contains(key) ?? true
    case .deletion: false
    }
  }
}

/// The conditions of a list of places with edits.
public struct EditQuery: Hashable, Sendable {
  /// The data set of the places; `nil` for all.
  public var source: ExactText?

  /// A Boolean value that indicates whether only places with a conflict match.
  public var onlyConflicts: Bool

  /// The id after which the list begins; `nil` for the beginning.
  public var after: PointID?

  /// The maximum number of places.
  public var limit: Int

  public init(source: ExactText? = nil, onlyConflicts: Bool = false, after: PointID? = nil, limit: Int) {
    self.source = source
    self.onlyConflicts = onlyConflicts
    self.after = after
    self.limit = limit
  }

  /// Returns a Boolean value that indicates whether the edits of a place match.
  package func matches(_ edits: PlaceEdits) -> Bool {
    if let source, !edits.origin.source.hasSameBytes(as: source.text) { return false }
    if let after, edits.id <= after { return false }
    return !onlyConflicts || edits.hasConflict
  }
}

/// A page of the places with edits, by id.
public struct EditPage: Hashable, Sendable {
  public let places: [PlaceEdits]

  /// The id after which the next page begins; `nil` if no places follow.
  package let next: PointID?

  /// A Boolean value that indicates whether places follow.
  public var hasMore: Bool { next != nil }

  /// Creates a page, behind whose last place the next one begins, if places follow.
  public init(places: [PlaceEdits], hasMore: Bool) {
    self.init(places: places, next: hasMore ? places.last?.id : nil)
  }

  package init(places: [PlaceEdits], next: PointID?) {
    self.places = places
    self.next = next
  }
}
