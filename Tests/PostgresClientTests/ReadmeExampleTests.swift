import PostgresClient
import PostgresTestSupport
import Testing

/// The example of the README.
@Suite(.timeLimit(.minutes(5))) struct ReadmeExampleTests {
  @Test func statementOfTheExampleReturnsAText() async throws {
    let text = try await Self.answer(url: try await TemporaryDatabase.make().url)

    #expect(text == "yes")
  }

  private static func answer(url: String) async throws -> String? {
    let configuration = try PostgresConfiguration(url: url, poolSize: 4)
    guard let thread = PollingThread() else { return nil }
    let pool = ConnectionPool(
      on: thread, configuration, connections: configuration.poolSize, waiters: configuration.maximumWaiters)
    let result = try await pool.run(Statement("answer", "SELECT 'yes'"), Parameters(), isRead: true)
    let text = result.row(0).optionalText(0)
    await pool.shutDown()
    return text
  }
}
