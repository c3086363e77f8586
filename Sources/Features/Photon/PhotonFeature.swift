import LocationsAPI
package import ServerFeatures

/// The calls of Photon and Nominatim.
package struct PhotonFeature: ServerFeature {
  package init(_ settings: Settings) {}

  package func parts(of core: Core) -> FeatureParts {
    FeatureParts { PhotonAPI($0).endpoints }
  }
}
