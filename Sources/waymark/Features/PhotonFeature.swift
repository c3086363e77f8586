import LocationsAPI
import ServerFeatures

/// The calls of Photon and Nominatim.
struct PhotonFeature: ServerFeature {
  init(_ settings: Settings) {}

  func add(to api: inout LocationsAPI.Configuration, of core: Core) -> FeatureParts {
    FeatureParts { PhotonAPI($0).endpoints }
  }
}
