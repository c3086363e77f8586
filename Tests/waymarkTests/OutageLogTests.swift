import Points
import Synchronization
import TestSupport
import Testing

@testable import waymark

@Suite struct OutageLogTests {
  private let store = SwitchedStore()
  private let recorder = LogRecorder()

  @Test func anOutageThatWritesMeetIsLoggedOnceAndItsEndToo() async throws {
    let log = OutageLog(store, logger: recorder.logger)

    store.fail(with: .unavailable(reason: "gone"))
    await store.write(through: log)
    await store.write(through: log)
    _ = try? await log.importRows([ImportRow](), mode: .partial)
    _ = try? await log.page(matching: PointQuery())
    store.fail(with: nil)
    await store.write(through: log)
    _ = try await log.page(matching: PointQuery())

    #expect(recorder.lines.count == 2)
    #expect(recorder.lines.first?.hasPrefix("error the store does not answer") == true)
    #expect(recorder.lines.first?.contains("gone") == true)
    #expect(recorder.lines.last?.hasPrefix("notice the store answers again") == true)
  }

  @Test(arguments: ["create", "put", "delete", "import", "export", "page"])
  func everyCallTells(call: String) async throws {
    let log = OutageLog(store, logger: recorder.logger)

    store.fail(with: .schemaMismatch(reason: "old"))
    await store.call(call, through: log)
    store.fail(with: nil)
    await store.call(call, through: log)

    #expect(recorder.lines.count == 2, "\(call)")
  }

  @Test func whatIsRefusedIsNoOutage() async throws {
    let log = OutageLog(store, logger: recorder.logger)

    for error in [PointWriteError.notFound, .conditionFailed(currentVersion: 1), .store(.timeout), .store(.overloaded)]
    {
      store.refuse(with: error)
      await store.write(through: log)
    }

    #expect(recorder.lines.isEmpty)
  }

  @Test func whereWritesAreWatchedAloneReadsDoNotEndAnOutage() async throws {
    let log = OutageLog(store, watching: .writes, logger: recorder.logger)

    store.refuse(with: .store(.unavailable(reason: "disk full")))
    await store.write(through: log)
    _ = try await log.page(matching: PointQuery())
    _ = try await log.importRows([ImportRow](), mode: .partial, dryRun: true)
    await store.write(through: log)

    #expect(recorder.lines.count == 1)
  }
}

/// A store without places that fails when it is told to.
private final class SwitchedStore: WritablePointStore {
  private let errors = Mutex<(read: PointStoreError?, write: PointWriteError?)>((nil, nil))

  func fail(with error: PointStoreError?) { errors.withLock { $0 = (error, error.map { .store($0) }) } }

  func refuse(with error: PointWriteError) { errors.withLock { $0 = (nil, error) } }

  func write(through log: OutageLog) async { await call("delete", through: log) }

  func call(_ name: String, through log: OutageLog) async {
    guard let place = try? ImportRow.sample("a", 1, 1).place else { return }
    switch name {
    case "create": _ = try? await log.create(place, once: nil)
    case "put": _ = try? await log.put(place, id: .sample(1), if: .none)
    case "delete": try? await log.delete(id: .sample(1), if: .none)
    case "import": _ = try? await log.importRows([ImportRow](), mode: .partial)
    case "export": try? await log.exportPoints(matching: PointQuery()) { _ in }
    default: _ = try? await log.page(matching: PointQuery())
    }
  }

  private func checkRead() throws(PointStoreError) { if let error = errors.withLock({ $0.read }) { throw error } }

  private func checkWrite() throws(PointWriteError) { if let error = errors.withLock({ $0.write }) { throw error } }

  func create(_ place: Place, once key: IdempotencyKey?) async throws(PointWriteError) -> PointOfInterest {
    try await put(place, id: .sample(1), if: .none).point
  }

  func put(
    _ place: Place, id: PointID, if condition: WriteCondition
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    try checkWrite()
    let time = Timestamp(microsecondsSinceEpoch: 0)
    return (PointOfInterest(id: id, place: place, version: 1, createdAt: time, updatedAt: time), true)
  }

  func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError) { try checkWrite() }

  func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, mode: ImportMode, dryRun: Bool
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    try checkRead()
    return ImportReport()
  }

  func exportPoints(
    matching query: PointQuery, to consume: @Sendable ([PointOfInterest]) async throws -> Void
  ) async throws { try checkRead() }

  func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage {
    try checkRead()
    return PointPage(points: [], hasMore: false)
  }

  func summaries(matching query: PointQuery) async throws(PointStoreError) -> SummaryPage {
    SummaryPage(try await page(matching: query))
  }

  func point(id: PointID) async throws(PointStoreError) -> PointOfInterest? {
    try checkRead()
    return nil
  }

  func categoryCounts() async throws(PointStoreError) -> [CategoryCount] {
    try checkRead()
    return []
  }

  func point(shuffledAtOrAfter pivot: UInt64) async throws(PointStoreError) -> PointOfInterest? {
    try checkRead()
    return nil
  }

  func dataVersion() async throws(PointStoreError) -> DataVersion? {
    try checkRead()
    return DataVersion(token: "1")
  }

  func knownDataVersion() -> DataVersion? { DataVersion(token: "1") }

  func checkReadiness() async throws(PointStoreError) { try checkRead() }
}
