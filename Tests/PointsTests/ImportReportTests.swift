import Points
import Testing

@Suite struct ImportReportTests {
  @Test func onlyTheFirstHundredRejectionsAreKeptAndAllAreCounted() {
    var report = ImportReport()

    for number in 1...150 { report.reject(RejectedRow(number: number, detail: "bad")) }

    #expect(report.rejected == 150)
    #expect(report.rejections.map(\.number) == Array(1...100))
  }

  @Test(arguments: [
    ("0", 1_000, 0), ("7", 1_000, 7), ("20%", 1_000, 200), ("20%", 54, 10), ("20%", 55, 11), ("0%", 1_000, 10),
    ("100%", 1_000, 1_000), ("20%", 0, 10), ("999999999999999", 1, 999_999_999_999_999),
  ])
  func limitOfDeletionsIsANumberOrAShareOfAtLeastTen(text: String, total: Int, maximum: Int) throws {
    let limit = try #require(DeletionLimit(text))

    #expect(limit.maximum(of: total) == maximum)
    #expect(limit.description == text)
  }

  @Test(arguments: ["", "%", "-1", "+1", "1.5", "101%", "1 %", "ten", "1000000000000000", "٣"])
  func malformedLimitOfDeletionsIsRejected(text: String) {
    #expect(DeletionLimit(text) == nil)
  }

  @Test func reportsOfPartsAddUp() {
    var whole = ImportReport()
    whole.created = 1
    for number in 1...99 { whole.reject(RejectedRow(number: number, detail: "bad")) }
    var part = ImportReport()
    (part.created, part.updated, part.unchanged, part.keptEdits, part.conflicts) = (2, 3, 4, 2, 1)
    whole.keptEdits = 5
    for number in 100...103 { part.reject(RejectedRow(number: number, detail: "bad")) }

    whole.add(part)

    #expect([whole.created, whole.updated, whole.unchanged, whole.rejected] == [3, 3, 4, 103])
    #expect([whole.keptEdits, whole.conflicts] == [7, 1])
    #expect(whole.rejections.map(\.number) == Array(1...100))
  }

  @Test func firstRejectionsOfBothPartsAreKeptByNumber() {
    var odd = ImportReport()
    var even = ImportReport()
    for number in stride(from: 1, to: 400, by: 2) { odd.reject(RejectedRow(number: number, detail: "bad")) }
    for number in stride(from: 2, to: 400, by: 2) { even.reject(RejectedRow(number: number, detail: "bad")) }
    even.reject(count: 1)

    odd.add(even)

    #expect(odd.rejected == 400)
    #expect(odd.rejections.map(\.number) == Array(1...100))
  }
}
