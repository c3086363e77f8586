import CoreMetrics
import LocationsAPI
import Logging
import Photon

/// The calls of Photon and Nominatim.
struct PhotonFeature: ServerFeature {
  static let settings: [Setting] = []

  init(_ settings: Settings) {}

  func add(
    to api: inout LocationsAPI.Configuration, store: RunningStore, metrics: any MetricsFactory, logger: Logger
  ) -> FeatureParts {
    FeatureParts { PhotonAPI($0).endpoints }
  }
}
