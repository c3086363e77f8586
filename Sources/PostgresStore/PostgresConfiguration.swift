import CLibPQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// How a ``PostgresStore`` reaches its database.
public struct PostgresConfiguration: Sendable {
  /// A libpq URI or connection string, known to parse. It may hold a password: it is shown to nobody.
  let connectionInfo: String

  /// The choice whether the statements of requests are prepared, which lasts as long as the server's session does.
  public enum PreparedStatements: String, CaseIterable, Sendable {
    /// On connections that lead to PostgreSQL without a pooler in between.
    case automatic = "auto"
    /// On all connections.
    case always = "on"
    /// On none; nor is anything else expected to last from one transaction to the next.
    case never = "off"
  }

  /// The choice whether statements are prepared. Behind a pooler each transaction brings its settings in any case.
  public var preparedStatements = PreparedStatements.automatic

  /// The maximum number of connections for requests; those of exports and imports come in addition.
  public var poolSize: Int

  /// The maximum number of connections for exports.
  public var exportConnections = 2

  /// The maximum number of connections for imports.
  public var importConnections = 2

  /// The maximum number of connections for exports and imports together.
  public var bulkConnections = 4

  /// The maximum number of exports that wait for a connection, and of imports.
  public var maximumBulkWaiters = 32

  /// How long the server may work on a statement, in milliseconds.
  public var statementTimeoutMilliseconds: Int

  /// How many calls may wait for a connection; the next is told that the store is overloaded.
  public var maximumWaiters = 1024

  /// How long a call may wait for a connection, in milliseconds; then it is told that the store is overloaded, and at
  /// once where it would come to that.
  public var waitTimeoutMilliseconds = 5000

  /// How much longer than the statement time-out a server may take to say anything at all, in milliseconds; then the
  /// connection is given up.
  public var silenceToleranceMilliseconds = 1000

  /// The time for the server to confirm the commit of an import, in milliseconds; after it the import's outcome is
  /// unknown. A commit that has to wait for a synchronous standby waits on.
  public var commitTimeoutMilliseconds = 30_000

  /// Creates a configuration.
  ///
  /// - Parameters:
  ///   - url: a libpq URI or connection string; several hosts and `target_session_attrs` are libpq's affair.
  ///   - poolSize: connections at most, 1 or more.
  ///   - statementTimeoutMilliseconds: how long the server may work on a statement, 1 or more.
  /// - Throws: ``InvalidDatabaseURL``.
  public init(
    url: String,
    poolSize: Int = 8,
    statementTimeoutMilliseconds: Int = 5000
  ) throws(InvalidDatabaseURL) {
    if let reason = Self.complaint(about: url) { throw InvalidDatabaseURL(reason: reason) }
    connectionInfo = url
    self.poolSize = max(1, poolSize)
    self.statementTimeoutMilliseconds = max(1, statementTimeoutMilliseconds)
  }

  private static func complaint(about url: String) -> String? {
    if url.isEmpty { return "it is empty" }
    if url.utf8.contains(0) { return "it contains U+0000" }
    var message: UnsafeMutablePointer<CChar>?
    guard let options = PQconninfoParse(url, &message) else {
      defer { PQfreemem(message) }
      return message.map { withoutQuotations(String(cString: $0)) } ?? "there is no memory to read it"
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

  /// What libpq says of bad connection info quotes parts of it, and so perhaps of a password: only single characters
  /// stay.
  private static func withoutQuotations(_ message: String) -> String {
    let parts = message.split(separator: "\"", omittingEmptySubsequences: false)
    let kept = parts.enumerated().map { index, part in
      index % 2 == 0 || part.count <= 1 ? String(part) : "…"
    }
    return kept.joined(separator: "\"").split(whereSeparator: \.isNewline).joined(separator: "; ")
  }
}

extension PostgresConfiguration: CustomStringConvertible, CustomReflectable {
  /// What may be seen of it.
  public var description: String {
    "PostgreSQL, \(poolSize) connections, statement time-out \(statementTimeoutMilliseconds) ms"
  }

  /// Shows nothing, since the connection info may hold a password.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Why a database URL can't be used.
public struct InvalidDatabaseURL: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong, without any part of the URL.
  public let reason: String

  /// What a user is told.
  public var description: String { "not a PostgreSQL URI or connection string: \(reason)" }
}
