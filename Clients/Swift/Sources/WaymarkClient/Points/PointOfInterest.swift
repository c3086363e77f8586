public import Foundation

/// A place as the service returns it.
///
/// Only ``name`` is always present; the other properties depend on the requested fields. Equality compares all
/// properties, so two versions of a place differ.
public struct PointOfInterest: Hashable, Sendable, Identifiable {
  /// The identifier.
  public var id: UUID?

  /// The name.
  public var name: String

  /// The category, for example `cafe`.
  public var category: String?

  /// The coordinate.
  public var coordinate: Coordinate?

  /// The distance from the request's coordinate in metres along the WGS 84 ellipsoid, rounded to 0.1 m; only in
  /// responses to requests with a coordinate.
  public var distanceMetres: Double?

  /// Additional data, as keys and values.
  public var tags: [String: String]

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
  public init(
    id: UUID? = nil,
    name: String,
    category: String? = nil,
    coordinate: Coordinate? = nil,
    distanceMetres: Double? = nil,
    tags: [String: String] = [:],
    source: String? = nil,
    sourceID: String? = nil,
    version: Int? = nil,
    createdAt: Date? = nil,
    updatedAt: Date? = nil
  ) {
    self.id = id
    self.name = name
    self.category = category
    self.coordinate = coordinate
    self.distanceMetres = distanceMetres
    self.tags = tags
    self.source = source
    self.sourceID = sourceID
    self.version = version
    self.createdAt = createdAt
    self.updatedAt = updatedAt
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

extension PointOfInterest: Decodable {
  private enum CodingKeys: String, CodingKey {
    case id, name, category, lat, long, distance, tags, source
    case sourceID = "sourceId"
    case version, createdAt, updatedAt
  }

  /// Decodes a place from the service's JSON; unknown members are ignored.
  ///
  /// - Throws: `DecodingError` where the name is missing or a member has an unexpected type.
  public init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    func date(_ key: CodingKeys) throws -> Date? {
      guard let text = try members.decodeIfPresent(String.self, forKey: key) else { return nil }
      guard let date = RFC3339.date(from: text) else {
        throw DecodingError.dataCorruptedError(
          forKey: key, in: members, debugDescription: "not an RFC 3339 time: \(text)")
      }
      return date
    }
    self.init(
      id: try members.decodeIfPresent(UUID.self, forKey: .id),
      name: try members.decode(String.self, forKey: .name),
      category: try members.decodeIfPresent(String.self, forKey: .category),
      coordinate: try Self.coordinate(in: members),
      distanceMetres: try members.decodeIfPresent(Double.self, forKey: .distance),
      tags: try members.decodeIfPresent([String: String].self, forKey: .tags) ?? [:],
      source: try members.decodeIfPresent(String.self, forKey: .source),
      sourceID: try members.decodeIfPresent(String.self, forKey: .sourceID),
      version: try members.decodeIfPresent(Int.self, forKey: .version),
      createdAt: try date(.createdAt),
      updatedAt: try date(.updatedAt)
    )
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
