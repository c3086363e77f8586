import LocationsAPI
package import ServerFeatures

/// The calls of named areas.
package struct AreasFeature: ServerFeature {
  package init(_ settings: Settings) {}

  package func parts(of core: Core) -> FeatureParts {
    FeatureParts { AreasAPI($0, importMemory: core.importMemory).endpoints }
  }
}
