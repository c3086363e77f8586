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
  @Test(arguments: [
    ("POINT(1 1)", "POINT(1 1)", ["CONTAINS", "EQUALS", "INTERSECTS", "WITHIN"]),
    ("POINT(1 1)", "POINT(1 2)", []),
    ("POINT(1 1)", "LINESTRING(0 0, 2 2)", ["INTERSECTS", "WITHIN"]),
    ("POINT(2 2)", "LINESTRING(0 0, 2 2)", ["INTERSECTS", "TOUCHES"]),
    ("POINT(2 2)", "MULTILINESTRING((0 0, 2 2), (2 2, 3 0))", ["INTERSECTS", "WITHIN"]),
    ("POINT(1 1)", "BBOX(0, 0, 1, 1)", ["INTERSECTS", "TOUCHES"]),
    ("POINT(1 1)", "POLYGON((0 0, 4 0, 4 4, 0 4, 0 0), (1 1, 2 1, 2 2, 1 2, 1 1))", ["INTERSECTS", "TOUCHES"]),
    ("POINT(1.5 1.5)", "POLYGON((0 0, 4 0, 4 4, 0 4, 0 0), (1 1, 2 1, 2 2, 1 2, 1 1))", []),
    ("MULTIPOINT((0 0), (5 5))", "MULTIPOINT((5 5), (6 6))", ["INTERSECTS", "OVERLAPS"]),
    ("MULTIPOINT((1 1), (5 5))", "BBOX(0, 0, 2, 2)", ["CROSSES", "INTERSECTS"]),
    ("LINESTRING(0 0, 2 2)", "LINESTRING(0 2, 2 0)", ["CROSSES", "INTERSECTS"]),
    ("LINESTRING(0 0, 2 0)", "LINESTRING(1 0, 3 0)", ["INTERSECTS", "OVERLAPS"]),
    ("LINESTRING(0 0, 1 0, 2 0)", "LINESTRING(2 0, 0 0)", ["CONTAINS", "EQUALS", "INTERSECTS", "WITHIN"]),
    ("LINESTRING(0 0, 1 0)", "LINESTRING(1 0, 2 1)", ["INTERSECTS", "TOUCHES"]),
    ("LINESTRING(-1 1, 3 1)", "BBOX(0, 0, 2, 2)", ["CROSSES", "INTERSECTS"]),
    ("LINESTRING(0 0, 2 0)", "BBOX(0, 0, 2, 2)", ["INTERSECTS", "TOUCHES"]),
    ("LINESTRING(0 0, 2 2)", "BBOX(0, 0, 2, 2)", ["INTERSECTS", "WITHIN"]),
    ("BBOX(0, 0, 2, 2)", "POLYGON((0 0, 2 0, 2 2, 0 2, 0 0))", ["CONTAINS", "EQUALS", "INTERSECTS", "WITHIN"]),
    ("BBOX(0, 0, 2, 2)", "BBOX(1, 1, 3, 3)", ["INTERSECTS", "OVERLAPS"]),
    ("BBOX(0, 0, 2, 2)", "BBOX(2, 0, 4, 2)", ["INTERSECTS", "TOUCHES"]),
    ("BBOX(0, 0, 2, 2)", "BBOX(2, 2, 4, 4)", ["INTERSECTS", "TOUCHES"]),
    ("BBOX(0, 0, 4, 4)", "BBOX(1, 1, 2, 2)", ["CONTAINS", "INTERSECTS"]),
    ("BBOX(0, 0, 4, 4)", "BBOX(0, 1, 2, 2)", ["CONTAINS", "INTERSECTS"]),
    ("POLYGON((0 0, 4 0, 4 4, 0 4, 0 0), (1 1, 2 1, 2 2, 1 2, 1 1))", "BBOX(1, 1, 2, 2)", ["INTERSECTS", "TOUCHES"]),
    ("POLYGON((0 0, 2 0, 1 2, 0 0))", "POLYGON((0 1.5, 1 -1, 2 1.5, 0 1.5))", ["INTERSECTS", "OVERLAPS"]),
    ("BBOX(170, 0, -170, 2)", "POINT(-175 1)", ["CONTAINS", "INTERSECTS"]),
    ("BBOX(170, 0, -170, 2)", "POINT(0 1)", []),
    ("BBOX(1, 1, 1, 3)", "POINT(1 2)", ["CONTAINS", "INTERSECTS"]),
    ("BBOX(1, 1, 1, 1)", "POINT(1 1)", ["CONTAINS", "EQUALS", "INTERSECTS", "WITHIN"]),
    ("GEOMETRYCOLLECTION(POINT(9 9), LINESTRING(0 0, 2 2))", "POINT(9 9)", ["CONTAINS", "INTERSECTS"]),
  ])
  func geometriesAreRelated(left: String, right: String, expected: [String]) throws {
    let found = try Self.relations.filter { relation in
      try Self.filter("S_\(relation)(\(left), \(right))").matches(Point(x: 0, y: 0))
    }
    #expect(found == expected)
    let isDisjoint = try Self.filter("S_DISJOINT(\(left), \(right))").matches(Point(x: 0, y: 0))
    #expect(isDisjoint != expected.contains("INTERSECTS"))
    // Of a property that is the left point, the same holds.
    guard let coordinates = left.split(separator: "POINT(").last?.dropLast(), left.hasPrefix("POINT") else { return }
    let numbers = coordinates.split(separator: " ").compactMap { Double($0) }
    let point = Point(x: numbers[0], y: numbers[1])
    #expect(try Self.relations.filter { try Self.filter("S_\($0)(g, \(right))").matches(point) } == expected)
    let mirrored = try Self.relations.filter { try Self.filter("S_\($0)(\(right), g)").matches(point) }
    let names = ["CONTAINS": "WITHIN", "WITHIN": "CONTAINS"]
    #expect(mirrored == expected.map { names[$0] ?? $0 }.sorted())
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

  @Test func comparisonOfTooManySegmentsIsRejected() throws {
    func zigzag(_ isUpright: Bool) -> String {
      let positions = (0..<700).map { index in
        let (along, across) = (Double(index) / 700, index % 2 == 0 ? 0 : 1)
        return isUpright ? "\(across) \(along)" : "\(along) \(across)"
      }
      return "LINESTRING(" + positions.joined(separator: ",") + ")"
    }
    #expect(throws: FilterError.self) { try Self.filter("S_CROSSES(\(zigzag(true)), \(zigzag(false)))") }
  }

  /// Operands whose comparison takes much work.
  enum Operands: CaseIterable {
    case lineOnItself, ringOnItself, collinear, commonEnd, nearlyParallel, pointsBesideLine, combs

    /// Returns two geometries with a number of positions.
    func text(count: Int) -> String {
      func list(_ position: (Int) -> String) -> String {
        (0..<count).map(position).joined(separator: ",") + "," + position(0)
      }
      let diagonal = list { "\($0 % 2) \($0 % 2)" }
      let point = "POINT(0 1)"
      switch self {
      case .lineOnItself: return "LINESTRING(\(diagonal)),\(point)"
      case .ringOnItself: return "POLYGON((\(diagonal))),\(point)"
      case .collinear: return "LINESTRING(\(list { "\($0 % 97) 0" })),\(point)"
      case .commonEnd: return "LINESTRING(\(list { $0 % 2 == 0 ? "0 0" : "1 \($0)" })),\(point)"
      case .nearlyParallel:
        return
          "LINESTRING(\(list { "\(0.1 + Double($0 % 2) * 0.7 + Double($0 / 2 % 50) * 1e-16) 0.\($0 % 2)" })),\(point)"
      case .pointsBesideLine:
        return "MULTIPOINT(\(list { "\(0.3 + Double($0) * 1e-16) 0.3" })),LINESTRING(\(diagonal))"
      case .combs:
        let comb = list { "\($0 % 4 < 2 ? 0 : 1) 0.\(100_000 + $0 / 2)" }
        let other = list { "\($0 % 4 < 2 ? 0.5 : 1.5) 0.\(100_001 + $0 / 2)" }
        return "POLYGON((\(comb))),POLYGON((\(other)))"
      }
    }
  }

  @Test(arguments: Operands.allCases)
  func workOfComparisonsIsBounded(operands: Operands) throws {
    let limits = FilterLimits(bytes: 1 << 24, vertices: 1_000_000)
    func compile(_ count: Int, times: Int) throws {
      let predicates = Array(repeating: "S_CROSSES(\(operands.text(count: count)))", count: times)
      let expression = try FilterExpression(text: "TRUE AND " + predicates.joined(separator: " AND "), limits: limits)
      _ = try CompiledFilter(expression) { _ throws(FilterError) in FilterProperty(number: 0, type: .geometry) }
    }

    try compile(100, times: 1)

    // The work of all predicates of a filter counts.
    for (count, times) in [(6_000, 1), (100, 3_000)] {
      let error = try #require(throws: FilterError.self) { try compile(count, times: times) }
      #expect(error.reason == "expected simpler geometries in the predicates that compare two of them")
    }
  }

  @Test(arguments: [(1_000, false), (1_000_000, true)])
  func comparisonIsBoundedByTheStepsOfItsCaller(steps: Int, isCompared: Bool) throws {
    let expression = try FilterExpression(text: "S_CROSSES(\(Operands.lineOnItself.text(count: 100)))")
    func compile() throws {
      _ = try CompiledFilter(expression, comparisonSteps: steps) { _ throws(FilterError) in
        FilterProperty(number: 0, type: .geometry)
      }
    }
    if isCompared {
      try compile()
    } else {
      #expect(throws: FilterError.self) { try compile() }
    }
  }

  @Test func ringOfManyVerticesIsComparedWithABox() throws {
    let positions = (0...2_000).map { index -> String in
      let angle = Double(index % 2_000) / 1_000 * Double.pi
      let radius = index % 2 == 0 ? 10 : 9.99
      return "\(radius * cos(angle)) \(radius * sin(angle))"
    }
    let limits = FilterLimits(bytes: 1 << 20)
    func holds(_ relation: String, _ box: String) throws -> Bool {
      let text = "S_\(relation)(POLYGON((\(positions.joined(separator: ",")))), BBOX(\(box)))"
      let filter = try CompiledFilter(FilterExpression(text: text, limits: limits)) { _ throws(FilterError) in
        FilterProperty(number: 0, type: .geometry)
      }
      return filter.matches(Point(x: 0, y: 0))
    }

    #expect(try holds("OVERLAPS", "0, 0, 20, 20"))
    #expect(try holds("CONTAINS", "-5, -5, 5, 5"))
    #expect(try holds("DISJOINT", "11, 11, 20, 20"))
    #expect(try !holds("CONTAINS", "0, 0, 20, 20"))
  }

  @Test(arguments: ["1e308 1e308, -1e308 1e308, 0 -1e308, 1e308 1e308", "0 0, 0 0, 0 0, 0 0", "0 0, 5 0, 0 0, 0 0"])
  func extremeAndDegenerateRingsAreEvaluated(ring: String) throws {
    let filter = try Self.filter("S_WITHIN(g, POLYGON((\(ring)))) AND S_OVERLAPS(POLYGON((\(ring))), BBOX(0,0,1,1))")
    _ = filter.matches(Point(x: 1, y: 1))
  }
}
