import Basics

/// The rules that say what geometry the tags of an object mean.
enum AreaTags {
  /// The keys of closed ways that are lines, unless one of the ``areaKeys`` is there as well.
  private static let lineKeys: Set<ExactText> = ["aerialway", "barrier", "highway", "railway", "route", "waterway"]

  /// The keys of closed ways that are areas.
  private static let areaKeys: Set<ExactText> = [
    "amenity", "building", "building:part", "craft", "healthcare", "historic", "landuse", "leisure", "military",
    "office", "place", "public_transport", "shop", "tourism", "water",
  ]

  /// The tags of closed ways that are lines although others with the key are areas.
  private static let lineValues: [ExactText: Set<ExactText>] = [
    "aeroway": ["jet_bridge", "parking_position", "runway", "taxiway"],
    "leisure": ["slipway", "track"],
    "man_made": ["breakwater", "cutline", "embankment", "groyne", "pipeline"],
    "natural": ["arete", "cliff", "coastline", "earth_bank", "gully", "ridge", "tree_row"],
    "power": ["cable", "line", "minor_line"],
  ]

  /// The values of line keys that are areas.
  private static let areaValues: [ExactText: Set<ExactText>] = [
    "highway": ["rest_area", "services"],
    "railway": ["platform", "roundhouse", "station", "turntable", "yard"],
    "waterway": ["boatyard", "dam", "dock", "riverbank"],
  ]

  /// Returns a Boolean value that indicates whether a closed way with the tags is an area rather than a line.
  static func isArea(_ tags: [OSMTag]) -> Bool {
    var isLine = false
    var isArea = false
    for tag in tags {
      let (key, value) = (ExactText(tag.key), ExactText(tag.value))
      if key == "area" { return value != "no" }
      if lineValues[key]?.contains(value) == true {
        isLine = true
      } else if areaKeys.contains(key) {
        isArea = isArea || value != "no"
      } else if lineKeys.contains(key) {
        if areaValues[key]?.contains(value) == true { isArea = true } else { isLine = true }
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
