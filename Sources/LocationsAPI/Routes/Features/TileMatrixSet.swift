import Geo
import JSONText

/// The tile matrix set `WebMercatorQuad` (OGC 17-083r4, annex D.1): the squares of the map that `/tiles` has too.
enum TileMatrixSet {
  static let id = "WebMercatorQuad"
  static let title = "Google Maps Compatible for the World"
  static let uri = "http://www.opengis.net/def/tilematrixset/OGC/1.0/\(id)"
  static let crs = ReferenceSystem.epsg3857.rawValue

  /// The levels of the standard, more than those of the tiles.
  private static let levels = 0...24

  /// Half of the side of the map, in metres.
  private static let halfSide = 6_378_137 * Double.pi

  /// The number of pixels of the side of a tile.
  private static let tilePixels = 256

  /// The size of a pixel to which scales are related, in metres.
  private static let pixelMetres = 0.00028

  /// The definition.
  static let definition: JSONValue = [
    "id": .string(id), "title": .string(title), "uri": .string(uri), "crs": .string(crs),
    "orderedAxes": ["X", "Y"], "wellKnownScaleSet": "http://www.opengis.net/def/wkss/OGC/1.0/GoogleMapsCompatible",
    "tileMatrices": .array(levels.map(matrix)),
  ]

  private static func matrix(_ level: Int) -> JSONValue {
    let cellSize = 2 * halfSide / Double(tilePixels << level)
    return [
      "id": .string("\(level)"), "scaleDenominator": number(cellSize / pixelMetres), "cellSize": number(cellSize),
      "cornerOfOrigin": "topLeft", "pointOfOrigin": [number(-halfSide), number(halfSide)],
      "tileWidth": .count(tilePixels), "tileHeight": .count(tilePixels), "matrixWidth": .count(1 << level),
      "matrixHeight": .count(1 << level),
    ]
  }

  private static func number(_ value: Double) -> JSONValue { .number("\(value)") }

  /// The limits of the levels that there are tiles of.
  static let limits = JSONValue.array(
    TileAddress.zooms.map { level in
      let last = JSONValue.count(1 << level - 1)
      return [
        "tileMatrix": .string("\(level)"), "minTileRow": 0, "maxTileRow": last, "minTileCol": 0, "maxTileCol": last,
      ]
    })
}
