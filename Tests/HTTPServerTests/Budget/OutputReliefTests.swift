import NIOCore
import NIOPosix
import Testing

@testable import HTTPServer

/// The connections that are cut while memory is short, always by a mebibyte more.
@Suite(.timeLimit(.minutes(5))) final class OutputReliefTests {
  /// The number of looks at the connections after which their rates are known, four a second.
  private static let looks = 9

  private let budget: OutputBudget
  private var filling: MemoryReservation?
  private var time = NIODeadline.uptimeNanoseconds(0)

  init() {
    var limits = HTTPServerConfiguration.Limits()
    limits.bufferedBytes = 16 << 20
    budget = OutputBudget(
      limits, HTTPServerConfiguration.Timeouts(), eventLoop: MultiThreadedEventLoopGroup.singleton.any())
  }

  /// Fills the memory, and returns a new ledger. A ledger that is there before would look at its connections by itself.
  private func makeLedger(
    of connections: [Connection], on eventLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.any()
  ) -> OutputLedger {
    if filling == nil { filling = budget.reserveAtOnce(bytes: budget.highWaterMark + (1 << 20)) }
    let ledger = budget.ledger(of: eventLoop)
    for connection in connections { ledger.insert(connection) }
    return ledger
  }

  /// Lets clients take what is sent to them at their rates while ledgers look at their connections.
  private func look(_ count: Int, _ ledgers: OutputLedger..., at connections: [Connection]) {
    for _ in 0..<count {
      time = time + .milliseconds(250)
      for connection in connections { connection.takenMark += connection.bytesPerSecond / 4 }
      for ledger in ledgers { ledger.relieve(at: time) }
    }
  }

  @Test func slowConnectionsOfTheClientThatHoldsTheMostAreCutSlowestFirst() throws {
    let slow = try (0..<5).map { try Connection("192.0.2.1", held: 400_000, bytesPerSecond: 1000 + 400 * $0) }
    let steady = try (0..<2).map { _ in try Connection("192.0.2.1", held: 400_000, bytesPerSecond: 20_000) }
    let other = try Connection("192.0.2.2", held: 400_000, bytesPerSecond: 100)
    let connections = slow + steady + [other]
    let ledger = makeLedger(of: connections)

    look(Self.looks - 1, ledger, at: connections)
    let before = connections.map(\.isCut)
    look(1, ledger, at: connections)
    let first = slow.map(\.isCut)
    look(20, ledger, at: connections)

    #expect(before.allSatisfy { !$0 })
    #expect(first == [true, true, true, false, false])
    #expect(slow.allSatisfy { $0.isCut })
    #expect(steady.allSatisfy { !$0.isCut } && !other.isCut)
  }

  @Test(arguments: [(9600, true), (10_400, false)])
  func connectionIsSlowThatTakesMoreThanThirtySeconds(bytesPerSecond: Int, isCut: Bool) throws {
    let connection = try Connection("192.0.2.1", held: 300_000, bytesPerSecond: bytesPerSecond)
    let ledger = makeLedger(of: [connection])

    look(4 * Self.looks, ledger, at: [connection])

    #expect(connection.isCut == isCut)
  }

  @Test func reservationCountsAsHeldByItsConnection() throws {
    let exporting = try Connection("192.0.2.1", port: 1, held: 40_000, bytesPerSecond: 2000)
    let reading = try Connection("192.0.2.1", port: 2, held: 40_000, bytesPerSecond: 2000)
    let reservation = budget.reserveAtOnce(bytes: 320 * 1024, on: exporting.remoteAddress)
    let ledger = makeLedger(of: [exporting, reading])

    look(Self.looks, ledger, at: [exporting, reading])

    #expect(exporting.isCut && !reading.isCut)
    extendLifetime(reservation)
  }

  @Test func silentConnectionsOfOthersAreCutAfterSlowOnes() throws {
    let slow = try (0..<4).map { _ in try Connection("192.0.2.1", held: 400_000, bytesPerSecond: 1000) }
    let silent = try Connection("192.0.2.2", held: 100_000, bytesPerSecond: 0)
    let ledger = makeLedger(of: slow + [silent])

    look(Self.looks, ledger, at: slow + [silent])
    let cut = (slow: slow.count { $0.isCut }, silent: silent.isCut)
    look(1, ledger, at: slow + [silent])

    #expect(cut.slow == 3 && !cut.silent)
    #expect(slow.allSatisfy { $0.isCut } && silent.isCut)
  }

  @Test func responseThatHasJustBegunIsNotSlow() throws {
    let connection = try Connection("192.0.2.1", held: 1000, bytesPerSecond: 400)
    let ledger = makeLedger(of: [connection])

    look(Self.looks - 1, ledger, at: [connection])
    connection.heldBytes = 400_000
    look(Self.looks - 1, ledger, at: [connection])
    let isCutAtOnce = connection.isCut
    look(1, ledger, at: [connection])

    #expect(!isCutAtOnce && connection.isCut)
  }

  @Test func clientThatHoldsTheMostIsFoundOnAllEventLoops() async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
    let most = try [300_000, 900_000].map { try Connection("192.0.2.1", held: $0, bytesPerSecond: 1000) }
    let other = try Connection("192.0.2.2", held: 500_000, bytesPerSecond: 1000)
    let first = makeLedger(of: [most[0], other], on: group.next())
    let second = makeLedger(of: [most[1]], on: group.next())

    look(Self.looks, second, first, at: most + [other])

    #expect(most.allSatisfy { $0.isCut } && !other.isCut)
    try await group.shutdownGracefully()
  }
}

private final class Connection: OutputHolder {
  let remoteAddress: SocketAddress?
  let bytesPerSecond: Int
  var heldBytes: Int
  var takenMark = 0
  private(set) var isCut = false

  init(_ address: String, port: Int = 1, held: Int, bytesPerSecond: Int) throws {
    remoteAddress = try SocketAddress(ipAddress: address, port: port)
    heldBytes = held
    self.bytesPerSecond = bytesPerSecond
  }

  func cutForMemory() {
    isCut = true
    heldBytes = 0
  }
}
