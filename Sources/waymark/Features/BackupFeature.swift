import Backup
import LocationsAPI
import ServerFeatures

/// The call that copies the file of the memory store.
struct BackupFeature: ServerFeature {
  init(_ settings: Settings) {}

  func parts(of core: Core) -> FeatureParts {
    FeatureParts { [calls = BackupCalls(core.backup)] _ in calls.endpoints }
  }
}
