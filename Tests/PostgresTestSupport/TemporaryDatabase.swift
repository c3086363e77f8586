/// A database for one test, with PostGIS and nothing else.
package struct TemporaryDatabase: Sendable {
  /// The database's server.
  package let server: TemporaryServer

  /// The database's name.
  package let name: String

  /// The libpq URI, over TCP on 127.0.0.1.
  package var url: String { "postgresql://\(TemporaryServer.superuser)@127.0.0.1:\(server.port)/\(name)" }

  /// The libpq URI, over the server's Unix socket.
  package var socketURL: String {
    "postgresql://\(TemporaryServer.superuser)@/\(name)?host=\(server.directory)&port=\(server.port)"
  }

  /// Creates a database on the server that the tests of this process share.
  ///
  /// - Throws: ``TemporaryServerError``.
  package static func make() async throws -> TemporaryDatabase {
    try await TemporaryServer.shared.makeDatabase()
  }

  /// Returns the database on a standby of its server.
  package func onStandby(_ standby: TemporaryServer) -> TemporaryDatabase {
    TemporaryDatabase(server: standby, name: name)
  }

  /// Runs SQL with `psql`.
  ///
  /// - Returns: the rows, one on each line, with columns separated by `|`.
  /// - Throws: ``TemporaryServerError`` with the message of `psql`.
  @discardableResult
  package func run(_ sql: String) async throws -> String {
    try await server.psql(database: name, sql)
  }

  /// Copies the database into an empty one, perhaps of another server, with `pg_dump` and `pg_restore`.
  ///
  /// - Parameters:
  ///   - dumpOptions: further options of `pg_dump`.
  ///   - restoreOptions: further options of `pg_restore`.
  /// - Throws: ``TemporaryServerError`` with the message of the program that failed.
  package func copy(
    to other: TemporaryDatabase, dumpOptions: [String] = [], restoreOptions: [String] = []
  ) async throws {
    let file = "\(other.server.directory)/\(name)-\(other.name).dump"
    let tools = server.tools
    try await tools.run(tools.path("pg_dump"), ["-Fc", "-f", file, "-d", url] + dumpOptions)
    try await tools.run(tools.path("pg_restore"), ["--exit-on-error", "-d", other.url] + restoreOptions + [file])
    try await tools.run("/bin/rm", [file])
  }

  /// Creates a database of the same server with this one as its template. No one may be connected to this one.
  ///
  /// - Throws: ``TemporaryServerError``.
  package func duplicate() async throws -> TemporaryDatabase {
    let duplicate = TemporaryDatabase(server: server, name: "\(name)_copy")
    try await server.psql(database: "postgres", "CREATE DATABASE \(duplicate.name) TEMPLATE \(name)")
    return duplicate
  }
}
