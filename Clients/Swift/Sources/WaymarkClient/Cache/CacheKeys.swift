import Foundation

/// The keys of the responses that may be used for a request.
struct CacheKeys {
  /// The request without its coordinate.
  private let prefix: String
  private let center: Coordinate?
  private let maximumDistanceMetres: Double
  private let grid: CacheGrid

  /// Creates the keys of a request, for which responses to requests up to a distance may be used.
  init(_ request: CacheRequest, maximumDistanceMetres: Double) {
    center = request.center
    self.maximumDistanceMetres = max(0, maximumDistanceMetres)
    // Every coordinate in a cell is then at most a distance of 0.71 of the maximum away from every other.
    grid = CacheGrid(edgeMetres: self.maximumDistanceMetres / 2)
    prefix =
      Self.prefix(ofUser: request.user)
      + (request.center == nil ? request.url : Self.withoutCoordinate(request.url)).absoluteString
  }

  /// Returns the beginning of a user's keys. It has the length of the name, so that none can imitate another one's keys.
  static func prefix(ofUser user: String?) -> String { (user.map { "\($0.utf8.count):\($0)" } ?? "-") + " " }

  /// The key under which the response is stored.
  var own: String { center.map { key(of: grid.cell(of: $0)) } ?? prefix }

  /// The keys under which there may be responses for the request, without duplicates.
  var all: [String] {
    guard let center else { return [prefix] }
    return grid.cells(within: maximumDistanceMetres, of: center).map(key)
  }

  private func key(of cell: CacheGrid.Cell) -> String { "\(prefix) \(cell.row)/\(cell.column)" }

  /// Returns the URL without the parameters of the coordinate, the others unchanged.
  private static func withoutCoordinate(_ url: URL) -> URL {
    guard var components = URLComponents(url: url, resolvingAgainstBaseURL: true),
      let query = components.percentEncodedQuery
    else { return url }
    let others = query.split(separator: "&").filter { !$0.hasPrefix("lat=") && !$0.hasPrefix("long=") }
    components.percentEncodedQuery = others.isEmpty ? nil : others.joined(separator: "&")
    return components.url ?? url
  }
}

extension Coordinate {
  /// Creates the coordinate of a search from its URL; `nil` where that has none.
  init?(queryOf url: URL) {
    let items = URLComponents(url: url, resolvingAgainstBaseURL: true)?.queryItems ?? []
    func number(_ name: String) -> Double? { items.first { $0.name == name }?.value.flatMap { Double($0) } }
    guard let latitude = number("lat"), let longitude = number("long") else { return nil }
    try? self.init(latitude: latitude, longitude: longitude)
  }
}
