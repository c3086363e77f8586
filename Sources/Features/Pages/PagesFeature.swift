import LocationsAPI
package import ServerFeatures
import TileFiles

/// The web pages, the base map of the map page, and the metrics of the last hour for the status page.
package struct PagesFeature: ServerFeature {
  fileprivate static let tilesURL = Setting.Key(
    "MAP_TILES_URL", .text("address"), affects: .operation, default: .described("none: the built-in base map"),
    "Address of the base map's tiles, such as https://tile.example.com/{z}/{x}/{y}.png.",
    details: "A path such as `/basemap/{z}/{x}/{y}.png` is on the map page's own host. Needs "
      + "`MAP_TILES_ATTRIBUTION`. See [Map](map.md#base-map).")
  fileprivate static let tilesFile = Setting.Key(
    "MAP_TILES_FILE", .file, affects: .operation, default: .described("none: the built-in base map"),
    "File of raster tiles for the map page, in MBTiles or PMTiles, opened at the start.",
    details: "See [Map](map.md#a-file-of-tiles).")
  fileprivate static let tilesAttribution = Setting.Key(
    "MAP_TILES_ATTRIBUTION", .text("text"), affects: .operation,
    default: .described("that of `MAP_TILES_FILE`"),
    "Attribution of the base map, as plain text; an address in it becomes a link.",
    details: "Needs `MAP_TILES_URL` or `MAP_TILES_FILE`.")

  package static let settings = [tilesURL.setting, tilesFile.setting, tilesAttribution.setting]
  package static let settingsTitle = "Maps"

  /// The base map that the operator has chosen instead of the built-in one.
  package let baseMap: BaseMapSource?
  private let history = StatusHistory()

  package init(_ settings: Settings) throws(ConfigurationError) { baseMap = try Self.baseMap(settings) }

  package var checks: [@Sendable () async throws -> String] {
    guard case .file(let path, _)? = baseMap else { return [] }
    return [
      { [baseMap] in
        _ = try baseMap?.open()
        return "the tiles of \(path)"
      }
    ]
  }

  package func parts(of core: Core) throws(ConfigurationError) -> FeatureParts {
    let baseMap = try self.baseMap?.open()
    var style = PageStyle.translated
    style.imageOrigin = baseMap?.origin
    return FeatureParts(
      endpoints: { [history, hasSearches = core.searches != nil] api in
        PageCalls(api, baseMap: baseMap, history: history, hasSearches: hasSearches).endpoints
      },
      pageStyle: style, totals: (StatusHistory.interval, { [history] in history.record($0) }))
  }

  private static func baseMap(_ settings: Settings) throws(ConfigurationError) -> BaseMapSource? {
    let (url, file) = (settings[PagesFeature.tilesURL], settings[PagesFeature.tilesFile])
    let attribution = settings[PagesFeature.tilesAttribution]
    if let file {
      guard url == nil else { throw .conflict(PagesFeature.tilesFile, "can't be combined with MAP_TILES_URL") }
      return .file(path: file, attribution: attribution)
    }
    guard let url else {
      guard attribution == nil else {
        throw .conflict(PagesFeature.tilesAttribution, "needs MAP_TILES_URL or MAP_TILES_FILE")
      }
      return nil
    }
    guard let attribution else { throw .conflict(PagesFeature.tilesURL, "needs MAP_TILES_ATTRIBUTION") }
    guard let baseMap = BaseMap(tiles: url, attribution: attribution) else {
      throw settings.error(
        PagesFeature.tilesURL,
        "must be an address such as https://tile.example.com/{z}/{x}/{y}.png or a path, each name once, and like "
          + "MAP_TILES_ATTRIBUTION have at most 1000 bytes")
    }
    return .tiles(baseMap)
  }
}

/// The base map that the operator has chosen instead of the built-in one.
package enum BaseMapSource: Sendable {
  case tiles(BaseMap)
  case file(path: String, attribution: String?)

  /// Returns the base map.
  ///
  /// - Throws: ``ConfigurationError`` for a file that can't be used.
  package func open() throws(ConfigurationError) -> BaseMap {
    switch self {
    case .tiles(let baseMap): return baseMap
    case .file(let path, let attribution):
      func rejection(_ reason: String) -> ConfigurationError {
        .conflict(PagesFeature.tilesFile, "names '\(path)', which \(reason)")
      }
      let file: TileFile
      do {
        file = try TileFile(path: path)
      } catch {
        throw rejection("\(error)")
      }
      guard let baseMap = BaseMap(file: file, attribution: attribution) else {
        throw rejection("has no attribution of up to 1000 bytes: set MAP_TILES_ATTRIBUTION")
      }
      return baseMap
    }
  }
}
