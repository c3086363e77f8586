public import Foundation

/// A place as the service answers it.
///
/// Only ``name`` is in every answer; what else is there depends on the fields that were asked for. Two values are equal
/// when they say the same, so that two versions of a place are not.
public struct PointOfInterest: Hashable, Sendable, Identifiable {
  /// What the place is known by.
  public var id: UUID?

  /// What it is called.
  public var name: String

  /// What kind of place it is, for example `cafe`.
  public var category: String?

  /// Where it is.
  public var coordinate: Coordinate?

  /// How far it is from where the request asked, in metres along the WGS 84 ellipsoid, to 0.1 m; only in answers to
  /// requests that have a coordinate.
  public var distanceMetres: Double?

  /// What else is known of it.
  public var tags: [String: String]

  /// The data set that it came from, for example `osm`.
  public var source: String?

  /// Its name in that data set.
  public var sourceID: String?

  /// 1 when it was created, one more with each change. A write that names it is refused when it is no longer true.
  public var version: Int?

  /// When it was created.
  public var createdAt: Date?

  /// When it was last changed.
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

  /// The place's page on the web, from its tags; only of `http` and `https`, since anyone may have written the tag.
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

  /// Reads a place from a JSON object of the service; members that it does not know are passed over.
  ///
  /// - Throws: `DecodingError` where there is no name, or a member is not what the service's contract says.
  public init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    func date(_ key: CodingKeys) throws -> Date? {
      guard let text = try members.decodeIfPresent(String.self, forKey: key) else { return nil }
      guard let date = RFC3339.date(from: text) else {
        throw DecodingError.dataCorruptedError(forKey: key, in: members, debugDescription: "no RFC 3339 time: \(text)")
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
