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
    let postgres = Setting.postgres
    use = try settings.choice(Setting.postgres.index)
    let consistency = try settings.choice(Setting.postgres.consistency)
    let maximumAge = try settings.duration(Setting.postgres.maximumStaleness)
    if consistency == .strict, settings[Setting.postgres.maximumStaleness] != nil {
      throw .conflict(Setting.postgres.maximumStaleness, "needs READ_CONSISTENCY=bounded")
    }
    let staleLifetime = try settings.integer(Setting.postgres.staleLifetime)
    readinessLimit = .seconds(try settings.integer(Setting.postgres.readinessLimit))
    if use == .off {
      let ofIndex = [postgres.consistency.setting, postgres.staleLifetime.setting, postgres.readinessLimit.setting]
      for setting in ofIndex where settings[setting] != nil {
        throw .conflict(setting, "is for the index, but POINT_INDEX is off")
      }
    }
    freshness = ReadFreshness(
      consistency == .strict ? .strict : .bounded(maximumAge: maximumAge),
      staleLifetime: .seconds(staleLifetime))
  }
}
