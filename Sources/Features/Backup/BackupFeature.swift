import LocationsAPI
package import ServerFeatures

/// The call that copies the file of the memory store.
package struct BackupFeature: ServerFeature {
  package init(_ settings: Settings) {}

  package func parts(of core: Core) -> FeatureParts {
    FeatureParts { [calls = BackupCalls(core.backup)] _ in calls.endpoints }
  }
}
