import IndexedStore

/// The use of an index in memory of the places in PostgreSQL.
struct IndexConfiguration: Hashable {
  /// The values of `POINT_INDEX`.
  enum Use: String, CaseIterable {
    case auto
    case on
    case off
  }

  /// The values of `READ_CONSISTENCY`.
  enum Consistency: String, CaseIterable {
    case strict
    case bounded
  }

  let use: Use
  let freshness: ReadFreshness

  /// The longest time at a start for which the server is not ready because the index is not complete.
  let readinessLimit: Duration

  /// Creates the configuration of the settings.
  ///
  /// - Throws: ``ConfigurationError``, also for a setting that would have no effect.
  init(_ settings: Settings) throws(ConfigurationError) {
    use = try settings.choice("POINT_INDEX")
    let consistency = try settings.choice("READ_CONSISTENCY", as: Consistency.self)
    let maximumAge = try settings.milliseconds("READ_MAX_STALENESS_MS")
    if consistency == .strict, settings["READ_MAX_STALENESS_MS"] != nil {
      throw .conflict("READ_MAX_STALENESS_MS", "needs READ_CONSISTENCY=bounded")
    }
    let staleLifetime = try settings.integer("READ_STALE_S")
    readinessLimit = .seconds(try settings.integer("READY_INDEX_WAIT_S"))
    if use == .off {
      for name in ["READ_CONSISTENCY", "READ_STALE_S", "READY_INDEX_WAIT_S"] where settings[name] != nil {
        throw .conflict(name, "is for the index, but POINT_INDEX is off")
      }
    }
    freshness = ReadFreshness(
      consistency == .strict ? .strict : .bounded(maximumAge: maximumAge),
      staleLifetime: .seconds(staleLifetime))
  }
}
