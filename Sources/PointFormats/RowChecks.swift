import Geo
import Points

/// Coordinates whose latitude and longitude were exchanged.
package enum SwappedCoordinates {
  /// The end of a message about a row with such coordinates.
  package static let remark = "; the latitude and the longitude may be swapped"

  /// Returns a Boolean value that indicates whether the coordinates are out of range, and in range when swapped.
  package static func areLikely(latitude: Double, longitude: Double) -> Bool {
    latitude.magnitude > 90 && latitude.magnitude <= 180 && longitude.magnitude <= 90
  }
}

/// Checks of an import's rows against each other, in memory that does not grow with their number: exact duplicates, and
/// coordinates that are valid but implausible.
struct RowChecks {
  /// A count with the numbers of the first rows.
  private struct Finding {
    private(set) var count = 0
    private(set) var examples: [Int] = []

    mutating func add(_ row: Int, count: Int = 1) {
      self.count += count
      if examples.count < 3 { examples.append(row) }
    }

    /// The rows in words, such as `12 rows, such as 3, 5 and 7`.
    var rows: String {
      let list = examples.map(String.init)
      let shown =
        list.count > 1 ? "\(list.dropLast().joined(separator: ", ")) and \(list[list.count - 1])" : list.first ?? ""
      return count == 1 ? "1 row, \(shown)," : "\(count) rows, such as \(shown),"
    }
  }

  private var count = 0
  private var repeats = RepeatedContents()
  private var duplicates = Finding()
  private var zeros = Finding()
  private var outOfRange = Finding()
  private var outsideArea = Finding()
  private var wholeDegrees = Finding()
  private var places = FrequentCoordinates()
  private var grid = DegreeGrid()

  /// Notes a row.
  mutating func note(_ row: ImportRow) {
    count += 1
    let (latitude, longitude) = (row.draft.coordinate.latitude, row.draft.coordinate.longitude)
    if repeats.isRepeat(row) { duplicates.add(row.number) }
    if latitude == 0, longitude == 0 {
      zeros.add(row.number)
      return
    }
    if latitude.rounded() == latitude, longitude.rounded() == longitude { wholeDegrees.add(row.number) }
    places.add(latitude: latitude, longitude: longitude, row: row.number)
    grid.add(latitude: latitude, longitude: longitude, row: row.number)
  }

  /// Notes a rejected row.
  mutating func note(_ rejection: RejectedRow) {
    if rejection.detail.hasSuffix(SwappedCoordinates.remark) { outOfRange.add(rejection.number) }
  }

  /// Notes a row that is outside the area of the import, and inside when its coordinates are swapped.
  mutating func noteSwappedInArea(_ row: Int) { outsideArea.add(row) }

  /// The warning about exact duplicates; `nil` if there are none.
  var duplicateWarning: String? {
    duplicates.count == 0
      ? nil : "\(duplicates.rows) \(duplicates.count == 1 ? "is an exact duplicate" : "are exact duplicates") of others"
  }

  /// The warnings about implausible coordinates.
  var implausible: [String] {
    var warnings: [String] = []
    if zeros.count > 0 {
      warnings.append(
        "\(zeros.rows) \(zeros.count == 1 ? "has" : "have") the coordinates 0, 0, which often stand for unknown ones")
    }
    if outOfRange.count > 0 {
      warnings.append(
        "\(outOfRange.rows) \(outOfRange.count == 1 ? "has" : "have") a latitude outside of -90 to 90: the latitude and"
          + " the longitude may be swapped")
    }
    if outsideArea.count > 0 {
      warnings.append(
        "\(outsideArea.rows) \(outsideArea.count == 1 ? "is" : "are") outside the area, and inside with latitude and"
          + " longitude swapped")
    }
    if let (rows, example) = grid.swapped {
      var swapped = Finding()
      swapped.add(example, count: rows)
      warnings.append(
        "\(swapped.rows) \(rows == 1 ? "is" : "are") far from the others, and near them with latitude and longitude"
          + " swapped"
      )
    }
    if let most = places.mostFrequent(of: count) {
      warnings.append(
        "at least \(most.rows) of \(count) rows, such as \(most.firstRow), have the same coordinates \(most.latitude),"
          + " \(most.longitude), which may be those of a town or a country")
    }
    let placed = count - zeros.count
    if placed >= Self.fewestWholeDegrees, wholeDegrees.count == placed {
      warnings.append("all \(placed) rows have whole degrees as coordinates: their decimals may be lost")
    }
    return warnings
  }

  /// The number of rows from which whole degrees are no chance.
  private static let fewestWholeDegrees = 10
}

/// The contents of rows, by which repeats are found: as many as fit into some megabytes, the first ones.
private struct RepeatedContents {
  private static let maximumCount = 1 << 19

  private var hashes: Set<Int> = []

  /// Returns a Boolean value that indicates whether a row has the contents of an earlier one.
  mutating func isRepeat(_ row: ImportRow) -> Bool {
    var hasher = Hasher()
    hasher.combine(row.id)
    hasher.combine(row.draft)
    let hash = hasher.finalize()
    if hashes.count < Self.maximumCount { return !hashes.insert(hash).inserted }
    return hashes.contains(hash)
  }
}

/// The coordinates that many rows share (J. Misra and D. Gries, "Finding repeated elements", 1982). The count of each is
/// at most the number of rows divided by ``maximumCount`` too low.
private struct FrequentCoordinates {
  struct Coordinates: Hashable {
    let latitude: Double
    let longitude: Double
  }

  private static let maximumCount = 256

  /// The smallest number of rows with the same coordinates, and their smallest share, that are implausible.
  private static let fewestRows = 10
  private static let smallestShare = 0.05

  private var counts: [Coordinates: (rows: Int, firstRow: Int)] = [:]

  mutating func add(latitude: Double, longitude: Double, row: Int) {
    let coordinates = Coordinates(latitude: latitude, longitude: longitude)
    if counts[coordinates]?.rows != nil {
      counts[coordinates]?.rows += 1
    } else if counts.count < Self.maximumCount {
      counts[coordinates] = (1, row)
    } else {
      for key in counts.keys { counts[key]?.rows -= 1 }
      counts = counts.filter { $0.value.rows > 0 }
    }
  }

  /// Returns the coordinates of most rows; `nil` if that is plausible.
  func mostFrequent(of count: Int) -> (latitude: Double, longitude: Double, rows: Int, firstRow: Int)? {
    guard
      let (key, value) = counts.max(by: { ($0.value.rows, $1.value.firstRow) < ($1.value.rows, $0.value.firstRow) }),
      value.rows >= Self.fewestRows, Double(value.rows) >= Double(count) * Self.smallestShare
    else { return nil }
    return (key.latitude, key.longitude, value.rows, value.firstRow)
  }
}

/// The number of rows in each cell of one degree.
private struct DegreeGrid {
  private static let width = 360
  private static let height = 180

  /// The number of cells around one, on each side, that are near it.
  private static let nearCells = 10

  /// The smallest share of the rows that must be near each other for a row to be far from the others.
  private static let compactShare = 0.8
  private static let fewestRows = 20

  private var counts: [Int32] = []
  private var firstRows: [Int32] = []
  private var total = 0

  mutating func add(latitude: Double, longitude: Double, row: Int) {
    if counts.isEmpty {
      counts = [Int32](repeating: 0, count: Self.width * Self.height)
      firstRows = counts
    }
    let index = Self.row(latitude) * Self.width + Self.column(longitude)
    if counts[index] == 0 { firstRows[index] = Int32(clamping: row) }
    if counts[index] < .max { counts[index] += 1 }
    total += 1
  }

  private static func row(_ latitude: Double) -> Int { min(max(Int((latitude + 90).rounded(.down)), 0), height - 1) }

  private static func column(_ longitude: Double) -> Int {
    min(max(Int((longitude + 180).rounded(.down)), 0), width - 1)
  }

  /// The number of rows that are far from the others and near them when swapped, with the number of the first; `nil` if
  /// there are none, or if the others are not near each other.
  var swapped: (rows: Int, firstRow: Int)? {
    guard total >= Self.fewestRows, let centre = counts.indices.max(by: { counts[$0] < counts[$1] }) else { return nil }
    let (row, column) = (centre / Self.width, centre % Self.width)
    func isNear(_ otherRow: Int, _ otherColumn: Int) -> Bool {
      abs(otherRow - row) <= Self.nearCells && abs(otherColumn - column) <= Self.nearCells
    }
    var near = 0
    var found: (rows: Int, firstRow: Int) = (0, .max)
    for index in counts.indices where counts[index] > 0 {
      let (otherRow, otherColumn) = (index / Self.width, index % Self.width)
      if isNear(otherRow, otherColumn) {
        near += Int(counts[index])
      } else if isNear(otherColumn - 90, otherRow + 90) {
        // The cell of the swapped coordinates: 90 rows and 180 columns are below zero.
        found.rows += Int(counts[index])
        found.firstRow = min(found.firstRow, Int(firstRows[index]))
      }
    }
    return found.rows > 0 && Double(near) >= Double(total) * Self.compactShare ? found : nil
  }
}
