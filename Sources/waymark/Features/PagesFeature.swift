import Hosting
import LocationsAPI
import Pages
import ServerFeatures
import TileFiles

/// The web pages, the base map of the map page, and the metrics of the last hour for the status page.
struct PagesFeature: ServerFeature {
  fileprivate let baseMap: BaseMapSource?
  private let history = StatusHistory()

  init(_ settings: Settings) throws(ConfigurationError) { baseMap = try Self.baseMap(settings) }

  func parts(of core: Core) throws(ConfigurationError) -> FeatureParts {
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
    let (url, file) = (settings[Setting.maps.tilesURL], settings[Setting.maps.tilesFile])
    let attribution = settings[Setting.maps.tilesAttribution]
    if let file {
      guard url == nil else { throw .conflict(Setting.maps.tilesFile, "can't be combined with MAP_TILES_URL") }
      return .file(path: file, attribution: attribution)
    }
    guard let url else {
      guard attribution == nil else {
        throw .conflict(Setting.maps.tilesAttribution, "needs MAP_TILES_URL or MAP_TILES_FILE")
      }
      return nil
    }
    guard let attribution else { throw .conflict(Setting.maps.tilesURL, "needs MAP_TILES_ATTRIBUTION") }
    guard let baseMap = BaseMap(tiles: url, attribution: attribution) else {
      throw settings.error(
        Setting.maps.tilesURL,
        "must be an address such as https://tile.example.com/{z}/{x}/{y}.png or a path, each name once, and like "
          + "MAP_TILES_ATTRIBUTION have at most 1000 bytes")
    }
    return .tiles(baseMap)
  }
}

extension ServeConfiguration {
  /// The base map that the operator has chosen instead of the built-in one.
  var baseMap: BaseMapSource? { features.lazy.compactMap { ($0 as? PagesFeature)?.baseMap }.first }
}

/// The base map that the operator has chosen instead of the built-in one.
enum BaseMapSource {
  case tiles(BaseMap)
  case file(path: String, attribution: String?)

  /// Returns the base map.
  ///
  /// - Throws: ``ConfigurationError`` for a file that can't be used.
  func open() throws(ConfigurationError) -> BaseMap {
    switch self {
    case .tiles(let baseMap): return baseMap
    case .file(let path, let attribution):
      func rejection(_ reason: String) -> ConfigurationError {
        .conflict(Setting.maps.tilesFile, "names '\(path)', which \(reason)")
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
