public import Foundation

/// A place as the service returns it.
///
/// Only ``id`` and ``name`` are always present; the other properties depend on the requested fields. Equality compares
/// all properties, so two versions of a place differ.
///
/// ```swift
/// let place = try await waymark.place(id)
/// print(place.name, place.website ?? "")
/// ```
public struct PointOfInterest: Hashable, Sendable, Identifiable {
  /// The identifier.
  ///
  /// A place that was loaded or created without one gets a fallback, so that it can be shown in a list: a UUID of
  /// version 8 (RFC 9562, section 5.8) that depends on its name, coordinate and origin. Equal places have equal
  /// fallbacks. The service does not know them, as ``hasFallbackID`` indicates.
  public var id: UUID {
    didSet { hasFallbackID = false }
  }

  /// A Boolean value that indicates whether ``id`` is not an identifier of the service.
  public private(set) var hasFallbackID: Bool

  /// The name.
  public var name: String

  /// The category, for example `cafe`.
  public var category: String?

  /// The coordinate.
  public var coordinate: Coordinate?

  /// The distance from the request's coordinate or route in metres along the WGS 84 ellipsoid, rounded to 0.1 m; only
  /// in responses to requests with one.
  public var distanceMetres: Double?

  /// The length of the route up to the position that is nearest to the place, in metres; only in responses to searches
  /// along a route, where ``distanceMetres`` is the distance from the route.
  public var alongMetres: Double?

  /// Additional data, as keys and values.
  public var tags: [String: String]

  /// The state of the opening hours at the time of the filter; only in responses to searches for open places.
  /// ``Waymark/hours(of:days:)`` has all hours.
  public var opening: OpeningStatus?

  /// The data set of its origin, for example `osm`.
  public var source: String?

  /// Its identifier in that data set.
  public var sourceID: String?

  /// The version, which grows with each change. A write can be made conditional on it.
  public var version: Int?

  /// The time of creation.
  public var createdAt: Date?

  /// The time of the last change.
  public var updatedAt: Date?

  /// Creates a place.
  ///
  /// ```swift
  /// let place = PointOfInterest(name: "My Location", category: "cafe", coordinate: here)
  /// print(place.hasFallbackID)
  /// ```
  public init(
    id: UUID? = nil,
    name: String,
    category: String? = nil,
    coordinate: Coordinate? = nil,
    distanceMetres: Double? = nil,
    alongMetres: Double? = nil,
    tags: [String: String] = [:],
    opening: OpeningStatus? = nil,
    source: String? = nil,
    sourceID: String? = nil,
    version: Int? = nil,
    createdAt: Date? = nil,
    updatedAt: Date? = nil
  ) {
    self.id = id ?? Self.fallbackID(name: name, coordinate: coordinate, source: source, sourceID: sourceID)
    hasFallbackID = id == nil
    self.name = name
    self.category = category
    self.coordinate = coordinate
    self.distanceMetres = distanceMetres
    self.alongMetres = alongMetres
    self.tags = tags
    self.opening = opening
    self.source = source
    self.sourceID = sourceID
    self.version = version
    self.createdAt = createdAt
    self.updatedAt = updatedAt
  }

  /// The key of the tag that has the place's own name, where ``name`` is in another language.
  static let localNameKey = "name:local"

  /// The place's own name, where ``name`` was requested in another language; otherwise ``name``.
  public var localName: String { tags[Self.localNameKey] ?? name }

  /// The origin: the data set and the identifier in it; `nil` unless both are known.
  public var origin: SourceReference? {
    guard let source, let sourceID else { return nil }
    return SourceReference(source: source, id: sourceID)
  }

  /// Returns the identifier of a place that has none.
  private static func fallbackID(name: String, coordinate: Coordinate?, source: String?, sourceID: String?) -> UUID {
    let parts = [
      name, coordinate.map { "\($0.latitude),\($0.longitude)" } ?? "", source ?? "", sourceID ?? "",
    ]
    let text = Array(parts.joined(separator: "\u{0}").utf8)
    let halves = [FNV1a.hash(text), FNV1a.hash(text.reversed())]
    var bytes = halves.flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> (56 - 8 * UInt64($0))) } }
    bytes[6] = bytes[6] & 0x0F | 0x80
    bytes[8] = bytes[8] & 0x3F | 0x80
    return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }

  /// The place's website, from its tags; only with the scheme `http` or `https`, since anyone may have written the tag.
  public var website: URL? {
    for key in ["website", "contact:website", "url"] {
      guard let text = tags[key], let url = URL(string: text), url.host()?.isEmpty == false,
        let scheme = url.scheme?.lowercased(), scheme == "https" || scheme == "http"
      else { continue }
      return url
    }
    return nil
  }
}

extension PointOfInterest: Codable {
  private enum CodingKeys: String, CodingKey {
    case id, name, category, lat, long, distance, alongMetres, tags, source
    case sourceID = "sourceId"
    case version, createdAt, updatedAt, openState, openUntil, opensAt, timeZone
  }

  /// Decodes a place from the service's JSON; unknown members are ignored.
  ///
  /// - Throws: `DecodingError` where the name is missing or a member has an unexpected type.
  public init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      id: try members.decodeIfPresent(UUID.self, forKey: .id),
      name: try members.decode(String.self, forKey: .name),
      category: try members.decodeIfPresent(String.self, forKey: .category),
      coordinate: try Self.coordinate(in: members),
      distanceMetres: try members.decodeIfPresent(Double.self, forKey: .distance),
      alongMetres: try members.decodeIfPresent(Double.self, forKey: .alongMetres),
      tags: try members.decodeIfPresent([String: String].self, forKey: .tags) ?? [:],
      opening: try Self.opening(in: members),
      source: try members.decodeIfPresent(String.self, forKey: .source),
      sourceID: try members.decodeIfPresent(String.self, forKey: .sourceID),
      version: try members.decodeIfPresent(Int.self, forKey: .version),
      createdAt: try members.time(forKey: .createdAt),
      updatedAt: try members.time(forKey: .updatedAt)
    )
  }

  /// Encodes the place as the service does; a fallback ``id`` is left out.
  public func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: CodingKeys.self)
    if !hasFallbackID { try members.encode(id.uuidString.lowercased(), forKey: .id) }
    try members.encode(name, forKey: .name)
    try members.encodeIfPresent(category, forKey: .category)
    try members.encodeIfPresent(coordinate?.latitude, forKey: .lat)
    try members.encodeIfPresent(coordinate?.longitude, forKey: .long)
    try members.encodeIfPresent(distanceMetres, forKey: .distance)
    try members.encodeIfPresent(alongMetres, forKey: .alongMetres)
    if !tags.isEmpty { try members.encode(tags, forKey: .tags) }
    try members.encodeIfPresent(opening?.state, forKey: .openState)
    try members.encodeIfPresent(opening?.openUntil.map(RFC3339.text), forKey: .openUntil)
    try members.encodeIfPresent(opening?.opensAt.map(RFC3339.text), forKey: .opensAt)
    try members.encodeIfPresent(opening?.timeZone?.identifier, forKey: .timeZone)
    try members.encodeIfPresent(source, forKey: .source)
    try members.encodeIfPresent(sourceID, forKey: .sourceID)
    try members.encodeIfPresent(version, forKey: .version)
    try members.encodeIfPresent(createdAt.map(RFC3339.text), forKey: .createdAt)
    try members.encodeIfPresent(updatedAt.map(RFC3339.text), forKey: .updatedAt)
  }

  private static func opening(in members: KeyedDecodingContainer<CodingKeys>) throws -> OpeningStatus? {
    guard let state = try members.decodeIfPresent(OpeningState.self, forKey: .openState) else { return nil }
    return OpeningStatus(
      state: state, openUntil: try members.time(forKey: .openUntil), opensAt: try members.time(forKey: .opensAt),
      timeZone: try members.timeZone(forKey: .timeZone))
  }

  private static func coordinate(in members: KeyedDecodingContainer<CodingKeys>) throws -> Coordinate? {
    guard let latitude = try members.decodeIfPresent(Double.self, forKey: .lat),
      let longitude = try members.decodeIfPresent(Double.self, forKey: .long)
    else { return nil }
    do {
      return try Coordinate(latitude: latitude, longitude: longitude)
    } catch {
      throw DecodingError.dataCorruptedError(forKey: .lat, in: members, debugDescription: "\(error)")
    }
  }
}
