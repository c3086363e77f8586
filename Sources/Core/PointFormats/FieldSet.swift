package import Points

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

  /// The state by the opening hours at the time of the request, which only a request for it by name includes.
  static let openState = FieldSet(rawValue: 1 << 17)

  /// The time at which an open place stops to be.
  static let openUntil = FieldSet(rawValue: 1 << 18)

  /// The time at which a place opens.
  static let opensAt = FieldSet(rawValue: 1 << 19)

  /// The time zone of the place.
  static let timeZone = FieldSet(rawValue: 1 << 20)

  /// The fields of the opening hours, which only a request for them by name includes.
  public static let opening: FieldSet = [.openState, .openUntil, .opensAt, .timeZone]

  /// The fields that only the places of a search have.
  static let ofSearch: FieldSet = [.distance, .along]

  /// The fields that the service sets.
  static let administrative: FieldSet = [.source, .sourceID, .version, .createdAt, .updatedAt]

  /// The fields that a place does not have by itself.
  public static let derived: FieldSet = opening.union([.attribution, .label, .score, .match])

  /// The fields of the places in a list, where the request names none.
  public static let standard: FieldSet = [.id, .name, .category, .latitude, .longitude, .distance, .along, .tags]

  /// All fields of a place itself, `fields=*`.
  public static let all = FieldSet(rawValue: 1 << 12 - 1).union(.along)

  /// Creates the set of the field of a name, or of all for `*`; `nil` if there is no such field.
  public init?(name: some StringProtocol) {
    if name == "*" {
      self = .all
    } else if let field = PointField.members.first(where: { $0.name.utf8.elementsEqual(name.utf8) }) {
      self.init(field)
    } else {
      return nil
    }
  }

  public init(rawValue: UInt32) {
    self.rawValue = rawValue
  }
}

/// The relation of sets of fields to the table of the fields, ``Points/PointField``.
extension FieldSet {
  /// Creates the set of a field.
  package init(_ field: PointField) {
    self.init(rawValue: 1 << UInt32(field.rawValue))
  }

  /// The fields that a client sets.
  static let writable = FieldSet(PointField.members.filter(\.isWritable).map { FieldSet($0) })

  /// The fields, in the order in which they are written.
  package var fields: [PointField] { PointField.members.filter { contains(FieldSet($0)) } }
}
