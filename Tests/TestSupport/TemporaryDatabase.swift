/// A database of a test's own, with PostGIS in it and nothing else.
public struct TemporaryDatabase: Sendable {
  /// The server that it is on.
  public let server: TemporaryServer

  /// Its name.
  public let name: String

  /// Its libpq URI, over TCP on 127.0.0.1.
  public var url: String { "postgresql://\(TemporaryServer.superuser)@127.0.0.1:\(server.port)/\(name)" }

  /// Its libpq URI, over the server's Unix socket.
  public var socketURL: String {
    "postgresql://\(TemporaryServer.superuser)@/\(name)?host=\(server.directory)&port=\(server.port)"
  }

  /// A new database on the server that the tests of this process share.
  ///
  /// - Throws: ``TemporaryServerError``.
  public static func make() async throws -> TemporaryDatabase {
    try await TemporaryServer.shared.makeDatabase()
  }

  /// The database as a standby of its server has it.
  public func onStandby(_ standby: TemporaryServer) -> TemporaryDatabase {
    TemporaryDatabase(server: standby, name: name)
  }

  /// Runs SQL with `psql`.
  ///
  /// - Returns: the rows, one a line, the columns separated by `|`.
  /// - Throws: ``TemporaryServerError`` with what `psql` says.
  @discardableResult
  public func run(_ sql: String) async throws -> String {
    try await server.psql(database: name, sql)
  }
}
