package import Points

/// The fields of a place that an encoded place has.
public struct FieldSet: OptionSet, Hashable, Sendable {
  /// The bits of the fields.
  public let rawValue: UInt32

  static let id = FieldSet(.id)
  static let name = FieldSet(.name)
  static let category = FieldSet(.category)
  static let latitude = FieldSet(.latitude)
  static let longitude = FieldSet(.longitude)
  static let distance = FieldSet(.distance)
  static let along = FieldSet(.along)
  static let tags = FieldSet(.tags)
  static let source = FieldSet(.source)
  static let sourceID = FieldSet(.sourceID)
  static let version = FieldSet(.version)
  static let createdAt = FieldSet(.createdAt)
  static let updatedAt = FieldSet(.updatedAt)
  public static let attribution = FieldSet(.attribution)
  static let openState = FieldSet(.openState)
  static let openUntil = FieldSet(.openUntil)
  static let opensAt = FieldSet(.opensAt)
  static let timeZone = FieldSet(.timeZone)
  public static let label = FieldSet(.label)
  public static let score = FieldSet(.score)
  public static let match = FieldSet(.match)

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
  public static let all: FieldSet = standard.union(administrative)

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

  /// Creates the set of a field.
  package init(_ field: PointField) {
    self.init(rawValue: 1 << UInt32(field.rawValue))
  }

  public init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// The fields that a client sets.
  static let writable = FieldSet(PointField.members.filter(\.isWritable).map { FieldSet($0) })

  /// The fields, in the order in which they are written.
  package var fields: [PointField] { PointField.members.filter { contains(FieldSet($0)) } }
}
