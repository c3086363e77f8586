import AreasAPI
import LocationsAPI
import ServerFeatures

/// The calls of named areas.
struct AreasFeature: ServerFeature {
  init(_ settings: Settings) {}

  func parts(of core: Core) -> FeatureParts {
    FeatureParts { AreasAPI($0).endpoints }
  }
}
