import Basics
import Dispatch
import Geo
import MemoryStore
import NIOHTTP1
import Points
import ServiceTestSupport
import Synchronization
import Testing

/// The executors of bulk work: it must not block the connection's event loop, which serves other connections too.
@Suite struct BulkExecutorTests {
  private let store = WatchedStore()
  private var driver: ServiceDriver { ServiceDriver(writing: store) }

  @Test func importedRowsAreParsedOffTheEventLoop() async throws {
    let rows = String(repeating: #"{"name":"a","lat":1,"long":2}"# + "\n", count: 2_500)

    let status = try await onEventLoop {
      try await driver.send(
        .POST, "/locations/import", headers: ["content-type": "application/x-ndjson"], json: rows
      ).status
    }

    #expect(status == 200)
    #expect(store.placesOnEventLoop == Array(repeating: false, count: 2))
  }

  @Test func exportsAreWrittenOffTheEventLoop() async throws {
    let length = try await onEventLoop { try await driver.send(.GET, "/locations/export").body.count }

    #expect(length > 0)
    #expect(store.placesOnEventLoop == [false])
  }

  @Test func dataSetsAreDeletedOffTheEventLoop() async throws {
    let status = try await onEventLoop {
      try await driver.send(.DELETE, "/locations?source=s&confirm=true").status
    }

    #expect(status == 200)
    #expect(store.placesOnEventLoop == [false])
  }

  private func onEventLoop<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value
  {
    try await Task(executorPreference: StandInForAnEventLoop()) {
      #expect(StandInForAnEventLoop.isCurrent)
      defer { #expect(StandInForAnEventLoop.isCurrent) }
      return try await body()
    }.value
  }
}

/// One thread, as an event loop is.
private final class StandInForAnEventLoop: TaskExecutor {
  private static let key = DispatchSpecificKey<Bool>()
  private let queue = DispatchQueue(label: "stand-in for an event loop")

  init() { queue.setSpecific(key: Self.key, value: true) }

  static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) ?? false }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}

/// A store that notes where it is called in bulk.
private final class WatchedStore: ForwardingStore {
  let store = MemoryStore()
  private let noted = Mutex<[Bool]>([])

  var placesOnEventLoop: [Bool] { noted.withLock { $0 } }

  private func note() { noted.withLock { $0.append(StandInForAnEventLoop.isCurrent) } }

  func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, options: ImportOptions
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    note()
    for try await _ in batches {}
    note()
    return ImportReport()
  }

  func deleteBatch(ofSource source: String, after position: ExactText?) async throws(PointWriteError) -> DeletedBatch {
    note()
    return DeletedBatch(count: 0, next: nil)
  }

  func exportPoints(
    matching query: PointQuery, for client: String?,
    to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    note()
    try await consume([store.create(try PointDraft(name: "a", coordinate: .init(latitude: 1, longitude: 1)), once: nil)]
    )
  }
}
