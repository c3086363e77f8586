import Logging
import Points
import PostgresClient

/// The declarations of all settings, in the groups and the order of the documentation. A new setting is one entry here.
///
/// A value is read by the key path of its entry, so that a misspelt name, or another type, does not compile.
struct SettingTable: Sendable {
  static let shared = SettingTable()

  let listening = Listening()
  let places = Places()
  let search = Search()
  let filters = Filters()
  let maps = Maps()
  let postgres = Postgres()
  let access = Access()
  let rateLimits = RateLimits()
  let responses = Responses()
  let observability = Observability()
  let shutdown = Shutdown()
  let limits = Limits()
  let testing = Testing()

  /// The settings of the commands that call a running server.
  let client = Client()

  struct Listening: SettingGroup {
    let title = "Listening and TLS"

    let httpHost = SettingKey(
      "HTTP_HOST", .text("address"), affects: .operation, default: "127.0.0.1", "Address that the server listens on.")
    let httpPort = SettingKey(
      "HTTP_PORT", .integer(0...65_535), affects: .operation, default: "8080",
      "Port that the server listens on; 0 selects a free one, which the log names.")
    let tlsCertificateFile = SettingKey(
      "TLS_CERTIFICATE_FILE", .file, affects: .operation, default: .described("none: no TLS"),
      "File of the server's certificate and its chain up to a root, in PEM; read again at SIGHUP.",
      details: "Needs `TLS_PRIVATE_KEY_FILE`.")
    let tlsPrivateKeyFile = SettingKey(
      "TLS_PRIVATE_KEY_FILE", .file, affects: .operation, default: .described("none: no TLS"),
      "File of the certificate's private key, in PEM without a passphrase; read again at SIGHUP.",
      details: "Needs `TLS_CERTIFICATE_FILE`.")
    let publicURL = SettingKey(
      "PUBLIC_URL", .text("address"), affects: .responses, default: .described("none: links are relative"),
      "Address under which clients reach the service, such as https://example.com/poi.",
      details: "`Link`, `Location` and links in bodies begin with it.")
    let trustedProxies = SettingKey(
      "TRUSTED_PROXIES", .list("networks"), affects: .responses,
      "Addresses and networks, with commas between, of proxies whose headers name the client.",
      details:
        "They are believed about the client's address and, by `X-Forwarded-Prefix`, about the path prefix that "
        + "they removed.")
  }

  struct Places: SettingGroup {
    let title = "Places"

    let pointStore = SettingKey(
      "POINT_STORE", .choice(of: ServeConfiguration.StoreKind.self), affects: .operation,
      default: .described("`postgres` where `DATABASE_URL` is set, else `memory`"), "Store of the places.")
    let dataFile = SettingKey(
      "DATA_FILE", .list("files"), affects: .operation, default: .described("the bundled sample"),
      "Files, with commas between, that are loaded into an empty memory store at the start.",
      details: "With `MEMORY_STORE_PATH` that is the first start alone.")
    let memoryStorePath = SettingKey(
      "MEMORY_STORE_PATH", .file, affects: .operation, default: .described("none: places are lost at the end"),
      "File in which the memory store keeps its places durably.")
    let skipDamaged = SettingKey(
      "SKIP_DAMAGED", .flag, affects: .operation, default: "false",
      "Start without damaged rows of that file, instead of not starting.",
      details: "See [Durability](operations.md#durability).")
    let migrationsPath = SettingKey(
      "MIGRATIONS_PATH", .folder, affects: .operation, default: .described("the folder that came with the program"),
      "Folder of the migrations.",
      details: "The default is `Migrations` of the package that the program was built in, else "
        + "`share/waymark/Migrations` beside its `bin`, such as `/usr/share/waymark/Migrations`.")
  }

  struct Search: SettingGroup {
    let title = "Search by name"

    let searchNameTags = SettingKey(
      "SEARCH_NAME_TAGS", .list("keys"), affects: .responses,
      default: .described("`\(TextIndexConfiguration.defaultNameTags.joined(separator: ","))`"),
      "Tags whose values are names too, with commas between; name:* is every key that begins with name:.",
      details: "See [Search by name](search.md).")
    let searchImportanceTag = SettingKey(
      "SEARCH_IMPORTANCE_TAG", .text("key"), affects: .responses,
      default: .described("none: by tags such as `wikidata` and `population`"),
      "Tag whose number is the importance of a place among those that match as well.",
      details: "See [Ranking](search.md#ranking).")
    let photonAPI = SettingKey(
      "PHOTON_API", .choice(of: SearchConfiguration.Switch.self), affects: .operation, default: "on",
      "Calls of Photon's API, /api and /reverse.", details: "See [Photon's API](search.md#photons-api).")
  }

  struct Filters: SettingGroup {
    let title = "Filters and features"

    let queryables = SettingKey(
      "QUERYABLES", .file, affects: .responses, default: .described("none: the values of all tags are strings"),
      "JSON file of the types and indexes of tags in filters, read at the start.",
      details: "See [Filters](filters.md#types-of-tags).")
    let filterTimeoutMS = SettingKey(
      "FILTER_TIMEOUT_MS", .milliseconds(1...60_000), affects: .responses, default: "1000",
      "Longest time that a search with a filter, an area, a route or a long text, and other computations beside the"
        + " event loop may wait and take; then 503.",
      details: "See [Long computations](operations.md#long-computations).")
    let ogcCollections = SettingKey(
      "OGC_COLLECTIONS", .text("collections"), affects: .responses, default: .described("none: `places` alone"),
      "Further collections of OGC API Features, each with its categories, such as food=cafe,restaurant;culture=museum.",
      details: "See [OGC API Features](ogc-api-features.md#collections).")
  }

  struct Maps: SettingGroup {
    let title = "Maps"

    let tileClusterMaxZoom = SettingKey(
      "TILE_CLUSTER_MAX_ZOOM", .integer(0...22), affects: .responses, default: "13",
      "Highest zoom level at which map tiles show clusters instead of all places.",
      details: "See [Map tiles](tiles.md#clusters).")
    let tileCacheBytes = SettingKey(
      "TILE_CACHE_BYTES", .integer(0...1 << 40), affects: .operation, default: "33554432",
      "Maximum size of the drawn map tiles that are kept in memory; 0 for none.",
      details: "See [Map tiles](tiles.md#freshness).")
    let mapTilesURL = SettingKey(
      "MAP_TILES_URL", .text("address"), affects: .operation,
      default: .described("none: lines of latitude and longitude"),
      "Address of the base map's tiles, such as https://tile.example.com/{z}/{x}/{y}.png.",
      details: "A path such as `/basemap/{z}/{x}/{y}.png` is on the map page's own host. Needs "
        + "`MAP_TILES_ATTRIBUTION`. See [Map](map.md#base-map).")
    let mapTilesAttribution = SettingKey(
      "MAP_TILES_ATTRIBUTION", .text("text"), affects: .operation,
      "Attribution of the base map, as plain text; an address in it becomes a link.",
      details: "Needs `MAP_TILES_URL`.")
  }

  struct Postgres: SettingGroup {
    let title = "PostgreSQL"

    let databaseURL = SettingKey(
      "DATABASE_URL", .text("conninfo"), affects: .operation,
      "libpq URI or connection string; several hosts and `target_session_attrs` work as in libpq.",
      details: "With that of a standby, the instance reads only: see [A standby](operations.md#a-standby).",
      isSecret: true)
    let databasePoolSize = SettingKey(
      "DATABASE_POOL_SIZE", .integer(2...1000), affects: .operation, default: "12",
      "Maximum number of connections to the database, besides up to two of the index (`POINT_INDEX`).",
      details: "Those of exports, imports and `ANALYTICS=postgres` (one) are taken from them; the rest, eight by "
        + "default, is for requests. At least 3 with `ANALYTICS=postgres`. See "
        + "[Connections to PostgreSQL](operations.md#connections-to-postgresql).")
    let databaseExportConnections = SettingKey(
      "DATABASE_EXPORT_CONNECTIONS", .integer(1...999), affects: .operation,
      default: .described("2, or 1 where the pool is below 8"),
      "Maximum number of connections of exports.",
      details: "At least one connection stays for requests. A pool of 2 has one connection for exports and imports "
        + "together. 32 more exports wait for `REQUEST_DEADLINE_MS`; then, or beyond them, 503 `overloaded`.")
    let databaseImportConnections = SettingKey(
      "DATABASE_IMPORT_CONNECTIONS", .integer(1...999), affects: .operation,
      default: .described("2, or 1 where the pool is below 8"),
      "Maximum number of connections of imports.", details: "As for exports.")
    let databasePreparedStatements = SettingKey(
      "DATABASE_PREPARED_STATEMENTS", .choice(of: PostgresConfiguration.PreparedStatements.self), affects: .operation,
      default: "auto",
      "Use of prepared statements; auto prepares them unless a pooler such as PgBouncer stands between.",
      details: "`on` is for a pooler that keeps prepared statements. `off` is for a transaction pooler that `auto` "
        + "does not recognise; nothing then lasts from one transaction to the next. See "
        + "[Connection poolers](operations.md#connection-poolers).")
    let databaseStatementTimeoutMS = SettingKey(
      "DATABASE_STATEMENT_TIMEOUT_MS", .timeout, affects: .operation, default: "5000",
      "Timeout of a statement; then 504.")
    let requestDeadlineMS = SettingKey(
      "REQUEST_DEADLINE_MS", .timeout, affects: .operation, default: "2000",
      "Longest wait of a request for a connection to the database, or for the index; then 503.",
      details: "A request whose estimated wait for a connection is longer is rejected at once.")
    let pointIndex = SettingKey(
      "POINT_INDEX", .choice(of: IndexConfiguration.Use.self), affects: .operation, default: "auto",
      "Keep all places of the database in memory too and read from there; auto does so if they fit.",
      details:
        "The index follows the database; see [Consistency](consistency.md). `auto` estimates its size from a sample "
        + "of the places when it is built, and uses it if it needs at most half of the memory that the process may "
        + "use. The index has up to two connections beside those of `DATABASE_POOL_SIZE`.")
    let readConsistency = SettingKey(
      "READ_CONSISTENCY", .choice(of: IndexConfiguration.Consistency.self), affects: .operation, default: "strict",
      "Promise of reads from the index: strict or bounded.",
      details: "`strict`: a response contains every write that was committed before its request arrived. `bounded`: "
        + "every write that was committed more than `READ_MAX_STALENESS_MS` before.")
    let readMaxStalenessMS = SettingKey(
      "READ_MAX_STALENESS_MS", .timeout, affects: .operation, default: "1000",
      "Maximum staleness of reads with READ_CONSISTENCY=bounded.")
    let readStaleS = SettingKey(
      "READ_STALE_S", .integer(0...86_400), affects: .operation, default: "0",
      "Seconds for which reads that can't be current are answered from the last confirmed state of the index.",
      details: "While the database is unavailable, and for reads that only the index can answer while it catches up "
        + "or is built again. Such responses have an `Age` (RFC 9111): the seconds since the index was last known to "
        + "be current. A rebuild then holds the former index in memory too.")
    let readyIndexWaitS = SettingKey(
      "READY_INDEX_WAIT_S", .integer(0...86_400), affects: .operation, default: "300",
      "Longest time at a start, in seconds, for which /health/ready is 503 until the index is complete.")
  }

  struct Access: SettingGroup {
    let title = "Access"

    let apiKeysFile = SettingKey(
      "API_KEYS_FILE", .file, affects: .operation,
      "File of the API keys, one `name:scope:sha256` per line; read again at SIGHUP.")
    let jwtJWKSFile = SettingKey(
      "JWT_JWKS_FILE", .file, affects: .operation,
      "File of the public keys that tokens are verified with, a JSON Web Key Set; read again at SIGHUP.")
    let jwtJWKSURL = SettingKey(
      "JWT_JWKS_URL", .text("address"), affects: .operation,
      "Address of that key set instead, fetched at the start, from time to time, and at SIGHUP.",
      details: "It is `https`, except for loopback addresses, and is fetched when a token names a new key too. See "
        + "[Authentication](security.md#keys-of-an-address).")
    let jwtJWKSCAFile = SettingKey(
      "JWT_JWKS_CA_FILE", .file, affects: .operation,
      default: .described("`SSL_CERT_FILE`, or the authorities that the system trusts"),
      "File of the authorities that may have signed the certificate of JWT_JWKS_URL, in PEM.")
    let jwtIssuer = SettingKey(
      "JWT_ISSUER", .text("issuer"), affects: .operation,
      "Issuer of the tokens: the value that their claim `iss` must have.",
      details: "Needed with `JWT_JWKS_FILE` or `JWT_JWKS_URL`.")
    let jwtAudience = SettingKey(
      "JWT_AUDIENCE", .text("audience"), affects: .operation,
      "Audience of the tokens: the value that their claim `aud` must be or hold.",
      details: "Needed with `JWT_JWKS_FILE` or `JWT_JWKS_URL`.")
    let readRequiresKey = SettingKey(
      "READ_REQUIRES_KEY", .boolean, affects: .operation, default: "false",
      "Require an API key or a token for reading too.")
    let requireIfMatch = SettingKey(
      "REQUIRE_IF_MATCH", .boolean, affects: .operation, default: "false",
      "Require a condition such as If-Match for PUT, PATCH and DELETE; else 428.")
  }

  struct RateLimits: SettingGroup {
    let title = "Rate limit"

    let rateLimitRPS = SettingKey(
      "RATE_LIMIT_RPS", .numberOrZero(0.001...1_000_000), affects: .operation, default: "0",
      "Requests per second that a client may make in the long run; 0 is no limit.")
    let rateLimitBurst = SettingKey(
      "RATE_LIMIT_BURST", .integer(1...1_000_000), affects: .operation,
      default: .described("twice `RATE_LIMIT_RPS`, at least 10"),
      "Requests that a client may make at once.")
  }

  struct Responses: SettingGroup {
    let title = "Responses"

    let corsAllowedOrigins = SettingKey(
      "CORS_ALLOWED_ORIGINS", .list("origins"), affects: .operation, default: "*",
      "Origins that browsers may call from, with commas between, such as https://example.com; * is all.",
      details: "An origin has no path.")
    let cacheControl = SettingKey(
      "CACHE_CONTROL", .text("directives"), affects: .operation, default: "no-cache",
      "Cache-Control of lists, categories, checks and single places; no-store turns entity tags of lists off too.",
      details: "For example `max-age=5, stale-if-error=60`. The featured place keeps the `max-age` of its interval.")
    let serverTiming = SettingKey(
      "SERVER_TIMING", .boolean, affects: .operation, default: "false",
      "Add Server-Timing to responses: the milliseconds that the store and the whole request took.")
  }

  struct Observability: SettingGroup {
    let title = "Logs and analytics"

    let logLevel = SettingKey(
      "LOG_LEVEL", .choice(of: Logger.Level.self), affects: .operation, default: "info",
      "Lowest level that is logged.")
    let logFormat = SettingKey(
      "LOG_FORMAT", .choice(of: LineLogHandler.Format.self), affects: .operation,
      default: .described("`text` on a terminal, else `json`"),
      "Format of log lines.")
    let accessLog = SettingKey(
      "ACCESS_LOG", .boolean, affects: .operation, default: "false", "Log each request at level info.",
      details: "See [Monitoring](operations.md#monitoring).")
    let analytics = SettingKey(
      "ANALYTICS", .choice(of: ServeConfiguration.AnalyticsKind.self), affects: .operation, default: "log",
      "Analytics of searches: log summarises them once a minute, postgres keeps them in a table.",
      details: "`log` rounds coordinates to a hundredth of a degree. `postgres` needs `POINT_STORE=postgres`.")
    let analyticsRetentionDays = SettingKey(
      "ANALYTICS_RETENTION_DAYS", .integer(1...36_500), affects: .operation, default: "90",
      "Days for which ANALYTICS=postgres keeps a search.")
    let analyticsSearchTexts = SettingKey(
      "ANALYTICS_SEARCH_TEXTS", .boolean, affects: .operation, default: "false",
      "Record the texts that were searched for and found nothing.",
      details: "Texts are normalised, and may contain what identifies people. See "
        + "[Texts that found nothing](search.md#texts-that-found-nothing).")
    let analyticsSearchTextMinimum = SettingKey(
      "ANALYTICS_SEARCH_TEXT_MINIMUM", .integer(2...1_000_000), affects: .operation, default: "5",
      "Number of searches for such a text from which on it is reported.")
  }

  struct Shutdown: SettingGroup {
    let title = "Shutdown"

    let drainTimeoutMS = SettingKey(
      "DRAIN_TIMEOUT_MS", .timeout, affects: .operation, default: "8000",
      "Grace period of current requests at shutdown, and of clients that are still receiving responses.")
    let drainDelayMS = SettingKey(
      "DRAIN_DELAY_MS", .milliseconds(0...3_600_000), affects: .operation, default: "0",
      "Time at shutdown in which the server still accepts connections while /health/ready is 503.",
      details: "As long as load balancers take to notice. Not needed where a `preStop` pause does the same, as in "
        + "`deploy/kubernetes`; `terminationGracePeriodSeconds` must exceed both and `DRAIN_TIMEOUT_MS` together.")
  }

  struct Limits: SettingGroup {
    let title = "HTTP limits"

    let httpThreads = SettingKey(
      "HTTP_THREADS", .integer(0...1024), affects: .operation, default: "0",
      "Threads that serve connections; 0 is one per core.")
    let httpMaxURIBytes = SettingKey(
      "HTTP_MAX_URI_BYTES", .integer(64...65_536), affects: .operation, default: "8192",
      "Maximum size of a request target; then 414.")
    let httpMaxHeaderBytes = SettingKey(
      "HTTP_MAX_HEADER_BYTES", .integer(256...65_536), affects: .operation, default: "16384",
      "Maximum size of a header section; then 431.")
    let httpMaxBodyBytes = SettingKey(
      "HTTP_MAX_BODY_BYTES", .integer(0...1 << 40), affects: .operation, default: "1048576",
      "Maximum size of a request body; then 413.")
    let httpMaxConnections = SettingKey(
      "HTTP_MAX_CONNECTIONS", .integer(1...1_000_000), affects: .operation, default: "10000",
      "Maximum number of open connections; then 503.")
    let httpMaxRequestsInFlight = SettingKey(
      "HTTP_MAX_REQUESTS_IN_FLIGHT", .integer(1...1_000_000), affects: .operation, default: "10000",
      "Maximum number of current requests; then 503.")
    let httpMaxBufferedBytes = SettingKey(
      "HTTP_MAX_BUFFERED_BYTES", .integer(16 << 20...1 << 40), affects: .operation,
      default: .described("a quarter of the memory"),
      "Maximum number of bytes of responses that are buffered for slow clients, on all connections together.",
      details: "The memory is the container's limit (cgroup v2 `memory.max`, v1 `memory.limit_in_bytes`), else the "
        + "machine's; the default is at least 16 MiB. See [Memory](operations.md#memory).")
    let httpHeaderTimeoutMS = SettingKey(
      "HTTP_HEADER_TIMEOUT_MS", .timeout, affects: .operation, default: "10000",
      "Longest time that a header section may take to arrive; then 408.")
    let httpBodyTimeoutMS = SettingKey(
      "HTTP_BODY_TIMEOUT_MS", .timeout, affects: .operation, default: "20000",
      "Longest pause in a request body; then 408.")
    let httpIdleTimeoutMS = SettingKey(
      "HTTP_IDLE_TIMEOUT_MS", .timeout, affects: .operation, default: "60000",
      "Longest time that a connection may be open without a request.")
    let httpWriteTimeoutMS = SettingKey(
      "HTTP_WRITE_TIMEOUT_MS", .timeout, affects: .operation, default: "20000",
      "Period in which a client must acknowledge 1 KiB of its response; else its connection is closed.",
      details: "Each 10 KiB that it has acknowledged allow it another second of silence, up to five periods: systems "
        + "with large receive buffers acknowledge in steps, an 8 MiB buffer in steps of 0.8 MB. So any client that "
        + "reads 1 KiB in each period from a small buffer is served to the end, and so is one that reads 10 KiB/s from "
        + "a buffer of up to 8 MiB; larger buffers need a rate of a tenth of the buffer in five periods.")
  }

  struct Testing: SettingGroup {
    let title = "Testing"

    let isUnitTesting = SettingKey(
      "IS_UNIT_TESTING", .boolean, affects: .operation, default: "false",
      "Open neither a socket nor a database nor analytics.",
      details: "`waymark serve` builds the rest, logs what it skipped and exits.")
  }

  struct Client: SettingGroup {
    let title = "Commands"

    let waymarkAPIKey = SettingKey(
      "WAYMARK_API_KEY", .text("key"), affects: .operation, "API key that is sent to the server.", isSecret: true,
      option: .named("api-key"))
    let sslCertFile = SettingKey(
      "SSL_CERT_FILE", .file, affects: .operation, default: .described("the authorities that the system trusts"),
      "File of the authorities that may have signed the server's certificate, in PEM.", option: .named("ca-file"))
    let traceparent = SettingKey(
      "TRACEPARENT", .text("context"), affects: .operation,
      "Trace that the requests belong to, as in W3C Trace Context.", option: .none)
  }
}
