import NIOCore
import Synchronization

/// The memory budget of all unsent responses of a server.
///
/// Connections count their unsent bytes in the ``OutputLedger`` of their event loop, which adds them to the budget in
/// steps of ``ledgerStep``. The memory of a long response that is being produced is counted by a ``MemoryReservation``.
/// Above ``highWaterMark`` memory is short: long responses wait for their reservations, streams pause until their
/// connections have sent everything, and connections whose peers acknowledge nothing are closed, those that have been
/// idle for the longest first. The rest, up to ``limit``, is for short responses.
final class OutputBudget: Sendable {
  let limit: Int

  /// The number of bytes above which memory is short: three quarters of ``limit``.
  let highWaterMark: Int

  /// The time for which a peer may acknowledge nothing while memory is short.
  let idleReaderTimeout: TimeAmount

  /// The number of bytes that an event loop may hold or release before it reports them.
  let ledgerStep: Int

  private let queue: ShareQueue
  private let used = Atomic(0)
  private let ledgers = Mutex<[ObjectIdentifier: OutputLedger]>([:])

  /// Creates a budget.
  ///
  /// - Parameters:
  ///   - limits: the limits that the server's configuration sets.
  ///   - timeouts: the times that it sets.
  ///   - eventLoop: an event loop that outlives the server's last request.
  init(
    _ limits: HTTPServerConfiguration.Limits, _ timeouts: HTTPServerConfiguration.Timeouts, eventLoop: any EventLoop
  ) {
    limit = limits.bufferedBytes
    highWaterMark = limit / 4 * 3
    ledgerStep = max(1, min(64 * 1024, limit / 64))
    idleReaderTimeout = TimeAmount(timeouts.idleReader)
    queue = ShareQueue(
      timeout: TimeAmount(timeouts.share), maximumCount: limits.requestsWaitingForMemory, eventLoop: eventLoop)
  }

  var isShort: Bool { used.load(ordering: .relaxed) > highWaterMark }

  /// The number of bytes that are held, but for what ledgers have not passed on.
  var heldBytes: Int { used.load(ordering: .relaxed) }
  fileprivate var excess: Int { used.load(ordering: .relaxed) - highWaterMark }

  func hasRoom(for bytes: Int) -> Bool { used.load(ordering: .relaxed) &+ bytes <= limit }

  // MARK: Shares

  /// Counts memory that a response takes while it is being produced, and waits for it where memory is short.
  ///
  /// - Throws: ``ShareQueue/Rejection`` where too many wait already, or where it took too long; `CancellationError`.
  nonisolated(nonsending) func reserve(bytes: Int) async throws -> MemoryReservation {
    let mustWait = isShort || queue.count > 0
    if mustWait { try await queue.wait { self.grantedShares } }
    let reservation = MemoryReservation(bytes: bytes, of: self, isShare: mustWait)
    count(bytes)
    return reservation
  }

  fileprivate func end(_ reservation: MemoryReservation) {
    count(-reservation.bytes)
    if reservation.isShare { queue.endShare { self.grantedShares } }
  }

  /// The number of bytes that must be free for each of those that wait to go on.
  private static let shareBytes = 1024 * 1024

  /// The number of responses that there is room for.
  private var grantedShares: Int {
    let room = highWaterMark - used.load(ordering: .relaxed)
    return room < 0 ? 0 : max(1, room / Self.shareBytes)
  }

  // MARK: Accounting

  /// Returns the ledger of an event loop; to be called on it.
  func ledger(of eventLoop: any EventLoop) -> OutputLedger {
    ledgers.withLock { ledgers in
      let key = ObjectIdentifier(eventLoop)
      if let ledger = ledgers[key] { return ledger }
      let ledger = OutputLedger(budget: self, eventLoop: eventLoop)
      ledgers[key] = ledger
      return ledger
    }
  }

  /// Counts bytes that an event loop's connections hold, or with a negative number have released.
  fileprivate func count(_ bytes: Int) {
    let (before, now) = used.wrappingAdd(bytes, ordering: .relaxed)
    if before <= highWaterMark, now > highWaterMark {
      for ledger in ledgers.withLock({ Array($0.values) }) { ledger.beginRelief() }
    } else if now <= highWaterMark, queue.count > 0 {
      queue.grant { self.grantedShares }
    }
  }
}

/// Memory that a response takes while it is being produced. It ends with the last reference.
public final class MemoryReservation: Sendable {
  fileprivate let bytes: Int
  fileprivate let isShare: Bool
  private let budget: OutputBudget

  fileprivate init(bytes: Int, of budget: OutputBudget, isShare: Bool) {
    self.bytes = bytes
    self.budget = budget
    self.isShare = isShare
  }

  deinit { budget.end(self) }
}

extension HTTPRequest {
  /// Reserves memory for producing a long response, before it is begun. Where clients hold so much that memory is
  /// short, this waits until some is free.
  ///
  /// - Parameter bytes: the number of bytes that the response takes until it is passed to the connection.
  /// - Returns: the reservation, to be kept for as long; `nil` where the request was created in process.
  /// - Throws: ``Problem`` 503 `overloaded` where there is none in time.
  nonisolated(nonsending) public func reserveMemory(bytes: Int) async throws(Problem) -> MemoryReservation? {
    guard let server else { return nil }
    do {
      return try await server.budget.reserve(bytes: bytes)
    } catch is CancellationError {
      throw HTTPBodyError.cancelled.problem
    } catch {
      throw server.outOfMemory
    }
  }
}

/// A connection that may hold bytes for its client. It lives on an event loop.
protocol OutputHolder: AnyObject {
  var heldBytes: Int { get }

  /// A number that changes whenever the peer takes something of what is held.
  var takenMark: Int { get }

  /// Cuts the connection, and holds nothing from then on.
  func cutForMemory()
}

/// The bytes that the connections of one event loop hold, counted without a lock.
///
/// `@unchecked Sendable`: everything but ``beginRelief()`` is called on the event loop only, and that hands over to it.
final class OutputLedger: @unchecked Sendable {
  private static let reliefInterval = TimeAmount.milliseconds(250)

  private unowned let budget: OutputBudget
  private let eventLoop: any EventLoop
  private var uncounted = 0
  private var holders: [ObjectIdentifier: any OutputHolder] = [:]
  private var marks: [ObjectIdentifier: (mark: Int, since: NIODeadline)] = [:]
  private var isRelieving = false

  fileprivate init(budget: OutputBudget, eventLoop: any EventLoop) {
    self.budget = budget
    self.eventLoop = eventLoop
  }

  /// Counts bytes that a connection holds, or with a negative number has released.
  func add(_ bytes: Int) {
    uncounted &+= bytes
    if uncounted.magnitude >= UInt(budget.ledgerStep) { pass() }
  }

  private func pass() {
    let bytes = uncounted
    uncounted = 0
    budget.count(bytes)
  }

  /// Adds a connection, which may be cut when memory is short.
  func insert(_ holder: any OutputHolder) { holders[ObjectIdentifier(holder)] = holder }

  func remove(_ holder: any OutputHolder) {
    holders[ObjectIdentifier(holder)] = nil
    marks[ObjectIdentifier(holder)] = nil
  }

  /// Begins to look for idle readers, until memory is no longer short. It may be called from any thread.
  fileprivate func beginRelief() {
    eventLoop.execute { [budget] in
      guard !self.isRelieving else { return }
      self.isRelieving = true
      self.relieve(budget)
    }
  }

  private func relieve(_ budget: OutputBudget) {
    guard budget.isShort else {
      isRelieving = false
      marks.removeAll()
      return
    }
    let now = NIODeadline.now()
    var idle: [(since: NIODeadline, holder: any OutputHolder)] = []
    for (key, holder) in holders where holder.heldBytes > 0 {
      let mark = holder.takenMark
      if let last = marks[key], last.mark == mark {
        if now - last.since >= budget.idleReaderTimeout { idle.append((last.since, holder)) }
      } else {
        marks[key] = (mark, now)
      }
    }
    idle.sort { $0.since < $1.since }
    var excess = budget.excess
    for (_, holder) in idle {
      guard excess > 0 else { break }
      excess -= holder.heldBytes
      holder.cutForMemory()
    }
    eventLoop.scheduleTask(in: Self.reliefInterval) { self.relieve(budget) }
  }
}
