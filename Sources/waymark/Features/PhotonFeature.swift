import LocationsAPI
import Photon
import ServerFeatures

/// The calls of Photon and Nominatim.
struct PhotonFeature: ServerFeature {
  init(_ settings: Settings) {}

  func parts(of core: Core) -> FeatureParts {
    FeatureParts { PhotonAPI($0).endpoints }
  }
}
