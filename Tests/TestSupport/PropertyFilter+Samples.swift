import CQL2
package import Basics
package import Points

extension PropertyFilter {
  /// Creates a filter of a text.
  ///
  /// - Throws: `FilterError`.
  package convenience init(_ text: String, queryables: Queryables = Queryables()) throws {
    try self.init(FilterExpression(text: text), queryables: queryables)
  }

  /// Filters of every kind over synthetic places: some match few, some match many, some follow from an index.
  ///
  /// - Parameter indexes: the indexes of tags.
  package static func samples(indexes: [ExactText: TagIndexKind] = [:]) throws -> [PropertyFilter] {
    let queryables = Queryables(types: ["ref": .integer, "opening_hours": .stringArray], indexes: indexes)
    return try [
      "name LIKE '%7 of many'", "category = 'category 3'", "category IN ('category 1', 'hard 2', 'none')",
      "NOT category = 'category 3'", "ref > 500 AND ref % 3 = 1", "ref BETWEEN 100 AND 300 OR category IS NULL",
      "a_contains(opening_hours, ('Mo-Fr 08:00-18:00'))", "ref IS NULL", "tag.ref = 77", "source = 'synthetic'",
      "sourceId LIKE 'node/1%' AND source = 'synthetic'", "s_intersects(geometry, bbox(-20, -20, 60, 50))",
      "s_within(geometry, bbox(170, -90, -170, 90))", "s_intersects(geometry, bbox(-180, -90, -170, 90)) AND ref > 3",
      "s_intersects(geometry, polygon((-120 10, 0 70, 130 20, 40 -60, -120 10))) AND category IS NOT NULL",
      "s_disjoint(geometry, bbox(-100, -80, 100, 80))", "lat > 10 AND lat <= 48.2082 AND long BETWEEN -100 AND 16.3738",
      "lat = 90", "long < -179 OR long > 179", "casei(name) LIKE casei('HARD CASE 1_')",
      "s_equals(geometry, point(16.3738 48.2082)) AND name > 'Hard case 70'", "version >= 1 AND missing IS NULL",
      "updatedAt >= createdAt AND t_after(createdAt, date('2000-01-01'))", "category = 'a' AND category = 'b'",
      "lat > 5 AND lat < 4", "id > '8'", "id = 'none'", "id IN ('00000000-0000-4000-8000-000000000001', 'x')",
      "ref = 77", "ref IN (1, 5, 77, 5) AND name > 'A'", "500 < ref AND lat > 0", "ref <= -1", "ref BETWEEN 9 AND 3",
      "a_overlaps(opening_hours, ('Mo-Fr 08:00-18:00', '24/7'))", "ref > 3 AND NOT ref < 900", "ref >= 0.5 AND ref < 9",
    ].map { try PropertyFilter($0, queryables: queryables) }
  }
}
