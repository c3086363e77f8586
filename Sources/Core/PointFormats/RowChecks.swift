import Basics
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

  /// The number of bytes of memory.
  var byteCount: Int { repeats.byteCount + places.byteCount + grid.byteCount }

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

/// The hashes of rows, by which repeats are found: as many as fit into some megabytes, the first ones.
private struct RepeatedContents {
  private static let maximumCount = 1 << 19

  /// A table with open addressing, of which at most half is occupied; 0 is a vacant position.
  private var hashes = ContiguousArray<UInt64>(repeating: 0, count: 1 << 10)
  private var count = 0

  var byteCount: Int { hashes.count * MemoryLayout<UInt64>.stride }

  /// Returns a Boolean value that indicates whether a row has the contents of an earlier one.
  mutating func isRepeat(_ row: ImportRow) -> Bool {
    let hash = max(Self.hash(of: row), 1)
    let position = position(of: hash)
    if hashes[position] == hash { return true }
    guard count < Self.maximumCount else { return false }
    hashes[position] = hash
    count += 1
    if 2 * count > hashes.count { grow() }
    return false
  }

  /// Returns the position of a hash, or that at which it is to be added.
  private func position(of hash: UInt64) -> Int {
    let mask = hashes.count - 1
    var position = Int(truncatingIfNeeded: hash) & mask
    while hashes[position] != 0, hashes[position] != hash { position = (position + 1) & mask }
    return position
  }

  private mutating func grow() {
    let former = hashes
    hashes = ContiguousArray(repeating: 0, count: 2 * former.count)
    for hash in former where hash != 0 { hashes[position(of: hash)] = hash }
  }

  private static func hash(of row: ImportRow) -> UInt64 {
    var hash = FoldedHash()
    hash.combine(row.id?.high ?? 0)
    hash.combine(row.id?.low ?? 0)
    let draft = row.draft
    // Zero has two bit patterns.
    hash.combine((draft.coordinate.latitude + 0).bitPattern)
    hash.combine((draft.coordinate.longitude + 0).bitPattern)
    hash.combine(draft.name)
    hash.combine(draft.category ?? "")
    hash.combine(draft.tags.json)
    hash.combine(draft.origin?.source ?? "")
    hash.combine(draft.origin?.sourceID ?? "")
    return hash.value
  }
}

/// The coordinates that many rows share. Each part of them has a candidate, for which its rows vote and against which
/// the others do (R. S. Boyer and J S. Moore, "MJRTY", 1991), so that a count is never too high, and at most too low by
/// the number of the part's other rows.
private struct FrequentCoordinates {
  private struct Candidate {
    var latitude = 0.0
    var longitude = 0.0
    var rows = 0
    var firstRow = 0
  }

  private static let partCount = 512

  /// The smallest number of rows with the same coordinates, and their smallest share, that are implausible.
  private static let fewestRows = 10
  private static let smallestShare = 0.05

  private var candidates = ContiguousArray(repeating: Candidate(), count: partCount)

  var byteCount: Int { candidates.count * MemoryLayout<Candidate>.stride }

  mutating func add(latitude: Double, longitude: Double, row: Int) {
    let hash = SplitMix64.mix(latitude.bitPattern &+ SplitMix64.mix(longitude.bitPattern))
    let part = Int(truncatingIfNeeded: hash) & (Self.partCount - 1)
    if candidates[part].rows == 0 {
      candidates[part] = Candidate(latitude: latitude, longitude: longitude, rows: 1, firstRow: row)
    } else if candidates[part].latitude == latitude, candidates[part].longitude == longitude {
      candidates[part].rows += 1
    } else {
      candidates[part].rows -= 1
    }
  }

  /// Returns the coordinates of most rows; `nil` if that is plausible.
  func mostFrequent(of count: Int) -> (latitude: Double, longitude: Double, rows: Int, firstRow: Int)? {
    let most = candidates.max { ($0.rows, $1.firstRow) < ($1.rows, $0.firstRow) }
    guard let most, most.rows >= Self.fewestRows, Double(most.rows) >= Double(count) * Self.smallestShare else {
      return nil
    }
    return (most.latitude, most.longitude, most.rows, most.firstRow)
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

  private struct Cell {
    var count: Int32 = 0
    var firstRow: Int32 = 0
  }

  private var cells: ContiguousArray<Cell> = []
  private var total = 0

  var byteCount: Int { cells.count * MemoryLayout<Cell>.stride }

  mutating func add(latitude: Double, longitude: Double, row: Int) {
    if cells.isEmpty { cells = ContiguousArray(repeating: Cell(), count: Self.width * Self.height) }
    let index = Self.row(latitude) * Self.width + Self.column(longitude)
    if cells[index].count == 0 { cells[index].firstRow = Int32(clamping: row) }
    if cells[index].count < .max { cells[index].count += 1 }
    total += 1
  }

  private static func row(_ latitude: Double) -> Int { min(max(Int((latitude + 90).rounded(.down)), 0), height - 1) }

  private static func column(_ longitude: Double) -> Int {
    min(max(Int((longitude + 180).rounded(.down)), 0), width - 1)
  }

  /// The number of rows that are far from the others and near them when swapped, with the number of the first; `nil` if
  /// there are none, or if the others are not near each other.
  var swapped: (rows: Int, firstRow: Int)? {
    guard total >= Self.fewestRows,
      let centre = cells.indices.max(by: { cells[$0].count < cells[$1].count })
    else { return nil }
    let (row, column) = (centre / Self.width, centre % Self.width)
    func isNear(_ otherRow: Int, _ otherColumn: Int) -> Bool {
      abs(otherRow - row) <= Self.nearCells && abs(otherColumn - column) <= Self.nearCells
    }
    var near = 0
    var found: (rows: Int, firstRow: Int) = (0, .max)
    for index in cells.indices where cells[index].count > 0 {
      let (otherRow, otherColumn) = (index / Self.width, index % Self.width)
      if isNear(otherRow, otherColumn) {
        near += Int(cells[index].count)
      } else if isNear(otherColumn - 90, otherRow + 90) {
        // The cell of the swapped coordinates: 90 rows and 180 columns are below zero.
        found.rows += Int(cells[index].count)
        found.firstRow = min(found.firstRow, Int(cells[index].firstRow))
      }
    }
    return found.rows > 0 && Double(near) >= Double(total) * Self.compactShare ? found : nil
  }
}
