import LocationsAPI
package import ServerFeatures

/// The calls by which maps show places.
package struct MapsFeature: ServerFeature {
  package init(_ settings: Settings) {}

  package func parts(of core: Core) -> FeatureParts {
    FeatureParts { MapCalls($0).endpoints }
  }
}
