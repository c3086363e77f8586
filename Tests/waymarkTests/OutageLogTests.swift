import Points
import TestSupport
import Testing

@testable import Hosting

@Suite struct OutageLogTests {
  private let store = SwitchedStore()
  private let recorder = LogRecorder()

  private func observed(watching watch: OutageLog.Watch = .all) -> PointsService {
    PointsService(store: store, observers: [OutageLog(watching: watch, logger: recorder.logger)])
  }

  @Test func outageAndRecoveryOfWritesAreLoggedOnceEach() async throws {
    let log = observed()

    store.fail(with: .unavailable(reason: "gone"))
    await store.write(through: log)
    await store.write(through: log)
    _ = try? await log.importRows([ImportRow]().inOneBatch, options: ImportOptions())
    _ = try? await log.page(matching: PointQuery(), in: store)
    store.fail(with: nil)
    await store.write(through: log)
    _ = try await log.page(matching: PointQuery(), in: store)

    #expect(recorder.lines.count == 2)
    #expect(recorder.lines.first?.hasPrefix("error the store is unavailable") == true)
    #expect(recorder.lines.first?.contains("gone") == true)
    #expect(recorder.lines.last?.hasPrefix("notice the store is available again") == true)
  }

  @Test func storeWhoseLastWriteWasRefusedIsReadyForReads() async throws {
    let outages = OutageLog(watching: .writes, hiding: ("/data/places.db", "THE_FILE"), logger: recorder.logger)
    let log = PointsService(store: store, observers: [outages])
    #expect(try await log.checkReadiness() == .ready)

    store.reject(with: .store(.unavailable(reason: "the journal /data/places.db: database or disk is full")))
    await store.write(through: log)
    _ = try await log.page(matching: PointQuery(), in: store)
    #expect(try await log.checkReadiness() == .readOnly(reason: "the journal THE_FILE: database or disk is full"))

    store.fail(with: nil)
    await store.write(through: log)
    #expect(try await log.checkReadiness() == .ready)
  }

  @Test func storeWhoseReadsShowOutagesTellsItsReadinessItself() {
    let outages = OutageLog(logger: recorder.logger)

    outages.note(
      .create, error: PointWriteError.store(.unavailable(reason: "gone")), took: .zero, isWrite: true)

    #expect(outages.refusalOfWrites == nil)
    #expect(recorder.lines.count == 1)
  }

  @Test func refusalOfWritesIsLoggedOnceThoughReadsSucceed() async throws {
    let log = observed()

    for _ in 0..<3 {
      store.reject(with: .store(.readOnly(reason: "the database is a standby")))
      await store.write(through: log)
      _ = try await log.page(matching: PointQuery(), in: store)
    }
    let during = recorder.lines
    store.fail(with: nil)
    await store.write(through: log)

    #expect(during.count == 1)
    #expect(during.first?.hasPrefix("warning the store refuses writes") == true)
    #expect(during.first?.contains("the database is a standby") == true)
    #expect(recorder.lines.count == 2)
    #expect(recorder.lines.last?.hasPrefix("notice the store accepts writes again") == true)
  }

  @Test(arguments: ["create", "put", "delete", "import", "export", "page"])
  func outageIsDetectedByEveryCall(call: String) async throws {
    let log = observed()

    store.fail(with: .schemaMismatch(reason: "old"))
    await store.call(call, through: log)
    store.fail(with: nil)
    await store.call(call, through: log)

    #expect(recorder.lines.count == 2, "\(call)")
  }

  @Test func schemaMismatchIsLoggedOnceThoughOtherCallsSucceed() async throws {
    let log = observed()

    for _ in 0..<5 {
      store.fail(with: .schemaMismatch(reason: "0005 is missing"))
      _ = try? await log.checkReadiness()
      store.fail(with: nil)
      _ = try await log.page(matching: PointQuery(), in: store)
      await store.write(through: log)
    }
    let during = recorder.lines
    try await log.checkReadiness()

    #expect(during.count == 1)
    #expect(during.first?.contains("0005 is missing") == true)
    #expect(recorder.lines.count == 2)
    #expect(recorder.lines.last?.hasPrefix("notice the store is available again") == true)
  }

  @Test func deniedOperationIsLoggedOnceThoughOthersSucceed() async throws {
    let log = observed()

    for _ in 0..<3 {
      store.reject(with: .store(.misconfigured(reason: "permission denied for table points")))
      await store.call("create", through: log)
      await store.call("put", through: log)
      _ = try await log.page(matching: PointQuery(), in: store)
    }
    let during = recorder.lines
    store.fail(with: nil)
    await store.call("create", through: log)

    #expect(during.count == 2)
    #expect(during.first?.hasPrefix("error the store denies an operation") == true)
    #expect(during.first?.contains("create") == true)
    #expect(during.first?.contains("permission denied for table points") == true)
    #expect(recorder.lines.count == 3)
    #expect(recorder.lines.last?.hasPrefix("notice the store allows the operation again") == true)
  }

  @Test func rejectedCallIsNotLoggedAsAnOutage() async throws {
    let log = observed()

    for error in [PointWriteError.notFound, .conditionFailed(currentVersion: 1), .store(.timeout), .store(.overloaded)]
    {
      store.reject(with: error)
      await store.write(through: log)
    }

    #expect(recorder.lines.isEmpty)
  }

  @Test func readsDoNotEndAnOutageOfWrites() async throws {
    let log = observed(watching: .writes)

    store.reject(with: .store(.unavailable(reason: "disk full")))
    await store.write(through: log)
    _ = try await log.page(matching: PointQuery(), in: store)
    _ = try await log.importRows([ImportRow]().inOneBatch, options: ImportOptions(dryRun: true))
    await store.write(through: log)

    #expect(recorder.lines.count == 1)
  }
}
