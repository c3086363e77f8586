/// Joins the ways of a multipolygon to closed rings. The ways may be in any order and direction.
struct RingAssembly {
  struct Way {
    let positions: [FixedPosition]
    let isInner: Bool
  }

  struct Ring {
    let positions: [FixedPosition]
    let isInner: Bool
  }

  private(set) var rings: [Ring] = []

  /// Joins ways at ends with the same position. Ways that are part of no ring are left out.
  ///
  /// Where more than two ways meet, the rings may be joined in several ways. All have the same segments, and so the
  /// same area.
  init(_ ways: [Way]) {
    var open: [Way] = []
    for way in ways where way.positions.count > 1 {
      if way.positions.first == way.positions.last {
        rings.append(Ring(positions: way.positions, isInner: way.isInner))
      } else {
        open.append(way)
      }
    }
    join(open)
  }

  private static func ends(_ way: Way) -> [FixedPosition] {
    [way.positions[0], way.positions[way.positions.count - 1]]
  }

  private mutating func join(_ ways: [Way]) {
    var waysAt: [FixedPosition: [Int]] = [:]
    for (index, way) in ways.enumerated() {
      for end in RingAssembly.ends(way) { waysAt[end, default: []].append(index) }
    }
    var isUsed = [Bool](repeating: false, count: ways.count)
    RingAssembly.removeDeadEnds(ways, &waysAt, &isUsed)
    for first in ways.indices where !isUsed[first] {
      isUsed[first] = true
      var positions = ways[first].positions
      let start = positions[0]
      var end = positions[positions.count - 1]
      while end != start {
        // Used ways are taken off the list, so that each is seen once at each of its ends.
        guard let index = RingAssembly.popUnused(at: end, &waysAt, isUsed) else { break }
        isUsed[index] = true
        let way = ways[index].positions
        if way[0] == end {
          positions.append(contentsOf: way.dropFirst())
        } else {
          positions.append(contentsOf: way.reversed().dropFirst())
        }
        end = positions[positions.count - 1]
      }
      if end == start { rings.append(Ring(positions: positions, isInner: ways[first].isInner)) }
    }
  }

  private static func popUnused(
    at end: FixedPosition, _ waysAt: inout [FixedPosition: [Int]], _ isUsed: [Bool]
  ) -> Int? {
    while let index = waysAt[end]?.popLast() {
      if !isUsed[index] { return index }
    }
    return nil
  }

  /// Marks the ways with an end where no other way is, again and again until there are none.
  private static func removeDeadEnds(
    _ ways: [Way], _ waysAt: inout [FixedPosition: [Int]], _ isUsed: inout [Bool]
  ) {
    var degrees = waysAt.mapValues(\.count)
    var deadEnds = degrees.filter { $0.value == 1 }.map(\.key)
    while let deadEnd = deadEnds.popLast() {
      guard degrees[deadEnd] == 1, let index = waysAt[deadEnd]?.first(where: { !isUsed[$0] }) else { continue }
      isUsed[index] = true
      for end in ends(ways[index]) {
        degrees[end, default: 0] -= 1
        if degrees[end] == 1 { deadEnds.append(end) }
      }
    }
  }
}
