import HTTPServer
import NIOHTTP1
import Synchronization
import TestSupport
import Testing

@testable import Hosting

/// The aggregation of warnings that clients cause.
@Suite(.timeLimit(.minutes(5))) struct PeriodicCountTests {
  private func request(_ status: HTTPResponseStatus) -> CompletedRequest {
    CompletedRequest(id: "r", method: nil, route: nil, status: status, bodyBytes: 0, duration: nil)
  }

  @Test func errorsOfClientsAreCountedInOneLinePerInterval() async throws {
    let (recorder, intervalEnds) = (LogRecorder(), Gate())
    let log = AccessLog(logger: recorder.logger, isOn: false) { _ in await intervalEnds.pass() }

    for _ in 0..<1000 { log.requestCompleted(request(.httpVersionNotSupported)) }
    for _ in 0..<10 { log.requestCompleted(request(.notImplemented)) }
    let before = recorder.lines.filter { $0.hasPrefix("warning") }
    intervalEnds.open()
    while !recorder.lines.contains(where: { $0.hasPrefix("warning") }) { await Task.yield() }

    let lines = recorder.lines.filter { $0.hasPrefix("warning") }
    #expect(before.isEmpty)
    #expect(lines.count == 1)
    #expect(lines.first?.contains("1010") == true)
  }

  @Test func callsWithoutTheIndexAreCountedInALineOfTheirOwn() async throws {
    let (recorder, intervalEnds) = (LogRecorder(), Gate())
    let log = AccessLog(logger: recorder.logger, isOn: false) { _ in await intervalEnds.pass() }
    let call = CompletedRequest(
      id: "r", method: .GET, route: "/api", status: .notImplemented, bodyBytes: 0, duration: nil)

    for _ in 0..<3 { log.requestCompleted(call) }
    log.requestCompleted(request(.notImplemented))
    intervalEnds.open()
    while recorder.lines.filter({ $0.hasPrefix("warning") }).count < 2 { await Task.yield() }

    let lines = recorder.lines.filter { $0.hasPrefix("warning") }
    #expect(lines.count == 2)
    #expect(lines.contains { $0.contains("need the index") && $0.contains("3") })
    #expect(lines.contains { $0.contains("unsupported method") && $0.contains("1") })
  }

  @Test func errorsOfTheServerAreLoggedAsAWarningEach() {
    let recorder = LogRecorder()
    let log = AccessLog(logger: recorder.logger, isOn: false)

    for _ in 0..<3 { log.requestCompleted(request(.internalServerError)) }

    #expect(recorder.lines.filter { $0.hasPrefix("warning") }.count == 3)
  }

  @Test func countStartsAgainInEachInterval() async {
    let counts = Mutex<[Int]>([])
    let intervals = Counter()
    let count = PeriodicCount(interval: .seconds(10)) { _ in
      intervals.add()
    } report: { number in
      counts.withLock { $0.append(number) }
    }

    count.add()
    while counts.withLock({ $0.count }) < 1 { await Task.yield() }
    count.add()
    while counts.withLock({ $0.count }) < 2 { await Task.yield() }

    #expect(counts.withLock { $0 } == [1, 1])
    #expect(intervals.value == 2)
  }
}
