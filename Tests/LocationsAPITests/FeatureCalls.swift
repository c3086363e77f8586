import AreasAPI
import Backup
import Changes
import Duplicates
import HTTPServer
import LocationsAPI
import MCP
import Maps
import OGC
import Pages
import Photon
import Points
import SuggestedEdits
import SearchAnalytics
import Webhooks

extension AccessScope {
  /// The scopes of a server with all features, in ascending order.
  static let all = (common + [.suggest]).sorted()
}

/// The calls of the features, with the parts that a test gives them.
struct FeatureCalls: Sendable {
  /// The pages of other origins that assistants may be on.
  var cors = CORSPolicy()
  var baseMap: BaseMap?

  /// The metrics of the last hour; without them there is no such call.
  var history: StatusHistory?
  var collections = PointCollections()
  var streams = ChangeStreams()

  /// The decisions on duplicates; without them there are no such calls.
  var decisions: DuplicateDecisions?

  /// The suggested edits; without them there are no such calls.
  var suggestions: Suggestions?
  var webhooks: WebhookSender?
  var messageSources: [MessageSource] = []
  var searches: (any SearchHistory)?
  var backup: BackupAction?

  /// Returns the calls, in the order in which the program joins them.
  func endpoints(_ api: LocationsAPI) -> [Endpoint] {
    var endpoints = MCPCalls(api, cors: cors).endpoints + MapCalls(api).endpoints
    endpoints +=
      PageCalls(api, baseMap: baseMap, history: history, hasSearches: searches != nil).endpoints
    endpoints += ChangeCalls(api, streams: streams).endpoints + AreasAPI(api).endpoints
    if let decisions { endpoints += DuplicateCalls(api, decisions: decisions).endpoints }
    if let suggestions { endpoints += SuggestedEditCalls(api, suggestions: suggestions).endpoints }
    endpoints += WebhookCalls(api, sender: webhooks, sources: messageSources).endpoints
    endpoints += SearchReportCalls(api, history: searches).endpoints + BackupCalls(backup).endpoints
    return endpoints + FeaturesAPI(api, collections: collections).endpoints + PhotonAPI(api).endpoints
  }
}
