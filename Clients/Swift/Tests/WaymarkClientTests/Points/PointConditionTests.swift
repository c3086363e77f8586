import Foundation
import Testing

@testable import WaymarkClient

@Suite struct PointConditionTests {
  @Test func textsAreQuoted() {
    let name = "O'Brien' OR 'a' = 'a"

    #expect(PointCondition("name = \(name)").text == "name = 'O''Brien'' OR ''a'' = ''a'")
  }

  @Test func quotationMarkWithACombiningMarkIsDoubled() {
    let name = "'\u{301} OR TRUE OR name = '\u{301}"

    let condition: PointCondition = "name = \(name)"

    #expect(Array(condition.text.utf8) == Array("name = '''\u{301} OR TRUE OR name = ''\u{301}'".utf8))
  }

  @Test func valuesAreLiteralsOfTheirTypes() {
    let time = Date(timeIntervalSince1970: 1.5)

    #expect(PointCondition("a = \(-5) AND b < \(1.5e-7) AND c = \(true)").text == "a = -5 AND b < 1.5e-07 AND c = TRUE")
    #expect(PointCondition("updatedAt > \(time)").text == "updatedAt > TIMESTAMP('1970-01-01T00:00:01.500000Z')")
    #expect(PointCondition("category IN \(["cafe", "bar's"])").text == "category IN ('cafe', 'bar''s')")
    #expect(PointCondition("name = \("A")").text == "name = 'A'")
  }

  @Test func keysOfTagsAreQuotedNames() {
    #expect(PointCondition("\(tag: "seats:\"in\" 'x'\\") > 1").text == #""tag.seats:""in"" 'x'\" > 1"#)
  }

  @Test func conditionsAreCombinedInParentheses() {
    let isCafe: PointCondition = "category = 'cafe' OR category = 'bar'"

    #expect(PointCondition("\(isCafe) AND NOT \(isCafe)").text == "(\(isCafe.text)) AND NOT (\(isCafe.text))")
  }

  @Test func literalIsUnchanged() throws {
    let condition: PointCondition = "website IS NOT NULL"

    #expect(condition == PointCondition(cql2: "website IS NOT NULL"))
    #expect(try condition.parameter().text == "filter=website%20IS%20NOT%20NULL")
  }

  @Test(
    arguments: [
      "", "name = \("a\\")", "name = \("a\0")", "name IN \([])", "lat < \(Double.nan)",
      "lat < \(Double.infinity)", "\(tag: "") = 'a'", "NOT \(PointCondition("name = \("\\")"))",
      "NOT \(PointCondition(cql2: ""))", "name IN \(["a", "\\"])",
    ] as [PointCondition])
  func whatCannotBeExpressedIsRejected(condition: PointCondition) {
    #expect(throws: RequestError.invalidCondition) { try condition.parameter() }
  }

  @Test func backslashElsewhereIsAllowed() throws {
    let condition: PointCondition = "name = \("a\\b\\\\c\\'d")"

    #expect(condition.text == #"name = 'a\b\\c\\'d'"#)
    _ = try condition.parameter()
  }
}
