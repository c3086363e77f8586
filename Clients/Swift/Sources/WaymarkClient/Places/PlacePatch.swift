/// What is to become of some of a place's fields: a JSON merge patch (RFC 7396). What it does not name stays.
public struct PlacePatch: Hashable, Sendable {
  /// What is to become of a field that a place may have or not.
  public enum Change<Value: Hashable & Sendable>: Hashable, Sendable {
    /// It becomes this.
    case set(Value)
    /// It goes.
    case remove
  }

  /// The new name.
  public var name: String?

  /// The new position.
  public var coordinate: Coordinate?

  /// What is to become of the category; `nil` leaves it.
  public var category: Change<String>?

  /// What is to become of single tags; those that are not named stay.
  public var tags: [String: Change<String>]

  /// What is to become of the origin; `nil` leaves it.
  public var origin: Change<PlaceOrigin>?

  /// Creates a patch.
  public init(
    name: String? = nil,
    coordinate: Coordinate? = nil,
    category: Change<String>? = nil,
    tags: [String: Change<String>] = [:],
    origin: Change<PlaceOrigin>? = nil
  ) {
    self.name = name
    self.coordinate = coordinate
    self.category = category
    self.tags = tags
    self.origin = origin
  }
}

extension PlacePatch: Encodable {
  private struct TagKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// Writes the patch; what is to go is null.
  public func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: PlaceDraft.CodingKeys.self)
    try members.encodeIfPresent(name, forKey: .name)
    try members.encodeIfPresent(coordinate?.latitude, forKey: .lat)
    try members.encodeIfPresent(coordinate?.longitude, forKey: .long)
    try members.encode(category, forKey: .category)
    if !tags.isEmpty {
      var tagMembers = members.nestedContainer(keyedBy: TagKey.self, forKey: .tags)
      for (key, change) in tags { try tagMembers.encode(change, forKey: TagKey(stringValue: key)) }
    }
    switch origin {
    case nil: break
    case .set(let origin):
      try members.encode(origin.source, forKey: .source)
      try members.encode(origin.id, forKey: .sourceID)
    case .remove:
      try members.encodeNil(forKey: .source)
      try members.encodeNil(forKey: .sourceID)
    }
  }
}

extension KeyedEncodingContainer {
  fileprivate mutating func encode(_ change: PlacePatch.Change<String>?, forKey key: Key) throws {
    switch change {
    case nil: break
    case .set(let value): try encode(value, forKey: key)
    case .remove: try encodeNil(forKey: key)
    }
  }
}
