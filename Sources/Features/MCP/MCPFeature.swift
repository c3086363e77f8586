import LocationsAPI
package import ServerFeatures

/// The tools of assistants.
package struct MCPFeature: ServerFeature {
  package init(_ settings: Settings) {}

  package func parts(of core: Core) -> FeatureParts {
    FeatureParts { [cors = core.cors] api in MCPCalls(api, cors: cors).endpoints }
  }
}
