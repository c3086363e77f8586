import CLibPQ

/// The configuration of a ``PostgresStore``.
package struct PostgresConfiguration: Sendable {
  /// A valid libpq URI or connection string. It may contain a password and must not be logged.
  let connectionInfo: String

  /// The choice whether the statements of requests are prepared. Prepared statements last as long as the server
  /// session.
  package enum PreparedStatements: String, CaseIterable, Sendable {
    /// Statements are prepared on connections that lead to PostgreSQL without a pooler.
    case automatic = "auto"
    /// Statements are prepared on all connections.
    case always = "on"
    /// Statements are never prepared, and no other session state is relied on between transactions.
    case never = "off"
  }

  /// The choice whether statements are prepared. Behind a pooler each transaction brings its settings in any case.
  package var preparedStatements = PreparedStatements.automatic

  /// The maximum number of connections for requests. Those of exports and imports are additional.
  package var poolSize: Int

  /// The maximum number of connections for exports.
  package var exportConnections = 2

  /// The maximum number of connections for imports.
  package var importConnections = 2

  /// The maximum number of connections for exports and imports together.
  package var bulkConnections = 4

  /// The maximum number of exports in the wait queue, and of imports.
  package var maximumBulkWaiters = 32

  /// The server's statement timeout in milliseconds.
  package var statementTimeoutMilliseconds: Int

  /// The maximum number of calls in the wait queue; further calls fail as overloaded.
  package var maximumWaiters = 1024

  /// The maximum time that a call waits for a connection, in milliseconds. A call whose estimated wait is longer fails
  /// as overloaded immediately.
  package var waitTimeoutMilliseconds = 5000

  /// The time in milliseconds beyond the statement timeout after which a connection to a silent server is closed.
  package var silenceToleranceMilliseconds = 1000

  /// The timeout for the server to confirm the commit of an import, in milliseconds; after it the import's outcome is
  /// unknown. The server continues to wait for a synchronous standby.
  package var commitTimeoutMilliseconds = 30_000

  /// The time in milliseconds that the next batch of an import may take while other imports wait for a connection.
  package var uploadToleranceMilliseconds = 10_000

  /// Creates a configuration.
  ///
  /// - Parameters:
  ///   - url: a libpq URI or connection string, which may list several hosts and set `target_session_attrs`.
  ///   - poolSize: the maximum number of connections, at least 1.
  ///   - statementTimeoutMilliseconds: the server's statement timeout, at least 1.
  /// - Throws: ``InvalidDatabaseURL``.
  package init(
    url: String,
    poolSize: Int = 8,
    statementTimeoutMilliseconds: Int = 5000
  ) throws(InvalidDatabaseURL) {
    if let reason = Self.parseError(in: url) { throw InvalidDatabaseURL(reason: reason) }
    connectionInfo = url
    self.poolSize = max(1, poolSize)
    self.statementTimeoutMilliseconds = max(1, statementTimeoutMilliseconds)
  }

  private static func parseError(in url: String) -> String? {
    if url.isEmpty { return "it is empty" }
    if url.utf8.contains(0) { return "it contains U+0000" }
    var message: UnsafeMutablePointer<CChar>?
    guard let options = PQconninfoParse(url, &message) else {
      defer { PQfreemem(message) }
      return message.map { withoutQuotations(String(cString: $0)) } ?? "out of memory"
    }
    defer { PQconninfoFree(options) }
    var option = options
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.val, let reason = error(of: String(cString: keyword), String(cString: value)) {
        return reason
      }
      option += 1
    }
    return hasAtSignInPath(url)
      ? "it has a / before an @; in a user name or password, write / as %2F, and in other parts @ as %40" : nil
  }

  /// The options that libpq parses as integers when it connects, with a message that quotes their values.
  private static let integerOptions = [
    "connect_timeout", "keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout",
  ]

  /// Returns the error of an option that libpq would find, or would look up in vain, when it connects. A password with
  /// unencoded characters may be in the host or the port.
  private static func error(of keyword: String, _ value: String) -> String? {
    switch keyword {
    case "host" where value.utf8.contains(UInt8(ascii: "@")):
      "its host contains an @; in a user name or password, write it as %40"
    case "port" where !value.split(separator: ",").allSatisfy({ (1...65_535).contains(integer($0) ?? 0) }):
      "its port must be an integer from 1 to 65535; in a user name or password, write / as %2F"
    case _ where integerOptions.contains(keyword) && !value.isEmpty && integer(value[...]) == nil:
      "its \(keyword) must be an integer"
    default: nil
    }
  }

  /// Returns an integer of 32 bits, with blanks around it, as libpq parses it.
  private static func integer(_ text: Substring) -> Int32? {
    let words = text.split(whereSeparator: \.isWhitespace)
    return words.count == 1 ? Int32(words[0]) : nil
  }

  /// Returns a Boolean value that indicates whether a URI has an `@` between the first `/` after the hosts and the `?`,
  /// which libpq takes for a part of the database's name.
  private static func hasAtSignInPath(_ url: String) -> Bool {
    let schemes = ["postgresql://", "postgres://"]
    guard let scheme = schemes.first(where: { url.utf8.starts(with: $0.utf8) }) else { return false }
    let rest = url.utf8.dropFirst(scheme.utf8.count).drop { $0 != UInt8(ascii: "/") }
    return rest.prefix { $0 != UInt8(ascii: "?") }.contains(UInt8(ascii: "@"))
  }

  /// Removes quotations from a message of libpq, from the first to the last quotation mark: they are of the connection
  /// string, may include a password, and may have quotation marks of their own. Single characters of the syntax stay.
  static func withoutQuotations(_ message: String) -> String {
    let parts = message.unicodeScalars.split(separator: "\"", omittingEmptySubsequences: false).map { String($0) }
    let quoted = parts.indices.first { !$0.isMultiple(of: 2) && !["=", ":", "/", "]"].contains(parts[$0]) }
    let kept = quoted.map { Array(parts[..<$0]) + ["…", $0 < parts.count - 1 ? parts[parts.count - 1] : ""] } ?? parts
    return kept.joined(separator: "\"").split(whereSeparator: \.isNewline).joined(separator: "; ")
  }
}

extension PostgresConfiguration: CustomStringConvertible, CustomReflectable {
  /// The parts of the configuration that contain no secrets.
  package var description: String {
    "PostgreSQL, \(poolSize) connections, statement timeout \(statementTimeoutMilliseconds) ms"
  }

  /// An empty mirror, because the connection string may contain a password.
  package var customMirror: Mirror { Mirror(self, children: []) }
}

package struct InvalidDatabaseURL: Error, Hashable, Sendable, CustomStringConvertible {
  /// The reason, without any part of the URL.
  package let reason: String

  /// The message for the operator.
  package var description: String { "not a PostgreSQL URI or connection string: \(reason)" }
}

/// The server settings under which a pool's statements run.
///
/// A connection with its own session is set up once, when it is established. Behind a pooler, session settings would
/// leak to the next client of the server connection, so each transaction is set up by a statement that precedes its
/// own.
package struct StatementSettings: Sendable {
  /// The server's statement timeout (`statement_timeout`).
  let timeoutMilliseconds: Int

  /// A Boolean value that indicates whether a write is on disk before it is acknowledged.
  var isDurable = true

  /// Returns SQL that turns `synchronous_commit` on where the server or the role has it off, so that a commit is on
  /// disk before it is acknowledged. Settings that also wait for standbys are kept.
  ///
  /// - Parameter isLocal: a Boolean value that indicates whether the setting applies to the current transaction only.
  package static func durability(isLocal: Bool) -> String {
    """
    SELECT set_config('synchronous_commit', 'on', \(isLocal)) WHERE current_setting('synchronous_commit') = 'off'
    """
  }

  /// The script that sets up a session.
  var script: String {
    // JIT compilation takes longer than any of these plans runs. The timeout comes last so that it does not apply to
    // the setup.
    """
    SET jit = off; SET waymark.notifies = off; \(isDurable ? Self.durability(isLocal: false) : "SET synchronous_commit = off"); \
    SET statement_timeout = \(timeoutMilliseconds)
    """
  }

  /// The statement that sets up a transaction and returns the identity of the server that runs it. Value: the identity
  /// that the server must have, or null for any.
  ///
  /// On another server it fails with an invalid setting: the statements that follow in the same transaction are then
  /// not executed.
  var preamble: Statement {
    let commit =
      isDurable
      ? "CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END"
      : "'off'"
    return Statement(
      "settings_\(isDurable ? "durable" : "volatile")_\(timeoutMilliseconds)",
      """
      SELECT identity, set_config('jit', 'off', true), set_config('waymark.notifies', 'off', true),
        set_config('synchronous_commit', \(commit), true),
        set_config(
          'statement_timeout',
          CASE WHEN $1::text IS NULL OR $1::text = identity THEN '\(timeoutMilliseconds)' ELSE 'of another server' END,
          true
        )
      FROM (\(ServerIdentity.query)) AS server (identity)
      """
    )
  }
}

/// The settings of a transaction that lasts as long as its client needs, such as an export's or import's.
package enum BulkSettings {
  /// The script that applies them to an open transaction.
  package static let script = """
    SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL jit = off; \
    SET LOCAL waymark.notifies = off
    """
}
