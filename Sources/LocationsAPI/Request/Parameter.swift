/// The query parameters of all calls.
enum Parameter: Int, CaseIterable {
  case latitude, longitude, radius, category, box, limit, cursor, fields, format, mode, dryRun, source, sourceID
  case confirm, idField, unknownFields, since, until, replaceSource, maxDeletions, licence, attribution, attributionURL
  case languages, text, autocomplete, sort
  case filter, filterLanguage, filterCRS, crs, boxCRS, dateTime
  case tags, zoom, facets
  case within, route

  private static let all = allCases

  /// Creates the parameter of a name; `nil` where there is none. The longitude has three names.
  init?(name: some StringProtocol) {
    if name == "lon" || name == "lng" {
      self = .longitude
    } else if let parameter = Self.all.first(where: { $0.name.utf8.elementsEqual(name.utf8) }) {
      self = parameter
    } else {
      return nil
    }
  }

  /// A Boolean value that indicates whether the value is a list, whose elements may also come in several parameters of
  /// the name: clients that are generated from descriptions often send lists in that way.
  var isList: Bool {
    switch self {
    case .box, .fields, .languages, .tags, .facets: true
    default: false
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
    case .replaceSource: "replaceSource"
    case .maxDeletions: "maxDeletions"
    case .licence: "licence"
    case .attribution: "attribution"
    case .attributionURL: "attributionUrl"
    case .languages: "lang"
    case .text: "q"
    case .autocomplete: "autocomplete"
    case .sort: "sort"
    case .filter: "filter"
    case .filterLanguage: "filter-lang"
    case .filterCRS: "filter-crs"
    case .crs: "crs"
    case .boxCRS: "bbox-crs"
    case .dateTime: "datetime"
    case .tags: "tags"
    case .zoom: "zoom"
    case .facets: "by"
    case .within: "within"
    case .route: "route"
    }
  }
}

extension Set<Parameter> {
  /// The parameters that filter places.
  static let filters: Set = [
    .latitude, .longitude, .radius, .category, .box, .source, .sourceID, .filter, .filterLanguage,
    .within, .route,
  ]

  /// The parameters of a place's representation in the response to a write.
  static let presentation: Set = [.fields, .format]

  /// The parameters of a place's representation in the response to a read.
  static let translation: Set = [.fields, .format, .languages]

  static let list: Set = filters.union(translation).union([.limit, .cursor, .text, .autocomplete, .sort])
}
