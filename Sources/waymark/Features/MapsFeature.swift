import LocationsAPI
import Maps
import ServerFeatures

/// The calls by which maps show places.
struct MapsFeature: ServerFeature {
  init(_ settings: Settings) {}

  func parts(of core: Core) -> FeatureParts {
    FeatureParts { MapCalls($0).endpoints }
  }
}
