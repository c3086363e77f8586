import CTimeZones
package import Geo

/// The time zones by position: at land by the borders of timezone-boundary-builder, at sea beyond them by the longitude.
///
/// The built-in file has, in this order: the length of the names and the number of cells, four bytes each; the names,
/// separated by line feeds, with zeros up to a multiple of four bytes; the cells of half a degree, row by row from the
/// south-west, four bytes each; the borders. A cell without borders is the number of its zone with the highest bit; any
/// other is the offset of its borders: the number of a point of the cell, the number of its zone, and lines, each with
/// the zones left and right of it and its points, as differences in longitude and latitude, the first of them from the
/// corner of the cell. Numbers have 7 bits a byte, the lowest first; the lowest bit of a difference is its sign.
///
/// The zone of a position is that to which the borders lead that are crossed on a straight way from the cell's point:
/// each takes one from its zone on the near side and adds one to that on the far side. The order does not matter, so that
/// the sides of a narrow strip, which simplification may have exchanged, are wrong only within it.
package enum PositionZones {
  private static let unitsPerDegree = 10_000.0
  private static let cellUnits = 5_000.0
  private static let columns = 720
  private static let rows = 360

  /// The points whose zones cells have, in units from the corner. No point of a border is in line with them and others.
  private static let points: [(x: Double, y: Double)] = [4, 1, 7, 2, 6, 3, 5].flatMap { y in
    [4, 1, 7, 2, 6, 3, 5].map { x in (cellUnits * Double(x) / 8 + 0.37, cellUnits * Double(y) / 8 + 0.41) }
  }

  private struct File {
    let byteCount: Int
    let names: [String]
    let cells: UnsafeRawPointer
    let borders: UnsafePointer<UInt8>
  }

  // The bytes are constants of the program.
  private nonisolated(unsafe) static let file: File = {
    var count = 0
    let bytes = waymark_time_zones(&count)!
    let start = UnsafeRawPointer(bytes)
    func number(at offset: Int) -> Int {
      Int(UInt32(littleEndian: start.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
    }
    let (length, cells) = (number(at: 0), number(at: 4))
    let names = String(decoding: UnsafeBufferPointer(start: bytes + 8, count: length), as: UTF8.self)
    let firstCell = 8 + (length + 3) / 4 * 4
    return File(
      byteCount: count, names: names.split(separator: "\n").map { String($0) }, cells: start + firstCell,
      borders: bytes + firstCell + 4 * cells)
  }()

  /// The number of bytes of the built-in file.
  static var byteCount: Int { file.byteCount }

  /// The names of the zones by their numbers.
  package static var names: [String] { file.names }

  /// Returns the rules of a zone. Without the system's database they are those of its longitude at sea, and else UTC.
  package static func rules(of number: Int) -> ZoneRules { rules(named: names[number]) ?? .utc }

  /// Returns the rules of a zone of the system's database, or of one at sea; `nil` if it is neither.
  package static func rules(named name: String) -> ZoneRules? {
    if let rules = ZoneRules.system(named: name) { return rules }
    // The names have the sign of POSIX, which is that of the west.
    guard let hours = Int(name.replacing("Etc/GMT", with: "")) else { return nil }
    return ZoneRules(name: name, offsetSeconds: -hours * 3_600)
  }

  /// Returns the number of the zone at a position, exact within 100 m at borders.
  package static func number(at position: Coordinate) -> Int {
    let (longitude, latitude) = (position.longitude + 180, position.latitude + 90)
    let column = min(Int(longitude * unitsPerDegree / cellUnits), columns - 1)
    let row = min(Int(latitude * unitsPerDegree / cellUnits), rows - 1)
    let cell = UInt32(
      littleEndian: file.cells.loadUnaligned(fromByteOffset: 4 * (row * columns + column), as: UInt32.self))
    if cell >> 31 == 1 { return Int(cell & 0x7FFF_FFFF) }
    var reader = Reader(next: file.borders + Int(cell))
    let point = points[reader.number()]
    var counts = [(zone: reader.number(), count: 1)]
    func add(_ count: Int, to zone: Int) {
      if let index = counts.firstIndex(where: { $0.zone == zone }) {
        counts[index].count += count
      } else {
        counts.append((zone, count))
      }
    }
    let x = longitude * unitsPerDegree - Double(column) * cellUnits
    let y = latitude * unitsPerDegree - Double(row) * cellUnits
    let (dx, dy) = (point.x - x, point.y - y)
    for _ in 0..<reader.number() {
      let (left, right, count) = (reader.number(), reader.number(), reader.number())
      // Relative to the position.
      var (startX, startY) = (Double(reader.difference()) - x, Double(reader.difference()) - y)
      var startSide = dx * startY - dy * startX
      for _ in 1..<count {
        let (edgeX, edgeY) = (Double(reader.difference()), Double(reader.difference()))
        let (endX, endY) = (startX + edgeX, startY + edgeY)
        let endSide = dx * endY - dy * endX
        if (startSide >= 0) != (endSide >= 0) {
          let crossing = (startX * edgeY - startY * edgeX) / (dx * edgeY - dy * edgeX)
          if crossing >= 0, crossing <= 1 {
            let isLeft = startX * edgeY - startY * edgeX >= 0
            add(1, to: isLeft ? left : right)
            add(-1, to: isLeft ? right : left)
          }
        }
        (startX, startY, startSide) = (endX, endY, endSide)
      }
    }
    return counts.max { $0.count < $1.count }?.zone ?? counts[0].zone
  }

  private struct Reader {
    var next: UnsafePointer<UInt8>

    @inline(__always)
    mutating func number() -> Int {
      var byte = Int(next.pointee)
      next += 1
      guard byte >= 0x80 else { return byte }
      var value = byte & 0x7F
      var shift = 7
      repeat {
        byte = Int(next.pointee)
        next += 1
        value |= (byte & 0x7F) << shift
        shift += 7
      } while byte >= 0x80
      return value
    }

    @inline(__always)
    mutating func difference() -> Int {
      let value = number()
      return value & 1 == 0 ? value >> 1 : -(value >> 1) - 1
    }
  }
}
