import Basics
import Points
import TestSupport
import Testing

@Suite struct IdempotencyRecordTests {
  private typealias Outcome = IdempotencyRecord.Outcome

  private static func report(deleted: Int?) throws -> ImportReport {
    let rejections = [RejectedRow(number: 2, detail: "a \"b\"\n\u{0}\u{10FFFD}"), RejectedRow(number: 9, detail: "")]
    return try #require(
      ImportReport(
        created: 1, updated: 0, unchanged: 1 << 53, deleted: deleted, kept: deleted == nil ? 0 : 3,
        keptEdits: deleted == nil ? 5 : 0, conflicts: deleted == nil ? 4 : 0, rejected: 150, rejections: rejections))
  }

  @Test func outcomeOfEachKindIsReadAsItWasWritten() throws {
    let results: [PointOperationResult] = [
      .created(.sample(1), version: 7), .changed(.sample(2), version: .max), .deleted(.sample(3)), .originTaken,
      .notFound, .conditionFailed(currentVersion: 4), .conditionFailed(currentVersion: nil),
      .forbidden(reason: .init("no")), .rejected(RejectedOperation(text: #"{"a":"é\n"}"#)),
    ]
    let outcomes: [Outcome] = [
      .created(.sample(1), version: 1), .created(.sample(2), version: .max), .created(.sample(3), version: nil),
      .imported(ImportReport()), .imported(try Self.report(deleted: nil)), .imported(try Self.report(deleted: 0)),
      .applied([]), .applied(results),
    ]

    #expect(outcomes.map { Outcome(json: $0.json) } == outcomes)
  }

  /// As PostgreSQL writes objects.
  @Test func whiteSpaceOfOtherWritersIsRead() {
    #expect(
      Outcome(json: #"{"created" : "\#(PointID.sample(1))", "version" : 7}"#) == .created(.sample(1), version: 7))
    #expect(
      Outcome(json: #"{"applied" : ["deleted \#(PointID.sample(1))", "notFound"]}"#)
        == .applied([.deleted(.sample(1)), .notFound]))
  }

  @Test(arguments: [
    "", "{", "null", "[]", "{}", #"{"created":1}"#, #"{"created":"a"}"#,
    #"{"created":"00000000-0000-7000-8000-000000000001","version":0}"#,
    #"{"created":"00000000-0000-7000-8000-000000000001","version":"7"}"#,
    #"{"created":"00000000-0000-7000-8000-000000000001","version":1.5}"#, #"{"imported":[1,2,3,4]}"#,
    #"{"imported":[1,2,3],"rejected":[]}"#, #"{"imported":[1,2,3,4,5],"rejected":[]}"#,
    #"{"imported":[1,2,3,-4],"rejected":[]}"#, #"{"imported":[1,2,3,9007199254740993],"rejected":[]}"#,
    #"{"imported":[1,2,3,"4"],"rejected":[]}"#, #"{"imported":[1,2,3,4],"deleted":null,"rejected":[]}"#,
    #"{"imported":[1,2,3,4],"kept":-1,"rejected":[]}"#, #"{"imported":[1,2,3,4],"kept":"1","rejected":[]}"#,
    #"{"imported":[1,2,3,4],"keptEdits":-1,"rejected":[]}"#, #"{"imported":[1,2,3,4],"conflicts":null,"rejected":[]}"#,
    #"{"imported":[1,2,3,4],"rejected":[[1]]}"#, #"{"imported":[1,2,3,4],"rejected":[["1","a"]]}"#,
    #"{"applied":"deleted"}"#, #"{"applied":[1]}"#, #"{"applied":["created"]}"#,
  ])
  func damagedOutcomeIsNone(json: String) {
    #expect(Outcome(json: json) == nil)
  }

  @Test func repeatGetsOnlyTheOutcomeOfTheSameRequest() throws {
    let key = IdempotencyKey(text: "a:1", requestHash: 1)
    let time = Timestamp(microsecondsSinceEpoch: 5)
    let record = IdempotencyRecord(key: key, time: time, outcome: .created(.sample(1), version: 7))
    let draft = try PointDraft.sample("one")

    let point = try record.repeated(by: key) { $0.point(draft) }

    #expect(point == PointOfInterest(id: .sample(1), draft: draft, version: 7, createdAt: time, updatedAt: time))
    #expect(throws: PointWriteError.keyReused) {
      try record.repeated(by: IdempotencyKey(text: "a:1", requestHash: 2)) { $0.point(draft) }
    }
    #expect(throws: PointWriteError.keyReused) { try record.repeated(by: key, \.report) }
    #expect(throws: PointWriteError.keyReused) { try record.repeated(by: key, \.results) }
  }

  @Test func keyOfACollectionIsAnotherOneOfTheSameClient() {
    let key = IdempotencyKey(text: ":k", requestHash: 1, client: ":7f000001")

    let scoped = key.scoped(to: "areas")

    #expect(scoped == IdempotencyKey(text: ":k areas", requestHash: 1, client: ":7f000001"))
  }
}
