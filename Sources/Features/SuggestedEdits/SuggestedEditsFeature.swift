package import HTTPServer
import LocationsAPI
package import ServerFeatures

/// Suggested edits: their calls, and the removal of old ones.
package struct SuggestedEditsFeature: ServerFeature {
  private static let days = Setting.Key(
    "SUGGESTION_DAYS", .integer(1...365), affects: .operation, default: "30",
    "Days for which a suggested edit can be decided; then the data of its sender are erased.",
    details: "It is removed after as many more days. See [Suggested edits](suggestions.md#retention).")

  package static let settings = [days.setting]
  package static let scopes = [AccessScope.suggest]

  /// The time for which suggested edits can be decided.
  private let lifetime: Duration

  package init(_ settings: Settings) throws(ConfigurationError) {
    lifetime = .seconds(86_400 * (try settings.integer(Self.days)))
  }

  package func parts(of core: Core) -> FeatureParts {
    let suggestions = Suggestions(core.records)
    let pruning = Pruning(subject: "suggestions or their senders", retention: .zero, logger: core.logger) { now in
      try await suggestions.prune(at: now)
    }
    return FeatureParts(
      endpoints: { [lifetime] api in
        SuggestedEditCalls(api, suggestions: suggestions, lifetime: lifetime).endpoints
      },
      services: [pruning.service], messageSources: [suggestions.messages])
  }
}

extension AccessScope {
  /// Suggesting changes.
  package static let suggest = AccessScope("suggest", level: 10)
}
