import Foundation
import Geo
import Points

/// A reference implementation of the map, which goes through all places.
struct MapReference {
  let points: [PointOfInterest]

  /// The sums of a cell.
  struct Cell {
    var count = 0
    var categories: [String: Int] = [:]
    var sample: PointOfInterest
    var x = 0
    var y = 0

    /// The most frequent category, of several the one whose bytes come first.
    var category: String? {
      let most = categories.values.max()
      return categories.filter { $0.value == most }.keys
        .min { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
  }

  /// Returns the position of a place in 2⁻³² of the map's side, by the formula of the projection's definition.
  static func position(_ coordinate: Coordinate) -> (x: Int, y: Int) {
    let side = 4_294_967_296.0
    let latitude = coordinate.latitude * .pi / 180
    let y = (1 - log(tan(latitude) + 1 / cos(latitude)) / .pi) / 2
    let isBeyond = abs(coordinate.latitude) > 85.06
    let row = isBeyond ? (coordinate.latitude > 0 ? 0 : side - 1) : y * side
    return (
      Int(min(max((coordinate.longitude + 180) / 360 * side, 0), side - 1)), Int(min(max(row, 0), side - 1))
    )
  }

  /// Returns the name of the cell of a level that a place is in.
  static func cell(ofLevel level: Int, _ point: PointOfInterest) -> String {
    let (x, y) = position(point.draft.coordinate)
    return "\(level)/\(x >> (32 - level))/\(y >> (32 - level))"
  }

  /// Returns the cells of a level by their names.
  func cells(ofLevel level: Int) -> [String: Cell] {
    var cells: [String: Cell] = [:]
    for point in points {
      let (x, y) = Self.position(point.draft.coordinate)
      var cell = cells[Self.cell(ofLevel: level, point)] ?? Cell(sample: point)
      cell.count += 1
      cell.x += x
      cell.y += y
      if let category = point.draft.category { cell.categories[category, default: 0] += 1 }
      if (point.id.shuffleKey, point.id) < (cell.sample.id.shuffleKey, cell.sample.id) { cell.sample = point }
      cells[Self.cell(ofLevel: level, point)] = cell
    }
    return cells
  }
}
