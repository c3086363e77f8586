import Testing

@testable import waymark

@Suite struct ConnectionSharesTests {
  private func shares(_ environment: [String: String], keepsSearches: Bool = false) throws -> ConnectionShares {
    try ConnectionShares(Settings(environment: environment), keepsSearches: keepsSearches)
  }

  @Test func requestsGetMostAndTheOthersTwoEach() throws {
    let shares = try shares([:])

    #expect((shares.total, shares.requests, shares.exports, shares.imports, shares.bulk) == (12, 8, 2, 2, 4))
  }

  @Test(arguments: 2...40, [false, true])
  func sharesNeverExceedThePool(total: Int, keepsSearches: Bool) throws {
    let log = keepsSearches ? 1 : 0
    guard total > 1 + log else {
      #expect(throws: ConfigurationError.self) {
        try self.shares(["DATABASE_POOL_SIZE": "\(total)"], keepsSearches: keepsSearches)
      }
      return
    }
    let shares = try shares(["DATABASE_POOL_SIZE": "\(total)"], keepsSearches: keepsSearches)

    #expect(shares.requests + shares.bulk + log == total)
    #expect(shares.requests >= max(1, (total - log) / 2 - 1))
    #expect((1...2).contains(shares.exports))
    #expect((1...2).contains(shares.imports))
    #expect(max(shares.exports, shares.imports) <= shares.bulk)
  }

  @Test func configuredSharesAreTakenFromRequests() throws {
    let shares = try shares([
      "DATABASE_POOL_SIZE": "10", "DATABASE_EXPORT_CONNECTIONS": "5", "DATABASE_IMPORT_CONNECTIONS": "4",
    ])

    #expect((shares.requests, shares.exports, shares.imports, shares.bulk) == (1, 5, 4, 9))
  }

  @Test func importsShareWithExportsThatMayHaveAll() throws {
    let shares = try shares(["DATABASE_POOL_SIZE": "4", "DATABASE_EXPORT_CONNECTIONS": "3"])

    #expect((shares.requests, shares.exports, shares.imports, shares.bulk) == (1, 3, 1, 3))
  }

  @Test(arguments: [
    (["DATABASE_POOL_SIZE": "1"], "DATABASE_POOL_SIZE must be an integer from 2 to 1000, got '1'"),
    (
      ["DATABASE_POOL_SIZE": "4", "DATABASE_EXPORT_CONNECTIONS": "4"],
      "DATABASE_EXPORT_CONNECTIONS must be an integer from 1 to 3, got '4'"
    ),
    (["DATABASE_IMPORT_CONNECTIONS": "0"], "DATABASE_IMPORT_CONNECTIONS must be an integer from 1 to 11, got '0'"),
    (
      ["DATABASE_POOL_SIZE": "6", "DATABASE_EXPORT_CONNECTIONS": "3", "DATABASE_IMPORT_CONNECTIONS": "3"],
      """
      DATABASE_IMPORT_CONNECTIONS must be at most 5 together with DATABASE_EXPORT_CONNECTIONS=3, as \
      DATABASE_POOL_SIZE is 6, got '3'
      """
    ),
  ])
  func sharesThatLeaveNoneForRequestsStopTheStart(environment: [String: String], message: String) throws {
    let error = #expect(throws: ConfigurationError.self) { try shares(environment) }

    #expect(error?.description == message)
  }
}
