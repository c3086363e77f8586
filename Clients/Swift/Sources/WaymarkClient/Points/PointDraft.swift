/// The data of a place that a client may set. The service validates it and reports each error.
///
/// ```swift
/// let draft = PointDraft(name: "Café Zentral", coordinate: here, category: "cafe", tags: ["wheelchair": "yes"])
/// ```
public struct PointDraft: Hashable, Sendable {
  /// The name, 1 to 500 characters.
  public var name: String

  /// The coordinate.
  public var coordinate: Coordinate

  /// The category, at most 100 characters.
  public var category: String?

  /// The tags: at most 500, with keys of at most 200 and values of at most 2,000 characters.
  public var tags: [String: String]

  /// The origin, which is unique to a place.
  public var origin: SourceReference?

  /// Creates a draft.
  public init(
    name: String,
    coordinate: Coordinate,
    category: String? = nil,
    tags: [String: String] = [:],
    origin: SourceReference? = nil
  ) {
    self.name = name
    self.coordinate = coordinate
    self.category = category
    self.tags = tags
    self.origin = origin
  }

  /// Creates a draft from a place, for example to change it or to create a similar one; `nil` where the place was
  /// loaded without its coordinate.
  ///
  /// ```swift
  /// if var draft = PointDraft(place) {
  ///   draft.name += " II"
  ///   _ = try await waymark.create(draft)
  /// }
  /// ```
  public init?(_ place: PointOfInterest) {
    guard let coordinate = place.coordinate else { return nil }
    self.init(
      name: place.name, coordinate: coordinate, category: place.category, tags: place.tags, origin: place.origin)
  }
}

extension PointDraft: Encodable {
  enum CodingKeys: String, CodingKey {
    case name, lat, long, category, tags, source
    case sourceID = "sourceId"
  }

  /// Encodes the draft as a JSON object.
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

/// The origin of a place: its identifier in a data set.
///
/// ```swift
/// let origin = SourceReference(source: "osm", id: "node/358829")
/// let draft = PointDraft(name: "Café Zentral", coordinate: here, origin: origin)
/// ```
public struct SourceReference: Hashable, Sendable {
  /// The data set, for example `osm`.
  public var source: String

  /// The place's identifier in that data set, for example `node/358829`.
  public var id: String

  /// Creates an origin.
  public init(source: String, id: String) {
    self.source = source
    self.id = id
  }
}
