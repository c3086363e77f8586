import Geo

/// Named parts of the Earth by position, such as time zones.
///
/// The file has, in this order: the length of the names and the number of cells, four bytes each; the names, separated by
/// line feeds, with zeros up to a multiple of four bytes; the cells of half a degree, row by row from the south-west,
/// four bytes each; the borders. A cell without borders is the number of its part with the highest bit; any other is the
/// offset of its borders: the number of a point of the cell, the number of its part, and lines, each with the parts left
/// and right of it and its points, as differences in longitude and latitude, the first of them from the corner of the
/// cell. Numbers have 7 bits a byte, the lowest first; the lowest bit of a difference is its sign.
///
/// The part of a position is that to which the borders lead that are crossed on a straight way from the cell's point:
/// each takes one from its part on the near side and adds one to that on the far side. The order does not matter, so that
/// the sides of a narrow strip, which simplification may have exchanged, are wrong only within it.
struct PositionMap {
  private static let unitsPerDegree = 10_000.0
  private static let cellUnits = 5_000.0
  private static let columns = 720
  private static let rows = 360

  /// The points whose parts cells have, in units from the corner. No point of a border is in line with them and others.
  private static let points: [(x: Double, y: Double)] = [4, 1, 7, 2, 6, 3, 5].flatMap { y in
    [4, 1, 7, 2, 6, 3, 5].map { x in (cellUnits * Double(x) / 8 + 0.37, cellUnits * Double(y) / 8 + 0.41) }
  }

  /// The number of bytes of the file.
  let byteCount: Int
  /// The names of the parts by their numbers.
  let names: [String]
  private let cells: UnsafeRawPointer
  private let borders: UnsafePointer<UInt8>

  /// Creates the map of a file.
  ///
  /// - Parameter bytes: the bytes of the file, which must outlive the map.
  init(_ bytes: UnsafeBufferPointer<UInt8>) {
    let start = UnsafeRawPointer(bytes.baseAddress!)
    func number(at offset: Int) -> Int {
      Int(UInt32(littleEndian: start.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
    }
    let (length, cells) = (number(at: 0), number(at: 4))
    let firstCell = 8 + (length + 3) / 4 * 4
    byteCount = bytes.count
    names = String(decoding: bytes[8..<(8 + length)], as: UTF8.self).split(separator: "\n").map { String($0) }
    self.cells = start + firstCell
    borders = bytes.baseAddress! + firstCell + 4 * cells
  }

  /// Returns the number of the part at a position.
  func number(at position: Coordinate) -> Int {
    let (longitude, latitude) = (position.longitude + 180, position.latitude + 90)
    let column = min(Int(longitude * Self.unitsPerDegree / Self.cellUnits), Self.columns - 1)
    let row = min(Int(latitude * Self.unitsPerDegree / Self.cellUnits), Self.rows - 1)
    let cell = UInt32(
      littleEndian: cells.loadUnaligned(fromByteOffset: 4 * (row * Self.columns + column), as: UInt32.self))
    if cell >> 31 == 1 { return Int(cell & 0x7FFF_FFFF) }
    var reader = Reader(next: borders + Int(cell))
    let point = Self.points[reader.number()]
    var counts = [(part: reader.number(), count: 1)]
    func add(_ count: Int, to part: Int) {
      if let index = counts.firstIndex(where: { $0.part == part }) {
        counts[index].count += count
      } else {
        counts.append((part, count))
      }
    }
    let x = longitude * Self.unitsPerDegree - Double(column) * Self.cellUnits
    let y = latitude * Self.unitsPerDegree - Double(row) * Self.cellUnits
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
    return counts.max { $0.count < $1.count }?.part ?? counts[0].part
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
