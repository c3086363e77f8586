/// What an app says of a place: everything but what the service adds. The service checks it and answers with each rule
/// that it breaks.
public struct PlaceDraft: Hashable, Sendable {
  /// What the place is called: 1 to 500 characters.
  public var name: String

  /// Where it is.
  public var coordinate: Coordinate

  /// What kind of place it is: at most 100 characters.
  public var category: String?

  /// What else is known of it: at most 500, keys of at most 200 characters, values of at most 2,000.
  public var tags: [String: String]

  /// Where it came from; no two places come from the same.
  public var origin: PlaceOrigin?

  /// Creates a draft.
  public init(
    name: String,
    coordinate: Coordinate,
    category: String? = nil,
    tags: [String: String] = [:],
    origin: PlaceOrigin? = nil
  ) {
    self.name = name
    self.coordinate = coordinate
    self.category = category
    self.tags = tags
    self.origin = origin
  }
}

extension PlaceDraft: Encodable {
  enum CodingKeys: String, CodingKey {
    case name, lat, long, category, tags, source
    case sourceID = "sourceId"
  }

  /// Writes the draft as the service reads it.
  public func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encode(name, forKey: .name)
    try members.encode(coordinate.latitude, forKey: .lat)
    try members.encode(coordinate.longitude, forKey: .long)
    try members.encodeIfPresent(category, forKey: .category)
    if !tags.isEmpty { try members.encode(tags, forKey: .tags) }
    try members.encodeIfPresent(origin?.source, forKey: .source)
    try members.encodeIfPresent(origin?.id, forKey: .sourceID)
  }
}
