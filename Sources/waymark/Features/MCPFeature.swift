import CoreMetrics
import HTTPServer
import LocationsAPI
import Logging
import MCP

/// The tools of assistants.
struct MCPFeature: ServerFeature {
  static let settings: [Setting] = []

  /// The pages of other origins that may call them.
  private let cors: CORSPolicy

  init(_ settings: Settings) throws(ConfigurationError) { cors = try CORSPolicy(settings) }

  func add(
    to api: inout LocationsAPI.Configuration, store: RunningStore, metrics: any MetricsFactory, logger: Logger
  ) -> FeatureParts {
    FeatureParts { [cors] api in MCPCalls(api, cors: cors).endpoints }
  }
}
