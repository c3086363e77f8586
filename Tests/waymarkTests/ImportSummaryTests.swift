import ArgumentParser
import PointFormats
import Points
import Testing

@testable import waymark

@Suite struct ImportSummaryTests {
  @Test func summaryNamesKeptPlacesOnlyWhereThereAreSome() {
    var report = ImportReport()
    (report.created, report.updated, report.unchanged, report.deleted) = (1, 2, 3, 4)
    let without = ImportSummary(report: report, isDryRun: false).lines
    report.kept = 2
    report.reject(RejectedRow(number: 7, detail: "bad"))

    #expect(without == ["6 rows: 1 created, 2 updated, 3 unchanged, 4 deleted, 0 rejected"])
    #expect(
      ImportSummary(report: report, isDryRun: false).lines == [
        "7 rows: 1 created, 2 updated, 3 unchanged, 4 deleted, 2 kept, 1 rejected", "row 7: bad",
      ])
  }

  @Test(arguments: [(1, 0, "1 place keeps them, 0"), (17, 2, "17 places keep them, 2")])
  func summaryNamesKeptEditsAndConflicts(kept: Int, conflicts: Int, text: String) {
    var report = ImportReport()
    (report.unchanged, report.keptEdits, report.conflicts) = (kept, kept, conflicts)

    #expect(
      ImportSummary(report: report, isDryRun: false).lines == [
        "\(kept) rows: 0 created, 0 updated, \(kept) unchanged, 0 rejected",
        "edits: \(text) in a new conflict with the source",
      ])
  }

  @Test func editsHaveOptions() throws {
    let command = try ImportCommand.parse(
      ["--conflicts", "source", "--assume-edited-since", "2026-11-21T10:15:00Z", "a.csv"])
    let plain = try ImportCommand.parse(["a.csv"])
    let invalid = try ImportCommand.parse(["--conflicts", "people", "--assume-edited-since", "monday", "a.csv"])

    #expect(try command.edits.policy() == .source && plain.edits.policy() == .edits)
    #expect(try command.edits.time() == Timestamp(rfc3339: "2026-11-21T10:15:00Z"))
    #expect(try plain.edits.time() == nil)
    #expect(throws: (any Error).self) { try invalid.edits.policy() }
    #expect(throws: (any Error).self) { try invalid.edits.time() }
  }

  @Test func nameFieldIsAnOptionBesideTheIdField() throws {
    let command = try ImportCommand.parse(["--source", "s", "--id-field", "ref", "--name-field", "title", "a.csv"])

    let options = try command.rows.options()

    #expect((options.source, options.idField, options.nameField) == ("s", "ref", "title"))
    #expect(throws: (any Error).self) {
      try ImportCommand.parse(["--name-field", "latitude", "a.csv"]).rows.options()
    }
  }

  @Test func serverReportOfRowsLeavesOutThoseThatWereRejectedBefore() {
    let server = ServerReport(
      created: 1, updated: 0, unchanged: 1, deleted: 1, kept: 2, keptEdits: 4, conflicts: 3, rejected: 3,
      errors: [
        .init(row: 2, line: 2, detail: "of the store"), .init(row: 4, line: 4, detail: "sent for its id"),
        .init(row: 5, line: 5, detail: "sent for its id"),
      ], warnings: nil, implausible: nil)
    let counter = RowCounter()
    counter.add(valid: 3)
    counter.add(rejected: 2)

    let report = server.counted(
      after: 0, in: PointFiles.File(path: "the rows", format: .ndjson), before: counter)

    #expect(report.rejections.map(\.number) == [2])
    #expect((report.rejected, report.kept, report.deleted) == (1, 2, 1))
    #expect((report.keptEdits, report.conflicts) == (4, 3))
  }
}
