import Points

/// The configuration of searches for places by name.
struct SearchConfiguration: Hashable {
  /// The fields of places that texts are searched in.
  let textIndex: TextIndexConfiguration

  /// The number of searches for a text from which on analytics report it; `nil` where texts are not recorded.
  let minimumTextCount: Int?

  /// A text that fewer search for may identify one of them.
  private static let minimumTextCount = 5

  /// Creates the configuration of the settings.
  ///
  /// - Throws: ``ConfigurationError``, also for a setting that would have no effect.
  init(_ settings: Settings, analytics: ServeConfiguration.AnalyticsKind) throws(ConfigurationError) {
    let names =
      settings[Setting.search.nameTags] == nil
      ? TextIndexConfiguration.defaultNameTags : settings.list(Setting.search.nameTags)
    let length = Tags.maximumKeyLength
    guard names.count <= 100, names.allSatisfy({ $0.unicodeScalars.count <= length && !$0.dropLast().contains("*") })
    else {
      throw settings.error(
        Setting.search.nameTags,
        "must be at most 100 keys of tags with commas between, with * at the end of a key alone")
    }
    let importance = settings[Setting.search.importanceTag]
    if let importance, importance.unicodeScalars.count > length || importance.contains("*") {
      throw settings.error(Setting.search.importanceTag, "must be the key of a tag")
    }
    textIndex = TextIndexConfiguration(nameTags: names, importanceTag: importance)
    let recordsTexts = try settings.boolean(Setting.observability.searchTexts)
    minimumTextCount = recordsTexts ? Self.minimumTextCount : nil
    if analytics == .off, recordsTexts {
      throw .conflict(Setting.observability.searchTexts, "needs ANALYTICS=log or ANALYTICS=postgres")
    }
    if settings[Setting.postgres.index]?.lowercased() == IndexConfiguration.Use.off.rawValue {
      let ofIndex = [
        Setting.search.nameTags.setting, Setting.search.importanceTag.setting,
        Setting.observability.searchTexts.setting,
      ]
      for setting in ofIndex where settings[setting] != nil {
        throw .conflict(setting, "is for searches in the index, but POINT_INDEX is off")
      }
    }
  }
}
