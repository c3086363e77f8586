import Points

/// The configuration of searches for places by name.
struct SearchConfiguration: Hashable {
  /// The fields of places that texts are searched in.
  let textIndex: TextIndexConfiguration

  /// A Boolean value that indicates whether there are the calls of Photon's API.
  let hasPhoton: Bool

  /// The number of searches for a text from which on analytics report it; `nil` where texts are not recorded.
  let minimumTextCount: Int?

  /// The values of `PHOTON_API`.
  enum Switch: String, CaseIterable {
    case on
    case off
  }

  /// Creates the configuration of the settings.
  ///
  /// - Throws: ``ConfigurationError``, also for a setting that would have no effect.
  init(_ settings: Settings, analytics: ServeConfiguration.AnalyticsKind) throws(ConfigurationError) {
    let names =
      settings[\.search.searchNameTags] == nil
      ? TextIndexConfiguration.defaultNameTags : settings.list(\.search.searchNameTags)
    let length = Tags.maximumKeyLength
    guard names.count <= 100, names.allSatisfy({ $0.unicodeScalars.count <= length && !$0.dropLast().contains("*") })
    else {
      throw settings.error(
        \.search.searchNameTags,
        "must be at most 100 keys of tags with commas between, with * at the end of a key alone")
    }
    let importance = settings[\.search.searchImportanceTag]
    if let importance, importance.unicodeScalars.count > length || importance.contains("*") {
      throw settings.error(\.search.searchImportanceTag, "must be the key of a tag")
    }
    textIndex = TextIndexConfiguration(nameTags: names, importanceTag: importance)
    hasPhoton = try settings.choice(\.search.photonAPI) == .on
    let recordsTexts = try settings.boolean(\.observability.analyticsSearchTexts)
    let minimum = try settings.integer(\.observability.analyticsSearchTextMinimum)
    minimumTextCount = recordsTexts ? minimum : nil
    if analytics == .off, recordsTexts {
      throw .conflict(\.observability.analyticsSearchTexts, "needs ANALYTICS=log or ANALYTICS=postgres")
    }
    if !recordsTexts, settings[\.observability.analyticsSearchTextMinimum] != nil {
      throw .conflict(\.observability.analyticsSearchTextMinimum, "needs ANALYTICS_SEARCH_TEXTS=true")
    }
    if settings[\.postgres.pointIndex]?.lowercased() == IndexConfiguration.Use.off.rawValue {
      let ofTexts = [
        Setting.of(\.search.searchNameTags), .of(\.search.searchImportanceTag),
        .of(\.observability.analyticsSearchTexts),
      ]
      for setting in ofTexts where settings[setting] != nil {
        throw .conflict(setting, "is for searches in the index, but POINT_INDEX is off")
      }
    }
  }
}
