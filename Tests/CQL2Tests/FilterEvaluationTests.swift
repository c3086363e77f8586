import Basics
import CQL2
import JSONText
import Testing

struct FilterEvaluationTests {
  /// A record of properties of all types, some null.
  private struct Record: FilterRecord {
    static let values: [(name: String, type: FilterType, value: FilterValue)] = [
      ("name", .string, .string("Café Straße")), ("kind", .string, .string("cafe")), ("nothing", .string, .null),
      ("seats", .integer, .number(12)), ("height", .number, .number(-2.5)), ("unknown", .number, .null),
      ("open", .boolean, .boolean(true)), ("closed", .boolean, .null), ("built", .date, .date(20_000)),
      ("seen", .timestamp, .timestamp(1_728_000_000_000_000)), ("gone", .timestamp, .null),
      ("labels", .stringArray, .array([.string("a"), .string("b"), .string("a")])), ("marks", .stringArray, .null),
      ("place", .geometry, .point(x: 2, y: 1)), ("nowhere", .geometry, .null),
    ]

    func value(ofProperty number: Int) -> FilterValue { Self.values[number].value }

    static func property(_ name: String) throws(FilterError) -> FilterProperty {
      guard let number = values.firstIndex(where: { $0.name == name }) else { throw .unknownProperty(name) }
      return FilterProperty(number: number, type: values[number].type)
    }
  }

  private func matches(_ text: String) throws -> Bool {
    try CompiledFilter(FilterExpression(text: text)) { name throws(FilterError) in try Record.property(name) }
      .matches(Record())
  }

  /// Returns true, false, or nil where neither a filter nor its negation matches.
  private func truth(_ text: String) throws -> Bool? {
    if try matches(text) { return true }
    return try matches("NOT (\(text))") ? false : nil
  }

  @Test(
    arguments: [
      ("nothing = 'x'", nil), ("nothing <> 'x'", nil), ("nothing IS NULL", true), ("name IS NULL", false),
      ("unknown > 1 AND seats > 100", false), ("unknown > 1 AND seats > 1", nil), ("unknown > 1 OR seats > 1", true),
      ("unknown > 1 OR seats > 100", nil), ("unknown + 1 = 1", nil), ("seats / 0 = 1", nil), ("seats % 0 = 1", nil),
      ("nothing LIKE '%'", nil), ("casei(nothing) = 'x'", nil), ("accenti(nothing) = 'x'", nil),
      ("seats BETWEEN unknown AND 5", nil), ("seats IN (1, unknown)", nil), ("seats IN (12, unknown)", true),
      ("nothing IN ('x')", nil), ("nothing NOT IN ('x')", nil), ("s_intersects(nowhere, point(1 2))", nil),
      ("s_disjoint(nowhere, point(1 2))", nil), ("s_equals(place, nowhere)", nil), ("t_after(gone, seen)", nil),
      ("t_disjoint(gone, seen)", nil), ("t_during(interval(seen, gone), interval('2020-01-01', '..'))", nil),
      ("interval(seen, gone) IS NULL", true), ("interval(seen, '..') IS NULL", false), ("(unknown > 1) IS NULL", true),
      ("(seats > 1) IS NULL", false), ("point(1 2) IS NULL", false), ("a_contains(marks, ('a'))", nil),
      ("a_contains(labels, (nothing))", nil), ("closed = true", nil), ("closed IS NULL", true),
    ] as [(String, Bool?)])
  func nullIsNeitherTrueNorFalse(text: String, expected: Bool?) throws {
    #expect(try truth(text) == expected)
  }

  @Test(
    arguments: [
      ("seats + 2 * 3 - 4 / 2 = 16", true), ("seats div 5 = 2", true), ("(0 - seats) div 5 = -2", true),
      ("(0 - seats) % 5 = -2", true), ("2 ^ 3 = 8", true), ("-seats = -12", true), ("height < -2", true),
      ("seats between 12 and 12", true), ("seats not between 13 and 14", true), ("open = true", true), ("open", nil),
      ("built = date('2024-10-04')", true), ("built > seen", false), ("seen = timestamp('2024-10-04T00:00:00Z')", true),
      ("built = seen", true), ("built <= timestamp('2024-10-03T23:59:59.999999Z')", false),
      ("name > 'Caf'", true), ("name > 'Cafz'", true), ("name < 'D'", true), ("'x' = kind", false),
    ] as [(String, Bool?)])
  func valuesAreComparedByTheirTypes(text: String, expected: Bool?) throws {
    guard let expected else {
      #expect(throws: FilterError.self) { try truth(text) }
      return
    }
    #expect(try truth(text) == expected)
  }

  @Test(arguments: [
    ("casei(name) = casei('CAFÉ STRASSE')", true), ("casei(name) = casei('café straẞe')", true),
    ("accenti(name) = accenti('Cafe Straße')", true), ("accenti(name) = 'Cafe Straße'", true),
    ("accenti(casei(name)) = 'cafe strasse'", true), ("casei('ΟΔΌΣ') = casei('οδός')", true),
    ("casei('ı') = casei('i')", false), ("accenti('はじめ') = accenti('はしめ')", false),
    ("accenti('e\u{301}') = accenti('é')", true), ("name LIKE 'Caf_ %'", true), ("name LIKE 'Caf% S%ße'", true),
    ("name LIKE '_______'", false), ("name LIKE '___________'", true), ("name LIKE '%'", true), ("name LIKE ''", false),
    ("'100%' LIKE '100\\%'", true), ("'1000' LIKE '100\\%'", false), ("'a_b' LIKE 'a\\_b'", true),
    ("'a\\b' LIKE 'a\\\\b'", true), ("'aXbXc' LIKE '%X%X%'", true), ("'aXb' LIKE '%X%X%'", false),
    ("'abab' LIKE '%ab'", true), ("casei(name) LIKE casei('CAF%')", true), ("name LIKE casei('CAF%')", false),
    ("'東京' LIKE '_京'", true),
  ])
  func textIsFoldedAndMatched(text: String, expected: Bool) throws {
    #expect(try matches(text) == expected)
  }

  @Test(.timeLimit(.minutes(5)))
  func patternOfManyWildcardsIsMatchedInPolynomialTime() throws {
    let text = String(repeating: "a", count: 5_000)
    let pattern = String(repeating: "%a", count: 5_000) + "%b"
    #expect(try !matches("'\(text)' LIKE '\(pattern)'"))
  }

  @Test(arguments: [
    ("a_contains(labels, ('a', 'b'))", true), ("a_contains(labels, ('a', 'c'))", false),
    ("a_containedby(labels, ('a', 'b', 'c'))", true), ("a_equals(labels, ('b', 'a'))", true),
    ("a_equals((), labels)", false), ("a_overlaps(labels, ('c', 'b'))", true), ("a_overlaps(labels, ())", false),
    ("a_equals((1, true, 'x', seats), ('x', 12, true, 1))", true), ("a_contains(((1), 2), ((1)))", true),
  ])
  func arraysAreComparedAsSets(text: String, expected: Bool) throws {
    #expect(try matches(text) == expected)
  }

  @Test(arguments: [
    ("t_after(built, date('2024-10-03'))", true), ("t_intersects(seen, date('2024-10-04'))", true),
    ("t_after(seen, date('2024-10-04'))", false), ("t_equals(built, interval('2024-10-04', '2024-10-04'))", true),
    ("t_equals(date('2024-10-04'), interval('2024-10-04T00:00:00Z', '2024-10-04T23:59:59.999999Z'))", true),
    ("t_before(seen, interval('2024-10-04T00:00:00.000001Z', '..'))", true),
    ("t_meets(interval('2024-10-01', '2024-10-04'), interval('2024-10-04', '2024-10-09'))", true),
    ("t_contains(interval('..', '..'), interval(seen, '2024-11-01T00:00:00Z'))", true),
    ("t_starts(interval('..', seen), interval('..', '2024-11-01T00:00:00Z'))", true),
  ])
  func timesAreRelatedInTheirResolution(text: String, expected: Bool) throws {
    #expect(try matches(text) == expected)
  }

  @Test(arguments: [
    ("missing = 1", "there is no property 'missing'"),
    ("seats = 'x'", "\"seats\" is a number, and cannot be compared with 'x', which is a string"),
    ("avg(seats) = 1", "the function 'avg' is not one of CQL2's"), ("f(seats)", "the function 'f'"),
    ("name + 1 = 2", "expected a number as an operand of +"), ("seats LIKE 'x'", "expected a string"),
    ("s_within(name, point(1 2))", "expected a geometry"), ("t_after(name, seen)", "expected a date or timestamp"),
    ("t_during(built, interval('2024-01-01', '..'))", "expected intervals"),
    ("a_contains(name, ('a'))", "expected an array"), ("a_contains(labels, (point(1 2)))", "an array with a geometry"),
    ("kind IN ('x', 1)", "cannot be compared"), ("casei(seats) = 'x'", "expected a string as an operand of CASEI"),
  ])
  func incompatibleTypesAreAnError(text: String, reason: String) throws {
    let error = try #require(throws: FilterError.self) { try matches(text) }
    #expect(error.description.contains(reason), "\(error)")
  }
}
