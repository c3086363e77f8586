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
      settings["SEARCH_NAME_TAGS"] == nil ? TextIndexConfiguration.defaultNameTags : settings.list("SEARCH_NAME_TAGS")
    let length = Tags.maximumKeyLength
    guard names.count <= 100, names.allSatisfy({ $0.unicodeScalars.count <= length && !$0.dropLast().contains("*") })
    else {
      throw settings.error(
        "SEARCH_NAME_TAGS", "must be at most 100 keys of tags with commas between, with * at the end of a key alone")
    }
    let importance = settings["SEARCH_IMPORTANCE_TAG"]
    if let importance, importance.unicodeScalars.count > length || importance.contains("*") {
      throw settings.error("SEARCH_IMPORTANCE_TAG", "must be the key of a tag")
    }
    textIndex = TextIndexConfiguration(nameTags: names, importanceTag: importance)
    hasPhoton = try settings.choice("PHOTON_API", as: Switch.self) == .on
    let recordsTexts = try settings.boolean("ANALYTICS_SEARCH_TEXTS")
    let minimum = try settings.integer("ANALYTICS_SEARCH_TEXT_MINIMUM")
    minimumTextCount = recordsTexts ? minimum : nil
    if analytics == .off, recordsTexts {
      throw .conflict("ANALYTICS_SEARCH_TEXTS", "needs ANALYTICS=log or ANALYTICS=postgres")
    }
    if !recordsTexts, settings["ANALYTICS_SEARCH_TEXT_MINIMUM"] != nil {
      throw .conflict("ANALYTICS_SEARCH_TEXT_MINIMUM", "needs ANALYTICS_SEARCH_TEXTS=true")
    }
    if settings["POINT_INDEX"]?.lowercased() == IndexConfiguration.Use.off.rawValue {
      for name in ["SEARCH_NAME_TAGS", "SEARCH_IMPORTANCE_TAG", "ANALYTICS_SEARCH_TEXTS"] where settings[name] != nil {
        throw .conflict(name, "is for searches in the index, but POINT_INDEX is off")
      }
    }
  }
}
