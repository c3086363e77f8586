import AreasAPI
import Backup
import Changes
import Duplicates
import LocationsAPI
import Points
import SuggestedEdits
import SearchAnalytics
import Webhooks

/// The calls of the features, with the parts that a test gives them.
struct FeatureCalls: Sendable {
  var collections = PointCollections()
  var streams = ChangeStreams()

  /// The decisions on duplicates; without them there are no such calls.
  var decisions: DuplicateDecisions?

  /// The suggested edits; without them there are no such calls.
  var suggestions: Suggestions?
  var webhooks: WebhookSender?
  var searches: (any SearchHistory)?
  var backup: BackupAction?

  /// Returns the calls, in the order in which the program joins them.
  func endpoints(_ api: LocationsAPI) -> [Endpoint] {
    var endpoints = ChangeCalls(api, streams: streams).endpoints + AreasAPI(api).endpoints
    if let decisions { endpoints += DuplicateCalls(api, decisions: decisions).endpoints }
    if let suggestions { endpoints += SuggestedEditCalls(api, suggestions: suggestions).endpoints }
    endpoints += WebhookCalls(api, sender: webhooks).endpoints
    endpoints += SearchReportCalls(api, history: searches).endpoints + BackupCalls(backup).endpoints
    return endpoints + FeaturesAPI(api, collections: collections).endpoints + PhotonAPI(api).endpoints
  }
}
