/// The shares of the connections to one database: those of requests, of exports and imports, and of the log of searches.
/// Together they are never more than `DATABASE_POOL_SIZE`.
struct ConnectionShares: Hashable {
  /// The maximum number of connections.
  let total: Int

  /// The connections of requests.
  let requests: Int

  /// The maximum number of connections of exports.
  let exports: Int

  /// The maximum number of connections of imports.
  let imports: Int

  /// The maximum number of connections of exports and imports together.
  let bulk: Int

  private static let totalName = "DATABASE_POOL_SIZE"
  private static let exportsName = "DATABASE_EXPORT_CONNECTIONS"
  private static let importsName = "DATABASE_IMPORT_CONNECTIONS"

  /// Reads the settings. Where they say nothing of exports and imports, these have two connections each, of less than
  /// eight one each, and of two one together.
  ///
  /// - Parameter keepsSearches: whether the log of searches has a connection.
  /// - Throws: ``ConfigurationError``, also where no connection would be left for requests.
  init(_ settings: Settings, keepsSearches: Bool) throws(ConfigurationError) {
    let log = keepsSearches ? 1 : 0
    total = try settings.integer(Self.totalName, in: log + 2...1000, default: 12)
    // One at least is left for requests.
    let room = total - log - 1
    let usual = min(2, max(1, (room + 1) / 4))
    exports = try settings.integer(Self.exportsName, in: 1...room, default: usual)
    imports = try settings.integer(Self.importsName, in: 1...room, default: min(usual, max(1, room - exports)))
    let areGiven = settings[Self.exportsName] != nil && settings[Self.importsName] != nil
    guard !areGiven || exports + imports <= room else {
      throw .init(
        variable: Self.importsName, value: String(imports),
        expectation: """
          must be at most \(room) together with \(Self.exportsName)=\(exports), as \(Self.totalName) is \(total)
          """)
    }
    bulk = min(exports + imports, room)
    requests = room + 1 - bulk
  }
}
