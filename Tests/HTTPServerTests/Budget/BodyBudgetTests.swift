import HTTPTestSupport
import NIOCore
import NIOHTTP1
import Synchronization
import TestSupport
import Testing

@testable import HTTPServer

@Suite(.timeLimit(.minutes(5))) struct BodyBudgetTests {
  private static func client(_ text: String) -> RequestSender { .address(IPAddress(text)) }

  @Test func bodiesHoldMemoryUntilTheyAreReleased() {
    let budget = BodyBudget(limit: 100_000)
    var share: BodyShare? = budget.share(of: Self.client("192.0.2.1")) {}
    let fits = share?.hold(60_000)
    let held = budget.heldBytes
    share = nil

    #expect(fits == true)
    #expect(held == 60_000)
    #expect(budget.heldBytes == 0)
  }

  @Test func bodyOfWhichNothingHasArrivedCountsToo() {
    let budget = BodyBudget(limit: 5 * BodyBudget.leastBytes)
    let cut = Notes()
    let shares = (0..<6).map { number in budget.share(of: Self.client("192.0.2.1")) { cut.note("\(number)") } }

    #expect(shares.allSatisfy { $0.hold(0) })
    #expect(cut.names == ["0"])
    #expect(budget.heldBytes == 5 * BodyBudget.leastBytes)
  }

  @Test func bodyAloneFitsWhateverItsLength() {
    let budget = BodyBudget(limit: 100_000)
    let share = budget.share(of: Self.client("192.0.2.1")) {}

    #expect(share.hold(1_000_000))
  }

  @Test func firstBodyOfTheClientThatHoldsTheMostGivesWay() {
    let budget = BodyBudget(limit: 100_000)
    let cut = Notes()
    let other = budget.share(of: Self.client("192.0.2.1")) { cut.note("other") }
    let first = budget.share(of: Self.client("192.0.2.2")) { cut.note("first") }
    let second = budget.share(of: Self.client("192.0.2.2")) { cut.note("second") }
    let fit = [other.hold(30_000), first.hold(35_000), second.hold(35_000)]
    let late = budget.share(of: Self.client("192.0.2.3")) { cut.note("late") }

    #expect(fit == [true, true, true])
    #expect(late.hold(20_000))
    #expect(cut.names == ["first"])
    #expect(budget.heldBytes == 85_000)
    // A body that was cut holds nothing more.
    #expect(!first.hold(36_000))
    #expect(budget.heldBytes == 85_000)
  }

  @Test func bodyOfTheClientThatHoldsTheMostGivesWayToItsOthers() {
    let budget = BodyBudget(limit: 100_000)
    let cut = Notes()
    let first = budget.share(of: Self.client("192.0.2.1")) { cut.note("first") }
    let whole = budget.share(of: Self.client("192.0.2.1")) { cut.note("whole") }
    _ = whole.hold(40_000)
    whole.noteWhole()
    _ = first.hold(50_000)
    let last = budget.share(of: Self.client("192.0.2.1")) { cut.note("last") }

    #expect(last.hold(50_000))
    #expect(cut.names == ["first"])
    // Only itself is not whole.
    #expect(!last.hold(70_000))
    #expect(cut.names == ["first"])
    #expect(budget.heldBytes == 40_000)
  }

  /// Slow senders of long bodies, and then one that sends its body at once.
  @Test func unfinishedBodiesAreBoundedTogether() async throws {
    let responder = ClosureResponder { request in
      do throws(Problem) {
        return .text("\(try await request.collectBody().readableBytes)")
      } catch {
        return HTTPResponse(error)
      }
    }
    let (length, count) = (1_000_000, 6)
    let head = "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: \(length)\r\n\r\n"
    // A quarter of it is for bodies: four of a megabyte.
    try await withServer(responder, configure: { $0.limits.bufferedBytes = 16 << 20 }) { server in
      var slow: [RawHTTPConnection] = []
      for _ in 0..<count {
        let connection = try await RawHTTPConnection.open(port: server.port)
        try await connection.send(head + String(repeating: "a", count: length - 1))
        slow.append(connection)
      }
      let quick = try await RawHTTPConnection.open(port: server.port)
      try await quick.send(head + String(repeating: "a", count: length))
      let response = try await quick.response()
      var statuses: [Int] = []
      for connection in slow {
        try? await connection.send("a")
        statuses.append(try await connection.response().status)
      }

      #expect(response.status == 200)
      #expect(response.text == "\(length)")
      #expect(statuses.count { $0 == 503 } >= count - 4)
      #expect(statuses.allSatisfy { $0 == 503 || $0 == 200 })
    }
  }
}

/// Requests of which the bodies do not arrive, and another one.
@Suite(.timeLimit(.minutes(5))) struct WaitingBodyTests {
  @Test func requestsThatWaitForTheirBodiesAreNoCurrentRequests() async throws {
    let responder = ClosureResponder { request in
      guard request.method == .POST else { return .text("other") }
      do throws(Problem) {
        return .text("\(try await request.collectBody().readableBytes)")
      } catch {
        return HTTPResponse(error)
      }
    }
    try await withServer(responder, configure: { $0.limits.requestsInFlight = 4 }) { server in
      var slow: [RawHTTPConnection] = []
      for _ in 0..<10 {
        let connection = try await RawHTTPConnection.open(port: server.port)
        try await connection.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\na")
        slow.append(connection)
      }
      while server.requestsWaiting < 10 { await Task.yield() }

      let other = try await RawHTTPConnection.open(port: server.port).get("/")
      for connection in slow {
        try await connection.send("b")
        #expect(try await connection.response().text == "2")
      }

      #expect(other.text == "other")
      #expect(server.requestsWaiting == 0)
    }
  }
}

/// The names that were noted, in order.
final class Notes: Sendable {
  private let state = Mutex<[String]>([])
  var names: [String] { state.withLock { $0 } }
  func note(_ name: String) { state.withLock { $0.append(name) } }
}
