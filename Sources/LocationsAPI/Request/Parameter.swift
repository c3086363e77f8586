/// The query parameters of all calls.
enum Parameter: Int, CaseIterable {
  case latitude
  case longitude
  case radius
  case category
  case box
  case limit
  case cursor
  case fields
  case format
  case mode
  case dryRun
  case source
  case sourceID
  case confirm
  case idField
  case unknownFields
  case since
  case until

  /// Creates the parameter of a name; `nil` where there is none.
  init?(name: some StringProtocol) {
    switch name {
    case "lat": self = .latitude
    case "long", "lon", "lng": self = .longitude
    case "radius": self = .radius
    case "category": self = .category
    case "bbox": self = .box
    case "limit": self = .limit
    case "cursor": self = .cursor
    case "fields": self = .fields
    case "f": self = .format
    case "mode": self = .mode
    case "dryRun": self = .dryRun
    case "source": self = .source
    case "sourceId": self = .sourceID
    case "confirm": self = .confirm
    case "idField": self = .idField
    case "unknownFields": self = .unknownFields
    case "since": self = .since
    case "until": self = .until
    default: return nil
    }
  }

  /// The name in problems.
  var name: String {
    switch self {
    case .latitude: "lat"
    case .longitude: "long"
    case .radius: "radius"
    case .category: "category"
    case .box: "bbox"
    case .limit: "limit"
    case .cursor: "cursor"
    case .fields: "fields"
    case .format: "f"
    case .mode: "mode"
    case .dryRun: "dryRun"
    case .source: "source"
    case .sourceID: "sourceId"
    case .confirm: "confirm"
    case .idField: "idField"
    case .unknownFields: "unknownFields"
    case .since: "since"
    case .until: "until"
    }
  }
}

extension Set<Parameter> {
  /// The parameters that filter places.
  static let filters: Set = [.latitude, .longitude, .radius, .category, .box, .source, .sourceID]

  /// The parameters of a place's representation.
  static let presentation: Set = [.fields, .format]

  /// The parameters of a list.
  static let list: Set = filters.union(presentation).union([.limit, .cursor])

  /// The parameters of a check.
  static let check: Set = [.latitude, .longitude, .radius, .fields, .format]
}
