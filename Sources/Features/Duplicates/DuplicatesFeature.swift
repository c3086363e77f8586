import LocationsAPI
package import ServerFeatures

/// The calls of pairs of places that are likely the same.
package struct DuplicatesFeature: ServerFeature {
  package init(_ settings: Settings) {}

  package func parts(of core: Core) -> FeatureParts {
    FeatureParts { [decisions = DuplicateDecisions(core.records)] api in
      DuplicateCalls(api, decisions: decisions).endpoints
    }
  }
}
