/// The floors of `Sources`. A module imports modules of its own floor or of a lower one, and a feature no other feature.
enum Floor: Int, Comparable {
  /// Nothing in them knows of places; each could be a package of its own.
  case libraries
  /// Places: found, kept, served.
  case core
  /// The parts that a service may leave out.
  case features
  /// The programs and the commands.
  case program

  /// Creates the floor of a folder below `Sources`; `nil` if it belongs to none.
  init?(folder: Substring) {
    switch folder {
    case "Libraries": self = .libraries
    case "Core": self = .core
    case "Features": self = .features
    case "waymark", "waymark-core": self = .program
    default: return nil
    }
  }

  static func < (one: Floor, other: Floor) -> Bool { one.rawValue < other.rawValue }

  /// The folders below `Sources` to which the modules that are not yet in the folder of their floor belong, by name. A
  /// module leaves the table when it moves.
  static let destinations = [
    "AccessControl": "Core/Access",
    "Basics": "Libraries/Bytes",
    "CBaseMap": "Features/Pages/CBaseMap",
    "CBuiltInCategories": "Features/Imports/CBuiltInCategories",
    "CBuiltInMappings": "Features/Imports/CBuiltInMappings",
    "CBundledSample": "Core/Hosting/CBundledSample",
    "CExpat": "Libraries/CExpat",
    "CHolidays": "Libraries/CHolidays",
    "CLibPQ": "Libraries/CLibPQ",
    "CMalloc": "Libraries/CMalloc",
    "CMigrations": "Core/Stores/CMigrations",
    "CPages": "Features/Pages/CPages",
    "CPrefetch": "Libraries/CPrefetch",
    "CQL2": "Libraries/CQL2",
    "CTCPInfo": "Libraries/CTCPInfo",
    "CTimeZones": "Libraries/CTimeZones",
    "CZlib": "Libraries/CZlib",
    "Geo": "Libraries/Geodesy",
    "Gzip": "Libraries/Gzip",
    "HTTPServer": "Libraries/HTTPServer",
    "IndexedStore": "Core/Stores/IndexedStore",
    "JSONText": "Libraries/JSONText",
    "LocationsAPI": "Core/PlacesAPI",
    "MemoryStore": "Core/Stores/MemoryStore",
    "OpenStreetMap": "Libraries/OpenStreetMap",
    "OpeningHours": "Libraries/OpeningHours",
    "PointFormats": "Core/PointFormats",
    "PointIndex": "Core/PointIndex",
    "PointMapping": "Features/Imports/PointMapping",
    "Points": "Core/Points",
    "PostgresClient": "Libraries/PostgresClient",
    "PostgresStore": "Core/Stores/PostgresStore",
    "PrometheusMetrics": "Libraries/PrometheusMetrics",
    "SQLiteJournal": "Core/Stores/SQLiteJournal",
    "TileFiles": "Libraries/TileFiles",
    "VectorTiles": "Libraries/VectorTiles",
  ]
}

extension Module {
  /// The folders from `Sources` to where the module belongs.
  private var place: [Substring] {
    (Floor.destinations[name] ?? String(folder.dropFirst("Sources/".count))).split(separator: "/")
  }

  /// The floor; `nil` if its folder is that of none and the table of destinations does not have it.
  var floor: Floor? { place.first.flatMap { Floor(folder: $0) } }

  /// The name of the feature that it is a part of.
  var feature: String? { floor == .features ? place.dropFirst().first.map { String($0) } : nil }
}
