import Logging
import Points
import PostgresClient
package import ServerFeatures

// The declarations of all settings but those of features, in the groups and the order of the documentation. A new
// setting is one property.

extension Setting {
  package static let places = PlacesSettings()
  static let search = SearchSettings()
  static let filters = FilterSettings()
  static let maps = MapSettings()
  package static let postgres = PostgresSettings()
  static let access = AccessSettings()
  static let responses = ResponseSettings()
  static let observability = ObservabilitySettings()
  static let shutdown = ShutdownSettings()
  static let limits = LimitSettings()
  static let testing = TestingSettings()

  package static let groupsOfServer: [any SettingGroup] = [
    listening, places, search, filters, maps, postgres, access, responses, observability, shutdown, limits, testing,
  ]

  /// Returns the settings of a server with features, which are the options of `waymark serve`.
  package static func ofServer(with features: [any ServerFeature.Type]) -> [Setting] {
    groupsOfServer.flatMap { $0.settings(with: features) }
  }
}

package struct PlacesSettings: SettingGroup {
  package let title = "Places"

  let store = Setting.Key(
    "POINT_STORE", .choice(of: ServeConfiguration.StoreKind.self), affects: .operation,
    default: .described("`postgres` if `DATABASE_URL` is set, else `memory`"), "Store of the places.")
  let dataFiles = Setting.Key(
    "DATA_FILE", .list("files"), affects: .operation, default: .described("`sample`; none with `MEMORY_STORE_PATH`"),
    "Files, separated by commas, that are loaded into an empty memory store at the start.",
    details: "`sample` stands for the bundled landmarks. With `MEMORY_STORE_PATH` files are loaded at the first start "
      + "alone.")
  let memoryStorePath = Setting.Key(
    "MEMORY_STORE_PATH", .file, affects: .operation, default: .described("none: places are lost when the server stops"),
    "File in which the memory store keeps its places durably.")
  let indexPath = Setting.Key(
    "INDEX_PATH", .folder, affects: .operation,
    default: .described("`MEMORY_STORE_PATH` with `.index` appended; none with PostgreSQL"),
    "Folder in which the index is kept, so that a start, or a restart of the database, continues from it.",
    details: "The folder is created if its parent exists, and belongs to one process. It needs some 400 bytes for each "
      + "place and its texts, twice while it is written. See [Index files](operations.md#index-files).")
  let maximumEdits = Setting.Key(
    "EDITS_MAX", .integer(1...100_000_000), affects: .operation, default: .value("\(PlaceEdits.defaultMaximumCount)"),
    "Maximum number of edits that the store keeps. At the maximum, the first edit of another place is 503.",
    details: "An edited field of a place of a data set is an edit, and so is the deletion of such a place. See "
      + "[Keeping a source up to date](nightly.md#limits).")
  let changesRetention = Setting.Key(
    "CHANGES_RETENTION_DAYS", .integer(1...3650), affects: .operation, default: "30",
    "Days for which clients of /changes may be away; their positions are valid for so long.",
    details: "Needs `DATABASE_URL` or `MEMORY_STORE_PATH`: without a file the memory store keeps the last changes of "
      + "the process alone. See [Changes](changes.md#retention).")
  let features = FeatureSettings()
  package let migrationsPath = Setting.Key(
    "MIGRATIONS_PATH", .folder, affects: .operation, default: .described("those of the program"),
    "Folder of migrations of your own, instead of those that are part of the program.",
    details: "Needs `DATABASE_URL`.")
}

struct SearchSettings: SettingGroup {
  let title = "Search by name"

  let nameTags = Setting.Key(
    "SEARCH_NAME_TAGS", .list("keys"), affects: .responses,
    default: .described("`\(TextIndexConfiguration.defaultNameTags.joined(separator: ","))`"),
    "Tags whose values are names too, separated by commas; name:* is every key that begins with name:.",
    details: "See [Search by name](search.md).")
}

struct FilterSettings: SettingGroup {
  let title = "Filters and features"

  let queryables = Setting.Key(
    "QUERYABLES", .file, affects: .responses, default: .described("none: the values of all tags are strings"),
    "JSON file of the types and indexes of tags in filters, read at the start.",
    details: "See [Filters](filters.md#types-of-tags).")
  let categories = Setting.Key(
    "CATEGORIES_FILE", .file, affects: .responses, default: .described("none: the built-in categories"),
    "YAML file of a tree of categories that replaces or extends the built-in one, read at the start.",
    details: "See [Categories](categories.md#a-tree-of-your-own).")
  let timeout = Setting.Key(
    "FILTER_TIMEOUT_MS", .milliseconds(1...60_000), affects: .responses, default: "1000",
    "Longest time that a search with a filter, an area, a route or a long query, and other computations beside the"
      + " event loop may wait and take; then 503.",
    details: "See [Long computations](operations.md#long-computations).")
  let features = FeatureSettings()
}

struct MapSettings: SettingGroup {
  let title = "Maps"

  let features = FeatureSettings()
}

package struct PostgresSettings: SettingGroup {
  package let title = "PostgreSQL"

  package let url = Setting.Key(
    "DATABASE_URL", .text("conninfo"), affects: .operation,
    "libpq URI or connection string; several hosts and `target_session_attrs` work as in libpq.",
    details: "In a user name or password of a URI, `/`, `@` and other reserved characters are percent-encoded: `%2F`, "
      + "`%40`. With the string of a standby, the instance reads only: see [A standby](operations.md#a-standby).",
    isSecret: true)
  let poolSize = Setting.Key(
    "DATABASE_POOL_SIZE", .integer(2...1000), affects: .operation, default: "12",
    "Maximum number of connections to the database, besides up to two of the index (`POINT_INDEX`).",
    details: "Exports and imports may have two each of them, of less than eight one each, of two one together; "
      + "`ANALYTICS=postgres` has one. The rest, eight by default, is for requests. 32 more exports wait for "
      + "`REQUEST_DEADLINE_MS`; then, or beyond them, 503 `overloaded`. At least 3 with `ANALYTICS=postgres`. See "
      + "[Connections to PostgreSQL](operations.md#connections-to-postgresql).")
  let preparedStatements = Setting.Key(
    "DATABASE_PREPARED_STATEMENTS", .choice(of: PostgresConfiguration.PreparedStatements.self), affects: .operation,
    default: "auto",
    "Use of prepared statements; auto prepares them unless a pooler such as PgBouncer stands between.",
    details: "`on` is for a pooler that keeps prepared statements. `off` is for a transaction pooler that `auto` "
      + "does not recognise; nothing then lasts from one transaction to the next. See "
      + "[Connection poolers](operations.md#connection-poolers).")
  let statementTimeout = Setting.Key(
    "DATABASE_STATEMENT_TIMEOUT_MS", .timeout, affects: .operation, default: "5000",
    "Timeout of a statement; then 504.")
  let requestDeadline = Setting.Key(
    "REQUEST_DEADLINE_MS", .timeout, affects: .operation, default: "2000",
    "Longest wait of a request for a connection to the database, or for the index; then 503.",
    details: "A request whose estimated wait for a connection is longer is rejected at once.")
  let index = Setting.Key(
    "POINT_INDEX", .choice(of: IndexConfiguration.Use.self), affects: .operation, default: "auto",
    "Keep all places of the database in memory too and read from there; auto does so if they fit.",
    details:
      "The index follows the database; see [Consistency](consistency.md). `auto` estimates its size from a sample "
      + "of the places when it is built, and uses it if it needs at most three eighths of the memory that the "
      + "process may use, or a quarter with `READ_STALE_S`; with `INDEX_PATH`, what searches always read needs to be "
      + "that small. The index has up to two connections beside those of `DATABASE_POOL_SIZE`; with `off` there is one "
      + "while clients wait for changes.")
  let consistency = Setting.Key(
    "READ_CONSISTENCY", .choice(of: IndexConfiguration.Consistency.self), affects: .operation, default: "strict",
    "Consistency of reads from the index: strict or bounded.",
    details: "`strict`: a response contains every write that was committed before its request arrived. `bounded`: "
      + "every write that was committed more than `READ_MAX_STALENESS_MS` before.")
  let maximumStaleness = Setting.Key(
    "READ_MAX_STALENESS_MS", .timeout, affects: .operation, default: "1000",
    "Maximum staleness of reads with READ_CONSISTENCY=bounded.")
  let staleLifetime = Setting.Key(
    "READ_STALE_S", .integer(0...86_400), affects: .operation,
    default: .described("`0`, or `60` with `READ_CONSISTENCY=bounded`"),
    "Seconds for which reads that can't be current are answered from the last confirmed state of the index.",
    details: "While the database is unavailable, and for reads that only the index can answer while it catches up "
      + "or is built again. Such responses have an `Age` (RFC 9111): the seconds since the index was last known to "
      + "be current. A rebuild then holds the former index in memory too.")
  let readinessLimit = Setting.Key(
    "READY_INDEX_WAIT_S", .integer(0...86_400), affects: .operation, default: "300",
    "Longest time at a start, in seconds, for which /health/ready is 503 until index and areas are in memory.",
    details: "With `POINT_INDEX=off` until the areas are.")
}

struct AccessSettings: SettingGroup {
  let title = "Access"

  let keysFile = Setting.Key(
    "API_KEYS_FILE", .file, affects: .operation,
    "File of the API keys, one `name:scope:sha256` per line; read again at SIGHUP.")
  let features = FeatureSettings()
  let readRequiresKey = Setting.Key(
    "READ_REQUIRES_KEY", .boolean, affects: .operation, default: "false",
    "Require an API key or a token for reading too.")
  let requiresIfMatch = Setting.Key(
    "REQUIRE_IF_MATCH", .boolean, affects: .operation, default: "false",
    "Require a condition such as If-Match for PUT, PATCH and DELETE; else 428.")
}

struct ResponseSettings: SettingGroup {
  let title = "Responses"

  let origins = Setting.Key(
    "CORS_ALLOWED_ORIGINS", .list("origins"), affects: .operation, default: "*",
    "Origins that browsers may call from, separated by commas, such as https://example.com; * is all.",
    details: "An origin has no path.")
  let cacheControl = Setting.Key(
    "CACHE_CONTROL", .text("directives"), affects: .operation, default: "no-cache",
    "Cache-Control of lists, categories, checks and single places; no-store turns entity tags of lists off too.",
    details: "For example `max-age=5, stale-if-error=60`. The featured place keeps the `max-age` of its interval.")
}

struct ObservabilitySettings: SettingGroup {
  let title = "Logs and analytics"

  let level = Setting.Key(
    "LOG_LEVEL", .choice(of: Logger.Level.self), affects: .operation, default: "info",
    "Minimum level that is logged.",
    details: "With `debug` or `trace`, responses have `Server-Timing`: the milliseconds that the store and the whole "
      + "request took.")
  let format = Setting.Key(
    "LOG_FORMAT", .choice(of: LineLogHandler.Format.self), affects: .operation,
    default: .described("`text` on a terminal, else `json`"),
    "Format of log lines.")
  let accessLog = Setting.Key(
    "ACCESS_LOG", .boolean, affects: .operation, default: "false", "Log each request at level info.",
    details: "See [Monitoring](operations.md#monitoring).")
  let analytics = Setting.Key(
    "ANALYTICS", .choice(of: ServeConfiguration.AnalyticsKind.self), affects: .operation, default: "log",
    "Analytics of searches: log summarises them once a minute, postgres keeps them in a table.",
    details: "`log` rounds coordinates to a hundredth of a degree. `postgres` needs `POINT_STORE=postgres`.")
  let analyticsRetention = Setting.Key(
    "ANALYTICS_RETENTION_DAYS", .integer(1...36_500), affects: .operation, default: "90",
    "Days for which ANALYTICS=postgres keeps a search.")
  let searchTexts = Setting.Key(
    "ANALYTICS_SEARCH_TEXTS", .boolean, affects: .operation, default: "false",
    "Record the texts of searches that found nothing, and report those that at least five searches were for.",
    details: "With `ANALYTICS=postgres` each such text is stored, also that of a single search, for "
      + "`ANALYTICS_RETENTION_DAYS`; with `log` none is, and the summary of a minute has those of at least five "
      + "searches of that minute. Texts are normalised, and may contain what identifies people. See "
      + "[Texts that found nothing](search.md#texts-that-found-nothing).")
}

struct ShutdownSettings: SettingGroup {
  let title = "Shutdown"

  let timeout = Setting.Key(
    "DRAIN_TIMEOUT_MS", .timeout, affects: .operation, default: "8000",
    "Grace period of current requests at shutdown, and of clients that are still receiving responses.")
  let delay = Setting.Key(
    "DRAIN_DELAY_MS", .milliseconds(0...3_600_000), affects: .operation, default: "0",
    "Time at shutdown in which the server still accepts connections while /health/ready is 503.",
    details: "As long as load balancers take to notice. Not needed if a `preStop` pause does the same, as in "
      + "`deploy/kubernetes`; `terminationGracePeriodSeconds` must exceed both and `DRAIN_TIMEOUT_MS` together.")
}

struct LimitSettings: SettingGroup {
  let title = "Limits"

  let threads = Setting.Key(
    "HTTP_THREADS", .integer(0...1024), affects: .operation, default: "0",
    "Threads that serve connections; 0 is one per core.")
  let bodyBytes = Setting.Key(
    "HTTP_MAX_BODY_BYTES", .integer(0...1 << 40), affects: .operation, default: "1048576",
    "Maximum size of a request body; then 413.")
  let features = FeatureSettings()
  let connections = Setting.Key(
    "HTTP_MAX_CONNECTIONS", .integer(1...1_000_000), affects: .operation, default: "10000",
    "Maximum number of open connections, and of current requests on all of them; then 503.")
  let bufferedBytes = Setting.Key(
    "HTTP_MAX_BUFFERED_BYTES", .integer(16 << 20...1 << 40), affects: .operation,
    default: .described("a quarter of the memory"),
    "Maximum number of bytes of responses that are buffered for slow clients, on all connections together.",
    details: "The memory is the container's limit (cgroup v2 `memory.max`, v1 `memory.limit_in_bytes`), else the "
      + "machine's; the default is at least 16 MiB. See [Memory](operations.md#memory).")
  let readTimeout = Setting.Key(
    "HTTP_READ_TIMEOUT_MS", .timeout, affects: .operation, default: "20000",
    "Longest pause in a request body, and twice the time that a header section may take to arrive; then 408.")
  let writeTimeout = Setting.Key(
    "HTTP_WRITE_TIMEOUT_MS", .timeout, affects: .operation, default: "20000",
    "Period in which a client must acknowledge 1 KiB of its response; else its connection is closed.",
    details: "Each 10 KiB that it has acknowledged allow it another second of silence, up to five periods: systems "
      + "with large receive buffers acknowledge in steps, an 8 MiB buffer in steps of 0.8 MB. So any client that "
      + "reads 1 KiB in each period from a small buffer is served to the end, and so is one that reads 10 KiB/s from "
      + "a buffer of up to 8 MiB; larger buffers need a rate of a tenth of the buffer in five periods.")
  let requestsPerSecond = Setting.Key(
    "RATE_LIMIT_RPS", .numberOrZero(0.001...1_000_000), affects: .operation, default: "0",
    "Requests per second that a client may make in the long run; 0 is no limit.",
    details: "At once it may make those of two seconds, at least 10.")
}

struct TestingSettings: SettingGroup {
  let title = "Testing"

  let isUnitTesting = Setting.Key(
    "IS_UNIT_TESTING", .boolean, affects: .operation, default: "false",
    "Open neither a socket nor a database nor analytics.",
    details: "`waymark serve` builds the rest, logs what it skipped and exits.")
}
