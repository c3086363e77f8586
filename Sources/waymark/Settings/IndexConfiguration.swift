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
    use = try settings.choice(\.postgres.pointIndex)
    let consistency = try settings.choice(\.postgres.readConsistency)
    let maximumAge = try settings.milliseconds(\.postgres.readMaxStalenessMS)
    if consistency == .strict, settings[\.postgres.readMaxStalenessMS] != nil {
      throw .conflict(\.postgres.readMaxStalenessMS, "needs READ_CONSISTENCY=bounded")
    }
    let staleLifetime = try settings.integer(\.postgres.readStaleS)
    readinessLimit = .seconds(try settings.integer(\.postgres.readyIndexWaitS))
    if use == .off {
      let ofIndex = [
        Setting.of(\.postgres.readConsistency), .of(\.postgres.readStaleS), .of(\.postgres.readyIndexWaitS),
      ]
      for setting in ofIndex where settings[setting] != nil {
        throw .conflict(setting, "is for the index, but POINT_INDEX is off")
      }
    }
    freshness = ReadFreshness(
      consistency == .strict ? .strict : .bounded(maximumAge: maximumAge),
      staleLifetime: .seconds(staleLifetime))
  }
}
