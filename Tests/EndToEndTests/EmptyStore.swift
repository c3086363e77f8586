import Foundation
import PostgresTestSupport
import Testing

/// The kind of store of a server.
enum StoreKind: String, CaseIterable, Sendable {
  /// In memory, with a file.
  case memory
  /// PostgreSQL.
  case postgres
}

/// An empty store that outlives the servers that use it.
struct EmptyStore: Sendable {
  /// A folder that exists as long as the store, also for other files.
  let folder: TemporaryFolder

  /// The settings that select the store.
  let environment: [String: String]

  init(_ kind: StoreKind) async throws {
    folder = try TemporaryFolder()
    switch kind {
    case .memory:
      let nothing = try folder.write("", to: "nothing.ndjson")
      environment = ["DATA_FILE": nothing, "MEMORY_STORE_PATH": folder.path(of: "places.db")]
    case .postgres:
      // A command connects as late as the machine lets it, not within the usual five seconds.
      environment = ["DATABASE_URL": try await TemporaryDatabase.make().url + "?connect_timeout=120"]
      try #require(try await WaymarkProcess.run(["migrate"], environment: environment).status == 0)
    }
  }

  /// Starts a server on the store; only one may run at a time.
  func serve(_ settings: [String: String] = [:]) async throws -> WaymarkProcess {
    try await WaymarkProcess(["serve", "--http-port", "0"], environment: environment.merging(settings) { $1 })
  }
}
