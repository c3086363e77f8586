import ArgumentParser
import Foundation
import Geo
import PointIndex
import Points
import SyntheticData

/// `waymark-bench areas`: the areas of a point, the places of a city, and the memory of the areas of a country.
struct AreasCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "areas",
    abstract: "Measures named areas: those of a point, the places in one, and their memory.",
    discussion: """
      A country of cells with wavy borders, each an area, within regions and a country, which have as many vertices a \
      kilometre. Writes the time to find the areas of a point, the number of places a second of pages in one of the areas \
      and in the same polygon given by itself, and the bytes a vertex: those of the outlines, and of the resident memory. \
      Exits with 1 where a bound is given and exceeded.
      """
  )

  @Option(help: "The number of areas.") var areas = 10_000
  @Option(help: "The number of vertices of all areas.") var vertices = 1_000_000
  @Option(help: "The number of places.") var places = 1_000_000
  @Option(help: "The longest mean time to find the areas of a point, in microseconds.") var microsecondsAtMost: Double?
  @Option(help: "The greatest number of bytes a vertex, with all that the areas need.") var bytesAtMost: Double?

  /// The country, in degrees.
  private static let south = 44.0
  private static let west = 8.0
  private static let degrees = 6.0

  private static let pointCount = 100_000
  private static let pageSize = 1000
  private static let rounds = 5

  func validate() throws {
    if areas < 100 { throw ValidationError("--areas must be at least 100, got \(areas)") }
    if vertices < areas * 8 { throw ValidationError("--vertices must be at least 8 an area, got \(vertices)") }
    if places < 1 { throw ValidationError("--places must be at least 1, got \(places)") }
  }

  func run() throws {
    let before = ResidentMemory.now.bytes
    let set = Areas(try cells(), version: 1)
    let memory = ResidentMemory.now.bytes - before
    let vertexCount = set.all.reduce(0) { $0 + $1.draft.outline.positionCount }
    let bytes = Double(set.byteCount) / Double(vertexCount)
    print("areas: \(set.all.count) with \(vertexCount) vertices")
    print("outlines: \(text(bytes)) bytes a vertex")
    let bytesWithAll = Double(memory) / Double(vertexCount)
    print("with names, indexes and the allocator: \(text(bytesWithAll)) bytes a vertex")

    let microseconds = try timeOfContaining(set)
    print("areas of a point: \(text(microseconds)) µs")

    try measurePlaces(set)
    if let microsecondsAtMost, microseconds > microsecondsAtMost { throw ExitCode.failure }
    if let bytesAtMost, bytesWithAll > bytesAtMost { throw ExitCode.failure }
  }

  private func text(_ number: Double) -> String { String(format: "%.1f", number) }

  // MARK: Areas

  /// Returns a grid of areas with borders that neighbours share, and one around each hundred of them.
  private func cells() throws -> [Area] {
    let side = Int(Double(areas).squareRoot())
    let perSide = max(2, vertices / (side * side) / 4)
    let regions = max(1, side / 10)
    var found: [Area] = []
    for row in 0..<side {
      for column in 0..<side {
        found.append(
          try area(
            "Cell \(row) \(column)", .city, row, column, size: 1, of: side, perSide: perSide, number: found.count))
      }
    }
    for row in 0..<regions {
      for column in 0..<regions {
        let size = side / regions
        found.append(
          try area(
            "Region \(row) \(column)", .region, row * size, column * size, size: size, of: side, perSide: perSide,
            number: found.count))
      }
    }
    found.append(
      try area("Country", .country, 0, 0, size: side, of: side, perSide: perSide / 2 + 1, number: found.count))
    return found
  }

  private func area(
    _ name: String, _ kind: AreaKind, _ row: Int, _ column: Int, size: Int, of side: Int, perSide: Int, number: Int
  ) throws -> Area {
    let count = perSide * size
    let step = Double(size) / Double(count)
    var ring: [Coordinate] = []
    func add(_ row: Double, _ column: Double) throws {
      // The same for all areas that share the border.
      let wave = 0.1 * sin(row * 37) * sin(column * 41)
      ring.append(
        try Coordinate(
          latitude: Self.south + Self.degrees * (row + wave) / Double(side),
          longitude: Self.west + Self.degrees * (column + wave) / Double(side)))
    }
    let (south, west) = (Double(row), Double(column))
    for index in 0..<count { try add(south, west + Double(index) * step) }
    for index in 0..<count { try add(south + Double(index) * step, west + Double(size)) }
    for index in 0..<count { try add(south + Double(size), west + Double(size) - Double(index) * step) }
    for index in 0..<count { try add(south + Double(size) - Double(index) * step, west) }
    let draft = try AreaDraft(
      name: name, kind: kind, outline: try AreaOutline(polygons: [[ring]], isMultiple: false), source: "bench",
      sourceID: "\(number)")
    let time = Timestamp(microsecondsSinceEpoch: 0)
    return Area(
      id: PointID(high: 0x0199_0000_0000_7000, low: 0x8000_0000_0000_0000 | UInt64(number)), draft: draft, version: 1,
      createdAt: time, updatedAt: time)
  }

  private func point(using random: inout SeededGenerator) throws -> Coordinate {
    try Coordinate(
      latitude: Self.south + Self.degrees * Double.random(in: 0.01..<0.99, using: &random),
      longitude: Self.west + Self.degrees * Double.random(in: 0.01..<0.99, using: &random))
  }

  /// Returns the mean time to find the areas of a point, the best of some rounds, in microseconds.
  private func timeOfContaining(_ set: Areas) throws -> Double {
    var random = SeededGenerator(seed: 1)
    let points = try (0..<Self.pointCount).map { _ in try point(using: &random) }
    var best = Double.infinity
    for _ in 0..<Self.rounds {
      var found = 0
      let duration = try ContinuousClock().measure {
        for point in points { found += try set.containing(point).count }
      }
      if found < points.count { throw ValidationError("\(found) areas were found for \(points.count) points") }
      best = min(best, duration / .microseconds(1) / Double(points.count))
    }
    return best
  }

  // MARK: Places

  /// Prints the rates of pages of all places in an area of the set, and in its polygon.
  private func measurePlaces(_ set: Areas) throws {
    var random = SeededGenerator(seed: 2)
    var buffer = PointBuffer()
    buffer.reserveCapacity(places)
    for number in 0..<places {
      let draft = try PointDraft(name: "Place \(number)", category: "cafe", coordinate: try point(using: &random))
      let time = Timestamp(microsecondsSinceEpoch: 0)
      buffer.append(
        PointOfInterest(
          id: PointID(high: UInt64(number) << 16 | 0x7000, low: 0x8000_0000_0000_0000), draft: draft, version: 1,
          createdAt: time, updatedAt: time))
    }
    let snapshot = PointSnapshot(consume buffer)
    guard let city = set.area(named: "Region 1 1") ?? set.area(named: "Region 0 0") else { return }
    let polygon = try GeodesicArea(polygons: city.draft.outline.geodesicArea().polygons)
    let named = try rate(snapshot) { try set.shape(of: city) }
    let given = try rate(snapshot) { polygon }
    print("places in an area: \(Int(named.rate)) a second of \(named.count) by in, \(Int(given.rate)) by within")
  }

  private func rate(_ snapshot: PointSnapshot, _ area: () throws -> GeodesicArea) throws -> (count: Int, rate: Double) {
    var (best, count) = (0.0, 0)
    for _ in 0..<Self.rounds {
      count = 0
      let duration = try ContinuousClock().measure {
        var query = PointQuery(area: try area(), limit: Self.pageSize)
        repeat {
          let page = try snapshot.page(matching: query)
          count += page.count
          query.after = page.next
        } while query.after != nil
      }
      best = max(best, Double(count) / (duration / .seconds(1)))
    }
    return (count, best)
  }
}
