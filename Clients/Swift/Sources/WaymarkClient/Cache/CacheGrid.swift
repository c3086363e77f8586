import Foundation

/// A grid of nearly square cells over the globe. A device never reports a coordinate twice to the digit, so a cache
/// stores one response for each cell.
///
/// The rows are bands of equal latitude difference. Each is divided into as many columns as fit along the parallel in
/// its middle.
struct CacheGrid: Sendable {
  /// A cell of the grid.
  struct Cell: Hashable, Sendable {
    let row: Int
    let column: Int
  }

  /// The height of a cell in degrees.
  private let rowHeight: Double
  private let rowCount: Int

  /// A lower bound of the length of a degree of latitude, and of a degree of longitude at the equator, in metres.
  private static let metresPerDegree = 110_500.0

  /// Creates a grid.
  ///
  /// - Parameter edgeMetres: the approximate length of a cell's edges; at least a metre is used.
  init(edgeMetres: Double) {
    rowHeight = min(max(edgeMetres, 1) / Self.metresPerDegree, 90)
    rowCount = Int((180 / rowHeight).rounded(.up))
  }

  /// Returns the cell that contains a coordinate.
  func cell(of coordinate: Coordinate) -> Cell {
    let row = row(of: coordinate.latitude)
    return Cell(row: row, column: column(of: coordinate.longitude, inRow: row))
  }

  /// Returns the cells that contain all coordinates within a distance, in a fixed order: at most a few more than that.
  func cells(within metres: Double, of coordinate: Coordinate) -> [Cell] {
    let reach = min(metres / Self.metresPerDegree, 180)
    let (south, north) = (max(coordinate.latitude - reach, -90), min(coordinate.latitude + reach, 90))
    // The parallel on which the distance spans the most degrees of longitude.
    let narrowest = cos(min(max(abs(south), abs(north)), 90) * .pi / 180)
    let spread = narrowest * 180 <= reach ? 180 : reach / narrowest
    return (row(of: south)...row(of: north)).flatMap { row in
      let count = columnCount(inRow: row)
      // In whole columns without wrapping, so that a range across the antimeridian stays a range.
      let first = Int(((coordinate.longitude - spread + 180) / 360 * Double(count)).rounded(.down))
      let last = Int(((coordinate.longitude + spread + 180) / 360 * Double(count)).rounded(.down))
      return (first...min(last, first + count - 1)).map { column in
        Cell(row: row, column: (column % count + count) % count)
      }
    }
  }

  private func row(of latitude: Double) -> Int {
    min(Int((latitude + 90) / rowHeight), rowCount - 1)
  }

  private func column(of longitude: Double, inRow row: Int) -> Int {
    let count = columnCount(inRow: row)
    // Longitudes -180 and 180 are the same meridian.
    return Int((longitude + 180) / 360 * Double(count)) % count
  }

  private func columnCount(inRow row: Int) -> Int {
    let middle = min(-90 + (Double(row) + 0.5) * rowHeight, 90)
    return max(1, Int(360 * cos(middle * .pi / 180) / rowHeight))
  }
}
