import Duplicates
import LocationsAPI
import ServerFeatures

/// The calls of pairs of places that are likely the same.
struct DuplicatesFeature: ServerFeature {
  init(_ settings: Settings) {}

  func parts(of core: Core) -> FeatureParts {
    FeatureParts { [decisions = DuplicateDecisions(core.records)] api in
      DuplicateCalls(api, decisions: decisions).endpoints
    }
  }
}
