import ArgumentParser

/// The options of `waymark serve`, each the environment variable of the same name in kebab-case. They are read as text
/// here; ``ServeConfiguration`` says what they may be.
struct ServeOptions: ParsableArguments {
  @Option(help: "Address to listen on. (default: 127.0.0.1)")
  var httpHost: String?

  @Option(help: "Port to listen on; 0 is any free one, which the log tells. (default: 8080)")
  var httpPort: String?

  @Option(
    help: "File of the certificate and those that lead to a root, in PEM; read again at SIGHUP. (default: no TLS)")
  var tlsCertificateFile: String?

  @Option(help: "File of the certificate's private key, in PEM; read again at SIGHUP. (default: no TLS)")
  var tlsPrivateKeyFile: String?

  @Option(help: "memory or postgres. (default: postgres where DATABASE_URL is set, else memory)")
  var pointStore: String?

  @Option(help: "libpq URI or conninfo; several hosts and target_session_attrs work as in libpq.")
  var databaseUrl: String?

  @Option(help: "The same, of a replica that searches go to while it is there. (default: none)")
  var databaseReplicaUrl: String?

  @Option(help: "Connections to the database at most, whatever they are for. (default: 12)")
  var databasePoolSize: String?

  @Option(help: "How many of them exports may have. (default: 2, fewer of a small pool)")
  var databaseExportConnections: String?

  @Option(help: "How many of them imports may have. (default: 2, fewer of a small pool)")
  var databaseImportConnections: String?

  @Option(help: "auto: prepared unless a pooler such as PgBouncer stands between; on; off. (default: auto)")
  var databasePreparedStatements: String?

  @Option(help: "How long a statement may take, in milliseconds. (default: 5000)")
  var databaseStatementTimeoutMs: String?

  @Option(help: "How long a request may wait for a connection, in milliseconds; then 503. (default: 2000)")
  var requestDeadlineMs: String?

  @Option(help: "Files loaded into memory at start, commas between. (default: the bundled sample)")
  var dataFile: String?

  @Option(help: "File in which the memory store keeps its places durably. (default: none, nothing is kept)")
  var memoryStorePath: String?

  @Flag(help: "Start although rows of that file are damaged, without them. (default: don't start)")
  var skipDamaged = false

  @Option(help: "Folder of the migrations. (default: the one that came with this program)")
  var migrationsPath: String?

  @Option(help: "File of the API keys, name:scope:sha256 a line; read again at SIGHUP. (default: none)")
  var apiKeysFile: String?

  @Option(help: "File of the public keys that tokens are signed with, a JWK set; read again at SIGHUP. (default: none)")
  var jwtJwksFile: String?

  @Option(
    help: "Address of them instead, fetched at the start, from time to time, and again at SIGHUP. (default: none)")
  var jwtJwksUrl: String?

  @Option(
    help: ArgumentHelp(
      "File of the authorities' certificates that the address's may be signed with, in PEM. (default: SSL_CERT_FILE, or "
        + "those that the system trusts)"))
  var jwtJwksCaFile: String?

  @Option(help: "Who issues the tokens: what their claim iss must be.")
  var jwtIssuer: String?

  @Option(help: "Whom the tokens are for: what their claim aud must be or hold.")
  var jwtAudience: String?

  @Option(help: "Whether reading needs an API key or a token too. (default: no)")
  var readRequiresKey: String?

  @Option(help: "Whether PUT, PATCH and DELETE must say by If-Match what they change. (default: no)")
  var requireIfMatch: String?

  @Option(help: "Requests a second that a client may make, in the long run; a fraction too. (default: 0, no limit)")
  var rateLimitRps: String?

  @Option(help: "Requests that a client may make at once. (default: twice RATE_LIMIT_RPS, and 10 at least)")
  var rateLimitBurst: String?

  @Option(
    help: "Address under which clients see the service, such as https://example.com/poi. (default: links are relative)")
  var publicUrl: String?

  @Option(help: "Proxies that are believed when they say who asks: addresses and networks with commas between.")
  var trustedProxies: String?

  @Option(help: "off; log: a summary of the searches once a minute; postgres: a table of them. (default: log)")
  var analytics: String?

  @Option(help: "Days for which searches are kept in PostgreSQL. (default: 90)")
  var analyticsRetentionDays: String?

  @Option(help: "trace, debug, info, notice, warning, error or critical. (default: info)")
  var logLevel: String?

  @Option(help: "text or json. (default: text on a terminal, else json)")
  var logFormat: String?

  @Option(help: "Whether each request is logged at level info. (default: no)")
  var accessLog: String?

  @Option(help: "Whether answers tell by Server-Timing how long they took to make. (default: no)")
  var serverTiming: String?

  @Option(help: "Whose pages may read the answers: origins with commas between, or *. (default: *)")
  var corsAllowedOrigins: String?

  @Option(
    help:
      "How long the server is not ready but goes on serving when it is told to stop, in milliseconds. (default: 0)")
  var drainDelayMs: String?

  @Option(help: "How long requests in flight get when the server is told to stop, in milliseconds. (default: 8000)")
  var drainTimeoutMs: String?

  @Option(help: "Threads that serve connections; 0 is one a core. (default: 0)")
  var httpThreads: String?

  @Option(help: "Longest target of a request, in bytes. (default: 8192)")
  var httpMaxUriBytes: String?

  @Option(help: "Longest header section, in bytes. (default: 16384)")
  var httpMaxHeaderBytes: String?

  @Option(help: "Longest body, in bytes. (default: 1048576)")
  var httpMaxBodyBytes: String?

  @Option(help: "Connections at most. (default: 10000)")
  var httpMaxConnections: String?

  @Option(help: "Requests being answered at most. (default: 10000)")
  var httpMaxRequestsInFlight: String?

  @Option(help: "Bytes of responses held for clients that have not taken them. (default: a quarter of the memory)")
  var httpMaxBufferedBytes: String?

  @Option(help: "How long a request's header may take to arrive, in milliseconds. (default: 10000)")
  var httpHeaderTimeoutMs: String?

  @Option(help: "How long a body may stand still, in milliseconds. (default: 20000)")
  var httpBodyTimeoutMs: String?

  @Option(help: "How long a connection may stay open without a request, in milliseconds. (default: 60000)")
  var httpIdleTimeoutMs: String?

  @Option(help: "How long a client may leave an answer unread, in milliseconds. (default: 20000)")
  var httpWriteTimeoutMs: String?

  @Option(
    help: "1, true or yes: set up neither socket nor database nor analytics, say so, and exit. (default: off)")
  var isUnitTesting: String?

  @Option(
    help: "Cache-Control of lists and places; no-store also turns lists' entity tags off. (default: no-cache)")
  var cacheControl: String?

  /// The options that were given, by the names of their environment variables.
  var flags: [String: String] {
    [
      "HTTP_HOST": httpHost, "HTTP_PORT": httpPort, "TLS_CERTIFICATE_FILE": tlsCertificateFile,
      "TLS_PRIVATE_KEY_FILE": tlsPrivateKeyFile, "POINT_STORE": pointStore, "DATABASE_URL": databaseUrl,
      "DATABASE_POOL_SIZE": databasePoolSize, "DATABASE_EXPORT_CONNECTIONS": databaseExportConnections,
      "DATABASE_IMPORT_CONNECTIONS": databaseImportConnections,
      "DATABASE_PREPARED_STATEMENTS": databasePreparedStatements,
      "DATABASE_STATEMENT_TIMEOUT_MS": databaseStatementTimeoutMs,
      "REQUEST_DEADLINE_MS": requestDeadlineMs, "DATA_FILE": dataFile, "MEMORY_STORE_PATH": memoryStorePath,
      "SKIP_DAMAGED": skipDamaged ? "true" : nil,
      "MIGRATIONS_PATH": migrationsPath,
      "ANALYTICS": analytics, "ANALYTICS_RETENTION_DAYS": analyticsRetentionDays,
      "API_KEYS_FILE": apiKeysFile, "READ_REQUIRES_KEY": readRequiresKey,
      "JWT_JWKS_FILE": jwtJwksFile, "JWT_JWKS_URL": jwtJwksUrl, "JWT_JWKS_CA_FILE": jwtJwksCaFile,
      "JWT_ISSUER": jwtIssuer, "JWT_AUDIENCE": jwtAudience,
      "RATE_LIMIT_RPS": rateLimitRps, "RATE_LIMIT_BURST": rateLimitBurst, "TRUSTED_PROXIES": trustedProxies,
      "PUBLIC_URL": publicUrl,
      "REQUIRE_IF_MATCH": requireIfMatch, "LOG_LEVEL": logLevel,
      "LOG_FORMAT": logFormat, "ACCESS_LOG": accessLog, "SERVER_TIMING": serverTiming,
      "CORS_ALLOWED_ORIGINS": corsAllowedOrigins, "DRAIN_DELAY_MS": drainDelayMs,
      "DRAIN_TIMEOUT_MS": drainTimeoutMs,
      "HTTP_THREADS": httpThreads, "HTTP_MAX_URI_BYTES": httpMaxUriBytes,
      "HTTP_MAX_HEADER_BYTES": httpMaxHeaderBytes, "HTTP_MAX_BODY_BYTES": httpMaxBodyBytes,
      "HTTP_MAX_CONNECTIONS": httpMaxConnections, "HTTP_MAX_REQUESTS_IN_FLIGHT": httpMaxRequestsInFlight,
      "HTTP_MAX_BUFFERED_BYTES": httpMaxBufferedBytes,
      "HTTP_HEADER_TIMEOUT_MS": httpHeaderTimeoutMs, "HTTP_BODY_TIMEOUT_MS": httpBodyTimeoutMs,
      "HTTP_IDLE_TIMEOUT_MS": httpIdleTimeoutMs, "HTTP_WRITE_TIMEOUT_MS": httpWriteTimeoutMs,
      "IS_UNIT_TESTING": isUnitTesting, "CACHE_CONTROL": cacheControl,
      "DATABASE_REPLICA_URL": databaseReplicaUrl,
    ].compactMapValues { $0 }
  }
}
