import Foundation
import TestSupport
import Testing

/// Where a server keeps its places.
enum StoreKind: String, CaseIterable, Sendable {
  /// In memory, and in a file.
  case memory
  /// In a database.
  case postgres
}

/// A store without places that outlives the servers that are run on it.
struct EmptyStore: Sendable {
  /// A folder that lives as long as the store, for other files too.
  let folder: TemporaryFolder

  /// The settings that name it.
  let environment: [String: String]

  /// Creates the store.
  init(_ kind: StoreKind) async throws {
    folder = try TemporaryFolder()
    switch kind {
    case .memory:
      let nothing = try folder.write("", to: "nothing.ndjson")
      environment = ["DATA_FILE": nothing, "MEMORY_STORE_PATH": folder.path(of: "places.db")]
    case .postgres:
      environment = ["DATABASE_URL": try await TemporaryDatabase.make().url]
      try #require(try await WaymarkProcess.run(["migrate"], environment: environment).status == 0)
    }
  }

  /// Starts a server on it; one at a time.
  func serve(_ settings: [String: String] = [:]) async throws -> WaymarkProcess {
    try await WaymarkProcess(["serve", "--http-port", "0"], environment: environment.merging(settings) { $1 })
  }
}
