import Backup
import CoreMetrics
import LocationsAPI
import Logging

/// The call that copies the file of the memory store.
struct BackupFeature: ServerFeature {
  static let settings: [Setting] = []

  init(_ settings: Settings) {}

  func add(
    to api: inout LocationsAPI.Configuration, store: RunningStore, metrics: any MetricsFactory, logger: Logger
  ) -> FeatureParts {
    FeatureParts { [calls = BackupCalls(store.backup)] _ in calls.endpoints }
  }
}
