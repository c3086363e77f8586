import IndexedStore
import Points
import PostgresStore
import PostgresTestSupport
import Testing

/// Indexes of databases whose tables were copied from another one, with the numbers of its transactions.
@Suite(.serialized) struct CopiedDatabaseTests {
  private static let everywhere = PointQuery(limit: 1000)

  private func names(_ store: IndexedStore) async throws -> [String] {
    try await store.page(matching: Self.everywhere).points.map(\.point.draft.name).sorted()
  }

  /// Returns a database with a place, and with a log that has entries and deletions of entries by transactions with
  /// great numbers.
  private func agedDatabase() async throws -> TemporaryDatabase {
    let database = try await TemporaryServer.start().makeDatabase()
    await (try await database.migratedStore()).shutDown()
    try await database.advanceTransactions(by: 20_000)
    try await database.run("INSERT INTO points (id, lat, long, name) VALUES (gen_random_uuid(), 1, 2, 'A')")
    try await database.run("UPDATE points SET category = 'deleted'; DELETE FROM changes")
    try await database.run("UPDATE points SET category = 'logged'")
    return database
  }

  /// Writes to the database, and checks that the next read from the index has the write, and that the index was never
  /// built again.
  private func checkFollowing(
    _ database: TemporaryDatabase, _ store: IndexedStore, _ index: IndexFollower, builds: Int = 1,
    names expected: [String] = ["A"]
  ) async throws {
    let present = index.status.changes
    for name in ["B", "C"] {
      try await database.run("INSERT INTO points (id, lat, long, name) VALUES (gen_random_uuid(), 1, 2, '\(name)')")
      #expect(try await names(store).last == name)
    }
    #expect(try await names(store) == expected + ["B", "C"])
    #expect(index.status.builds == builds)
    // Entries with other servers' numbers were not read again with each round.
    #expect(index.status.changes == present + 2)
    #expect(store.databaseReads == 0)
  }

  @Test func databaseRestoredIntoAYoungerServerIsFollowed() async throws {
    let old = try await agedDatabase()
    let younger = try await TemporaryServer.start().makeDatabase()
    try await old.copy(to: younger)
    try await RunningIndexes.with { indexes in
      let postgres = try await younger.migratedStore()
      let (store, index) = try await indexes.store(over: postgres)

      try await checkFollowing(younger, store, index)

      // Also when the numbers of the server pass those of the former one.
      try await younger.advanceTransactions(by: 25_000)
      #expect(try await names(store) == ["A", "B", "C"])
      try await index.waitUntilFollowing()
      try await younger.run("DELETE FROM points WHERE name = 'A'")
      #expect(try await names(store) == ["B", "C"])
      #expect(index.status.builds <= 2)
    }
  }

  @Test func databaseCreatedFromATemplateIsFollowed() async throws {
    let copied = try await agedDatabase().duplicate()
    try await RunningIndexes.with { indexes in
      let (store, index) = try await indexes.store(over: try await copied.migratedStore())
      try await checkFollowing(copied, store, index)
    }
  }

  @Test func logRestoredWithoutThePlacesIsIgnored() async throws {
    let old = try await agedDatabase()
    let younger = try await TemporaryServer.start().makeDatabase()
    let postgres = try await younger.migratedStore()
    try await RunningIndexes.with { indexes in
      let (store, index) = try await indexes.store(over: postgres)
      try await old.copy(
        to: younger, dumpOptions: ["--data-only", "-t", "changes", "-t", "changes_pruned"])

      try await checkFollowing(younger, store, index, names: [])
    }
  }

  @Test(arguments: [[], ["--disable-triggers"]])
  func placesRestoredIntoAFollowedTableAreSeen(_ options: [String]) async throws {
    let old = try await agedDatabase()
    let younger = try await TemporaryServer.start().makeDatabase()
    let postgres = try await younger.migratedStore()
    try await RunningIndexes.with { indexes in
      let (store, index) = try await indexes.store(over: postgres)
      #expect(try await names(store) == [])

      try await old.copy(
        to: younger, dumpOptions: ["--data-only", "-t", "points"], restoreOptions: options)

      #expect(try await names(store) == ["A"])
      try await index.waitUntilFollowing(builds: options.isEmpty ? 1 : 2)
      #expect(try await names(store) == ["A"])
    }
  }
}
