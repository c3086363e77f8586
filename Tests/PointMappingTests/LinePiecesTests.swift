import Geo
import PointMapping
import Points
import TestSupport
import Testing

@Suite struct LinePiecesTests {
  private let street = LinePieces.Line(field: "highway", distanceMetres: 1000)

  private func rows(_ pieces: [(name: String, latitude: Double, longitude: Double)]) throws -> [ImportRow] {
    try pieces.enumerated().map { index, piece in
      try .sample(
        piece.name, piece.latitude, piece.longitude, source: "osm", sourceID: "way/\(index)", number: index + 1)
    }
  }

  @Test func piecesOfANameThatAreNearEachOtherAreOnePlaceInTheMiddle() throws {
    var pieces = LinePieces()
    for row in try rows([("A", 50, 10), ("A", 50, 10.01), ("A", 50, 10.02), ("B", 50, 10), ("A", 51, 10)]) {
      pieces.add(row, of: street)
    }

    let joined = pieces.joinedRows()

    #expect(joined.map(\.draft.origin?.sourceID) == ["way/0", "way/3", "way/4"])
    #expect(joined.map(\.draft.coordinate.longitude) == [10.01, 10, 10])
    #expect(joined.map(\.number) == [1, 4, 5] && pieces.joinedCount == 2)
  }

  @Test func aPieceThatComesLastJoinsWhatItLiesBetween() throws {
    var pieces = LinePieces()
    for row in try rows([("A", 50, 10), ("A", 50, 10.02), ("A", 50, 10.04), ("A", 50, 10.03), ("A", 50, 10.01)]) {
      pieces.add(row, of: street)
    }

    #expect(pieces.joinedRows().map(\.draft.coordinate.longitude) == [10.02])
  }

  @Test func linesOfOtherFieldsAreOthers() throws {
    var pieces = LinePieces()
    let rows = try rows([("A", 50, 10), ("A", 50, 10)])
    pieces.add(rows[0], of: street)
    pieces.add(rows[1], of: .init(field: "waterway", distanceMetres: 1000))

    #expect(pieces.joinedRows().count == 2)
  }

  @Test(arguments: [(0.0, 179.999, -179.999), (89.9999, 0, 180), (-60, -180, 180)])
  func nearnessKnowsNoEdgesOfTheMap(latitude: Double, west: Double, east: Double) throws {
    var pieces = LinePieces()
    for row in try rows([("A", latitude, west), ("A", latitude, east)]) { pieces.add(row, of: street) }

    #expect(pieces.joinedRows().count == 1)
  }

  @Test func piecesAreJoinedAsByComparingAllPairs() throws {
    var random = SplitMix(seed: 7)
    func next(_ bound: UInt64) -> Double { Double(random.next() % bound) }
    let rows = try rows((0..<120).map { _ in ("\(next(3))", 50 + next(1000) / 20_000, 10 + next(1000) / 20_000) })
    var pieces = LinePieces()
    for row in rows { pieces.add(row, of: street) }

    var lines = rows.map { [$0] }
    var isDone = false
    while !isDone {
      isDone = true
      search: for first in lines.indices {
        for second in lines.indices.dropFirst(first + 1) {
          let areNear = lines[first].contains { one in
            lines[second].contains { other in
              one.draft.name == other.draft.name
                && Geodesic.distanceMetres(from: one.draft.coordinate, to: other.draft.coordinate) <= 1000
            }
          }
          guard areNear else { continue }
          lines[first] += lines.remove(at: second)
          isDone = false
          break search
        }
      }
    }
    #expect(pieces.joinedRows().map(\.number) == lines.compactMap { $0.map(\.number).min() }.sorted())
  }
}

/// A generator of repeatable random numbers (SplitMix64).
private struct SplitMix {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}
