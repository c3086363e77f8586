package import Basics
import Geo
package import Points

/// The pieces of lines, such as a street that is drawn crossing by crossing. Those with one name that are near each
/// other become one place.
///
/// Of each line the first row is held, and of each further piece its position. O(1) on average for each piece.
package struct LinePieces: Sendable {
  /// The line that a row is a piece of, but for its name.
  package struct Line: Hashable, Sendable {
    /// The field that makes the row a piece of a line.
    @ComparedByBytes package private(set) var field: String

    /// The maximum distance between neighbouring pieces in metres.
    package let distanceMetres: Double

    package init(field: String, distanceMetres: Double) {
      self.field = field
      self.distanceMetres = distanceMetres
    }
  }

  private struct Piece {
    let coordinate: Coordinate
    /// The piece that the line is found by, or nearer to it; itself for the first.
    var parent: UInt32
  }

  /// A cube with edges of the line's distance, of pieces with one name.
  private struct Cell: Hashable {
    let line: Line
    let name: ExactText
    let x: Int32
    let y: Int32
    let z: Int32
  }

  private var pieces: [Piece] = []
  private var cells: [Cell: [UInt32]] = [:]

  /// The rows of lines by their first pieces.
  private var rows: [UInt32: ImportRow] = [:]

  package init() {}

  /// The number of pieces that became parts of other ones' places.
  package var joinedCount: Int { pieces.count - rows.count }

  /// Adds a piece.
  package mutating func add(_ row: ImportRow, of line: Line) {
    let index = UInt32(pieces.count)
    let position = EarthCentred(row.draft.coordinate)
    pieces.append(Piece(coordinate: row.draft.coordinate, parent: index))
    rows[index] = row
    let name = ExactText(row.draft.name)
    func cell(_ x: Int, _ y: Int, _ z: Int) -> Cell {
      func number(_ metres: Double, _ offset: Int) -> Int32 {
        Int32((metres / line.distanceMetres).rounded(.down)) + Int32(offset)
      }
      return Cell(line: line, name: name, x: number(position.x, x), y: number(position.y, y), z: number(position.z, z))
    }
    for x in -1...1 {
      for y in -1...1 {
        for z in -1...1 {
          for other in cells[cell(x, y, z)] ?? [] where isNear(other, position, line) { join(index, other) }
        }
      }
    }
    cells[cell(0, 0, 0), default: []].append(index)
  }

  /// Returns a row for each line, in the order of the first pieces: that piece with the position of the piece in the
  /// middle, which is the nearest to the mean of all.
  package mutating func joinedRows() -> [ImportRow] {
    var members: [UInt32: [UInt32]] = [:]
    for index in pieces.indices { members[root(of: UInt32(index)), default: []].append(UInt32(index)) }
    return rows.sorted { $0.key < $1.key }.map { first, row in
      let middle = middle(of: members[first] ?? [first])
      let draft = row.draft
      // The values are those of a valid draft.
      let moved = try? PointDraft(
        name: draft.name, category: draft.category, coordinate: middle, tags: draft.tags,
        source: draft.origin?.source, sourceID: draft.origin?.sourceID)
      return ImportRow(
        number: row.number, id: row.id, draft: moved ?? draft, unreadableHours: row.unreadableHours)
    }
  }

  private func isNear(_ index: UInt32, _ position: EarthCentred, _ line: Line) -> Bool {
    let other = EarthCentred(pieces[Int(index)].coordinate)
    let (x, y, z) = (other.x - position.x, other.y - position.y, other.z - position.z)
    return x * x + y * y + z * z <= line.distanceMetres * line.distanceMetres
  }

  private mutating func root(of index: UInt32) -> UInt32 {
    var index = index
    while pieces[Int(index)].parent != index {
      // Halves the path for the next time.
      pieces[Int(index)].parent = pieces[Int(pieces[Int(index)].parent)].parent
      index = pieces[Int(index)].parent
    }
    return index
  }

  /// Joins the lines of two pieces; the line has the first piece of both.
  private mutating func join(_ one: UInt32, _ other: UInt32) {
    let (one, other) = (root(of: one), root(of: other))
    guard one != other else { return }
    let (first, second) = (min(one, other), max(one, other))
    pieces[Int(second)].parent = first
    rows[second] = nil
  }

  private func middle(of members: [UInt32]) -> Coordinate {
    let positions = members.map { EarthCentred(pieces[Int($0)].coordinate) }
    var (x, y, z) = (0.0, 0.0, 0.0)
    for position in positions { (x, y, z) = (x + position.x, y + position.y, z + position.z) }
    let count = Double(positions.count)
    (x, y, z) = (x / count, y / count, z / count)
    func distance(_ position: EarthCentred) -> Double {
      let (x, y, z) = (position.x - x, position.y - y, position.z - z)
      return x * x + y * y + z * z
    }
    let nearest = positions.indices.min { distance(positions[$0]) < distance(positions[$1]) } ?? 0
    return pieces[Int(members[nearest])].coordinate
  }
}
