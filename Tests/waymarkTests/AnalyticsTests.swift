import Geo
import Logging
import Points
import Synchronization
import Testing

@testable import Hosting

@Suite struct AnalyticsTests {
  @Test func fullQueueDropsAndCountsTheOldestElement() {
    let queue = BoundedQueue<Int>(capacity: 3)

    for number in 1...5 { queue.append(number) }

    let (elements, dropped) = queue.drain()
    #expect(elements == [3, 4, 5])
    #expect(dropped == 2)
  }

  @Test func drainedQueueIsEmptyWithItsFullCapacity() {
    let queue = BoundedQueue<Int>(capacity: 2)
    for number in 1...3 { queue.append(number) }
    _ = queue.drain()

    queue.append(9)

    let (elements, dropped) = queue.drain()
    #expect(elements == [9])
    #expect(dropped == 0)
    #expect(queue.dropped == 1)
  }

  @Test(arguments: [(0.004, "0.0"), (0.0051, "0.01"), (-33.856, "-33.86"), (90, "90.0")])
  func cellsAreHundredthsOfADegree(latitude: Double, text: String) throws {
    let cell = Search.Cell(try Coordinate(latitude: latitude, longitude: 0))

    #expect(cell.description == "\(text),0.0")
  }

  @Test func summaryHasTheBusiestCellAndDurationsInPowersOfTwo() throws {
    var summary = SearchSummary()
    let quick = try (0..<99).map { _ in try search(latitude: 1, found: 5, took: .microseconds(100)) }
    let slow = try search(latitude: 2, found: 0, took: .milliseconds(100))

    summary.add(quick + [slow], dropped: 4)

    #expect(summary.searches == 100)
    #expect(summary.empty == 1)
    #expect(summary.dropped == 4)
    #expect(summary.busiestCell?.cell.description == "1.0,0.0")
    #expect(summary.busiestCell?.searches == 99)
    #expect(summary.duration(ofShare: 0.99) == .microseconds(128))
    #expect(summary.duration(ofShare: 1) == .microseconds(131_072))
  }

  @Test func logAnalyticsWriteOneLineForManySearches() async throws {
    let lines = Lines()
    let analytics = LogAnalytics(logger: Logger(label: "test") { _ in lines }, clock: ImpatientClock())
    for _ in 0..<500 { analytics.record(try search(latitude: 1, found: 1, took: .microseconds(1))) }

    let running = Task { await analytics.run() }
    while lines.logged.isEmpty { await Task.yield() }
    running.cancel()
    await running.value

    let line = try #require(lines.logged.first)
    #expect(lines.logged.count == 1)
    #expect(line["searches"]?.description == "500")
    #expect(line["found_nothing"]?.description == "0")
    #expect(line["busiest_cell"] == "1.0,0.0")
  }

  private func search(latitude: Double, found: Int, took duration: Duration) throws -> Search {
    let center = try Coordinate(latitude: latitude, longitude: 0)
    return Search(PointQuery(proximity: .init(center: center)), found: found, took: duration)
  }
}

/// A clock whose every wait is over at once.
struct ImpatientClock: Clock {
  var now: ContinuousClock.Instant { .now }
  var minimumResolution: Duration { .zero }

  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    await Task.yield()
    try Task.checkCancellation()
  }
}

/// A log that keeps the metadata of each line.
private final class Lines: LogHandler, Sendable {
  private let state = Mutex<[Logger.Metadata]>([])
  var logged: [Logger.Metadata] { state.withLock { $0 } }

  func log(event: LogEvent) { state.withLock { $0.append(event.metadata ?? [:]) } }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { nil }
    set {}
  }
  var metadata: Logger.Metadata {
    get { [:] }
    set {}
  }
  var logLevel: Logger.Level {
    get { .info }
    set {}
  }
}
