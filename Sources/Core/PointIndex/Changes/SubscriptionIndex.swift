import Basics
import Geo
import Points

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// An index of subscriptions, which finds those that may match a place without examining the others.
///
/// A subscription with a region is in the cells of a grid that cover the region, one with categories in a table of
/// categories, one with a source in a table of sources; every place may match the others. So a look-up takes O(1) beside
/// the subscriptions that it finds.
struct SubscriptionIndex<Subscriber: AnyObject & Hashable> {
  /// The way in which a subscription is found.
  private enum Key: Hashable {
    case cell(GridCell)
    case category(ExactText)
    case source(ExactText)
    case any
  }

  private var subscribers: [Key: Set<Subscriber>] = [:]

  /// The numbers of keys by the levels of their cells.
  private var cellCounts = [Int](repeating: 0, count: GridCell.maximumLevel + 1)

  /// Adds a subscription to the changes of places that match a query.
  mutating func insert(_ subscriber: Subscriber, _ query: PointQuery) {
    for key in Self.keys(of: query) {
      if subscribers[key, default: []].insert(subscriber).inserted, case .cell(let cell) = key {
        cellCounts[cell.level] += 1
      }
    }
  }

  /// Removes a subscription that was added with a query.
  mutating func remove(_ subscriber: Subscriber, _ query: PointQuery) {
    for key in Self.keys(of: query) {
      guard let index = subscribers.index(forKey: key) else { continue }
      if subscribers.values[index].remove(subscriber) != nil, case .cell(let cell) = key { cellCounts[cell.level] -= 1 }
      if subscribers.values[index].isEmpty { subscribers.remove(at: index) }
    }
  }

  /// Calls a closure with the subscriptions that may match a place, some of them several times.
  func forEach(matching place: PlaceKeys, _ body: (Subscriber) -> Void) {
    subscribers[.any]?.forEach(body)
    if let category = place.category { subscribers[.category(category)]?.forEach(body) }
    if let source = place.source { subscribers[.source(source)]?.forEach(body) }
    for level in cellCounts.indices where cellCounts[level] > 0 {
      subscribers[.cell(GridCell(of: place.coordinate, level: level))]?.forEach(body)
    }
  }

  private static func keys(of query: PointQuery) -> [Key] {
    guard let narrowed = query.narrowedByFilter else { return [] }
    if let cells = GridCell.cover(of: narrowed) { return cells.map { .cell($0) } }
    if !narrowed.categories.isEmpty { return narrowed.categories.map { .category($0) } }
    if let source = narrowed.source { return [.source(source.name)] }
    return [.any]
  }
}

/// The properties of a place by which subscriptions are found.
struct PlaceKeys {
  let coordinate: Coordinate
  let category: ExactText?
  let source: ExactText?
}

/// A cell of a grid of the longitudes and latitudes. Each level has twice as many columns and rows as the one before.
struct GridCell: Hashable {
  static let maximumLevel = 16

  /// The maximum number of cells that cover a region. A box that is not larger than a cell meets so many at most.
  private static let maximumCover = 4

  let level: Int
  private let column: Int
  private let row: Int

  private init(level: Int, column: Int, row: Int) {
    (self.level, self.column, self.row) = (level, column, row)
  }

  /// Creates the cell of a coordinate.
  init(of coordinate: Coordinate, level: Int) {
    let count = 1 << level
    self.level = level
    column = min(count - 1, Int((coordinate.longitude + 180) / 360 * Double(count)))
    row = min(count - 1, Int((coordinate.latitude + 90) / 180 * Double(count)))
  }

  /// The bounds, with a rounding error more on each side.
  private var bounds: GeographicBounds {
    let slack = 1e-9
    let (width, height) = (360 / Double(1 << level), 180 / Double(1 << level))
    return GeographicBounds(
      south: max(-90, -90 + height * Double(row) - slack), west: max(-180, -180 + width * Double(column) - slack),
      north: min(90, -90 + height * Double(row + 1) + slack),
      east: min(180, -180 + width * Double(column + 1) + slack))
  }

  /// Returns the smallest cells, up to a number, that cover the region of a query; `nil` if it has none.
  static func cover(of query: PointQuery) -> [GridCell]? {
    var query = query
    if query.box == nil { query.box = query.proximity.flatMap { BoundingBox(around: $0) } }
    guard let region = RegionFilter(query) else { return nil }
    var cells = [GridCell(level: 0, column: 0, row: 0)]
    for level in 1...maximumLevel {
      let next = cells.flatMap { cell in
        [(0, 0), (1, 0), (0, 1), (1, 1)].map { column, row in
          GridCell(level: level, column: 2 * cell.column + column, row: 2 * cell.row + row)
        }
      }.filter { region.meets($0.bounds) }
      if next.count > maximumCover { break }
      cells = next
    }
    return cells
  }
}

extension BoundingBox {
  /// Creates a box around all places within the radius of a proximity; `nil` if it has none, or they are everywhere.
  fileprivate init?(around proximity: PointQuery.Proximity) {
    guard let radius = proximity.radiusMetres else { return nil }
    // The least radius of curvature of the ellipsoid, so that the angle is not too small.
    let angle = radius / 6_335_439 * 1.01
    guard angle < .pi / 2 else { return nil }
    let (latitude, longitude) = (proximity.center.latitude, proximity.center.longitude)
    let degrees = angle * 180 / .pi
    let (south, north) = (max(-90, latitude - degrees), min(90, latitude + degrees))
    let ratio = sin(angle) / cos(latitude * .pi / 180)
    let width = ratio < 1 && south > -90 && north < 90 ? asin(ratio) * 1.01 * 180 / .pi : 180
    guard width < 180 else {
      try? self.init(west: -180, south: south, east: 180, north: north)
      return
    }
    func wrapped(_ longitude: Double) -> Double {
      longitude < -180 ? longitude + 360 : longitude > 180 ? longitude - 360 : longitude
    }
    try? self.init(west: wrapped(longitude - width), south: south, east: wrapped(longitude + width), north: north)
  }
}
