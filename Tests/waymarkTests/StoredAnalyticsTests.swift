import Geo
import Points
import Synchronization
import TestSupport
import Testing

@testable import Hosting

@Suite(.timeLimit(.minutes(5))) struct StoredAnalyticsTests {
  private let log = RecordingLog()
  private let recorder = LogRecorder()

  private func analytics(capacity: Int = 65_536) -> StoredAnalytics {
    StoredAnalytics(
      log: log, capacity: capacity, drainTimeout: .seconds(60), logger: recorder.logger,
      wallClock: FixedClock(Timestamp(microsecondsSinceEpoch: 7)), clock: ImpatientClock())
  }

  /// Records a number of searches, distinguished by their number of places.
  private func record(_ numbers: Range<Int>, in analytics: StoredAnalytics) {
    for number in numbers { analytics.record(Search(PointQuery(), found: number, took: .zero)) }
  }

  /// Runs the analytics until the condition holds, and to their end.
  private func run(_ analytics: StoredAnalytics, until condition: () -> Bool) async {
    let running = Task { await analytics.run() }
    while !condition() { await Task.yield() }
    running.cancel()
    await running.value
  }

  @Test func everySearchIsAppendedOnceInOrderInBatches() async {
    let analytics = analytics()
    record(0..<12_345, in: analytics)

    await run(analytics) { log.kept.count == 12_345 }

    #expect(log.kept.map(\.search.found) == Array(0..<12_345))
    #expect(log.kept.allSatisfy { $0.time == Timestamp(microsecondsSinceEpoch: 7) })
    #expect(log.batches == [5000, 5000, 2345])
    #expect(analytics.dropped == 0)
  }

  @Test func searchesWaitWhileTheLogIsUnavailableAndOneLineIsLogged() async {
    let analytics = analytics()
    log.fail(with: .unavailable(reason: "gone"))
    record(0..<10, in: analytics)

    let running = Task { await analytics.run() }
    while log.attempts < 5 { await Task.yield() }
    log.fail(with: nil)
    while log.kept.count < 10 { await Task.yield() }
    running.cancel()
    await running.value

    #expect(log.kept.map(\.search.found) == Array(0..<10))
    #expect(analytics.dropped == 0)
    #expect(recorder.lines.count == 2)
    #expect(recorder.lines.first?.hasPrefix("warning searches wait to be stored") == true)
    #expect(recorder.lines.last?.hasPrefix("notice searches are stored again") == true)
  }

  @Test func searchesBeyondTheCapacityAreDroppedOldestFirstAndCounted() async {
    let analytics = analytics(capacity: 100)
    log.fail(with: .overloaded)
    record(0..<250, in: analytics)

    let running = Task { await analytics.run() }
    while log.attempts < 3 { await Task.yield() }
    record(250..<300, in: analytics)
    while analytics.dropped < 200 { await Task.yield() }
    log.fail(with: nil)
    running.cancel()
    await running.value

    #expect(log.kept.map(\.search.found).suffix(50) == Array(250..<300)[...])
    #expect(log.kept.count == 100)
    #expect(analytics.dropped == 200)
  }

  @Test func remainingSearchesAreStoredAtShutdown() async {
    let analytics = analytics()
    record(0..<5, in: analytics)

    await run(analytics) { true }

    #expect(log.kept.count == 5)
  }

  @Test func batchInProgressAtShutdownIsNotStoredTwice() async {
    let log = SlowLog()
    let analytics = StoredAnalytics(log: log, drainTimeout: .seconds(60), logger: recorder.logger)
    record(0..<5, in: analytics)

    let running = Task { await analytics.run() }
    await log.hasBegun.pass()
    record(5..<8, in: analytics)
    running.cancel()
    log.mayEnd.open()
    await running.value

    #expect(log.batches == [5, 3])
    #expect(analytics.dropped == 0)
  }

  @Test func hangingLogDelaysShutdownByTheDrainTimeoutOnly() async {
    let log = SlowLog()
    let analytics = StoredAnalytics(
      log: log, drainTimeout: .seconds(60), logger: recorder.logger, clock: ImpatientClock())
    record(0..<5, in: analytics)

    let running = Task { await analytics.run() }
    await log.hasBegun.pass()
    record(5..<8, in: analytics)
    running.cancel()
    await running.value

    #expect(analytics.dropped == 8)
    #expect(recorder.lines.last?.hasPrefix("warning searches could not be stored") == true)
  }

  @Test func searchesThatCantBeStoredAtShutdownAreCountedAndLogged() async {
    let analytics = analytics()
    log.fail(with: .unavailable(reason: "gone"))
    record(0..<5, in: analytics)

    await run(analytics) { true }

    #expect(analytics.dropped == 5)
    #expect(recorder.lines.last?.hasPrefix("warning searches could not be stored") == true)
  }

  @Test func batchThatTheLogAlwaysRejectsDoesNotBlockTheOthers() async {
    let analytics = analytics()
    log.fail(with: .unexpected(reason: "no such table"))
    record(0..<5, in: analytics)

    let running = Task { await analytics.run() }
    while analytics.dropped < 5 { await Task.yield() }
    log.fail(with: nil)
    record(5..<6, in: analytics)
    running.cancel()
    await running.value

    #expect(log.kept.first?.search.found == 5)
    #expect(analytics.dropped == 5)
  }
}

/// A log that stores searches, or fails on demand.
private final class RecordingLog: SearchLog {
  private struct State {
    var kept: [TimedSearch] = []
    var batches: [Int] = []
    var attempts = 0
    var error: PointStoreError?
  }

  private let state = Mutex(State())

  var kept: [TimedSearch] { state.withLock { $0.kept } }
  var batches: [Int] { state.withLock { $0.batches } }
  var attempts: Int { state.withLock { $0.attempts } }

  func fail(with error: PointStoreError?) { state.withLock { $0.error = error } }

  func append(_ searches: [TimedSearch]) async throws(PointStoreError) {
    let error = state.withLock { state in
      state.attempts += 1
      if state.error == nil {
        state.kept += searches
        state.batches.append(searches.count)
      }
      return state.error
    }
    if let error { throw error }
  }

  func pruneSearches(before time: Timestamp) async throws(PointStoreError) -> Int { 0 }
}

/// A slow log that stores searches although its caller stops waiting.
private final class SlowLog: SearchLog {
  let hasBegun = Gate()
  let mayEnd = Gate()
  private let counts = Mutex<[Int]>([])

  var batches: [Int] { counts.withLock { $0 } }

  func append(_ searches: [TimedSearch]) async throws(PointStoreError) {
    counts.withLock { $0.append(searches.count) }
    hasBegun.open()
    await withTaskCancellationHandler {
      await mayEnd.pass()
    } onCancel: {
      mayEnd.open()
    }
    guard !Task.isCancelled else { throw .timeout }
  }

  func pruneSearches(before time: Timestamp) async throws(PointStoreError) -> Int { 0 }
}
