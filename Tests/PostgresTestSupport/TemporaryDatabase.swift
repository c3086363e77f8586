/// A database for one test, with PostGIS and nothing else.
public struct TemporaryDatabase: Sendable {
  /// The database's server.
  public let server: TemporaryServer

  /// The database's name.
  public let name: String

  /// The libpq URI, over TCP on 127.0.0.1.
  public var url: String { "postgresql://\(TemporaryServer.superuser)@127.0.0.1:\(server.port)/\(name)" }

  /// The libpq URI, over the server's Unix socket.
  public var socketURL: String {
    "postgresql://\(TemporaryServer.superuser)@/\(name)?host=\(server.directory)&port=\(server.port)"
  }

  /// Creates a database on the server that the tests of this process share.
  ///
  /// - Throws: ``TemporaryServerError``.
  public static func make() async throws -> TemporaryDatabase {
    try await TemporaryServer.shared.makeDatabase()
  }

  /// Returns the database on a standby of its server.
  public func onStandby(_ standby: TemporaryServer) -> TemporaryDatabase {
    TemporaryDatabase(server: standby, name: name)
  }

  /// Runs SQL with `psql`.
  ///
  /// - Returns: the rows, one on each line, with columns separated by `|`.
  /// - Throws: ``TemporaryServerError`` with the message of `psql`.
  @discardableResult
  public func run(_ sql: String) async throws -> String {
    try await server.psql(database: name, sql)
  }
}
