import AreasAPI
import Backup
import Changes
import Duplicates
import Edits
import MCP
import Maps
import OGC
import Pages
import Photon
import SearchAnalytics
import ServerFeatures
import SuggestedEdits
import Tokens
import Webhooks

/// The features that the server can do without, in the order of the documentation. Those that offer what messages tell
/// come before those that send messages, and pages before others in HTML.
enum Features {
  static let all: [any ServerFeature.Type] = [
    MCPFeature.self, MapsFeature.self, PagesFeature.self,
    ChangesFeature.self, AreasFeature.self, DuplicatesFeature.self, EditsFeature.self, SuggestedEditsFeature.self,
    WebhookFeature.self, SearchAnalyticsFeature.self, BackupFeature.self, OGCFeature.self, PhotonFeature.self,
    TokensFeature.self,
  ]
}
