import Points
import Testing

@testable import PostgresStore

@Suite struct DatabaseErrorTests {
  @Test(arguments: [
    ("57014", "timeout"), ("55P03", "timeout"), ("53300", "overloaded"), ("57P01", "unavailable"),
    ("57P02", "unavailable"), ("57P03", "unavailable"), ("08006", "unavailable"), ("08P01", "unavailable"),
    ("53100", "unavailable"), ("53200", "unavailable"), ("58030", "unavailable"), ("25006", "read_only"),
    ("40001", "unavailable"), ("42P01", "schema_mismatch"), ("42703", "schema_mismatch"), ("42883", "schema_mismatch"),
    ("3F000", "schema_mismatch"), ("22012", "unexpected"), ("42601", "unexpected"), ("42501", "misconfigured"),
    ("XX000", "unexpected"), ("", "unavailable"),
  ])
  func errorCodeIsMappedToAStoreError(state: String, slug: String) {
    let error = PointStoreError(ServerError(sqlState: state, message: "something"))

    #expect(error.shortDescription == slug)
  }

  @Test func missingTableErrorNamesTheMigrateCommand() {
    let error = PointStoreError(ServerError(sqlState: "42P01", message: #"relation "points" does not exist"#))

    #expect(error == .schemaMismatch(reason: "the database lacks the tables of this version: run `waymark migrate`"))
  }

  @Test func errorSummaryIsOneLine() {
    let error = ServerError(sqlState: "XX000", message: "one\ntwo\r\nthree")

    #expect(error.summary == "one; two; three (SQLSTATE XX000)")
  }

  @Test(arguments: ["57P01", "57P02", "57P03", "08003", "26000"])
  func errorThatClosesTheConnectionLetsAReadBeRetried(state: String) {
    #expect(ServerError(sqlState: state, message: "").endsConnection)
  }

  @Test func stalePlanIsPreparedAgainOnAnotherConnection() {
    #expect(ServerError(sqlState: "0A000", message: "cached plan must not change result type").endsConnection)
    #expect(!ServerError(sqlState: "0A000", message: "not implemented").endsConnection)
  }
}
