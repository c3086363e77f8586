import Testing

@testable import PostgresClient

@Suite struct DatabaseErrorTests {
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
