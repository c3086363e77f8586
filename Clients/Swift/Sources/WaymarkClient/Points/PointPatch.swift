/// A change of some of a place's fields, as a JSON merge patch (RFC 7396). Other fields stay unchanged.
///
/// ```swift
/// let patch = PointPatch(name: "Café Central", category: .remove, tags: ["wheelchair": .set("yes")])
/// let place = try await waymark.update(place, with: patch)
/// ```
public struct PointPatch: Hashable, Sendable {
  /// A change of an optional field.
  ///
  /// ```swift
  /// let category: PointPatch.Change<String> = .set("cafe")
  /// ```
  public enum Change<Value: Hashable & Sendable>: Hashable, Sendable {
    /// Sets the field to a value.
    case set(Value)
    /// Removes the field.
    case remove
  }

  /// The new name; `nil` for no change.
  public var name: String?

  /// The new coordinate; `nil` for no change.
  public var coordinate: Coordinate?

  /// The change of the category; `nil` for none.
  public var category: Change<String>?

  /// The changes of individual tags; other tags stay unchanged.
  public var tags: [String: Change<String>]

  /// The change of the origin; `nil` for none.
  public var origin: Change<SourceReference>?

  /// Creates a patch.
  public init(
    name: String? = nil,
    coordinate: Coordinate? = nil,
    category: Change<String>? = nil,
    tags: [String: Change<String>] = [:],
    origin: Change<SourceReference>? = nil
  ) {
    self.name = name
    self.coordinate = coordinate
    self.category = category
    self.tags = tags
    self.origin = origin
  }
}

extension PointPatch: Encodable {
  private struct TagKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// Encodes the patch; removed fields are null.
  public func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: PointDraft.CodingKeys.self)
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
  fileprivate mutating func encode(_ change: PointPatch.Change<String>?, forKey key: Key) throws {
    switch change {
    case nil: break
    case .set(let value): try encode(value, forKey: key)
    case .remove: try encodeNil(forKey: key)
    }
  }
}
