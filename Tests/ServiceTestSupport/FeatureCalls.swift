import AreasAPI
import Backup
package import Changes
package import Duplicates
import Edits
package import HTTPServer
package import LocationsAPI
import MCP
package import ManagementAPI
import Maps
package import OGC
package import Pages
import Photon
package import Points
import SearchAnalytics
package import SuggestedEdits
package import Webhooks

extension AccessScope {
  /// The scopes of a server with all features, in ascending order.
  package static let all = (common + [.suggest]).sorted()
}

/// The calls beside those that find places: of management and of the features, with the parts that a test gives them.
package struct FeatureCalls: Sendable {
  package var importMemory = ImportMemory()

  /// The source of `GET /metrics`; without it there is no such call.
  package var metrics: (any MetricsSource)?

  /// The pages of other origins that assistants may be on.
  package var cors = CORSPolicy()
  package var baseMap: BaseMap?

  /// The metrics of the last hour; without them there is no such call.
  package var history: StatusHistory?
  package var collections = PointCollections()
  package var streams = ChangeStreams()

  /// The decisions on duplicates; without them there are no such calls.
  package var decisions: DuplicateDecisions?

  /// The suggested edits; without them there are no such calls.
  package var suggestions: Suggestions?
  package var webhooks: WebhookSender?
  package var messageSources: [MessageSource] = []
  package var searches: (any SearchHistory)?
  package var backup: BackupAction?

  package init(
    importMemory: ImportMemory = ImportMemory(), metrics: (any MetricsSource)? = nil, cors: CORSPolicy = CORSPolicy(),
    baseMap: BaseMap? = nil, history: StatusHistory? = nil, collections: PointCollections = PointCollections(),
    streams: ChangeStreams = ChangeStreams(), decisions: DuplicateDecisions? = nil, suggestions: Suggestions? = nil,
    webhooks: WebhookSender? = nil, messageSources: [MessageSource] = [], searches: (any SearchHistory)? = nil,
    backup: BackupAction? = nil
  ) {
    self.importMemory = importMemory
    self.metrics = metrics
    self.cors = cors
    self.baseMap = baseMap
    self.history = history
    self.collections = collections
    self.streams = streams
    self.decisions = decisions
    self.suggestions = suggestions
    self.webhooks = webhooks
    self.messageSources = messageSources
    self.searches = searches
    self.backup = backup
  }

  /// Returns the calls, in the order in which the program joins them.
  package func endpoints(_ api: LocationsAPI) -> [Endpoint] {
    var endpoints = ManagementAPI(api, importMemory: importMemory, metrics: metrics).endpoints
    endpoints += MCPCalls(api, cors: cors).endpoints + MapCalls(api).endpoints
    endpoints +=
      PageCalls(api, baseMap: baseMap, history: history, hasSearches: searches != nil).endpoints
    endpoints += ChangeCalls(api, streams: streams).endpoints + AreasAPI(api, importMemory: importMemory).endpoints
    if let decisions { endpoints += DuplicateCalls(api, decisions: decisions).endpoints }
    endpoints += EditCalls(api).endpoints
    if let suggestions { endpoints += SuggestedEditCalls(api, suggestions: suggestions).endpoints }
    endpoints += WebhookCalls(api, sender: webhooks, sources: messageSources).endpoints
    endpoints += SearchReportCalls(api, history: searches).endpoints + BackupCalls(backup).endpoints
    return endpoints + FeaturesAPI(api, collections: collections).endpoints + PhotonAPI(api).endpoints
  }
}
