import Basics
public import CQL2

/// A field of a place. The cases are in the order in which the fields are written.
///
/// ``row`` is the table of the fields, which the other lists of them follow. The raw values, from 0 on without gaps, are
/// the bits of the fields in a set of them and the numbers of the properties in a condition.
public enum PointField: Int, Hashable, Sendable, CaseIterable {
  case id, name, category, latitude, longitude, distance, along, tags
  case source, sourceID, version, createdAt, updatedAt, attribution
  case openState, openUntil, opensAt, timeZone, label, score, match
  case geometry, operatingStatus

  /// The types of the values; the raw values are the types of the columns.
  package enum ValueType: String {
    case uuid, text, json
    case number = "float8"
    case integer = "int8"
    case time = "timestamptz"
    case position = "geometry"
  }

  /// The parts that set the values.
  package enum Giver {
    /// A client sets it.
    case client
    /// The service sets it when it writes the place.
    case service
    /// The search that found the place sets it.
    case search
    /// It is made for a request that names it.
    case request
    /// It follows from other fields, and only conditions can name it.
    case condition
  }

  private var row: (name: String, type: ValueType, giver: Giver, column: String?) {
    switch self {
    case .id: ("id", .uuid, .client, "id")
    case .name: ("name", .text, .client, "name")
    case .category: ("category", .text, .client, "category")
    case .latitude: ("lat", .number, .client, "lat")
    case .longitude: ("long", .number, .client, "long")
    case .distance: ("distance", .number, .search, nil)
    case .along: ("alongMetres", .number, .search, nil)
    case .tags: ("tags", .json, .client, "tags")
    case .source: ("source", .text, .client, "source")
    case .sourceID: ("sourceId", .text, .client, "source_id")
    case .version: ("version", .integer, .service, "version")
    case .createdAt: ("createdAt", .time, .service, "created_at")
    case .updatedAt: ("updatedAt", .time, .service, "updated_at")
    case .attribution: ("attribution", .text, .request, nil)
    case .openState: ("openState", .text, .request, nil)
    case .openUntil: ("openUntil", .time, .request, nil)
    case .opensAt: ("opensAt", .time, .request, nil)
    case .timeZone: ("timeZone", .text, .request, nil)
    case .label: ("label", .text, .request, nil)
    case .score: ("score", .number, .request, nil)
    case .match: ("match", .json, .request, nil)
    case .geometry: ("geometry", .position, .condition, nil)
    case .operatingStatus: ("operatingStatus", .text, .condition, nil)
    }
  }

  /// The name as a member of JSON, a property of GeoJSON, a column of CSV and a property in a condition.
  public var name: String { row.name }

  package var type: ValueType { row.type }

  package var giver: Giver { row.giver }

  /// The column of PostgreSQL; `nil` if the field is not stored.
  package var column: String? { row.column }

  /// A Boolean value that indicates whether a client sets the field.
  package var isWritable: Bool { row.giver == .client }

  /// A Boolean value that indicates whether a client sets the field as a text.
  package var isWritableText: Bool { row.giver == .client && row.type == .text }

  /// A Boolean value that indicates whether each place has the field.
  package var isRequired: Bool { [.name, .latitude, .longitude].contains(self) }

  /// The fields that an encoded place can have.
  package static let members = allCases.filter { $0.giver != .condition }

  /// The fields that are properties of a place in GeoJSON: all but the members of the Feature itself.
  package static let properties = members.filter { ![.id, .latitude, .longitude].contains($0) }

  /// The fields that conditions can name, in the order in which they are listed.
  package static let queryables: [PointField] = [
    .id, .name, .category, .latitude, .longitude, .geometry, .createdAt, .updatedAt, .source, .sourceID, .version,
    .operatingStatus,
  ]

  /// The type of the values in conditions; `nil` if these cannot name the field.
  public var filterType: FilterType? {
    guard Self.queryables.contains(self) else { return nil }
    return switch type {
    case .uuid, .text: .string
    case .number: .number
    case .integer: .integer
    case .time: .timestamp
    case .position: .geometry
    case .json: nil
    }
  }

  /// Creates the field of a property in a condition; `nil` if the property is a tag.
  package init?(queryable name: String) {
    guard let field = Self.queryables.first(where: { $0.name.hasSameBytes(as: name) }) else { return nil }
    self = field
  }
}
