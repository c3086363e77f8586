import CQL2
import JSONText
import Testing

struct FilterTextTests {
  @Test(arguments: [
    ("a = 1 AND b = 2 OR c = 3", #""a" = 1 AND "b" = 2 OR "c" = 3"#),
    ("(a = 1 OR b = 2) AND c = 3", #"("a" = 1 OR "b" = 2) AND "c" = 3"#),
    ("(a = 1 AND b = 2) AND c = 3", #""a" = 1 AND "b" = 2 AND "c" = 3"#),
    ("not a=1 and b=2", #"NOT "a" = 1 AND "b" = 2"#),
    ("NOT (a=1 AND b=2)", #"NOT ("a" = 1 AND "b" = 2)"#),
    ("a NOT LIKE 'x%'", #"NOT "a" LIKE 'x%'"#),
    ("a is not null", #"NOT "a" IS NULL"#),
    ("(a=1) is null", #"("a" = 1) IS NULL"#),
    ("a - (b - c) * -2 = -d", #""a" - ("b" - "c") * -2 = -1 * "d""#),
    ("-a ^ 2 = (a ^ 2) ^ 3", #"(-1 * "a") ^ 2 = ("a" ^ 2) ^ 3"#),
    ("a div 2 % 3 = 1e2", #""a" DIV 2 % 3 = 100"#),
    ("x:y.z in ('it''s', casei('B'))", #""x:y.z" IN ('it''s', CASEI('B'))"#),
    (#"a = 'it\'s'"#, #""a" = 'it''s'"#),
    (#"a = 'b\\' c''' AND "d\""e" = 'f\g'"#, #""a" = 'b\\' c''' AND "d\""e" = 'f\g'"#),
    ("a_equals((), b) or a_overlaps(((1), (2, 3)), b)", #"A_EQUALS((), "b") OR A_OVERLAPS(((1), (2, 3)), "b")"#),
    ("f() = g(a, (1), 'x')", #"f() = g("a", (1), 'x')"#),
    ("date >= date('2026-02-28')", #""date" >= DATE('2026-02-28')"#),
    (
      "t_during(interval(a, '..'), interval('2026-01-01T01:00:00.50+01:00', f(b)))",
      #"T_DURING(INTERVAL("a", '..'), INTERVAL('2026-01-01T00:00:00.5Z', f("b")))"#
    ),
    ("s_within(point, multipoint(1 2, (3 4)))", #"S_WITHIN("point", MULTIPOINT((1 2), (3 4)))"#),
    (
      "s_within(g, geometrycollection(point(1 2 3), linestring(1 2, 3 4)))",
      #"S_WITHIN("g", GEOMETRYCOLLECTION Z(POINT Z(1 2 3), LINESTRING(1 2, 3 4)))"#
    ),
    ("S_INTERSECTS(g, bbox(170, -1, -170, +1))", #"S_INTERSECTS("g", BBOX(170, -1, -170, 1))"#),
    ("\u{A0}naïve\n=\t.5", #""naïve" = 0.5"#),
    (#""a ""b""" = 1"#, #""a ""b""" = 1"#),
  ])
  func textIsPrintedInOneForm(text: String, printed: String) throws {
    let expression = try FilterExpression(text: text)
    #expect(expression.text == printed)
    #expect(try FilterExpression(text: printed) == expression)
    #expect(try FilterExpression(json: expression.json) == expression)
  }

  @Test(arguments: [
    ("", 1, "expected a property"),
    ("name", 5, "expected a comparison operator"),
    ("name = ", 8, "expected a property, a literal"),
    ("name = 'x", 10, "expected ' at the end"),
    ("name = 'x' AND", 15, "expected a property"),
    ("name = 'x' name", 12, "expected AND, OR or the end"),
    ("name ! 'x'", 6, "expected a name, a number"),
    ("a NOT = 1", 7, "expected LIKE, BETWEEN or IN"),
    ("a IS 1", 6, "expected NOT NULL or NULL"),
    ("a BETWEEN 1 OR 2", 13, "expected AND between"),
    ("a BETWEEN 'x' AND 2", 11, "expected a number, a property or a function"),
    ("a IN ()", 6, "expected at least one value"),
    ("a IN (1 2)", 9, "expected ',' or ')'"),
    ("a = NULL", 5, "got the keyword NULL"),
    ("a LIKE b", 8, "expected a string as the pattern"),
    ("a = 1 < 2", 7, "expected AND, OR or the end"),
    ("a = 1e", 7, "expected the digits of an exponent"),
    ("a = 1e999", 5, "expected a number of at most"),
    ("a = 1x", 6, "expected the end of a number"),
    ("a = 2 ^ 3 ^ 4", 11, "expected parentheses"),
    ("a = --1", 6, "expected a number"),
    ("a = date('2026-02-30')", 10, "expected a date such as"),
    ("a = date('2026-02-28T00:00:00Z')", 10, "expected a date such as"),
    ("t_after(a, interval('2026-02-28'))", 33, "expected ','"),
    ("s_within(g, 5)", 13, "expected a geometry, a property or a function"),
    ("s_within(g)", 1, "expected 2 operands"),
    ("s_within(g, point(1))", 20, "expected a number"),
    ("s_within(g, linestring(1 2))", 23, "expected at least 2 positions"),
    ("s_within(g, polygon((0 0, 1 0, 1 1, 0 1)))", 21, "expected a ring to end at its first position"),
    ("s_within(g, polygon((0 0, 1 0, 0 0)))", 21, "expected at least 4 positions"),
    ("s_within(g, bbox(1, 2, 3))", 17, "expected west, south"),
    ("s_within(g, bbox(1, 2, 3, 1))", 17, "with south at most north"),
    ("s_within(g, geometrycollection(bbox(1,2,3,4)))", 32, "expected a geometry that is not a collection"),
    ("casei(1) = 'x'", 7, "expected a string, a property or a function"),
    ("a + 'x' = 1", 5, "expected a number, a property or a function"),
    ("1 AND a = 1", 3, "expected a comparison operator"),
    ("\"\" = 1", 1, "expected a name in the quotation marks"),
    ("é = 'a\0'", 7, "expected no NUL"),
  ])
  func errorSaysWhereAndWhatWasExpected(text: String, character: Int, reason: String) throws {
    let error = try #require(throws: FilterError.self) { try FilterExpression(text: text) }
    #expect(error.position == .character(character))
    #expect(error.reason.contains(reason), "\(error)")
  }

  @Test(arguments: [
    #"{"op":"=","args":[{"property":"a"},1.0]}"#,
    #"{"op":"and","args":[{"op":"isNull","args":[{"property":"a"}]},true]}"#,
    #"{"op":"t_finishedBy","args":[{"interval":[{"property":"a"},".."]},{"interval":["2026-01-01","2026-02-01"]}]}"#,
    #"{"op":"a_overlaps","args":[["x",[{"date":"2026-01-01"}],{"timestamp":"2026-01-01T00:00:00Z"}],{"property":"b"}]}"#,
    #"{"op":"s_within","args":[{"property":"g"},{"bbox":[1,2,3,4,5,6]}]}"#,
    #"{"op":"s_within","args":[{"property":"g"},{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[1,1],[0,0]]]]}]}"#,
    #"{"args":[],"op":"f"}"#,
  ])
  func jsonIsPrintedAndParsedAgainEqual(json: String) throws {
    let expression = try FilterExpression(json: Array(json.utf8))
    #expect(try FilterExpression(json: expression.json) == expression)
    #expect(try FilterExpression(text: expression.text) == expression)
  }

  @Test(arguments: [
    (#"{"op":"=","args":[{"property":"a"}]}"#, "/args", "expected 2 operands of =, got 1"),
    (#"{"op":"=","args":[{"property":""},1]}"#, "/args/0/property", "expected a name"),
    (#"{"op":"and","args":[true,{"op":"=","args":[1,{"x":1}]}]}"#, "/args/1/args/1", "one of the members op"),
    (#"{"op":"and","args":[true,1]}"#, "/args/1", "expected a predicate"),
    (#"{"op":"="}"#, "", "expected a member args"),
    (#"{"op":1,"args":[]}"#, "/op", "expected the name"),
    (#"{"property":"a"}"#, "", "expected a predicate"),
    (#"{"op":"=","args":[{"property":"a"},null]}"#, "/args/1", "got null"),
    (#"{"op":"=","args":[{"property":"a"},1e999]}"#, "/args/1", "at most 1.8e308"),
    (#"{"op":"=","args":[{"property":"a"},{"date":"2026"}]}"#, "/args/1/date", "expected a date such as"),
    (#"{"op":"t_after","args":[{"property":"a"},{"interval":["2026-01-01"]}]}"#, "/args/1/interval", "two ends"),
    (
      #"{"op":"s_within","args":[{"property":"g"},{"type":"Circle","coordinates":[0,0]}]}"#, "/args/1/coordinates",
      "expected the coordinates of a type"
    ),
    (
      #"{"op":"s_within","args":[{"property":"g"},{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,"x"]]]}]}"#,
      "/args/1/coordinates/0/3/1", "expected a number"
    ),
  ])
  func errorOfJSONPointsToTheValue(json: String, pointer: String, reason: String) throws {
    let error = try #require(throws: FilterError.self) { try FilterExpression(json: Array(json.utf8)) }
    #expect(error.position == .pointer(pointer))
    #expect(error.reason.contains(reason), "\(error)")
  }

  // MARK: Limits

  @Test(
    arguments: [
      { "a = " + String(repeating: "(", count: $0) + "1" + String(repeating: ")", count: $0) },
      { String(repeating: "NOT (", count: $0) + "a = 1" + String(repeating: ")", count: $0) },
      { "a = 1" + String(repeating: " + 1", count: $0) },
      { "a = " + String(repeating: "casei(", count: $0) + "'x'" + String(repeating: ")", count: $0) },
      { "a_equals(b, " + String(repeating: "(1, ", count: $0) + "1" + String(repeating: ")", count: $0) + ")" },
      { "a = " + String(repeating: "f(", count: $0) + String(repeating: ")", count: $0) },
      { "a in " + String(repeating: "(", count: $0) },
      { "t_after(a, " + String(repeating: "interval('..', ", count: $0) },
    ] as [@Sendable (Int) -> String])
  func nestingIsBounded(text: @Sendable (Int) -> String) throws {
    let error = try #require(throws: FilterError.self) { try FilterExpression(text: text(2_000)) }
    #expect(error.reason == "expected expressions at most 64 deep")
  }

  @Test func nestingOfJSONIsBounded() throws {
    let deep = String(repeating: #"{"op":"not","args":["#, count: 64) + "true" + String(repeating: "]}", count: 64)
    #expect(throws: FilterError.self) { try FilterExpression(json: Array(deep.utf8)) }
    let brackets = String(repeating: "[", count: 30_000)
    #expect(throws: FilterError.self) { try FilterExpression(json: Array(brackets.utf8)) }
  }

  @Test func longChainOfAndIsOneExpression() throws {
    let text = Array(repeating: "a=1", count: 3_000).joined(separator: " AND ")
    guard case .operation(.and, let operands) = try FilterExpression(text: text) else {
      Issue.record("not an AND")
      return
    }
    #expect(operands.count == 3_000)
  }

  @Test func lengthIsBounded() throws {
    let text = "a = '" + String(repeating: "x", count: 32 * 1024) + "'"
    let error = try #require(throws: FilterError.self) { try FilterExpression(text: text) }
    #expect(error.description == "expected at most 32768 bytes, got 32774")
    #expect(throws: FilterError.self) { try FilterExpression(json: Array(#""\#(text)""#.utf8)) }
  }

  @Test func vertexCountIsBounded() throws {
    let limits = FilterLimits(bytes: 1_000_000)
    func text(_ count: Int) -> String {
      "s_intersects(g, multipoint(" + Array(repeating: "1 2", count: count).joined(separator: ",") + "))"
    }
    _ = try FilterExpression(text: text(10_000), limits: limits)
    let error = try #require(throws: FilterError.self) { try FilterExpression(text: text(10_001), limits: limits) }
    #expect(error.reason == "expected at most 10000 vertices in all geometries")
    let positions = Array(repeating: "[1,2]", count: 10_001).joined(separator: ",")
    let json = #"{"op":"s_within","args":[{"property":"g"},{"type":"MultiPoint","coordinates":[\#(positions)]}]}"#
    #expect(throws: FilterError.self) { try FilterExpression(json: Array(json.utf8), limits: limits) }
  }

  /// Pieces of filters in every order never fail otherwise than with an error.
  @Test func anyOrderOfTokensParsesOrFailsWithAnError() {
    let tokens = [
      "a", "'x'", "1", "-", "(", ")", ",", "=", "AND", "NOT", "LIKE", "IN", "BETWEEN", "IS", "NULL", "DATE(", "POINT(",
      "POLYGON((", "1 2", "BBOX(", "INTERVAL(", "'..'", "CASEI(", "S_WITHIN(", "f(", "^", "\"", "'", "TRUE",
    ]
    var state: UInt64 = 42
    for _ in 0..<20_000 {
      var text = ""
      for _ in 0..<8 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        text += tokens[Int(state >> 33) % tokens.count] + " "
      }
      guard let expression = try? FilterExpression(text: text) else { continue }
      #expect((try? FilterExpression(text: expression.text)) == expression, "\(text)")
    }
  }
}
