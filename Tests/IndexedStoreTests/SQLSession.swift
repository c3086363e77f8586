import PostgresClient
import PostgresTestSupport
import Testing

@testable import PostgresStore

/// A session of a database whose transactions stay open between statements.
struct SQLSession {
  private let thread: PollingThread
  private let session: Session

  fileprivate init(_ database: TemporaryDatabase) async throws {
    thread = try #require(PollingThread())
    session = try await Session.open(on: thread, PostgresConfiguration(url: database.url))
  }

  /// Runs statements, and returns after the last one.
  func run(_ sql: String) async throws { try await session.run(script: sql) }

  /// Closes the session.
  func close() async {
    await session.close()
    thread.stop()
  }
}

extension TemporaryDatabase {
  /// Opens a session.
  func openSession() async throws -> SQLSession { try await SQLSession(self) }
}
