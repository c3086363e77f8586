import HTTPServer
import Hosting
import LocationsAPI
import MCP
import ServerFeatures

/// The tools of assistants.
struct MCPFeature: ServerFeature {
  /// The pages of other origins that may call them.
  private let cors: CORSPolicy

  init(_ settings: Settings) throws(ConfigurationError) { cors = try CORSPolicy(settings) }

  func parts(of core: Core) -> FeatureParts {
    FeatureParts { [cors] api in MCPCalls(api, cors: cors).endpoints }
  }
}
