import Points
import PostgresClient
import Testing

@testable import PostgresStore

@Suite struct StoreErrorTests {
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

  @Test(arguments: [
    (DatabaseError.unavailable(reason: "gone"), PointStoreError.unavailable(reason: "gone")),
    (.outcomeUnknown(reason: "gone"), .outcomeUnknown(reason: "gone")),
    (.readOnly(reason: "a"), .readOnly(reason: "a")),
    (.overloaded, .overloaded), (.timeout, .timeout), (.cancelled, .timeout),
    (.rejected(ServerError(sqlState: "57014", message: "")), .timeout),
  ])
  func errorOfTheClientIsMappedToAStoreError(error: DatabaseError, expected: PointStoreError) {
    #expect(PointStoreError(error) == expected)
  }
}
