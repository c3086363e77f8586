import CLibPQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

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
      if strcmp(keyword, "host") == 0, let host = option.pointee.val, strchr(host, 0x40) != nil {
        return "its host contains an @; in a user name or password, write it as %40"
      }
      option += 1
    }
    return nil
  }

  /// Removes quotations of more than one character: libpq's message quotes parts of the connection string, which may
  /// include a password.
  private static func withoutQuotations(_ message: String) -> String {
    let parts = message.split(separator: "\"", omittingEmptySubsequences: false)
    let kept = parts.enumerated().map { index, part in
      index % 2 == 0 || part.count <= 1 ? String(part) : "…"
    }
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
