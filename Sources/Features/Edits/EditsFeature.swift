import LocationsAPI
package import ServerFeatures

/// The calls of the edits that imports keep.
package struct EditsFeature: ServerFeature {
  package init(_ settings: Settings) {}

  package func parts(of core: Core) -> FeatureParts {
    FeatureParts { EditCalls($0).endpoints }
  }
}
