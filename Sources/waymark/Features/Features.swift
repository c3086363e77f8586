import AreasAPI
import Backup
import Changes
import Duplicates
import SearchAnalytics
import ServerFeatures
import SuggestedEdits

/// The features that the server can do without, in the order of the documentation.
enum Features {
  static let all: [any ServerFeature.Type] = [
    ChangesFeature.self, AreasFeature.self, DuplicatesFeature.self, SuggestedEditsFeature.self, WebhookFeature.self,
    SearchAnalyticsFeature.self, BackupFeature.self, OGCFeature.self, PhotonFeature.self,
  ]
}
