/// The rules that say what geometry the tags of an object mean.
enum AreaTags {
  /// The keys of closed ways that are lines, unless one of the ``areaKeys`` is there as well.
  private static let lineKeys: Set<String> = ["aerialway", "barrier", "highway", "railway", "route", "waterway"]

  /// The keys of closed ways that are areas.
  private static let areaKeys: Set<String> = [
    "amenity", "building", "building:part", "craft", "healthcare", "historic", "landuse", "leisure", "military",
    "office", "place", "public_transport", "shop", "tourism", "water",
  ]

  /// The tags of closed ways that are lines although others with the key are areas.
  private static let lineValues: [String: Set<String>] = [
    "aeroway": ["jet_bridge", "parking_position", "runway", "taxiway"],
    "leisure": ["slipway", "track"],
    "man_made": ["breakwater", "cutline", "embankment", "groyne", "pipeline"],
    "natural": ["arete", "cliff", "coastline", "earth_bank", "gully", "ridge", "tree_row"],
    "power": ["cable", "line", "minor_line"],
  ]

  /// The values of line keys that are areas.
  private static let areaValues: [String: Set<String>] = [
    "highway": ["rest_area", "services"],
    "railway": ["platform", "roundhouse", "station", "turntable", "yard"],
    "waterway": ["boatyard", "dam", "dock", "riverbank"],
  ]

  /// Returns a Boolean value that indicates whether a closed way with the tags is an area rather than a line.
  static func isArea(_ tags: [OSMTag]) -> Bool {
    var isLine = false
    var isArea = false
    for tag in tags {
      switch tag.key {
      case "area": return tag.value != "no"
      case let key where lineValues[key]?.contains(tag.value) == true: isLine = true
      case let key where areaKeys.contains(key): isArea = isArea || tag.value != "no"
      case let key where lineKeys.contains(key):
        if areaValues[key]?.contains(tag.value) == true { isArea = true } else { isLine = true }
      default: break
      }
    }
    return isArea || !isLine
  }

  /// Returns a Boolean value that indicates whether a relation with the tags is an area.
  static func isAreaRelation(_ tags: [OSMTag]) -> Bool {
    tags.contains { $0.key == "type" && ($0.value == "multipolygon" || $0.value == "boundary") }
  }

  /// The roles of members that stand for a relation, the best first.
  static let labelRoles = ["label", "admin_centre", "entrance"]
}
