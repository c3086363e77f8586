import ServerFeatures
import Testing

@testable import Hosting

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

  @Test(arguments: [
    (2, (1, 1, 1, 1)), (3, (1, 1, 1, 2)), (7, (5, 1, 1, 2)), (8, (4, 2, 2, 4)), (9, (5, 2, 2, 4)),
  ])
  func exportsAndImportsShareTheLastConnectionOfASmallPool(size: Int, expected: (Int, Int, Int, Int)) throws {
    let shares = try shares(["DATABASE_POOL_SIZE": "\(size)"])

    #expect((shares.requests, shares.exports, shares.imports, shares.bulk) == expected)
  }

  @Test(arguments: [
    ("1", false, "DATABASE_POOL_SIZE must be an integer from 2 to 1000, got '1'"),
    ("2", true, "DATABASE_POOL_SIZE must be an integer from 3 to 1000, got '2'"),
  ])
  func poolThatLeavesNoneForRequestsStopsTheStart(size: String, keepsSearches: Bool, message: String) throws {
    let error = #expect(throws: ConfigurationError.self) {
      try shares(["DATABASE_POOL_SIZE": size], keepsSearches: keepsSearches)
    }

    #expect(error?.description == message)
  }
}
