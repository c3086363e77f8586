/// The fields of a place that an encoded place has.
public struct FieldSet: OptionSet, Hashable, Sendable {
  /// The bits of the fields.
  public let rawValue: UInt32

  static let id = FieldSet(rawValue: 1 << 0)
  static let name = FieldSet(rawValue: 1 << 1)
  static let category = FieldSet(rawValue: 1 << 2)
  static let latitude = FieldSet(rawValue: 1 << 3)
  static let longitude = FieldSet(rawValue: 1 << 4)
  static let distance = FieldSet(rawValue: 1 << 5)
  static let tags = FieldSet(rawValue: 1 << 6)
  static let source = FieldSet(rawValue: 1 << 7)
  static let sourceID = FieldSet(rawValue: 1 << 8)
  static let version = FieldSet(rawValue: 1 << 9)
  static let createdAt = FieldSet(rawValue: 1 << 10)
  static let updatedAt = FieldSet(rawValue: 1 << 11)

  /// The attribution of the place's data set, which only a request for it by name includes.
  public static let attribution = FieldSet(rawValue: 1 << 12)

  /// The label of the place, which only a request for it by name includes.
  public static let label = FieldSet(rawValue: 1 << 13)

  /// The score of a match, which only a request for it by name includes.
  public static let score = FieldSet(rawValue: 1 << 14)

  /// The name that matches a text, which only a request for it by name includes.
  public static let match = FieldSet(rawValue: 1 << 15)

  /// The length of the route of the search up to the place.
  static let along = FieldSet(rawValue: 1 << 16)

  /// The fields that only the places of a search have.
  static let ofSearch: FieldSet = [.distance, .along]

  /// The fields that a `PointSummary` lacks.
  public static let administrative: FieldSet = [
    .source, .sourceID, .version, .createdAt, .updatedAt, .attribution, .label, .score, .match,
  ]

  /// The fields of the places in a list, where the request names none.
  public static let standard: FieldSet = [.id, .name, .category, .latitude, .longitude, .distance, .along, .tags]

  /// All fields of a place itself, `fields=*`.
  public static let all = FieldSet(rawValue: 1 << 12 - 1).union(.along)

  /// The fields and their names, in the order in which they are written.
  public static let named: [(name: String, field: FieldSet)] = [
    ("id", .id), ("name", .name), ("category", .category), ("lat", .latitude), ("long", .longitude),
    ("distance", .distance), ("alongMetres", .along), ("tags", .tags), ("source", .source), ("sourceId", .sourceID),
    ("version", .version),
    ("createdAt", .createdAt), ("updatedAt", .updatedAt), ("attribution", .attribution),
    ("label", .label), ("score", .score), ("match", .match),
  ]

  /// Creates the set of the field of a name, or of all for `*`; `nil` where there is no such field.
  public init?(name: some StringProtocol) {
    if name == "*" {
      self = .all
    } else if let (_, field) = Self.named.first(where: { $0.name.utf8.elementsEqual(name.utf8) }) {
      self = field
    } else {
      return nil
    }
  }

  /// Creates a set from its bits.
  public init(rawValue: UInt32) {
    self.rawValue = rawValue
  }
}
