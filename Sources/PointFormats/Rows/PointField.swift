import Basics

/// A field of a place, as a row names it.
enum PointField: Int, Hashable, Sendable {
  case id, name, category, latitude, longitude, tags, source, sourceID

  /// A field that the service sets: `version`, `createdAt`, `updatedAt` or `distance`.
  case serviceMade

  /// Creates the field that a member of a JSON object or a column of a CSV file stands for; `nil` where it is none.
  ///
  /// The spellings are the same in every format, in any case: `id`, `name`, `category`, `tags`, `source`, `sourceId` or
  /// `source_id`; `lat`, `latitude` or `y`; `long`, `lon`, `lng`, `longitude` or `x`.
  init?(name: UnsafeBufferPointer<UInt8>) {
    switch name.count {
    case 1 where name.isEqual(toLowercase: "y"): self = .latitude
    case 1 where name.isEqual(toLowercase: "x"): self = .longitude
    case 2 where name.isEqual(toLowercase: "id"): self = .id
    case 3 where name.isEqual(toLowercase: "lat"): self = .latitude
    case 3 where name.isEqual(toLowercase: "lon") || name.isEqual(toLowercase: "lng"): self = .longitude
    case 4 where name.isEqual(toLowercase: "name"): self = .name
    case 4 where name.isEqual(toLowercase: "long"): self = .longitude
    case 4 where name.isEqual(toLowercase: "tags"): self = .tags
    case 6 where name.isEqual(toLowercase: "source"): self = .source
    case 7 where name.isEqual(toLowercase: "version"): self = .serviceMade
    case 8 where name.isEqual(toLowercase: "category"): self = .category
    case 8 where name.isEqual(toLowercase: "sourceid"): self = .sourceID
    case 8 where name.isEqual(toLowercase: "distance"): self = .serviceMade
    case 8 where name.isEqual(toLowercase: "latitude"): self = .latitude
    case 9 where name.isEqual(toLowercase: "longitude"): self = .longitude
    case 9 where name.isEqual(toLowercase: "source_id"): self = .sourceID
    case 9 where name.isEqual(toLowercase: "createdat") || name.isEqual(toLowercase: "updatedat"): self = .serviceMade
    case 11 where name.isEqual(toLowercase: "alongmetres"): self = .serviceMade
    case 10 where name.isEqual(toLowercase: "created_at") || name.isEqual(toLowercase: "updated_at"):
      self = .serviceMade
    default: return nil
    }
  }

  /// The name by which the field is written; `nil` for those that the service sets.
  var name: String? {
    switch self {
    case .id: "id"
    case .name: "name"
    case .category: "category"
    case .latitude: "lat"
    case .longitude: "long"
    case .tags: "tags"
    case .source: "source"
    case .sourceID: "sourceId"
    case .serviceMade: nil
    }
  }

  /// The field in words.
  var noun: String {
    switch self {
    case .latitude: "latitude"
    case .longitude: "longitude"
    default: name ?? ""
    }
  }

  /// Creates the field that a column of a CSV file or a member of a merge patch stands for; `nil` where it is none.
  init?(column name: String) {
    let field = Array(name.utf8).withUnsafeBufferPointer { PointField(name: $0) }
    guard let field else { return nil }
    self = field
  }
}
