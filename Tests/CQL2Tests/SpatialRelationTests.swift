import CQL2
import Foundation
import Testing

struct SpatialRelationTests {
  private struct Point: FilterRecord {
    let x: Double
    let y: Double
    func value(ofProperty number: Int) -> FilterValue { .point(x: x, y: y) }
  }

  private static func filter(_ text: String) throws -> CompiledFilter {
    try CompiledFilter(FilterExpression(text: text)) { _ throws(FilterError) in
      FilterProperty(number: 0, type: .geometry)
    }
  }

  private static let relations = ["CONTAINS", "CROSSES", "EQUALS", "INTERSECTS", "OVERLAPS", "TOUCHES", "WITHIN"]

  /// The relations that hold, by the definitions of OGC 06-103r4, clause 6.1.15.
  @Test(
    arguments: [
      (1, 1, "POINT(1 1)", ["CONTAINS", "EQUALS", "INTERSECTS", "WITHIN"]),
      (1, 1, "POINT(1 2)", []),
      (1, 1, "LINESTRING(0 0, 2 2)", ["INTERSECTS", "WITHIN"]),
      (2, 2, "LINESTRING(0 0, 2 2)", ["INTERSECTS", "TOUCHES"]),
      (2, 2, "MULTILINESTRING((0 0, 2 2), (2 2, 3 0))", ["INTERSECTS", "WITHIN"]),
      (1, 1, "BBOX(0, 0, 1, 1)", ["INTERSECTS", "TOUCHES"]),
      (1, 1, "POLYGON((0 0, 4 0, 4 4, 0 4, 0 0), (1 1, 2 1, 2 2, 1 2, 1 1))", ["INTERSECTS", "TOUCHES"]),
      (1.5, 1.5, "POLYGON((0 0, 4 0, 4 4, 0 4, 0 0), (1 1, 2 1, 2 2, 1 2, 1 1))", []),
      (3, 3, "POLYGON((0 0, 4 0, 4 4, 0 4, 0 0), (1 1, 2 1, 2 2, 1 2, 1 1))", ["INTERSECTS", "WITHIN"]),
      (5.5, 5.25, "MULTIPOLYGON(((0 0, 2 0, 2 2, 0 0)), ((5 5, 6 5, 6 6, 5 5)))", ["INTERSECTS", "WITHIN"]),
      (5, 5, "MULTIPOINT((5 5), (6 6))", ["INTERSECTS", "WITHIN"]),
      (5, 5, "MULTIPOINT((5 5), (5 5))", ["CONTAINS", "EQUALS", "INTERSECTS", "WITHIN"]),
      (-175, 1, "BBOX(170, 0, -170, 2)", ["INTERSECTS", "WITHIN"]),
      (0, 1, "BBOX(170, 0, -170, 2)", []),
      (1, 2, "BBOX(1, 1, 1, 3)", ["INTERSECTS", "WITHIN"]),
      (1, 1, "BBOX(1, 1, 1, 1)", ["CONTAINS", "EQUALS", "INTERSECTS", "WITHIN"]),
      (9, 9, "GEOMETRYCOLLECTION(POINT(9 9), LINESTRING(0 0, 2 2))", ["INTERSECTS", "WITHIN"]),
      (9, 9, "GEOMETRYCOLLECTION(POINT(9 9), POLYGON((0 0, 2 0, 2 2, 0 0)))", ["INTERSECTS", "WITHIN"]),
    ] as [(Double, Double, String, [String])])
  func pointIsRelatedToAGeometry(x: Double, y: Double, geometry: String, expected: [String]) throws {
    func related(_ operands: String) throws -> [String] {
      try Self.relations.filter { try Self.filter("S_\($0)(\(operands))").matches(Point(x: x, y: y)) }
    }
    let found = try related("g, \(geometry)")
    let mirrored = try related("\(geometry), g")
    let isDisjoint = try Self.filter("S_DISJOINT(g, \(geometry))").matches(Point(x: x, y: y))

    #expect(found == expected)
    let names = ["CONTAINS": "WITHIN", "WITHIN": "CONTAINS"]
    #expect(mirrored == expected.map { names[$0] ?? $0 }.sorted())
    #expect(isDisjoint != expected.contains("INTERSECTS"))
  }

  @Test(arguments: FilterOperator.allCases.filter { $0.rawValue.hasPrefix("s_") })
  func relationOfTwoLiteralsIsRejected(relation: FilterOperator) throws {
    let expression = try FilterExpression(
      text: "TRUE OR NOT \(relation.rawValue)(POLYGON((0 0, 2 0, 2 2, 0 0)), BBOX(1, 1, 3, 3))")
    for expression in [expression, try FilterExpression(json: expression.json)] {
      let error = try #require(throws: FilterError.self) {
        try CompiledFilter(expression) { _ throws(FilterError) in FilterProperty(number: 0, type: .geometry) }
      }
      #expect(
        error.description == "one side of \(relation.rawValue.uppercased()) must be the place's geometry"
          + " (the property geometry), but both are literal geometries")
    }
  }

  /// Points beside an oblique edge by the least that a coordinate can differ, where a rounded determinant errs.
  @Test func sidesOfAnEdgeAreExact() throws {
    let inside = try Self.filter("S_WITHIN(g, POLYGON((0 0, 12 12, 24 24, 24 0, 0 0)))")
    let touching = try Self.filter("S_TOUCHES(g, POLYGON((0 0, 12 12, 24 24, 24 0, 0 0)))")
    for base in [0.5, 1.3, 7.7, 11.999_999, 23.1] {
      #expect(touching.matches(Point(x: base, y: base)))
      #expect(inside.matches(Point(x: base.nextUp, y: base)))
      #expect(inside.matches(Point(x: base, y: base.nextDown)))
      #expect(!inside.matches(Point(x: base, y: base.nextUp)) && !touching.matches(Point(x: base, y: base.nextUp)))
    }
  }

  /// The bands of a ring of many vertices find the same as the definition of a star.
  @Test func polygonOfManyVerticesContainsWhatItsStarDoes() throws {
    let spikes = 400
    let positions = (0...2 * spikes).map { index -> String in
      let angle = Double(index % (2 * spikes)) / Double(spikes) * Double.pi
      let radius = index % 2 == 0 ? 10.0 : 9.0
      return "\(radius * cos(angle)) \(radius * sin(angle))"
    }
    let filter = try Self.filter("S_INTERSECTS(g, POLYGON((\(positions.joined(separator: ",")))))")
    for step in 0..<2_000 {
      let angle = Double(step) * 0.0031
      #expect(filter.matches(Point(x: 8.99 * cos(angle), y: 8.99 * sin(angle))))
      #expect(!filter.matches(Point(x: 10.01 * cos(angle), y: 10.01 * sin(angle))))
    }
  }

  @Test(arguments: ["1e308 1e308, -1e308 1e308, 0 -1e308, 1e308 1e308", "0 0, 0 0, 0 0, 0 0", "0 0, 5 0, 0 0, 0 0"])
  func extremeAndDegenerateRingsAreEvaluated(ring: String) throws {
    let filter = try Self.filter("S_WITHIN(g, POLYGON((\(ring))))")
    _ = filter.matches(Point(x: 1, y: 1))
  }
}
