/// A field of a place, as a row names it.
enum PlaceField: Int, Hashable, Sendable {
  case id, name, category, latitude, longitude, tags, source, sourceID

  /// What the service makes: `version`, `createdAt`, `updatedAt` and `distance`.
  case serviceMade

  /// The field that a member of a JSON object means.
  init?(member name: UnsafeBufferPointer<UInt8>) {
    switch name.count {
    case 2 where name.isEqual(to: "id"): self = .id
    case 3 where name.isEqual(to: "lat"): self = .latitude
    case 3 where name.isEqual(to: "lon") || name.isEqual(to: "lng"): self = .longitude
    case 4 where name.isEqual(to: "name"): self = .name
    case 4 where name.isEqual(to: "long"): self = .longitude
    case 4 where name.isEqual(to: "tags"): self = .tags
    case 6 where name.isEqual(to: "source"): self = .source
    case 7 where name.isEqual(to: "version"): self = .serviceMade
    case 8 where name.isEqual(to: "category"): self = .category
    case 8 where name.isEqual(to: "sourceId"): self = .sourceID
    case 8 where name.isEqual(to: "distance"): self = .serviceMade
    case 9 where name.isEqual(to: "createdAt") || name.isEqual(to: "updatedAt"): self = .serviceMade
    default: return nil
    }
  }

  /// The field that a column of a CSV file means.
  init?(column name: String) {
    switch name.lowercased() {
    case "id": self = .id
    case "name": self = .name
    case "category": self = .category
    case "lat", "latitude": self = .latitude
    case "long", "lon", "lng", "longitude": self = .longitude
    case "tags": self = .tags
    case "source": self = .source
    case "sourceid", "source_id": self = .sourceID
    case "version", "createdat", "updatedat", "distance", "created_at", "updated_at": self = .serviceMade
    default: return nil
    }
  }
}
