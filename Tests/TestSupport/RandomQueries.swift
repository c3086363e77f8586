import Foundation
package import Geo
import Basics
package import Points
import SyntheticData

/// A deterministic generator of queries of every kind over a set of places.
///
/// Queries come in groups with one centre, so that a reference sorts once for each group. Centres are near places, at
/// the poles, at the antimeridian and at sea; radii and boxes range from metres to the whole Earth; and half of the
/// queries continue from the middle of their result.
package struct RandomQueries {
  private var generator: SeededGenerator
  private let coordinates: [Coordinate]
  private let categories: [String]
  private let origins: [SourceReference]
  private let ids: [PointID]

  /// Creates a generator over at least one place.
  package init(over points: [PointOfInterest], seed: UInt64) {
    generator = SeededGenerator(seed: seed)
    coordinates = points.map(\.draft.coordinate)
    ids = points.map(\.id) + [PointID(high: 0, low: 0), PointID(high: .max, low: .max)]
    categories = Set(points.compactMap(\.draft.category)).sorted() + ["no such category"]
    origins =
      points.compactMap(\.draft.origin).sorted { $0.sourceID < $1.sourceID }
      + [SourceReference(source: "no such source", sourceID: "1")]
  }

  /// Returns a centre, or `nil` for queries by id.
  package mutating func center() throws -> Coordinate? {
    let place = coordinates[Int.random(in: coordinates.indices, using: &generator)]
    switch Int.random(in: 0..<8, using: &generator) {
    case 0: return nil
    case 1: return place
    case 2, 3: return try moved(place, byDegrees: pow10(in: -5...0))
    case 4: return try Coordinate(latitude: chance(2) ? 90 : -90, longitude: .random(in: -180...180, using: &generator))
    case 5:
      return try Coordinate(
        latitude: place.latitude,
        longitude: chance(2) ? 180 : -180 + pow10(in: -9...0)
      )
    case 6:
      // The antipode of a place, where geodesics in all directions have about the same length.
      let opposite = place.longitude > 0 ? place.longitude - 180 : place.longitude + 180
      return try moved(try Coordinate(latitude: -place.latitude, longitude: opposite), byDegrees: pow10(in: -6...0.5))
    default:
      return try Coordinate(
        latitude: .random(in: -90...90, using: &generator),
        longitude: .random(in: -180...180, using: &generator)
      )
    }
  }

  /// Returns an area around a place: a star of a few vertices or many, or several of them.
  package mutating func area() throws -> GeodesicArea {
    var polygons: [[[Coordinate]]] = []
    repeat {
      let center = coordinates[Int.random(in: coordinates.indices, using: &generator)]
      let degrees = pow10(in: -3...1.5)
      let vertices = Int.random(in: 3...40, using: &generator)
      var ring: [Coordinate] = []
      for vertex in 0..<vertices {
        let angle = 2 * Double.pi * Double(vertex) / Double(vertices)
        let radius = degrees * .random(in: 0.3...1, using: &generator)
        let longitude = center.longitude + radius * cos(angle)
        ring.append(
          try Coordinate(
            latitude: min(max(center.latitude + radius * sin(angle), -90), 90),
            longitude: longitude > 180 ? longitude - 360 : longitude < -180 ? longitude + 360 : longitude))
      }
      if let area = try? GeodesicArea(polygons: [[ring]]) { polygons += area.polygons }
    } while polygons.isEmpty || chance(3)
    return try GeodesicArea(polygons: polygons)
  }

  /// Returns a route from place to place.
  package mutating func route() throws -> PointQuery.Route {
    while true {
      var line = [coordinates[Int.random(in: coordinates.indices, using: &generator)]]
      for _ in 0..<Int.random(in: 1...12, using: &generator) {
        line.append(
          chance(3)
            ? coordinates[Int.random(in: coordinates.indices, using: &generator)]
            : try moved(line[line.count - 1], byDegrees: pow10(in: -2...1)))
      }
      if let route = try? GeodesicRoute(line) {
        return PointQuery.Route(route, radiusMetres: chance(9) ? 0 : pow10(in: 0...6))
      }
    }
  }

  /// Returns a query with a centre, or by id without one.
  ///
  /// - Parameter ordered: the places in the order of queries with this centre, from which the start position is taken.
  package mutating func query(center: Coordinate?, ordered: BruteForce.Ordered) throws -> PointQuery {
    var query = PointQuery(limit: [1, 2, 7, 20, 100, 1000][Int.random(in: 0..<6, using: &generator)])
    if let center {
      let radius: Double? = chance(2) ? nil : chance(8) ? 0 : chance(6) ? 2.1e7 : pow10(in: 0...7.3)
      query.proximity = .init(center: center, radiusMetres: radius)
    }
    if chance(3) { query.box = try box(around: center) }
    if chance(3) {
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        query.categories.insert(ExactText(categories[Int.random(in: categories.indices, using: &generator)]))
      }
    }
    if chance(4) {
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        query.excludedCategories.insert(ExactText(categories[Int.random(in: categories.indices, using: &generator)]))
      }
    }
    if chance(8) {
      let origin = origins[Int.random(in: origins.indices, using: &generator)]
      query.source = .init(name: origin.source, sourceID: chance(4) ? origin.sourceID : nil)
    }
    if ordered.isByID, chance(2) {
      let count = Int.random(in: 1...PointQuery.maximumIDs, using: &generator)
      query.ids = Set((0..<count).map { _ in ids[Int.random(in: ids.indices, using: &generator)] })
        .sorted().shuffled(using: &generator)
    }
    if chance(2) {
      let matches = ordered.matches(of: query)
      if let found = matches.randomElement(using: &generator) {
        query.after = .init(
          distanceMetres: found.alongMetres ?? found.distanceMetres ?? 0, id: found.point.id)
        // The radius may be exactly the distance of a place, which is then included.
        if chance(4), let center, let edge = matches.randomElement(using: &generator)?.distanceMetres {
          query.proximity = .init(center: center, radiusMetres: edge)
        }
      }
    }
    return query
  }

  private mutating func chance(_ oneIn: Int) -> Bool {
    Int.random(in: 0..<oneIn, using: &generator) == 0
  }

  /// Returns a number with a log-uniform distribution.
  private mutating func pow10(in exponents: ClosedRange<Double>) -> Double {
    var exponent = Double.random(in: exponents, using: &generator)
    var power = 1.0
    while exponent >= 1 {
      power *= 10
      exponent -= 1
    }
    while exponent < 0 {
      power /= 10
      exponent += 1
    }
    return power * (1 + 9 * exponent * exponent)
  }

  private mutating func moved(_ coordinate: Coordinate, byDegrees degrees: Double) throws -> Coordinate {
    try Coordinate(
      latitude: min(90, max(-90, coordinate.latitude + degrees * .random(in: -1...1, using: &generator))),
      longitude: min(180, max(-180, coordinate.longitude + degrees * .random(in: -1...1, using: &generator)))
    )
  }

  private mutating func box(around center: Coordinate?) throws -> BoundingBox {
    let near = try center ?? moved(coordinates[Int.random(in: coordinates.indices, using: &generator)], byDegrees: 1)
    let (height, width) = (pow10(in: -4...2), pow10(in: -4...2))
    let south = max(-90, near.latitude - height * .random(in: 0...1, using: &generator))
    let west = near.longitude - width * .random(in: 0...1, using: &generator)
    let east = west + min(width, 359)
    return try BoundingBox(
      west: chance(20) ? -180 : west < -180 ? max(-180, west + 360) : west,
      south: south,
      east: chance(20) ? 180 : east > 180 ? max(-180, east - 360) : east,
      north: min(90, south + height)
    )
  }
}
