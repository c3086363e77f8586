import JSONText

/// The reference system of a GeoJSON text's coordinates, which the member `crs` of GeoJSON before RFC 7946 names.
enum CoordinateSystem {
  /// The names of WGS 84 in degrees that programs write, in lower case. The order of the axes in GeoJSON is longitude
  /// and latitude under each of them.
  private static let supportedNames: Set = [
    "urn:ogc:def:crs:ogc:1.3:crs84", "urn:ogc:def:crs:ogc::crs84", "urn:ogc:def:crs:ogc:1.3:crs84h",
    "urn:ogc:def:crs:ogc::crs84h", "ogc:crs84", "crs84", "urn:ogc:def:crs:epsg::4326", "urn:ogc:def:crs:epsg::4979",
    "epsg:4326", "epsg:4979", "wgs84", "wgs 84", "http://www.opengis.net/def/crs/ogc/1.3/crs84",
    "http://www.opengis.net/def/crs/ogc/0/crs84h", "https://www.opengis.net/def/crs/ogc/1.3/crs84",
    "http://www.opengis.net/def/crs/epsg/0/4326", "https://www.opengis.net/def/crs/epsg/0/4326",
    "http://www.opengis.net/gml/srs/epsg.xml#4326",
  ]

  /// Returns the name of the system that a `crs` member gives; `nil` for WGS 84 and where it names none.
  static func unsupportedName(in value: JSONValue?) -> String? {
    guard let properties = value?["properties"], let name = name(of: value?["type"], properties) else { return nil }
    let unversioned = name.lowercased().replacing(/^urn:ogc:def:crs:epsg:[0-9.]+:/, with: "urn:ogc:def:crs:epsg::")
    return supportedNames.contains(unversioned) ? nil : name
  }

  /// Returns the explanation for a user.
  static func explanation(unsupported name: String) -> String {
    """
    its coordinates are in the reference system '\(name.prefix(100))', but must be WGS 84, longitude before latitude in \
    degrees; convert the file first, as 'ogr2ogr -t_srs EPSG:4326 -lco RFC7946=YES' does
    """
  }

  private static func name(of type: JSONValue?, _ properties: JSONValue) -> String? {
    switch (type, properties["name"], properties["code"], properties["href"]) {
    case (.string("EPSG"), _, .number(let code)?, _): "EPSG:\(code)"
    case (_, .string(let name)?, _, _): name
    case (_, _, _, .string(let link)?): link
    default: nil
    }
  }
}
