public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The addresses of vector tiles with places, for a map library such as MapLibre, which loads and caches the tiles
/// itself.
///
/// ```swift
/// let tiles = try waymark.tiles(of: PointFilter(categories: ["museum"]), tags: ["website"])
/// print(tiles.template, tiles.descriptionURL)
/// ```
public struct VectorTiles: Hashable, Sendable {
  /// The address of a tile with the placeholders `{z}`, `{x}` and `{y}`.
  public let template: String

  /// The address of the tiles' description, TileJSON 3.0. The addresses in it begin with the service's `PUBLIC_URL`.
  public let descriptionURL: URL

  /// The zoom levels of the tiles.
  public static let zoomLevels = 0...22

  /// The name of the layer with the places. Its features have `id`, `name`, `category` and the requested tags.
  public static let placesLayer = "places"

  /// The name of the layer with cells of several places. Its features have `count`, `category`, `name` and `cell`.
  public static let clustersLayer = "clusters"

  /// Creates the addresses of the tiles with the places that match a filter, which has no center, radius, route or box.
  ///
  /// ```swift
  /// let tiles = try VectorTiles(baseURL: baseURL, filter: PointFilter(tags: ["wheelchair": ["yes"]]))
  /// ```
  ///
  /// - Parameters:
  ///   - baseURL: the service's URL.
  ///   - text: the text that the names of the places match, as in ``PointSearch/text``; `nil` for any places.
  ///   - filter: the conditions.
  ///   - tags: the keys of the tags that the places in the tiles have, at most 20.
  /// - Throws: ``RequestError``: `unsupportedFilter`, `invalidText`, `invalidTagKeys`, `invalidBaseURL`, or the errors
  /// of the filter.
  public init(
    baseURL: URL, matching text: String? = nil, filter: PointFilter = PointFilter(), tags: [String] = []
  ) throws(RequestError) {
    guard TagKey.areValid(tags, maximumCount: 20), Set(tags).count == tags.count,
      Set(tags).isDisjoint(with: ["id", "name", "category"])
    else { throw .invalidTagKeys }
    var parameters = try filter.mapParameters(matching: text, takesBox: false)
    if !tags.isEmpty { parameters.append(QueryParameter("tags", .texts(tags))) }
    let address = try URLRequest("GET", baseURL, "/tiles.json", parameters: parameters).url
    guard let address else { throw .invalidBaseURL }
    descriptionURL = address
    let (path, query) = (address.absoluteString.prefix { $0 != "?" }, address.absoluteString.drop { $0 != "?" })
    template = path.dropLast("/tiles.json".count) + "/tiles/{z}/{x}/{y}.mvt" + query
  }
}
